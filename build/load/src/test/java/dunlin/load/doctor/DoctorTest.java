package dunlin.load.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Runs the doctor on a simulated /proc directory. */
class DoctorTest {
  @TempDir private Path proc = Path.of("");

  @BeforeEach
  void machine() throws Exception {
    file("self/limits", "Limit  Soft  Hard  Units\nMax open files            20000                20000                files\n");
    file("sys/fs/file-max", "9000000\n");
    file("sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    file("sys/net/core/somaxconn", "4096\n");
    file("meminfo", "MemTotal: 24000000 kB\nMemAvailable:   20000000 kB\n");
  }

  private void file(String name, String text) throws Exception {
    Path file = proc.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private List<Finding> tooSmall(long connections, int sources, double messages) {
    return new Doctor(proc, 4_000_000_000L, 2).look(new Wanted(connections, connections, sources, messages)).stream().filter(finding -> !finding.enough()).toList();
  }

  @Test
  void aSmallRunFits() {
    assertThat(tooSmall(10_000, 1, 100_000)).isEmpty();
  }

  @Test
  void theLimitOfOpenFilesIsChecked() {
    assertThat(tooSmall(19_900, 1, 0)).singleElement().satisfies(finding -> {
      assertThat(finding.limit()).isEqualTo("open files");
      assertThat(finding.stops()).isTrue();
      assertThat(finding.text()).contains("20,000 open files, and needs 20,100", "ulimit -Hn 20100", "2 processes");
    });
  }

  @Test
  void portsAreCountedBySourceAddress() throws Exception {
    file("self/limits", "Max open files  1000000  1000000  files\n");

    assertThat(tooSmall(28_232, 1, 0)).isEmpty();
    assertThat(tooSmall(28_233, 1, 0)).singleElement().satisfies(finding -> assertThat(finding.remedy()).contains("ip_local_port_range=\"1024 65535\""));
    assertThat(tooSmall(100_000, 1, 0)).singleElement().satisfies(finding -> assertThat(finding.remedy()).contains("give 4 addresses"));
    assertThat(tooSmall(100_000, 4, 0)).isEmpty();
  }

  @Test
  void theConnectionTrackingTableIsChecked() throws Exception {
    file("sys/net/netfilter/nf_conntrack_max", "8192\n");

    assertThat(tooSmall(10_000, 1, 0)).extracting(Finding::limit).containsExactly("conntrack");
  }

  @Test
  void backlogMemoryAndProcessorsOnlyWarn() throws Exception {
    file("sys/net/core/somaxconn", "128\n");
    file("meminfo", "MemAvailable:   10000 kB\n");

    assertThat(tooSmall(10_000, 1, 9_000_000)).allMatch(finding -> !finding.stops()).extracting(Finding::limit).containsExactly("somaxconn", "memory", "processors");
  }

  @Test
  void aSystemWithoutProcFilesHasNoFindings(@TempDir Path empty) {
    assertThat(new Doctor(empty, 4_000_000_000L, 2).look(new Wanted(1_000, 1_000, 1, 0))).extracting(Finding::limit).containsExactly("heap", "processors");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void theFilesOfThisMachineAreReadCompletely() {
    var kernel = new Kernel(Path.of("/proc"));

    assertThat(kernel.openFiles()).hasValueSatisfying(limit -> assertThat(limit.soft()).isGreaterThan(100));
    assertThat(kernel.ports().orElseThrow()).isGreaterThan(100);
    assertThat(kernel.filesOfSystem().orElseThrow()).isGreaterThan(1_000);
    assertThat(kernel.availableBytes().orElseThrow()).isGreaterThan(1_000_000);
  }
}
