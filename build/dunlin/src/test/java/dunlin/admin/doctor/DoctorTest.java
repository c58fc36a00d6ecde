package dunlin.admin.doctor;

import static dunlin.admin.doctor.Verdicts.verdict;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.harness.Certificates;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.runtime.metrics.SettingsMXBean;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each check with surroundings that are well and with some that are not, which are files as Linux has them. */
class DoctorTest {
  private static final long GIB = 1L << 30;

  @TempDir private Path root;

  private HostChecks host;
  private KernelChecks kernel;

  @BeforeEach
  void open() {
    host = new HostChecks(new HostFiles(root));
    kernel = new KernelChecks(new HostFiles(root));
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
  void theLeastLimitOfTheControlGroupsCounts() throws IOException {
    file("proc/meminfo", "MemTotal:       16777216 kB\n");
    file("proc/self/cgroup", "0::/machine.slice/a b.scope/dunlin\n");
    file("sys/fs/cgroup/machine.slice/a b.scope/dunlin/memory.max", "max\n");
    verdict(host.memory(4 * GIB), DoctorMXBean.OK, "the machine has 16384 MiB");
    file("sys/fs/cgroup/machine.slice/memory.max", Long.toString(6 * GIB));
    verdict(host.memory(4 * GIB), DoctorMXBean.OK, "the container or service may have 6144 MiB");
    file("sys/fs/cgroup/machine.slice/a b.scope/memory.max", Long.toString(5 * GIB));
    verdict(host.memory(4 * GIB), DoctorMXBean.WARNING, "the container or service may have 5120 MiB");
    file("sys/fs/cgroup/machine.slice/a b.scope/dunlin/memory.max", Long.toString(8 * GIB));
    verdict(host.memory(4 * GIB), DoctorMXBean.WARNING, "the container or service may have 5120 MiB");
    file("sys/fs/cgroup/memory.max", Long.toString(4 * GIB));
    verdict(host.memory(4 * GIB), DoctorMXBean.WRONG, "the container or service may have 4096 MiB");
    for (String odd : List.of("0::", "0::/", "0::none", "0::/../../elsewhere", "", "0", "::")) {
      file("proc/self/cgroup", odd + "\n");
      verdict(host.memory(GIB), DoctorMXBean.OK, "the container or service may have 4096 MiB");
    }
  }

  @Test
  void aLimitOfAControlGroupOfVersion1IsUnknown() throws IOException {
    file("proc/meminfo", "MemTotal:       16777216 kB\n");
    file("proc/self/status", "RssAnon:\t 4194304 kB\n");
    file("proc/self/cgroup", "5:name=memory:/a\n4:cpu,cpuacct:/a\n0::/memory\n");
    verdict(host.memory(4 * GIB), DoctorMXBean.OK);
    for (String controllers : List.of("memory", "hugetlb,memory")) {
      file("proc/self/cgroup", "5:name=systemd:/a\n4:%s:/docker/a:b\n0::/\n".formatted(controllers));
      verdict(host.memory(4 * GIB), DoctorMXBean.UNKNOWN, "the machine has 16384 MiB", "version 1");
      verdict(host.memoryUsed(), DoctorMXBean.UNKNOWN, "version 1");
      verdict(host.memory(16 * GIB), DoctorMXBean.WRONG);
    }
  }

  @Test
  void whatTheProcessUsesIsComparedWithTheMachine() throws IOException {
    file("proc/meminfo", "MemTotal:       16777216 kB\n");
    file("proc/self/status", "Name:\tjava\nRssAnon:\t 4194304 kB\nVmSwap:\t       0 kB\n");
    verdict(host.memoryUsed(), DoctorMXBean.OK, "uses 4096 MiB", "the machine has 16384 MiB");
    file("sys/fs/cgroup/memory.max", Long.toString(GIB * 22 / 5));
    verdict(host.memoryUsed(), DoctorMXBean.WARNING, "uses 4096 MiB", "the container or service may have 4505 MiB");
  }

  @Test
  void swapIsNoticed() throws IOException {
    file("proc/self/status", "Name:\tjava\nVmSwap:\t       0 kB\n");
    verdict(host.swap(), DoctorMXBean.OK);
    file("proc/self/status", "Name:\tjava\nVmSwap:\t   20480 kB\n");
    verdict(host.swap(), DoctorMXBean.WARNING, "20480 KiB");
  }

  @Test
  void theKernelsQueueAndPortsAreComparedWithTheListeners() throws IOException {
    file("proc/sys/net/core/somaxconn", "4096\n");
    verdict(kernel.somaxconn(4_096), DoctorMXBean.OK, "4096");
    file("proc/sys/net/core/somaxconn", "128\n");
    verdict(kernel.somaxconn(4_096), DoctorMXBean.WARNING, "at most 128", "asks for 4096");
    file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    verdict(kernel.portRange(new TreeMap<>(Map.of("tcp", 1_883))), DoctorMXBean.OK, "32768 to 60999");
    verdict(kernel.portRange(new TreeMap<>(Map.of("tcp", 1_883, "odd", 40_000))), DoctorMXBean.WARNING, "that of odd (40000)");
    file("proc/sys/net/ipv4/ip_local_reserved_ports", "1883,39999-40001\n");
    verdict(kernel.portRange(new TreeMap<>(Map.of("odd", 40_000))), DoctorMXBean.OK);
  }

  @Test
  void theMemoryOfSocketsIsComparedWithTheKernelsLimits() throws IOException {
    file("proc/sys/net/ipv4/tcp_mem", "100\t200\t300\n");
    file("proc/net/sockstat", "sockets: used 290\nTCP: inuse 5 orphan 0 tw 0 alloc 7 mem 199\nUDP: inuse 1 mem 500\n");
    verdict(kernel.tcpMemory(), DoctorMXBean.OK, "hold 199 pages", "from 200 on", "at 300");
    file("proc/net/sockstat", "TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 200\n");
    verdict(kernel.tcpMemory(), DoctorMXBean.WARNING, "hold 200 pages");
    file("proc/net/sockstat", "TCP: inuse 5 orphan 0 tw 0 alloc 7 mem 300\n");
    verdict(kernel.tcpMemory(), DoctorMXBean.WRONG);
    file("proc/net/sockstat", "TCP: inuse 5 mem\n");
    verdict(kernel.tcpMemory(), DoctorMXBean.UNKNOWN, "/proc/net/sockstat has another form than expected");
  }

  @Test
  void whatTheSystemDoesNotTellIsUnknown() throws IOException {
    verdict(host.openFiles(1), DoctorMXBean.UNKNOWN, "There is no /proc/self/limits");
    verdict(host.memory(GIB), DoctorMXBean.UNKNOWN, "There is no /proc/meminfo");
    verdict(host.memoryUsed(), DoctorMXBean.UNKNOWN, "There is no /proc/meminfo");
    verdict(host.swap(), DoctorMXBean.UNKNOWN, "There is no /proc/self/status");
    verdict(kernel.somaxconn(1), DoctorMXBean.UNKNOWN, "There is no /proc/sys/net/core/somaxconn");
    verdict(kernel.portRange(new TreeMap<>()), DoctorMXBean.UNKNOWN, "There is no /proc/sys/net/ipv4/ip_local_port_range");
    verdict(kernel.tcpMemory(), DoctorMXBean.UNKNOWN, "There is no /proc/sys/net/ipv4/tcp_mem");
    file("proc/sys/net/core/somaxconn", "many\n");
    file("proc/sys/net/ipv4/ip_local_port_range", "1 2 3\n");
    file("proc/sys/net/ipv4/tcp_mem", "1 2 many\n");
    file("proc/self/limits", "Max open files unlimited\n");
    verdict(kernel.somaxconn(1), DoctorMXBean.UNKNOWN, "another form");
    verdict(kernel.portRange(new TreeMap<>()), DoctorMXBean.UNKNOWN, "another form");
    verdict(kernel.tcpMemory(), DoctorMXBean.UNKNOWN, "another form");
    verdict(host.openFiles(1), DoctorMXBean.UNKNOWN, "another form");
    file("proc/self/status", "x".repeat(70_000) + "\nVmSwap: 1 kB\n");
    verdict(host.swap(), DoctorMXBean.UNKNOWN, "another form");
    Files.createDirectories(root.resolve("proc/meminfo"));
    verdict(host.memory(GIB), DoctorMXBean.UNKNOWN, "The node may not read /proc/meminfo");
  }

  /** They have no size, and the kernel answers only the first read from each of them. */
  @ParameterizedTest
  @EnabledOnOs(OS.LINUX)
  @ValueSource(strings = {"proc/sys/net/core/somaxconn", "proc/sys/net/ipv4/ip_local_port_range", "proc/sys/kernel/pid_max"})
  void filesOfTheKernelAreReadAsTheyAre(String path) throws Exception {
    Process cat = new ProcessBuilder("cat", "/" + path).start();
    String read = new String(cat.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assumeThat(read).isNotEmpty();
    assertThat(new HostFiles(Path.of("/")).text(path)).contains(read);
  }

  @Test
  void theDiskIsComparedWithWhatTheNodeNeeds() {
    verdict(NodeChecks.disk("disk", 50 * GIB, 100 * GIB, 0), DoctorMXBean.OK, "51200 MiB of 102400 MiB");
    verdict(NodeChecks.disk("disk", 9 * GIB, 100 * GIB, 0), DoctorMXBean.WARNING);
    verdict(NodeChecks.disk("disk", 3 * GIB / 2, 10 * GIB, GIB), DoctorMXBean.WARNING);
    verdict(NodeChecks.disk("disk", GIB / 2, 100 * GIB, 0), DoctorMXBean.WRONG, "below 1024 MiB");
    verdict(NodeChecks.disk("disk", Long.MAX_VALUE / 2, Long.MAX_VALUE, 0), DoctorMXBean.OK);
    verdict(NodeChecks.disk("disk", Long.MAX_VALUE / 11, Long.MAX_VALUE, 0), DoctorMXBean.WARNING);
    verdict(NodeChecks.disk("disk", 100 * GIB, 200 * GIB, Long.MAX_VALUE / 2), DoctorMXBean.WRONG);
    verdict(NodeChecks.disk(root.resolve("none"), 0), DoctorMXBean.WRONG, "cannot be read");
    verdict(NodeChecks.fileSystem("ext4"), DoctorMXBean.OK, "ext4");
    verdict(NodeChecks.fileSystem("tmpfs"), DoctorMXBean.WRONG, "which is memory");
    verdict(NodeChecks.fileSystem("overlay"), DoctorMXBean.WARNING, "deleted with its container");
    verdict(NodeChecks.fileSystem("nfs4"), DoctorMXBean.WARNING, "another machine");
    verdict(NodeChecks.fileSystem("fuse.sshfs"), DoctorMXBean.WARNING, "fuse.sshfs");
    verdict(NodeChecks.fileSystem(root.resolve("none")), DoctorMXBean.UNKNOWN, "cannot be read");
    verdict(NodeChecks.fsync(true), DoctorMXBean.OK);
    verdict(NodeChecks.fsync(false), DoctorMXBean.WARNING);
  }

  @Test
  void filesThatMayBeMadeAreCounted() throws IOException {
    verdict(NodeChecks.freeFiles(new FreeFiles(65_536, 60_000)), DoctorMXBean.OK, "60000 of 65536");
    verdict(NodeChecks.freeFiles(new FreeFiles(0, 0)), DoctorMXBean.OK, "no fixed number");
    verdict(NodeChecks.freeFiles(new FreeFiles(65_536, 9_999)), DoctorMXBean.WARNING, "9999 of");
    verdict(NodeChecks.freeFiles(new FreeFiles(65_536, 999)), DoctorMXBean.WRONG, "999 of");
    verdict(NodeChecks.freeFiles(root.resolve("none")), DoctorMXBean.UNKNOWN, "cannot be read");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void theSystemSaysHowManyFilesAreFree() throws Exception {
    FreeFiles before = FreeFiles.of(root);
    Process df = new ProcessBuilder("df", "--output=itotal", root.toString()).start();
    String answer = new String(df.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(before.all()).isEqualTo(Long.parseLong(answer.lines().skip(1).findFirst().orElseThrow().strip().replace("-", "0")));
    assertThat(before.free()).isBetween(0L, before.all());
  }

  @Test
  void theClocksAreCompared() throws IOException {
    assertThat(NodeChecks.clock(root)).isEmpty();
    file("clock", "1 1700000000000 12\n");
    verdict(NodeChecks.clock(root).orElseThrow(), DoctorMXBean.OK);
    file("clock", "1 1700000000000 -86400000\n");
    verdict(NodeChecks.clock(root).orElseThrow(), DoctorMXBean.WARNING, "86400 s behind");
    file("clock", "1 1700000000000 5000\n");
    verdict(NodeChecks.clock(root).orElseThrow(), DoctorMXBean.WARNING, "5 s ahead of");
    file("clock", "what");
    verdict(NodeChecks.clock(root).orElseThrow(), DoctorMXBean.WARNING, "cannot be read");
    verdict(PeerClock.compare("n", 10_000, 10_020, 10_015), DoctorMXBean.OK, "no more than 15 ms");
    verdict(PeerClock.compare("n", 10_000, 10_020, 12_000), DoctorMXBean.WARNING, "at least 1980 ms ahead of that of the node n");
    verdict(PeerClock.compare("n", 10_000, 10_020, 8_000), DoctorMXBean.WARNING, "at least 2000 ms behind that of the node n");
    verdict(PeerClock.compare("n", 10_000, 11_900, 10_010), DoctorMXBean.UNKNOWN, "the answer took 1900 ms");
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
  void aNodeThatIsNotReadyIsWrong() throws Exception {
    var meters = new SimpleMeterRegistry();
    try (NodeBeans beans = new NodeBeans("doctor-test")) {
      Doctor doctor = new Doctor(beans, meters, root, 0, () -> Optional.of("draining"), new HostFiles(root), InstantSource.system());
      verdict(doctor.examine().getFirst(), DoctorMXBean.WRONG, "draining");
      Doctor well = new Doctor(beans, meters, root, 0, Optional::empty, new HostFiles(root), InstantSource.system());
      assertThat(well.examine())
          .extracting(Finding::check)
          .containsExactly(
              "ready", "disk", "file-system", "free-files", "fsync", "java", "collector", "open-files", "memory", "memory-used", "swap",
              "somaxconn", "port-range", "tcp-memory",
              "failures", "refusals");
    }
  }

  @Test
  void aCheckThatFailsIsUnknownAndTheOthersAreThere() throws IOException {
    Supplier<Optional<String>> failing =
        () -> {
          throw new IllegalStateException("closed\u202E");
        };
    try (NodeBeans beans = new NodeBeans("doctor-test")) {
      List<Finding> findings = new Doctor(beans, new SimpleMeterRegistry(), root, 0, failing, new HostFiles(root), InstantSource.system()).examine();
      verdict(findings.getFirst(), DoctorMXBean.UNKNOWN, "IllegalStateException: closed\\u202e");
      assertThat(findings).extracting(Finding::check).startsWith("ready", "disk", "file-system").endsWith("failures", "refusals");
    }
  }

  /** The settings as a node has them: listeners with ports, a cluster's ports, and files of certificates. */
  private record Settled(Map<String, String> effective, Map<String, String> sources) implements SettingsMXBean {
    @Override
    public Map<String, String> getEffective() {
      return effective;
    }

    @Override
    public Map<String, String> getSources() {
      return sources;
    }
  }

  @Test
  void theSettingsAreComparedWithTheMachine() throws IOException {
    limit(20_000, 1);
    file("proc/sys/net/core/somaxconn", "1024\n");
    file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    Map<String, String> settings =
        Map.of(
            "dunlin.listeners.tcp.port", "1883", "dunlin.listeners.tcp.backlog", "4096",
            "dunlin.listeners.tcp.connections-max", "50000", "dunlin.cluster.service-port", "40100",
            "dunlin.admin.port", "any", "dunlin.cluster.tls.ca", root.resolve("none.pem").toString(),
            "dunlin.cluster.tls.certificate", "", "dunlin.store.fsync", "false");
    try (NodeBeans beans = new NodeBeans("doctor-test")) {
      beans.register("Settings", new Settled(settings, Map.of("dunlin.listeners.tcp.connections-max", "the test")));
      Doctor doctor = new Doctor(beans, new SimpleMeterRegistry(), root, 0, Optional::empty, new HostFiles(root), InstantSource.system());
      Map<String, Finding> findings = doctor.examine().stream().collect(Collectors.toMap(Finding::check, each -> each));
      verdict(findings.get("open-files"), DoctorMXBean.WARNING, "its listeners would take 50000");
      verdict(findings.get("somaxconn"), DoctorMXBean.WARNING, "asks for 4096");
      verdict(findings.get("port-range"), DoctorMXBean.WARNING, "that of dunlin.cluster.service-port (40100) while");
      verdict(findings.get("file dunlin.cluster.tls.ca"), DoctorMXBean.WRONG, "none.pem cannot be read");
      verdict(findings.get("fsync"), DoctorMXBean.WARNING);
      assertThat(findings).doesNotContainKey("file dunlin.cluster.tls.certificate");
    }
  }
}
