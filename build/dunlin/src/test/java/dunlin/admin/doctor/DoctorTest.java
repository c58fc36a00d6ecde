package dunlin.admin.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.harness.Certificates;
import dunlin.runtime.metrics.NodeBeans;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each check with surroundings that are well and with some that are not, which are files as Linux has them. */
class DoctorTest {
  private static final long GIB = 1L << 30;

  @TempDir private Path root;

  private HostChecks host;

  @BeforeEach
  void open() {
    host = new HostChecks(new HostFiles(root));
  }

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private void limit(long files, int open) throws IOException {
    file("proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units\nMax open files            %d                 4096                 files\n".formatted(files));
    Files.createDirectories(root.resolve("proc/self/fd"));
    for (int i = 0; i < open; i++) file("proc/self/fd/" + i, "");
  }

  private static void verdict(Optional<Finding> finding, String verdict, String... says) {
    assertThat(finding).isPresent();
    verdict(finding.get(), verdict, says);
  }

  private static void verdict(Finding finding, String verdict, String... says) {
    assertThat(finding.verdict()).as(finding.toString()).isEqualTo(verdict);
    assertThat(finding.finding()).endsWith(".");
    for (String each : says) assertThat(finding.finding()).contains(each);
    if (verdict.equals(DoctorMXBean.OK)) assertThat(finding.remedy()).isEmpty();
    else assertThat(finding.remedy()).endsWith(".");
  }

  @Test
  void openFilesAreComparedWithTheConnections() throws IOException {
    limit(1_048_576, 3);
    verdict(host.openFiles(0), DoctorMXBean.OK, "1048576", "3 open");
    verdict(host.openFiles(2_000_000), DoctorMXBean.WARNING, "its listeners would take 2000000");
    limit(1_024, 3);
    verdict(host.openFiles(0), DoctorMXBean.WARNING, "only 1024 files");
    limit(10, 8);
    verdict(host.openFiles(0), DoctorMXBean.WRONG, "8 files and sockets open, and may have 10");
  }

