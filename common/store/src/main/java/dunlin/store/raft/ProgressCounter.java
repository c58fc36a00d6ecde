package dunlin.store.raft;

import dunlin.store.RangeProgress;
import dunlin.store.RangeProgress.Step;
import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;

/** Measures the progress of a start. */
final class ProgressCounter {
  /*
   * Owner: the thread that waits for the start. Rows and entries are counted. RocksDB opening its files and Ratis
   * reading its log show no progress, so while a range is in one of these steps, each look counts as progress, for
   * FILES_MAX from the first look. Not while another range reads rows: Ratis reads the logs only after all rows are
   * read, and a stalled read must be noticed sooner.
   */
  static final Duration FILES_MAX = Duration.ofMinutes(30);

  private final LongSupplier nanoTime;
  private final long begunNanos;
  private long looks;

  ProgressCounter(LongSupplier nanoTime) {
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
