package dunlin.store.raft;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Decides which commands a range accepts, at the moment when they are applied, so the decision is the same on every
 * replica. A command names the epoch that its caller expects. Another epoch than the range's own, or a key outside of
 * the range, is refused, and the answer is the descriptor. So an old map, an old leader or a delayed entry can do no
 * harm.
 *
 * <p>A split is a command too. From its index on, this range ends at the cut and has the next epoch; the rest belongs to the
 * child, which each replica makes from its own rows at this index.
 */
public final class RangeFence {
  /** The outcome of a split, the same on each replica. */
  public sealed interface SplitOutcome {
    /** The rows from the cut upwards become the child's; both descriptors are written with them. */
    record Cut(RangeDescriptor lower, RangeDescriptor upper) implements SplitOutcome {}

    /** Based on another epoch, or not possible at this key: nothing happens. */
    record Stale(RangeDescriptor now) implements SplitOutcome {}
  }

  private final RangeDescriptor range;

  /** @param range the descriptor in the range's own rows */
  public RangeFence(RangeDescriptor range) {
    this.range = range;
  }

  public RangeDescriptor range() {
    return range;
  }

  /** Whether a command with this key, from a caller that knows this epoch, is applied. */
  public boolean admits(long epoch, byte[] key) {
    return epoch == range.epoch() && range.keys().contains(key);
  }

  /** The same for a command on several keys. */
  public boolean admits(long epoch, KeyInterval keys) {
    return epoch == range.epoch() && range.keys().contains(keys);
  }

  /**
   * @param epoch the epoch that the split is based on
   * @param term and index: of the entry that holds the split
   */
  public SplitOutcome split(long epoch, byte[] cut, UUID child, long term, long index) {
    if (epoch != range.epoch() || !range.keys().splitsAt(cut) || child.equals(range.id())) return new SplitOutcome.Stale(range);
    return new SplitOutcome.Cut(range.lower(cut), range.upper(cut, child, new Origin(range.id(), term, index)));
  }

  /**
   * Whether a replica that applies a split makes the child's rows. Not when they exist: an entry may be applied again
   * after a crash, and the child may have applied entries of its own since.
   *
   * @param present the descriptor in the child's rows, or null when this node has none
   * @throws IllegalStateException when the rows there came from elsewhere
   */
  public static boolean makesChild(@Nullable RangeDescriptor present, RangeDescriptor upper) {
    if (present == null) return true;
    requireOrigin(present, upper.origin().orElseThrow());
    return false;
  }

  /**
   * Checks the rows against the first entry of a child's own log, which names their origin. A replica with other rows,
   * or none, must not continue.
   *
   * @throws IllegalStateException when these rows are not of this origin
   */
  public static void requireOrigin(RangeDescriptor present, Origin origin) {
    if (!origin.equals(present.split()))
      throw new IllegalStateException("range " + present.id() + " has rows of origin " + present.split() + ", not " + origin);
  }
}
