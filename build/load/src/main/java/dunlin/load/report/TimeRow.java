package dunlin.load.report;

import dunlin.load.count.Series;
import dunlin.load.engine.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** One line of the table of times, in microseconds. */
record TimeRow(String key, String label, String meaning, long count, long min, double mean, long p50, long p90, long p95, long p99, long p999, long max, double rate) {
  /** A line for each series that is not empty. */
  static List<TimeRow> of(Result result) {
    double seconds = Math.max(1e-3, result.traffic().toNanos() / 1e9);
    var rows = new ArrayList<TimeRow>();
    for (Series series : Series.values()) {
      Histogram times = result.snapshot().time(series);
      if (times.getTotalCount() > 0) rows.add(of(series, times, seconds));
    }
    return rows;
  }

  private static TimeRow of(Series series, Histogram times, double seconds) {
    return new TimeRow(
        series.name().toLowerCase(Locale.ROOT).replace('_', '-'),
        series.label(),
        series.meaning(),
        times.getTotalCount(),
        times.getMinValue(),
        times.getMean(),
        times.getValueAtPercentile(50),
        times.getValueAtPercentile(90),
        times.getValueAtPercentile(95),
        times.getValueAtPercentile(99),
        times.getValueAtPercentile(99.9),
        times.getMaxValue(),
        times.getTotalCount() / seconds);
  }

  static String time(long micros) {
    return time((double) micros);
  }

  /** Formats a time for reading: 85 µs, 1.25 ms, 3.1 s. */
  static String time(double micros) {
    if (micros < 1_000) return String.format(Locale.ROOT, "%.0f µs", micros);
    if (micros < 100_000) return String.format(Locale.ROOT, "%.2f ms", micros / 1e3);
    if (micros < 1_000_000) return String.format(Locale.ROOT, "%.0f ms", micros / 1e3);
    return String.format(Locale.ROOT, "%.2f s", micros / 1e6);
  }
}
