package dunlin.load.report;

import dunlin.load.engine.Result;
import dunlin.load.engine.Verdict;
import java.util.Locale;

/** Writes a result as Markdown. */
public final class MarkdownReport {
  private MarkdownReport() {}

  public static String of(Result result) {
    var out = new StringBuilder();
    out.append("## %s%n%n%s%s.%n%n".formatted(result.name(), result.started(), result.interrupted() ? ", ended early" : ""));
    out.append("| | count | min | mean | p50 | p90 | p95 | p99 | p99.9 | max | rate/s |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (TimeRow row : TimeRow.of(result)) {
      out.append(
          String.format(
              Locale.ROOT, "| %s | %,d | %s | %s | %s | %s | %s | %s | %s | %s | %,.1f |%n", row.label(), row.count(), TimeRow.time(row.min()), TimeRow.time(row.mean()),
              TimeRow.time(row.p50()), TimeRow.time(row.p90()), TimeRow.time(row.p95()), TimeRow.time(row.p99()), TimeRow.time(row.p999()), TimeRow.time(row.max()), row.rate()));
    }
    out.append("\n| messages | QoS 0 | QoS 1 | QoS 2 |\n|---|---:|---:|---:|\n");
    for (Facts.ByQos row : Facts.messages(result)) out.append(String.format(Locale.ROOT, "| %s | %,d | %,d | %,d |%n", row.label(), row.qos0(), row.qos1(), row.qos2()));
    out.append('\n');
    for (Facts.Numbered other : Facts.others(result)) out.append(String.format(Locale.ROOT, "- %s: %,d%n", other.label(), other.number()));
    for (Facts.Numbered trouble : Facts.troubles(result.snapshot())) out.append(String.format(Locale.ROOT, "- %s: %,d%n", trouble.label(), trouble.number()));
    for (String line : Facts.resources(result)) out.append("- ").append(line).append('\n');
    for (String missing : result.missing()) out.append("- **Missing:** ").append(missing).append('\n');
    for (String warning : result.warnings()) out.append("- **Warning:** ").append(warning).append('\n');
    for (Verdict verdict : result.verdicts()) {
      out.append("- %s: `%s` (was %s)%n".formatted(verdict.met() ? "met" : "**not met**", verdict.expectation(), TextReport.plain(verdict.value())));
    }
    return out.toString();
  }
}
