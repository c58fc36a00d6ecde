package dunlin.chaos.mqtt.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.Need;
import dunlin.chaos.Programs;
import dunlin.chaos.mqtt.MqttCluster;
import dunlin.chaos.mqtt.Outcome;
import dunlin.chaos.mqtt.Request;
import dunlin.chaos.mqtt.Row;
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

  private static List<Request> trials(Request request, String row) {
    return IntStream.range(0, request.trials(row(row))).mapToObj(number -> request.trial(row(row), number)).toList();
  }

  private static List<Integer> rounds(Request request, String row) {
    return trials(request, row).stream().map(Request::rounds).toList();
  }

  @Test
  void manyRoundsAreSeveralTrialsInSeparateDirectories() {
    assertThat(rounds(request("3"), "kill")).containsExactly(3);
    assertThat(rounds(request("25"), "kill")).containsExactly(25);
    assertThat(rounds(request("60"), "kill")).containsExactly(25, 25, 10);
    assertThat(rounds(request("3"), "services-kill")).containsExactly(1, 1, 1);
    assertThat(rounds(request("5"), "services-scale")).containsExactly(5);
    assertThat(rounds(request("5"), "cluster-upgrade")).containsExactly(5);
    assertThat(trials(request("60"), "kill").stream().map(Request::out)).doesNotHaveDuplicates();
  }

  @Test
  void anHourOfASoakIsSeveralTrials() {
    var hour = MqttChaos.parse(List.of("--distribution", "dunlin", "--minutes", "12"), 1);
    assertThat(trials(hour, "services-soak").stream().map(Request::minutes)).containsExactly(5, 5, 2);
    assertThat(trials(request("200"), "cluster-soak").stream().map(Request::minutes)).containsExactly(5);
    assertThat(trials(hour, "services-kills").stream().map(Request::minutes)).containsExactly(5, 5, 2);
    assertThat(trials(request("200"), "cluster-kills").stream().map(Request::minutes)).containsExactly(5);
    assertThatThrownBy(() -> MqttChaos.parse(List.of("--distribution", "dunlin", "--minutes", "0"), 1)).hasMessage("--minutes 0 is less than 1");
  }

  @Test
  void theRowsOfAProfileExistAndAreEachTriedOnce() {
    var services = MqttChaos.parse(List.of("--distribution", "dunlin", "--services"), 1);
    assertThat(services.only()).isNotEmpty().allSatisfy(name -> assertThat(trials(services, name)).hasSize(1));
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
    assertThat(given.trial(row, 1).settings(row)).containsEntry(MqttCluster.SESSION_RANGES, "3").containsAllEntriesOf(row.settings());
  }
}
