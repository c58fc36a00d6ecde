package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import java.util.List;
import java.util.OptionalLong;
import java.util.SortedMap;

/** What the kernel allows sockets. */
final class KernelChecks {
  private static final String SOMAXCONN = "proc/sys/net/core/somaxconn";
  private static final String PORT_RANGE = "proc/sys/net/ipv4/ip_local_port_range";
  private static final String TCP_LIMITS = "proc/sys/net/ipv4/tcp_mem";
  private static final String SOCKETS = "proc/net/sockstat";

  private final HostFiles host;

  KernelChecks(HostFiles host) {
    this.host = host;
  }

  /** @param backlog the longest queue of new connections that a listener asks for */
  Finding somaxconn(long backlog) {
    String check = "somaxconn";
    OptionalLong most = host.number(SOMAXCONN);
    if (most.isEmpty()) return Finding.unknown(check, host.why(SOMAXCONN));
    if (most.getAsLong() >= backlog) return Finding.ok(check, "The kernel queues up to %d new connections.".formatted(most.getAsLong()));
    return Finding.warning(
        check,
        "The kernel queues at most %d new connections, and a listener asks for %d: clients that connect all at once have to try again.".formatted(most.getAsLong(), backlog),
        "Set net.core.somaxconn to %d by sysctl, and restart the node.".formatted(backlog));
  }

  /** @param ports the ports that the settings name, by what they are for */
  Finding portRange(SortedMap<String, Integer> ports) {
    String check = "port-range";
    List<Long> range = host.numbers(PORT_RANGE, 2);
    if (range.isEmpty()) return Finding.unknown(check, host.why(PORT_RANGE));
    long from = range.getFirst();
    long to = range.getLast();
    String reserved = host.text("proc/sys/net/ipv4/ip_local_reserved_ports").orElse("");
    List<String> within =
        ports.entrySet().stream()
            .filter(port -> port.getValue() >= from && port.getValue() <= to && !isReserved(reserved, port.getValue()))
            .map(port -> port.getKey() + " (" + port.getValue() + ")")
            .toList();
    if (within.isEmpty()) return Finding.ok(check, "Outgoing connections take their ports from %d to %d, where none of the settings' ports is.".formatted(from, to));
    return Finding.warning(
        check, "Outgoing connections take their ports from %d to %d, and may take that of %s while the node is down.".formatted(from, to, String.join(", ", within)),
        "Put the ports into net.ipv4.ip_local_reserved_ports by sysctl, or choose others.");
  }

  private static boolean isReserved(String list, int port) {
    for (String part : list.split(",", -1)) {
      if (!part.matches("[0-9]{1,5}(-[0-9]{1,5})?")) continue;
      String[] ends = part.split("-", -1);
      if (port >= Integer.parseInt(ends[0]) && port <= Integer.parseInt(ends[ends.length - 1])) return true;
    }
    return false;
  }

  /** The pages of memory that all TCP sockets of the machine hold, beside those from which on the kernel saves, and those at which it drops data. */
  Finding tcpMemory() {
    String check = "tcp-memory";
    List<Long> limits = host.numbers(TCP_LIMITS, 3);
    if (limits.isEmpty()) return Finding.unknown(check, host.why(TCP_LIMITS));
    List<String> words = host.words(SOCKETS, "TCP:");
    int place = words.indexOf("mem") + 1;
    OptionalLong used = place > 0 && place < words.size() ? HostFiles.asNumber(words.get(place)) : OptionalLong.empty();
    if (used.isEmpty()) return Finding.unknown(check, host.why(SOCKETS));
    String finding =
        "All TCP sockets of the machine hold %d pages of memory; from %d on the kernel makes their buffers small, and at %d it refuses more."
            .formatted(used.getAsLong(), limits.get(1), limits.get(2));
    String remedy = "Raise the numbers of net.ipv4.tcp_mem by sysctl, or let the machine have fewer connections: what waits in their buffers is part of this memory.";
    if (used.getAsLong() >= limits.get(2)) return Finding.wrong(check, finding, remedy);
    if (used.getAsLong() >= limits.get(1)) return Finding.warning(check, finding, remedy);
    return Finding.ok(check, finding);
  }
}
