package dunlin.cluster;

import dunlin.placement.NodeReport.Load;
import dunlin.placement.plan.CutChoice;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.KeyInterval;
import dunlin.store.RangeLoad;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** The load of one range, as measured by its leader over one term and one interval of keys. */
final class LeaderLoad {
  /*
   * Owner: the thread of RangeLoads.
   * Bounds: SPANS + 1 points of time.
   *
   * A new one is made for each change of term or keys, so nothing from before counts. A rate is known only after SPANS
   * measurements, and the halves of a split are split again only for their own size and load.
   */
  /** The measurements that a rate is averaged over: a burst is no reason to split. */
  static final int SPANS = 10;

  private record Point(long nanos, long operations) {}

  private final long epoch;
  private final long term;
  private final KeyInterval keys;
  private final ToIntFunction<byte[]> together;
  private final SplitSettings limits;
  private final Deque<Point> points = new ArrayDeque<>();

  private byte @Nullable [] middle;
  private int untilSearch;

  /** @param together see {@link CutChoice} */
  LeaderLoad(long epoch, long term, KeyInterval keys, ToIntFunction<byte[]> together, SplitSettings limits) {
    this.epoch = epoch;
    this.term = term;
    this.keys = keys;
    this.together = together;
    this.limits = limits;
  }

  boolean isOf(long presentEpoch, long presentTerm) {
    return epoch == presentEpoch && term == presentTerm;
  }

  Load measure(RangeLoad range, long nowNanos) {
    long bytes = range.bytes(keys);
    long rate = rate(nowNanos, range.operations());
    var choice = new CutChoice(keys, together);
    boolean indivisible = false;
    if (limits.nearlyLarge(bytes)) {
      if (--untilSearch < 0) search(range, choice, bytes);
      indivisible = middle == null && limits.large(bytes);
    }
    byte[] busiest = null;
    if (limits.nearlyBusy(bytes, rate)) {
      var sample = range.writtenLately();
      busiest = choice.byLoad(sample).orElse(null);
      indivisible |= busiest == null && limits.busy(bytes, rate) && choice.tells(sample);
    }
    return new Load(bytes, 0, rate, middle, busiest, indivisible);
  }

  /**
   * Looks for a cut. This reads some blocks of the range, so it does not run with each measurement, and runs less often
   * when nothing is found.
   */
  private void search(RangeLoad range, CutChoice choice, long bytes) {
    untilSearch = SPANS;
    middle = middle(range, keys, choice, bytes).orElse(null);
  }

  /** The cut with about half of the bytes below it. Reads some blocks of the range. */
  static Optional<byte[]> middle(RangeLoad range, KeyInterval keys, CutChoice choice, long bytes) {
    return range.middle(keys).flatMap(key -> choice.byBytes(key, cut -> range.bytes(keys.below(cut)), bytes));
  }

  private long rate(long nowNanos, long operations) {
    points.addLast(new Point(nowNanos, operations));
    if (points.size() <= SPANS) return 0;
    var oldest = points.removeFirst();
    double seconds = Math.max(1, nowNanos - oldest.nanos) / 1e9;
    return Math.round((operations - oldest.operations) / seconds);
  }
}
