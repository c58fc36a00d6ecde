package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;

/** What the operating system gives the process. What it does not tell is left out. */
final class HostChecks {
  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;
  private static final long FILES_FEW = 10_000;
  private static final int PERCENT = 100;
  private static final int FILES_USED_PERCENT = 80;
  private static final int HEAP_MUCH_PERCENT = 75;
  private static final int HEAP_ALL_PERCENT = 95;

  private final HostFiles host;

  HostChecks(HostFiles host) {
    this.host = host;
  }

  /**
   * The limit on open files.
   *
   * @param connectionsMax connections for which the settings ask; 0 when they name no number
   */
  Optional<Finding> openFiles(long connectionsMax) {
    String check = "open-files";
    OptionalLong limit = host.number("proc/self/limits", "Max open files");
    if (limit.isEmpty()) return Optional.empty();
    long most = limit.getAsLong();
    long open = host.entries("proc/self/fd").orElse(0);
    long connections = Math.max(0, most - most / 10 - open);
    String remedy = "Raise the limit of the process: LimitNOFILE of its systemd unit, the ulimits of its container, or ulimit -n; then restart the node.";
    if (open * PERCENT >= most * FILES_USED_PERCENT) {
      return Optional.of(Finding.wrong(check, "The process has %d files and sockets open, and may have %d.".formatted(open, most), remedy));
    }
    if (connectionsMax > connections) {
      return Optional.of(
          Finding.warning(
              check, "The process may open %d files, so it can take about %d more connections; its listeners would take %d.".formatted(most, connections, connectionsMax),
              remedy));
    }
    if (most < FILES_FEW) {
      return Optional.of(Finding.warning(check, "The process may open only %d files, so it can take about %d more connections.".formatted(most, connections), remedy));
    }
    return Optional.of(Finding.ok(check, "The process may open %d files, and has %d open.".formatted(most, open)));
  }

  /**
   * The heap beside the memory of the machine or container.
   *
   * @param heapMax bytes
   */
  Optional<Finding> memory(long heapMax) {
    String check = "memory";
    OptionalLong machine = host.number("proc/meminfo", "MemTotal:");
    if (machine.isEmpty()) return Optional.empty();
    long physical = machine.getAsLong() * KIB;
    long container = containerMemory().orElse(Long.MAX_VALUE);
    long all = Math.min(physical, container);
    String where = container < physical ? "the container or service may have" : "the machine has";
    String finding = "The heap may have %d MiB, and %s %d MiB.".formatted(heapMax / MIB, where, all / MIB);
    String remedy =
        "Give the node more memory, or a smaller heap: sockets, RocksDB and the cache of its files need the rest. By default the heap is a share of the memory.";
    if (heapMax * PERCENT >= all * HEAP_ALL_PERCENT) return Optional.of(Finding.wrong(check, finding, remedy));
    if (heapMax * PERCENT > all * HEAP_MUCH_PERCENT) return Optional.of(Finding.warning(check, finding, remedy));
    return Optional.of(Finding.ok(check, finding));
  }

  /** The limit of the control group, version 2, that the process is in. */
  private OptionalLong containerMemory() {
    String group = host.words("proc/self/cgroup", "0::").stream().findFirst().orElse("");
    OptionalLong own = group.isEmpty() || group.equals("/") ? OptionalLong.empty() : host.number("sys/fs/cgroup" + group + "/memory.max");
    return own.isPresent() ? own : host.number("sys/fs/cgroup/memory.max");
  }

  Optional<Finding> swap() {
    String check = "swap";
    OptionalLong swapped = host.number("proc/self/status", "VmSwap:");
    if (swapped.isEmpty()) return Optional.empty();
    if (swapped.getAsLong() == 0) return Optional.of(Finding.ok(check, "Nothing of the process is in the swap space."));
    return Optional.of(
        Finding.warning(
            check, "%d KiB of the process are in the swap space, so it may stand still while they are read.".formatted(swapped.getAsLong()),
            "Switch swap off for the node (MemorySwapMax=0 of its systemd unit, or swapoff), or give the machine more memory."));
  }

  Optional<Finding> hugePages() {
    String check = "huge-pages";
    Optional<String> enabled = host.text("sys/kernel/mm/transparent_hugepage/enabled");
    if (enabled.isEmpty()) return Optional.empty();
    if (!enabled.get().contains("[always]")) return Optional.of(Finding.ok(check, "Transparent huge pages are not forced on the process: %s.".formatted(enabled.get())));
    return Optional.of(
        Finding.warning(
            check, "The kernel makes transparent huge pages for every process, which takes memory and can stop threads for milliseconds.",
            "Write madvise to /sys/kernel/mm/transparent_hugepage/enabled at each start of the machine."));
  }

  /** @param backlog the longest queue of new connections that a listener asks for */
  Optional<Finding> somaxconn(long backlog) {
    String check = "somaxconn";
    OptionalLong most = host.number("proc/sys/net/core/somaxconn");
    if (most.isEmpty()) return Optional.empty();
    if (most.getAsLong() >= backlog) return Optional.of(Finding.ok(check, "The kernel queues up to %d new connections.".formatted(most.getAsLong())));
    return Optional.of(
        Finding.warning(
            check, "The kernel queues at most %d new connections, and a listener asks for %d: clients that connect all at once have to try again.".formatted(most.getAsLong(), backlog),
            "Set net.core.somaxconn to %d by sysctl, and restart the node.".formatted(backlog)));
  }

  /** @param ports the ports that the settings name, by the listener's names */
  Optional<Finding> portRange(SortedMap<String, Integer> ports) {
    String check = "port-range";
    List<String> range = host.words("proc/sys/net/ipv4/ip_local_port_range", "");
    if (range.size() != 2 || !range.getFirst().matches("[0-9]{1,5}") || !range.getLast().matches("[0-9]{1,5}")) return Optional.empty();
    int from = Integer.parseInt(range.getFirst());
    int to = Integer.parseInt(range.getLast());
    String reserved = host.text("proc/sys/net/ipv4/ip_local_reserved_ports").orElse("");
    List<String> within =
        ports.entrySet().stream()
            .filter(port -> port.getValue() >= from && port.getValue() <= to && !isReserved(reserved, port.getValue()))
            .map(port -> port.getKey() + " (" + port.getValue() + ")")
            .toList();
    if (within.isEmpty()) return Optional.of(Finding.ok(check, "Outgoing connections take their ports from %d to %d, where no listener of the settings is.".formatted(from, to)));
    return Optional.of(
        Finding.warning(
            check, "Outgoing connections take their ports from %d to %d, and may take that of %s while the node is down.".formatted(from, to, String.join(", ", within)),
            "Put the ports into net.ipv4.ip_local_reserved_ports by sysctl, or choose others."));
  }

  private static boolean isReserved(String list, int port) {
    for (String part : list.split(",", -1)) {
      if (!part.matches("[0-9]{1,5}(-[0-9]{1,5})?")) continue;
      String[] ends = part.split("-", -1);
      if (port >= Integer.parseInt(ends[0]) && port <= Integer.parseInt(ends[ends.length - 1])) return true;
    }
    return false;
  }
}
