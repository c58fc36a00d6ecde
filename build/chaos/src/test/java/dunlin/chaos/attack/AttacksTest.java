package dunlin.chaos.attack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.attack.AttackTrial.Outcome;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AttacksTest {
  private static final Attack ATTACK = Attack.of("many", "much", _ -> {});

  @Test
  void theFiltersMatchTheDescriptionsOfTheRows() {
    assertThat(SubscriptionAttacks.equalHashes(2000)).doesNotHaveDuplicates().extracting(String::hashCode).containsOnly("BB".repeat(19).hashCode());
    assertThat(SubscriptionAttacks.matching(10_000)).doesNotHaveDuplicates().allMatch(AttacksTest::matches);
    assertThat(SubscriptionAttacks.padded("long/", 65_535).getBytes(StandardCharsets.UTF_8)).hasSize(65_535);
  }

  private static boolean matches(String filter) {
    var levels = filter.split("/", -1);
    var topic = SubscriptionAttacks.matched().split("/", -1);
    return levels.length == topic.length && IntStream.range(0, levels.length).allMatch(i -> levels[i].equals("+") || levels[i].equals(topic[i]));
  }

  @Test
  void theCommandLineIsParsed() {
    var request = Attacks.parse(List.of("--only", "equal-hashes,many-groups", "--seconds", "5", "--distribution", "here", "--heap-megabytes", "128"));
    assertThat(request.only()).containsExactly("equal-hashes", "many-groups");
    assertThat(request.seconds()).isEqualTo(5);
    assertThat(request.heapMegabytes()).isEqualTo(128);
    assertThat(request.distribution()).isEqualTo(Path.of("here").toAbsolutePath());
    assertThat(request.page()).isNull();
  }

  @Test
  void invalidArgumentsAreRefused() {
    assertThatThrownBy(() -> Attacks.parse(List.of("--only", "none-such", "--distribution", "here"))).hasMessage("there is no row none-such");
    assertThatThrownBy(() -> Attacks.parse(List.of("--fast"))).hasMessage("there is no option --fast");
    assertThatThrownBy(() -> Attacks.parse(List.of("--seconds"))).hasMessage("--seconds needs a value");
    assertThatThrownBy(() -> Attacks.parse(List.of("--seconds", "0", "--distribution", "here"))).hasMessage("--seconds 0 is less than 1");
    assertThatThrownBy(() -> Attacks.parse(List.of())).hasMessage("--distribution is missing");
  }

  @Test
  void theTableShowsFailures() {
    var passed = new Outcome(ATTACK, "3 sent", Duration.ofMillis(2), Duration.ofMillis(40), Duration.ofSeconds(3), 250, List.of());
    var failed = new Outcome(ATTACK, "3 sent", Duration.ofMillis(2), Duration.ofMillis(90), Duration.ofSeconds(3), 250, List.of("too slow", "gone"));
    assertThat(Attacks.table(List.of(passed, failed)))
        .contains("| `many` | much | 3 sent | 2.0 | 40.0 | 250 | 3.0 | passed |")
        .contains("| 90.0 | 250 | 3.0 | failed: too slow; gone |");
    assertThat(Attacks.inserted("a <!-- attacks -->\nold <!-- /attacks --> b", "new\n")).isEqualTo("a <!-- attacks -->\nnew\n<!-- /attacks --> b");
    assertThatThrownBy(() -> Attacks.inserted("a", "new")).hasMessageContaining("no place for the table");
  }

  @Test
  void percentilesAreOfSortedDelays() {
    var delays = IntStream.rangeClosed(1, 100).mapToObj(Duration::ofMillis).toList();
    assertThat(Neighbour.percentile(delays, 99)).isEqualTo(Duration.ofMillis(100));
    assertThat(Neighbour.percentile(delays, 50)).isEqualTo(Duration.ofMillis(51));
    assertThatThrownBy(() -> Neighbour.percentile(List.of(), 99)).hasMessage("nothing was measured");
  }
}
