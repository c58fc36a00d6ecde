package dunlin.load.engine;

import dunlin.load.count.Count;
import dunlin.load.count.Series;
import dunlin.load.count.Snapshot;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** Checks whether a process of the tool was at its own limit. */
public final class SelfCheck {
  private static final double LATE_SHARE_MAX = 0.01;
  private static final long LAG_MICROS_MAX = 20_000;

  private SelfCheck() {}

  /** CPU time that this process has taken, in seconds. */
  public static double cpuSeconds() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean bean ? bean.getProcessCpuTime() / 1e9 : 0;
  }

  /**
   * Reasons why the figures may show the tool's limits instead of the broker's.
   *
   * @param loops 0 for one for each processor
   */
  public static List<String> warnings(Snapshot snapshot, double cpu, Duration lasted, int loops) {
    var warnings = new ArrayList<String>();
    long ticks = snapshot.get(Count.TICKS);
    long late = snapshot.get(Count.LATE_TICKS);
    if (ticks > 0 && late > LATE_SHARE_MAX * ticks) {
      warnings.add(String.format(Locale.ROOT, "The tool itself was at its limit: %,d of %,d ticks came more than 20 ms late. Use more processes, machines or processors.", late, ticks));
    }
    int processors = loops > 0 ? loops : Runtime.getRuntime().availableProcessors();
    double cores = cpu / Math.max(0.1, lasted.toNanos() / 1e9);
    if (lasted.toSeconds() >= 5 && cores > 0.9 * processors) {
      warnings.add(String.format(Locale.ROOT, "The tool itself was at its limit: it took %.1f processors, and has %d event loops.", cores, processors));
    }
    Histogram lag = snapshot.time(Series.SEND_LAG);
    if (lag.getTotalCount() > 0 && lag.getValueAtPercentile(99) > LAG_MICROS_MAX) {
      warnings.add(
          String.format(
              Locale.ROOT, "One message in a hundred was sent %,d ms late or more: the tool, its sockets or the inflight windows were full. Times count from when it was due.",
              lag.getValueAtPercentile(99) / 1_000));
    }
    long unchecked = snapshot.get(Count.UNCHECKED);
    if (unchecked > 0) {
      warnings.add(String.format(Locale.ROOT, "The books were full: %,d messages were received and not checked for loss, duplicates and order.", unchecked));
    }
    return warnings;
  }
}
