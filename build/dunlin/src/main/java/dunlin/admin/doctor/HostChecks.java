package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import java.util.Arrays;
import java.util.OptionalLong;

/** What the operating system gives the process: files and memory. */
final class HostChecks {
  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;
  private static final long FILES_FEW = 10_000;
  private static final int PERCENT = 100;
  private static final int FILES_USED_PERCENT = 80;
  private static final int HEAP_MUCH_PERCENT = 75;
  private static final int HEAP_ALL_PERCENT = 95;
  private static final int USED_PERCENT = 90;
  private static final String LIMITS = "proc/self/limits";
  private static final String MEMORY = "proc/meminfo";
  private static final String GROUPS = "proc/self/cgroup";
  private static final String VERSION_2 = "0::";
  private static final String STATUS = "proc/self/status";

  private final HostFiles host;

  HostChecks(HostFiles host) {
    this.host = host;
  }

  /**
   * The limit on open files.
   *
   * @param connectionsMax connections for which the settings ask; 0 when they name no number
   */
  Finding openFiles(long connectionsMax) {
    String check = "open-files";
    OptionalLong limit = host.number(LIMITS, "Max open files");
    if (limit.isEmpty()) return Finding.unknown(check, host.why(LIMITS));
    long most = limit.getAsLong();
    long open = host.entries("proc/self/fd").orElse(0);
    long connections = Math.max(0, most - most / 10 - open);
    String remedy = "Raise the limit of the process: LimitNOFILE of its systemd unit, the ulimits of its container, or ulimit -n; then restart the node.";
    if (open * PERCENT >= most * FILES_USED_PERCENT) {
      return Finding.wrong(check, "The process has %d files and sockets open, and may have %d.".formatted(open, most), remedy);
    }
    if (connectionsMax > connections) {
      return Finding.warning(
          check, "The process may open %d files, so it can take about %d more connections; its listeners would take %d.".formatted(most, connections, connectionsMax),
          remedy);
    }
    if (most < FILES_FEW) {
      return Finding.warning(check, "The process may open only %d files, so it can take about %d more connections.".formatted(most, connections), remedy);
    }
    return Finding.ok(check, "The process may open %d files, and has %d open.".formatted(most, open));
  }

  /** The memory of the machine, or of the container or service if that is less. */
  private record Memory(long bytes, String where) {}

  /** With 0 bytes when the machine does not say how much it has. */
  private Memory memory() {
    OptionalLong machine = host.number(MEMORY, "MemTotal:");
    long physical = machine.isPresent() ? machine.getAsLong() * KIB : 0;
    long container = containerMemory().orElse(Long.MAX_VALUE);
    return container < physical ? new Memory(container, "the container or service may have") : new Memory(physical, "the machine has");
  }

  /**
   * The heap beside the memory of the machine or container.
   *
   * @param heapMax bytes
   */
  Finding memory(long heapMax) {
    String check = "memory";
    Memory all = memory();
    if (all.bytes() == 0) return Finding.unknown(check, host.why(MEMORY));
    String finding = "The heap may have %d MiB, and %s %d MiB.".formatted(heapMax / MIB, all.where(), all.bytes() / MIB);
    String remedy =
        "Give the node more memory, or a smaller heap: sockets, RocksDB and the cache of its files need the rest. By default the heap is a share of the memory.";
    if (heapMax * PERCENT >= all.bytes() * HEAP_ALL_PERCENT) return Finding.wrong(check, finding, remedy);
    if (heapMax * PERCENT > all.bytes() * HEAP_MUCH_PERCENT) return Finding.warning(check, finding, remedy);
    return okUnlessLimited(check, finding);
  }

  /** What the process has taken, without the files that it has mapped: these can be dropped, the rest cannot. */
  Finding memoryUsed() {
    String check = "memory-used";
    Memory all = memory();
    if (all.bytes() == 0) return Finding.unknown(check, host.why(MEMORY));
    OptionalLong anonymous = host.number(STATUS, "RssAnon:");
    if (anonymous.isEmpty()) return Finding.unknown(check, host.why(STATUS));
    long used = anonymous.getAsLong() * KIB;
    String finding = "The process uses %d MiB without files, and %s %d MiB.".formatted(used / MIB, all.where(), all.bytes() / MIB);
    if (used * PERCENT < all.bytes() * USED_PERCENT) return okUnlessLimited(check, finding);
    return Finding.warning(check, finding, "Give the node more memory, or a smaller heap (-Xmx in DUNLIN_JVM_OPTS): when none is left, the kernel ends the process.");
  }

  /** A limit of a control group of version 1, which is not read, may be less than the memory of the machine. */
  private Finding okUnlessLimited(String check, String finding) {
    return limitedByVersion1() ? Finding.unknown(check, finding + " The limit of its control group, version 1, is not looked at.") : Finding.ok(check, finding);
  }

  /** The least limit of the control groups, version 2, that the process is in: its own and those above it, each of which holds for all below. */
  private OptionalLong containerMemory() {
    String group = host.lines(GROUPS).stream().filter(line -> line.startsWith(VERSION_2)).map(line -> line.substring(VERSION_2.length())).findFirst().orElse("/");
    OptionalLong least = host.number("sys/fs/cgroup/memory.max");
    for (String each = group; each.length() > 1; each = each.substring(0, Math.max(0, each.lastIndexOf('/')))) {
      OptionalLong limit = host.number("sys/fs/cgroup" + each + "/memory.max");
      if (limit.isPresent() && limit.getAsLong() < least.orElse(Long.MAX_VALUE)) least = limit;
    }
    return least;
  }

  /** Lines are the number of a hierarchy, its controllers and the path of the group, with colons between them. */
  private boolean limitedByVersion1() {
    return host.lines(GROUPS).stream().map(line -> line.split(":", 3)).anyMatch(parts -> parts.length == 3 && Arrays.asList(parts[1].split(",", -1)).contains("memory"));
  }

  Finding swap() {
    String check = "swap";
    OptionalLong swapped = host.number(STATUS, "VmSwap:");
    if (swapped.isEmpty()) return Finding.unknown(check, host.why(STATUS));
    if (swapped.getAsLong() == 0) return Finding.ok(check, "Nothing of the process is in the swap space.");
    return Finding.warning(
        check, "%d KiB of the process are in the swap space, so it may stand still while they are read.".formatted(swapped.getAsLong()),
        "Switch swap off for the node (MemorySwapMax=0 of its systemd unit, or swapoff), or give the machine more memory.");
  }
}
