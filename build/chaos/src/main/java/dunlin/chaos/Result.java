package dunlin.chaos;

import dunlin.chaos.Checker.Findings;
import java.util.List;
import java.util.Optional;

/**
 * What came of one trial.
 *
 * @param gapsNanos for each round the longest time without an acknowledged write
 * @param findings empty when it did not come to the check
 * @param problems what was wrong beside what the checker has found
 */
record Result(Fault fault, long seed, Verdict verdict, List<Long> gapsNanos, Optional<Findings> findings, List<String> problems) {
  /** How a trial ended. */
  enum Verdict {
    PASSED("passed", true),
    VIOLATED("VIOLATED", false),
    BROKEN("BROKEN", false),
    SKIPPED("skipped", true),
    /** Without fsync the suite has found the loss that there must be. */
    FOUND("loss found, as it must be", true),
    /** It has not: then its other rows about power say nothing either. */
    BLIND("BLIND: no loss found", false);

    final String text;
    final boolean good;

    Verdict(String text, boolean good) {
      this.text = text;
      this.good = good;
    }
  }

  Result {
    gapsNanos = List.copyOf(gapsNanos);
    problems = List.copyOf(problems);
  }

  static Result skipped(Fault fault, long seed) {
    return new Result(fault, seed, Verdict.SKIPPED, List.of(), Optional.empty(), List.of("needs " + fault.needs()));
  }

  static Result broken(Fault fault, long seed, List<Long> gapsNanos, List<String> problems) {
    return new Result(fault, seed, Verdict.BROKEN, gapsNanos, Optional.empty(), problems);
  }

  /** The gap that so many in a hundred rounds do not exceed, in milliseconds. */
  Optional<Long> gapMillis(int percent) {
    if (gapsNanos.isEmpty()) return Optional.empty();
    var sorted = gapsNanos.stream().sorted().toList();
    int rank = Math.max(1, (int) Math.ceil(sorted.size() * percent / 100.0));
    return Optional.of(sorted.get(rank - 1) / 1_000_000);
  }
}
