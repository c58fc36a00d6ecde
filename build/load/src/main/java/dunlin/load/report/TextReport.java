package dunlin.load.report;

import dunlin.load.engine.Point;
import dunlin.load.engine.Result;
import dunlin.load.engine.Verdict;
import java.util.Locale;

/** The output in a terminal: a line each second, and tables at the end. */
public final class TextReport {
  private TextReport() {}

  /** The line of one second. */
  public static String line(String step, Point point) {
    String times = point.p99() < 0 ? "" : "  p50 %s  p99 %s  max %s".formatted(TimeRow.time(point.p50()), TimeRow.time(point.p99()), TimeRow.time(point.max()));
    String errors = point.errors() > 0 ? String.format(Locale.ROOT, "  errors %,.0f/s", point.errors()) : "";
    return String.format(
        Locale.ROOT, "%6.0f s  %-12s  connected %,d (%,.0f/s)  out %,.0f/s  in %,.0f/s%s%s", point.second(), step, point.connected(), point.connects(), point.published(),
        point.received(), times, errors);
  }

  public static String table(Result result) {
    var out = new StringBuilder();
    add(out, "%n%s: %.1f s%s, of them %.1f s with traffic%n%n", result.name(), seconds(result.lasted()), result.interrupted() ? ", ended early" : "", seconds(result.traffic()));
    add(out, "%-22s %12s %9s %9s %9s %9s %9s %9s %9s %9s %12s%n", "", "count", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "rate/s");
    for (TimeRow row : TimeRow.of(result)) {
      add(
          out, "%-22s %,12d %9s %9s %9s %9s %9s %9s %9s %9s %,12.1f%n", row.label(), row.count(), TimeRow.time(row.min()), TimeRow.time(row.mean()), TimeRow.time(row.p50()),
          TimeRow.time(row.p90()), TimeRow.time(row.p95()), TimeRow.time(row.p99()), TimeRow.time(row.p999()), TimeRow.time(row.max()), row.rate());
    }
    add(out, "%n%-22s %14s %14s %14s%n", "messages", "QoS 0", "QoS 1", "QoS 2");
    for (Facts.ByQos row : Facts.messages(result)) add(out, "%-22s %,14d %,14d %,14d%n", row.label(), row.qos0(), row.qos1(), row.qos2());
    out.append('\n');
    for (Facts.Numbered other : Facts.others(result)) add(out, "%s: %,d%n", other.label(), other.number());
    for (Facts.Numbered trouble : Facts.troubles(result.snapshot())) add(out, "%s: %,d%n", trouble.label(), trouble.number());
    for (String line : Facts.resources(result)) add(out, "%s%n", line);
    for (String missing : result.missing()) add(out, "MISSING: %s%n", missing);
    for (String warning : result.warnings()) add(out, "Warning: %s%n", warning);
    for (Verdict verdict : result.verdicts()) add(out, "%s  %s (was %s)%n", verdict.met() ? "met " : "NOT MET", verdict.expectation(), plain(verdict.value()));
    return out.toString();
  }

  static String plain(double value) {
    return value == Math.rint(value) ? String.format(Locale.ROOT, "%,.0f", value) : String.format(Locale.ROOT, "%,.1f", value);
  }

  static double seconds(java.time.Duration duration) {
    return duration.toNanos() / 1e9;
  }

  @com.google.errorprone.annotations.FormatMethod
  private static void add(StringBuilder out, String format, Object... values) {
    out.append(String.format(Locale.ROOT, format, values));
  }
}
