package dunlin.placement;

import java.time.Duration;

/** Carries actions out: by calls to the node that an action names, and there by calls to its Raft server. */
public interface RangeAdmin {
  /** How an action ended, as far as the caller knows. */
  sealed interface Outcome {
    /** The action has taken effect, now or before. */
    record Done() implements Outcome {}

    /** The action was based on an old state, and did nothing. */
    record Outdated(String why) implements Outcome {}

    /** The action may have taken effect, or may still. Reports will show it. */
    record Unknown(String why) implements Outcome {}
  }

  /**
   * Blocks; for a virtual thread. Never throws for failures of other nodes.
   *
   * @param leadership the term in which the caller leads the meta group. The node follows this term before it does
   *     anything, and refuses a term lower than one that it has heard of
   */
  Outcome carryOut(Action action, long leadership, Duration deadline);
}
