package dunlin.placement;

import java.time.Duration;

/** Carries actions out: by calls to the node that an action names, and there by calls to its Raft server. */
public interface RangeAdmin {
  /** How an action ended, as far as can be told. */
  sealed interface Outcome {
    /** It has its effect, or had it before. */
    record Done() implements Outcome {}

    /** It was decided on what is no longer so, and did nothing. */
    record Outdated(String why) implements Outcome {}

    /** It may or may not have, or may yet take, effect. Reports will tell. */
    record Unknown(String why) implements Outcome {}
  }

  /**
   * Blocks; for a virtual thread. Never throws for what other nodes do.
   *
   * @param leadership the term in which the caller leads the meta group. The node takes it for its own reports before it does
   *     anything, and does nothing for a term below one that it has heard of
   */
  Outcome carryOut(Action action, long leadership, Duration deadline);
}
