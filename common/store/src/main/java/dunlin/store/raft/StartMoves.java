package dunlin.store.raft;

import dunlin.store.RangeProgress;
import dunlin.store.RangeProgress.Step;
import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;

/** What grows while a start gets on. */
final class StartMoves {
  /*
   * Owner: the thread that waits for the start.
   * Rows and entries are counted. RocksDB opening its files and Ratis reading its log do not say how far they are, so while a range is at
   * that, each look counts as a move, for FILES_MAX from the first look on. Not while another range reads rows: Ratis begins with the logs
   * when it has all rows, and rows that are never read must not be waited for that long.
   */
  static final Duration FILES_MAX = Duration.ofMinutes(30);

  private final LongSupplier nanoTime;
  private final long begunNanos;
  private long looks;

  StartMoves(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    begunNanos = nanoTime.getAsLong();
  }

  long moved(List<RangeProgress> ranges) {
    boolean inFiles = any(ranges, Step.FILES) || (any(ranges, Step.LOG) && !any(ranges, Step.ROWS));
    if (inFiles && nanoTime.getAsLong() - begunNanos < FILES_MAX.toNanos()) looks++;
    return looks + ranges.stream().mapToLong(RangeProgress::moved).sum();
  }

  private static boolean any(List<RangeProgress> ranges, Step step) {
    return ranges.stream().anyMatch(range -> range.step() == step);
  }
}
