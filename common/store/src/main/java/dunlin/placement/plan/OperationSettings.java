package dunlin.placement.plan;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the meta group's leader does automatically, and within which limits.
 *
 * @param lagMax entries that a voter may be behind to be given the leadership
 * @param unflushedMax bytes that a replica may have in memory only when its range is split
 * @param automaticMax operations at a time that the cluster began automatically
 * @param replicas how many voters a range gets as soon as there are nodes for them; 0 for never
 * @param splits when ranges are split
 * @param replaceAfter after how much silence of a node its replicas are replaced on other nodes; null for never
 * @param balance whether leaderships are spread evenly
 */
public record OperationSettings(
    long lagMax,
    long unflushedMax,
    int automaticMax,
    int replicas,
    SplitSettings splits,
    @Nullable Duration replaceAfter,
    boolean balance) {
  private static final long IN_STEP_MAX = 50;

  public OperationSettings {
    if (lagMax < 0 || unflushedMax < 0 || automaticMax < 0 || replicas < 0)
      throw new IllegalArgumentException("a bound of operations is negative");
  }

  public static OperationSettings defaults() {
    return new OperationSettings(1000, 8L << 20, 4, 3, SplitSettings.defaults(), null, true);
  }

  /**
   * Entries by which the rows of a voter may be behind those of the leader for it to be given the leadership. It is more than {@code lagMax}, since the reports of two
   * nodes are of different times.
   */
  long appliedLagMax() {
    return 10 * lagMax;
  }

  /**
   * Entries by which a voter may be behind to be given a leadership only so that leaderships are spread: about what is in flight to one that keeps up. Callers would
   * wait while a slower one catches up.
   */
  long inStepMax() {
    return Math.min(lagMax, IN_STEP_MAX);
  }

  /** After how much silence a node's replicas are replaced; empty for never. */
  public Optional<Duration> replaceDeadAfter() {
    return Optional.ofNullable(replaceAfter);
  }
}
