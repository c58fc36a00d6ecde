package dunlin.load.report;

import dunlin.load.engine.Result;
import java.util.Locale;

/** Writes a result for spreadsheets: the table of times in microseconds, and all counts. */
public final class CsvReport {
  private CsvReport() {}

  public static String of(Result result) {
    var out = new StringBuilder("name,count,min_us,mean_us,p50_us,p90_us,p95_us,p99_us,p999_us,max_us,rate_per_s\n");
    for (TimeRow row : TimeRow.of(result)) {
      out.append(
          String.format(
              Locale.ROOT, "%s,%d,%d,%.1f,%d,%d,%d,%d,%d,%d,%.1f%n", row.key(), row.count(), row.min(), row.mean(), row.p50(), row.p90(), row.p95(), row.p99(), row.p999(),
              row.max(), row.rate()));
    }
    for (Facts.ByQos row : Facts.messages(result)) {
      String key = row.label().replace(' ', '-');
      out.append("%s-0,%d,,,,,,,,,%n%s-1,%d,,,,,,,,,%n%s-2,%d,,,,,,,,,%n".formatted(key, row.qos0(), key, row.qos1(), key, row.qos2()));
    }
    for (Facts.Numbered trouble : Facts.troubles(result.snapshot())) out.append("\"%s\",%d,,,,,,,,,%n".formatted(trouble.label().replace('"', '\''), trouble.number()));
    return out.toString();
  }
}
