package dunlin.chaos;

import dunlin.chaos.history.Checker.Findings;
import java.util.List;
import java.util.Optional;

/**
 * The result of one trial.
 *
 * @param gapsNanos for each round the longest time without an acknowledged write
 * @param findings empty when the check was not reached
 * @param problems problems beside the checker's findings
 */
record Result(Fault fault, long seed, Verdict verdict, List<Long> gapsNanos, Optional<Findings> findings, List<String> problems) {
  /** How a trial ended. */
  enum Verdict {
    PASSED("passed", true),
    VIOLATED("VIOLATED", false),
    BROKEN("BROKEN", false),
    SKIPPED("skipped", true),
    /** Without fsync the suite has found the expected loss. */
    FOUND("loss found, as it must be", true),
    /** The expected loss was not found, so the other rows about power prove nothing either. */
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

  /** The percentile of the gaps, in milliseconds. */
  Optional<Long> gapMillis(int percent) {
    if (gapsNanos.isEmpty()) return Optional.empty();
    var sorted = gapsNanos.stream().sorted().toList();
    int rank = Math.max(1, (int) Math.ceil(sorted.size() * percent / 100.0));
    return Optional.of(sorted.get(rank - 1) / 1_000_000);
  }
}
