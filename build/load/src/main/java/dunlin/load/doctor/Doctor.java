package dunlin.load.doctor;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Compares the needs of a run with the limits of this machine. */
public final class Doctor {
  /** The number of files that a JVM has open besides its connections. */
  private static final long OTHER_FILES = 200;
  /** Heap of this process per connection: the client, Netty's channel, and a share of buffers. */
  private static final long HEAP_BYTES_OF_A_CONNECTION = 4_000;
  /** Kernel memory for one end of a connection, measured on Linux 6. */
  private static final long KERNEL_BYTES_OF_A_CONNECTION = 5_000;
  private static final long HEAP_BYTES_OF_A_RUN = 64_000_000;
  private static final long BACKLOG_MIN = 4_096;
  /** The approximate number of messages that a processor sends or receives in a second. */
  private static final double MESSAGES_OF_A_PROCESSOR = 200_000;
  private static final int FREE_PORT_RANGE = 65_535 - 1_024 + 1;

  private final Kernel kernel;
  private final long heapBytes;
  private final int processors;

  /** @param proc where /proc is */
  public Doctor(Path proc, long heapBytes, int processors) {
    kernel = new Kernel(proc);
    this.heapBytes = heapBytes;
    this.processors = processors;
  }

  /** A doctor for this process on this machine. */
  public static Doctor here() {
    return new Doctor(Path.of("/proc"), Runtime.getRuntime().maxMemory(), Runtime.getRuntime().availableProcessors());
  }

  /** Checks each limit that this system has. */
  public List<Finding> look(Wanted wanted) {
    var findings = new ArrayList<Finding>();
    kernel.openFiles().ifPresent(limit -> findings.add(files(wanted, limit)));
    kernel.filesOfSystem().ifPresent(most -> findings.add(filesOfSystem(wanted, most)));
    kernel.ports().ifPresent(each -> findings.add(ports(wanted, each)));
    kernel.listenBacklog().ifPresent(most -> findings.add(backlog(most)));
    kernel.trackedConnections().ifPresent(most -> findings.add(tracking(wanted, most)));
    kernel.availableBytes().ifPresent(bytes -> findings.add(memory(wanted, bytes)));
    findings.add(heap(wanted));
    findings.add(processors(wanted));
    return List.copyOf(findings);
  }

  private static Finding files(Wanted wanted, Kernel.OpenFiles limit) {
    long needed = wanted.connections() + OTHER_FILES;
    String sentence = text("A process may have %,d open files, and needs %,d.", limit.soft(), needed);
    if (limit.soft() >= needed) return Finding.enough("open files", sentence);
    String remedy =
        limit.hard() >= needed
            ? text("ulimit -n %d", needed)
            : text("as root: ulimit -Hn %d; ulimit -n %<d     or %d processes, each with a part of the clients", needed, Math.ceilDiv(wanted.connections(), Math.max(1, limit.soft() - OTHER_FILES)));
    return new Finding("open files", false, true, sentence, remedy);
  }

  private static Finding filesOfSystem(Wanted wanted, long most) {
    long needed = wanted.connections() + OTHER_FILES;
    String sentence = text("The system may have %,d open files, and needs %,d more.", most, needed);
    if (most >= needed) return Finding.enough("files of all", sentence);
    return new Finding("files of all", false, true, sentence, text("sysctl -w fs.file-max=%d", 2 * needed));
  }

  private static Finding ports(Wanted wanted, long each) {
    long there = each * wanted.sources();
    String sentence =
        text("%,d source address%s with %,d ports each can connect %,d times to one endpoint, and %,d are needed.", wanted.sources(), wanted.sources() == 1 ? "" : "es", each, there, wanted.ofAnEndpoint());
    if (there >= wanted.ofAnEndpoint()) return Finding.enough("ports", sentence);
    boolean wider = (long) FREE_PORT_RANGE * wanted.sources() >= wanted.ofAnEndpoint();
    String remedy =
        wider
            ? "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\""
            : text("give %d addresses with --ifaddr, after for example: ip addr add 10.0.0.2/32 dev eth0", Math.ceilDiv(wanted.ofAnEndpoint(), each));
    return new Finding("ports", false, true, sentence, remedy);
  }

  private static Finding backlog(long most) {
    String sentence = text("A listener on this machine may have %,d connections that it has not accepted yet; a storm of them wants %,d.", most, BACKLOG_MIN);
    if (most >= BACKLOG_MIN) return Finding.enough("somaxconn", sentence);
    return new Finding("somaxconn", false, false, sentence, text("sysctl -w net.core.somaxconn=%d     on the broker's machine, and a restart of the broker", BACKLOG_MIN));
  }

  private static Finding tracking(Wanted wanted, long most) {
    long needed = wanted.connections() + wanted.connections() / 10;
    String sentence = text("The kernel tracks %,d connections, and needs %,d; what is above is dropped without a word.", most, needed);
    if (most >= needed) return Finding.enough("conntrack", sentence);
    return new Finding("conntrack", false, true, sentence, text("sysctl -w net.netfilter.nf_conntrack_max=%d", 2 * needed));
  }

  private static Finding memory(Wanted wanted, long bytes) {
    long needed = HEAP_BYTES_OF_A_RUN + wanted.connections() * (HEAP_BYTES_OF_A_CONNECTION + KERNEL_BYTES_OF_A_CONNECTION);
    String sentence = text("%,d MB of memory are free, and about %,d MB are needed, without a broker on the same machine.", bytes / 1_000_000, needed / 1_000_000);
    if (bytes >= needed) return Finding.enough("memory", sentence);
    return new Finding("memory", false, false, sentence, text("use %d machines", Math.ceilDiv(needed, Math.max(1, bytes))));
  }

  private Finding heap(Wanted wanted) {
    long needed = HEAP_BYTES_OF_A_RUN + wanted.connections() * HEAP_BYTES_OF_A_CONNECTION;
    String sentence = text("The heap may grow to %,d MB, and needs about %,d MB.", heapBytes / 1_000_000, needed / 1_000_000);
    if (heapBytes >= needed) return Finding.enough("heap", sentence);
    return new Finding("heap", false, false, sentence, text("export DUNLIN_BENCH_JVM_OPTS=-Xmx%dm", Math.ceilDiv(needed, 1_000_000)));
  }

  private Finding processors(Wanted wanted) {
    double needed = wanted.messages() / MESSAGES_OF_A_PROCESSOR;
    String sentence = text("There are %d processors, and about %.1f are needed for %,.0f messages/s.", processors, needed, wanted.messages());
    if (processors >= needed) return Finding.enough("processors", sentence);
    return new Finding("processors", false, false, sentence, "use more machines, or offer less");
  }

  @com.google.errorprone.annotations.FormatMethod
  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