  @Test
  void theHeapIsComparedWithTheMachineAndTheContainer() throws IOException {
    file("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
    verdict(host.memory(4 * GIB), DoctorMXBean.OK, "4096 MiB", "the machine has 16384 MiB");
    verdict(host.memory(13 * GIB), DoctorMXBean.WARNING);
    verdict(host.memory(16 * GIB), DoctorMXBean.WRONG);
    file("sys/fs/cgroup/memory.max", "max\n");
    verdict(host.memory(4 * GIB), DoctorMXBean.OK, "the machine has");
    file("sys/fs/cgroup/memory.max", Long.toString(5 * GIB));
    verdict(host.memory(4 * GIB), DoctorMXBean.WARNING, "the container or service may have 5120 MiB");
    file("proc/self/cgroup", "0::/system.slice/dunlin.service\n");
    file("sys/fs/cgroup/system.slice/dunlin.service/memory.max", Long.toString(4 * GIB));
    verdict(host.memory(4 * GIB), DoctorMXBean.WRONG, "the container or service may have 4096 MiB");
  }

  @Test
  void swapAndHugePagesAreNoticed() throws IOException {
    file("proc/self/status", "Name:\tjava\nVmSwap:\t       0 kB\n");
    verdict(host.swap(), DoctorMXBean.OK);
    file("proc/self/status", "Name:\tjava\nVmSwap:\t   20480 kB\n");
    verdict(host.swap(), DoctorMXBean.WARNING, "20480 KiB");
    file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    verdict(host.hugePages(), DoctorMXBean.OK, "[madvise]");
    file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    verdict(host.hugePages(), DoctorMXBean.WARNING);
  }

  @Test
  void theKernelsQueueAndPortsAreComparedWithTheListeners() throws IOException {
    file("proc/sys/net/core/somaxconn", "4096\n");
    verdict(host.somaxconn(4_096), DoctorMXBean.OK, "4096");
    file("proc/sys/net/core/somaxconn", "128\n");
    verdict(host.somaxconn(4_096), DoctorMXBean.WARNING, "at most 128", "asks for 4096");
    file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    verdict(host.portRange(new TreeMap<>(Map.of("tcp", 1_883))), DoctorMXBean.OK, "32768 to 60999");
    verdict(host.portRange(new TreeMap<>(Map.of("tcp", 1_883, "odd", 40_000))), DoctorMXBean.WARNING, "that of odd (40000)");
    file("proc/sys/net/ipv4/ip_local_reserved_ports", "1883,39999-40001\n");
    verdict(host.portRange(new TreeMap<>(Map.of("odd", 40_000))), DoctorMXBean.OK);
  }

  @Test
  void whatTheSystemDoesNotTellIsLeftOut() throws IOException {
    assertThat(host.openFiles(1)).isEmpty();
    assertThat(host.memory(GIB)).isEmpty();
    assertThat(host.swap()).isEmpty();
    assertThat(host.hugePages()).isEmpty();
    assertThat(host.somaxconn(1)).isEmpty();
    assertThat(host.portRange(new TreeMap<>())).isEmpty();
    file("proc/sys/net/core/somaxconn", "many\n");
    file("proc/sys/net/ipv4/ip_local_port_range", "1 2 3\n");
    file("proc/self/limits", "Max open files unlimited\n");
    assertThat(host.somaxconn(1)).isEmpty();
    assertThat(host.portRange(new TreeMap<>())).isEmpty();
    assertThat(host.openFiles(1)).isEmpty();
  }

  @Test
  void theDiskIsComparedWithWhatTheNodeNeeds() {
    verdict(NodeChecks.disk("disk", 50 * GIB, 100 * GIB, 0), DoctorMXBean.OK, "51200 MiB of 102400 MiB");
    verdict(NodeChecks.disk("disk", 9 * GIB, 100 * GIB, 0), DoctorMXBean.WARNING);
    verdict(NodeChecks.disk("disk", 3 * GIB / 2, 10 * GIB, GIB), DoctorMXBean.WARNING);
    verdict(NodeChecks.disk("disk", GIB / 2, 100 * GIB, 0), DoctorMXBean.WRONG, "below 1024 MiB");
    verdict(NodeChecks.disk(root.resolve("none"), 0), DoctorMXBean.WRONG, "cannot be read");
    verdict(NodeChecks.fsync(true), DoctorMXBean.OK);
    verdict(NodeChecks.fsync(false), DoctorMXBean.WARNING);
  }

  @Test
  void theClocksAreCompared() throws IOException {
    assertThat(NodeChecks.clock(root)).isEmpty();
    file("clock", "1 1700000000000 12\n");
    verdict(NodeChecks.clock(root), DoctorMXBean.OK);
    file("clock", "1 1700000000000 -86400000\n");
    verdict(NodeChecks.clock(root), DoctorMXBean.WARNING, "86400 s behind");
    file("clock", "1 1700000000000 5000\n");
    verdict(NodeChecks.clock(root), DoctorMXBean.WARNING, "5 s ahead of");
    file("clock", "what");
    verdict(NodeChecks.clock(root), DoctorMXBean.WARNING, "cannot be read");
  }

  @Test
  void certificatesThatExpireOrCannotBeReadAreNoticed() throws Exception {
    Instant now = Instant.now();
    verdict(NodeChecks.expiry("certificate", now.plus(Duration.ofDays(90)), now, "of this listener"), DoctorMXBean.OK, "90 days");
    verdict(NodeChecks.expiry("certificate", now.plus(Duration.ofDays(13)), now, "of this listener"), DoctorMXBean.WARNING, "13 days");
    verdict(NodeChecks.expiry("certificate", now.minus(Duration.ofDays(1)), now, "of this listener"), DoctorMXBean.WRONG, "has expired");
    file("root.pem", new Certificates().rootPem());
    verdict(NodeChecks.certificate("ca", root.resolve("root.pem"), now), DoctorMXBean.OK, "root.pem", "days");
    verdict(NodeChecks.certificate("ca", root.resolve("root.pem"), now.plus(Duration.ofDays(31))), DoctorMXBean.WRONG, "has expired");
    verdict(NodeChecks.certificate("ca", root.resolve("none.pem"), now), DoctorMXBean.WRONG, "cannot be read");
    file("empty.pem", "");
    verdict(NodeChecks.certificate("ca", root.resolve("empty.pem"), now), DoctorMXBean.WRONG);
    file("wrong.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    verdict(NodeChecks.certificate("ca", root.resolve("wrong.pem"), now), DoctorMXBean.WRONG);
  }

  @Test
  void aNodeThatIsNotReadyIsWrong() {
    try (NodeBeans beans = new NodeBeans("doctor-test")) {
      Doctor doctor = new Doctor(beans, root, 0, () -> Optional.of("draining"), new HostFiles(root), InstantSource.system());
      verdict(doctor.examine().getFirst(), DoctorMXBean.WRONG, "draining");
      Doctor well = new Doctor(beans, root, 0, Optional::empty, new HostFiles(root), InstantSource.system());
      assertThat(well.examine()).extracting(Finding::check).containsExactly("ready", "disk", "fsync");
    }
  }
}
