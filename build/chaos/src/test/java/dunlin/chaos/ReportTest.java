package dunlin.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.history.Checker.Violation;
import dunlin.chaos.history.Checker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ReportTest {
  private static final Fault FAULT = Fault.of("kill-leader", "kill -9 of the leader", Set.of(), _ -> {});

  private static Result result(Result.Verdict verdict, Map<Violation, Long> counts) {
    var findings = new Checker.Findings(1000, 2, 3, 1, counts, counts.isEmpty() ? List.of() : List.of("a \"sample\"\n"));
    return new Result(FAULT, 5, verdict, List.of(3_000_000_000L, 1_000_000_000L, 2_000_000_000L), Optional.of(findings), List.of());
  }

  @Test
  void aRowShowsTheOutcomeAndTheGaps() {
    String table = Report.markdown(42, List.of(result(Result.Verdict.PASSED, Map.of())));

    assertThat(table)
        .contains("Seed 42.")
        .contains("| kill-leader | kill -9 of the leader | 3 | 1000 | 2 | 3 (1) | 0 | 0 | 0 | 2000 | 3000 | passed |")
        .doesNotContain("--only");
  }

  @Test
  void aViolationIsReportedWithTheCommandThatRepeatsIt() {
    var broken = result(Result.Verdict.VIOLATED, Map.of(Violation.LOST, 2L, Violation.DOUBLED, 1L, Violation.STALE, 4L));

    assertThat(Report.markdown(42, List.of(broken)))
        .contains("| 2 | 1 | 4 | 2000 | 3000 | VIOLATED |")
        .contains("--only kill-leader --seed 42")
        .contains("- a \"sample\"");
    assertThat(Report.json(42, List.of(broken)))
        .contains("\"fault\": \"kill-leader\", \"verdict\": \"violated\", \"seed\": 5, \"gaps_ms\": [3000, 1000, 2000]")
        .contains("\"lost\": 2, \"doubled\": 1")
        .contains("\"said\": [\"a \\\"sample\\\"\\u000a\"]");
  }

  @Test
  void theCommandLineIsParsedAndErrorsAreNamed() {
    var request = Chaos.parse(List.of("--only", "kill-all,wiped", "--rounds", "7"), 99);
    assertThat(request.only()).containsExactly("kill-all", "wiped");
    assertThat(request.conditions().rounds()).isEqualTo(7);
    assertThat(request.seed()).isEqualTo(99);
    assertThat(Chaos.parse(List.of("--seed", "4"), 99).seed()).isEqualTo(4);
    assertThat(request.conditions().logCut()).isEqualTo(NodeOptions.LogCut.OFTEN);
    assertThat(request.conditions().nodeFlags()).isEmpty();
    var tuned =
        List.of(
            "--usual-log", "--election-millis", "300", "--writes-per-second", "1000", "--steady-seconds", "8", "--node-flag", "-Xa",
            "--node-flag", "-Xb c");
    assertThat(Chaos.parse(tuned, 99).conditions())
        .isEqualTo(
            new Conditions(
                3, Duration.ofMillis(300), NodeOptions.LogCut.USUAL, 1000, Duration.ofSeconds(8), List.of("-Xa", "-Xb c")));
    assertThat(Chaos.parse(List.of("--short"), 99).only()).contains("kill-leader", "kill-all", "pause-leader");

    assertThatThrownBy(() -> Chaos.parse(List.of("--only", "kill-everyone"), 1)).hasMessage("there is no fault kill-everyone");
    assertThatThrownBy(() -> Chaos.parse(List.of("--seed"), 1)).hasMessage("--seed needs a value");
    assertThatThrownBy(() -> Chaos.parse(List.of("--sede", "1"), 1)).hasMessage("there is no option --sede");
    assertThatThrownBy(() -> Chaos.parse(List.of("--rounds", "0"), 1)).hasMessage("--rounds is 0");
    assertThatThrownBy(() -> Chaos.parse(List.of("--writes-per-second", "0"), 1)).hasMessage("--writes-per-second is 0");
    assertThatThrownBy(() -> Chaos.parse(List.of("--steady-seconds", "-1"), 1)).hasMessage("--steady-seconds is below 0");
  }

  @Test
  void everyFaultHasItsOwnName() {
    assertThat(Faults.ALL.stream().map(Fault::name)).doesNotHaveDuplicates().allMatch(name -> name.matches("[a-z-]+"));
  }
}
