package dunlin.chaos.mqtt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.Need;
import dunlin.chaos.Programs;
import dunlin.chaos.mqtt.MqttChaos.Request;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MqttChaosTest {
  private static Request request(String rounds) {
    return MqttChaos.parse(List.of("--distribution", "dunlin", "--out", "out", "--rounds", rounds), 1);
  }

  private static List<Integer> rounds(Request request) {
    return IntStream.range(0, request.trials()).mapToObj(number -> request.trial(number).rounds()).toList();
  }

  @Test
  void manyRoundsAreSeveralTrialsInSeparateDirectories() {
    assertThat(rounds(request("3"))).containsExactly(3);
    assertThat(rounds(request("25"))).containsExactly(25);
    assertThat(rounds(request("60"))).containsExactly(25, 25, 10);
    var all = request("60");
    assertThat(IntStream.range(0, all.trials()).mapToObj(number -> all.trial(number).out())).doesNotHaveDuplicates();
  }

  @Test
  void rowsOfAnEarlierVersionAreSkippedWithoutIt(@TempDir Path previous) {
    var row = row("cluster-upgrade");
    assertThat(request("1").offers()).doesNotContain(Need.PREVIOUS);
    assertThat(Outcome.skipped(row, 1).problems()).containsExactly("it needs the distribution of an earlier version, given by --previous");
    var given = MqttChaos.parse(List.of("--distribution", "dunlin", "--previous", previous.toString()), 1);
    assertThat(given.offers()).contains(Need.PREVIOUS);
    assertThat(given.begins(row)).isEqualTo(previous);
    assertThat(given.begins(row("cluster-none"))).isEqualTo(Path.of("dunlin").toAbsolutePath());
    assertThatThrownBy(() -> MqttChaos.parse(List.of("--distribution", "dunlin", "--previous", previous + "/none"), 1))
        .hasMessage("there is no " + previous + "/none");
  }

  @Test
  void anArchiveOfAnEarlierVersionIsUnpacked(@TempDir Path directory) throws IOException {
    Path bin = Files.createDirectories(directory.resolve("dunlin-0.0.9").resolve("bin"));
    Files.writeString(bin.resolve("dunlin"), "0.0.9");
    Path archive = directory.resolve("dunlin-0.0.9.tar.gz");
    Programs.run("tar", "-czf", archive.toString(), "-C", directory.toString(), "dunlin-0.0.9");
    String out = directory.resolve("out").toString();

    var given = MqttChaos.parse(List.of("--distribution", "dunlin", "--out", out, "--previous", archive.toString()), 1);

    assertThat(given.begins(row("services-upgrade")).resolve("bin").resolve("dunlin")).hasContent("0.0.9");
  }

  private static Row row(String name) {
    return Rows.ALL.stream().filter(row -> row.name().equals(name)).findFirst().orElseThrow();
  }

  @Test
  void zeroRoundsAreRefused() {
    assertThatThrownBy(() -> request("0")).hasMessage("--rounds 0 is less than 1");
    assertThatThrownBy(() -> MqttChaos.parse(List.of("--distribution", "dunlin", "--session-ranges", "0"), 1)).hasMessage("--session-ranges 0 is less than 1");
  }

  @Test
  void allProcessesOfARowHaveTheSameNumberOfSessionRanges() {
    var row = ClusterRows.ALL.getFirst();
    assertThat(request("3").settings(row)).isEqualTo(row.settings());
    var given = MqttChaos.parse(List.of("--distribution", "dunlin", "--session-ranges", "3", "--rounds", "60"), 1);
    assertThat(given.trial(1).settings(row)).containsEntry(MqttCluster.SESSION_RANGES, "3").containsAllEntriesOf(row.settings());
  }
}
