package dunlin.admin.doctor;

import com.sun.management.HotSpotDiagnosticMXBean;
import dunlin.admin.doctor.DoctorMXBean.Finding;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/**
 * The Java virtual machine that the node runs on.
 *
 * @param heapMax bytes
 * @param directMax bytes of memory beside the heap that sockets' buffers may take
 * @param collectors the names of its garbage collectors
 * @param nativeAccess whether it allows native code, which the store has, without a warning
 */
record RunningJava(String version, long heapMax, long directMax, List<String> collectors, boolean nativeAccess) {
  private static final long MIB = 1 << 20;

  /** From this size on, pauses of Parallel were measured twice as long as those of G1, and with 8 GiB four times: 1.4 s. */
  private static final long HEAP_LARGE = 2L << 30;

  RunningJava {
    collectors = List.copyOf(collectors);
  }

  static RunningJava ofThisProcess() {
    long heap = Runtime.getRuntime().maxMemory();
    List<String> collectors = ManagementFactory.getGarbageCollectorMXBeans().stream().map(GarbageCollectorMXBean::getName).toList();
    return new RunningJava(Runtime.version().toString(), heap, directMax(heap), collectors, RunningJava.class.getModule().isNativeAccessEnabled());
  }

  /** As much as the heap, unless -XX:MaxDirectMemorySize says something else. */
  private static long directMax(long heap) {
    return ManagementFactory.getPlatformMXBeans(HotSpotDiagnosticMXBean.class).stream()
        .map(bean -> Long.valueOf(bean.getVMOption("MaxDirectMemorySize").getValue()))
        .filter(given -> given > 0)
        .findFirst()
        .orElse(heap);
  }

  Finding java() {
    String check = "java";
    if (nativeAccess) return Finding.ok(check, "The node runs on Java %s, with native access.".formatted(version));
    return Finding.warning(
        check, "The node runs on Java %s without --enable-native-access, so Java warns of the store's native code, and a later release refuses it.".formatted(version),
        "Start the process with --enable-native-access=ALL-UNNAMED, as bin/dunlin does.");
  }

  Finding collector() {
    String check = "collector";
    String name = name();
    String finding = "The garbage collector is %s, for a heap of %d MiB.".formatted(name, heapMax / MIB);
    boolean pausing = name.equals("Parallel") || name.equals("Serial");
    if (!pausing || heapMax < HEAP_LARGE) return Finding.ok(check, finding);
    return Finding.warning(
        check, "The garbage collector is %s, which may stop all clients for more than a second with a heap of %d MiB.".formatted(name, heapMax / MIB),
        "Take the collector out of DUNLIN_JVM_OPTS, so that bin/dunlin takes G1; -XX:+UseZGC has the shortest pauses.");
  }

  private String name() {
    if (collectors.stream().anyMatch(each -> each.startsWith("PS "))) return "Parallel";
    if (collectors.contains("Copy")) return "Serial";
    if (collectors.stream().anyMatch(each -> each.startsWith("G1"))) return "G1";
    if (collectors.stream().anyMatch(each -> each.startsWith("ZGC"))) return "ZGC";
    return String.join(", ", collectors);
  }
}
