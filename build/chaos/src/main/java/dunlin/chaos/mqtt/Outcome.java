package dunlin.chaos.mqtt;

import dunlin.chaos.Need;
import dunlin.chaos.mqtt.check.Violation;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The outcome of one row.
 *
 * @param verdict passed, FAILED or skipped
 * @param problems problems beside the checker's findings
 * @param mutants how many mutants could be made from this row's history, and which of them the checker has not found
 */
public record Outcome(
    Row row, long seed, String verdict, List<Violation> violations, List<String> problems, Map<String, String> figures, int mutants,
    List<String> unfound) {
  static final String PASSED = "passed";
  static final String FAILED = "FAILED";
  static final String SKIPPED = "skipped";

  public boolean good() {
    return !verdict.equals(FAILED);
  }

  public static Outcome skipped(Row row, long seed) {
    return new Outcome(row, seed, SKIPPED, List.of(), List.of("it needs " + row.needs().stream().map(Need::toString).collect(Collectors.joining(", "))), Map.of(), 0, List.of());
  }
}
