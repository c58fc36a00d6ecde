package dunlin.load.report;

import dunlin.load.client.Tally.Loss;
import dunlin.load.count.Count;
import dunlin.load.count.Series;
import dunlin.load.engine.BrokerUse;
import dunlin.load.engine.Point;
import dunlin.load.engine.Result;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** Writes a result for programs with complete histograms, so that results can be merged and compared. Times are in microseconds. */
public final class JsonReport {
  /** Incremented by incompatible changes. */
  static final int FORMAT = 1;

  private JsonReport() {}

  public static String of(Result result) {
    return JsonWriter.write(tree(result));
  }

  static Map<String, Object> tree(Result result) {
    Map<String, Object> root = summary(result);
    root.put("series", series(result.points()));
    var distributions = new LinkedHashMap<String, Object>();
    for (Series series : Series.values()) {
      Histogram histogram = result.snapshot().time(series);
      if (histogram.getTotalCount() > 0) distributions.put(key(series), distribution(histogram));
    }
    root.put("distributions", distributions);
    var histograms = new LinkedHashMap<String, Object>();
    for (Series series : Series.values()) {
      Histogram histogram = result.snapshot().time(series);
      if (histogram.getTotalCount() > 0) histograms.put(key(series), encode(histogram));
    }
    root.put("histograms", histograms);
    return root;
  }

  /** The tables, without the data of plots and without histograms. */
  static Map<String, Object> summary(Result result) {
    var root = new LinkedHashMap<String, Object>();
    root.put("format", FORMAT);
    root.put("name", result.name());
    root.put("started", result.started().toString());
    root.put("seconds", TextReport.seconds(result.lasted()));
    root.put("trafficSeconds", TextReport.seconds(result.traffic()));
    root.put("endedEarly", result.interrupted());
    var times = new LinkedHashMap<String, Object>();
    for (TimeRow row : TimeRow.of(result)) times.put(row.key(), time(row));
    root.put("times", times);
    var messages = new LinkedHashMap<String, Object>();
    for (Facts.ByQos row : Facts.messages(result)) messages.put(row.label(), List.of(row.qos0(), row.qos1(), row.qos2()));
    root.put("messages", messages);
    var counts = new LinkedHashMap<String, Object>();
    for (Count count : Count.values()) counts.put(count.name().toLowerCase(Locale.ROOT).replace('_', '-'), result.snapshot().get(count));
    root.put("counts", counts);
    root.put("troubles", numbered(Facts.troubles(result.snapshot())));
    root.put("losses", result.tally().losses().stream().map(JsonReport::loss).toList());
    root.put("offers", result.offers().stream().map(offer -> offer.line()).toList());
    root.put("toolCpuSeconds", result.toolCpuSeconds());
    BrokerUse broker = result.broker();
    if (broker != null) {
      root.put("broker", Map.of("cpuSeconds", broker.cpuSeconds(), "bytesBefore", broker.residentBytesBefore(), "bytesAfter", broker.residentBytesAfter()));
    }
    root.put("warnings", result.warnings());
    root.put("notes", result.notes());
    root.put("missing", result.missing());
    var verdicts = new ArrayList<Object>();
    result.verdicts().forEach(verdict -> verdicts.add(ordered("expectation", verdict.expectation(), "value", verdict.value(), "met", verdict.met())));
    root.put("expectations", verdicts);
    return root;
  }

  private static String key(Series series) {
    return series.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Percentiles and their times, with smaller steps towards 100, which is left out. */
  private static List<Object> distribution(Histogram histogram) {
    var pairs = new ArrayList<Object>();
    for (HistogramIterationValue step : histogram.percentiles(4)) {
      if (step.getPercentileLevelIteratedTo() < 100) pairs.add(List.of(step.getPercentileLevelIteratedTo(), step.getValueIteratedTo()));
    }
    return pairs;
  }

  private static Map<String, Object> time(TimeRow row) {
    return ordered(
        "label", row.label(), "meaning", row.meaning(), "count", row.count(), "min", row.min(), "mean", row.mean(), "p50", row.p50(), "p90", row.p90(), "p95", row.p95(), "p99",
        row.p99(), "p999", row.p999(), "max", row.max(), "rate", row.rate());
  }

  private static Map<String, Object> loss(Loss loss) {
    return ordered("publisher", loss.publisher(), "topic", loss.topic(), "receiver", loss.receiver(), "qos", loss.qos(), "sent", loss.sent(), "lost", loss.lost());
  }

  static Map<String, Object> numbered(List<Facts.Numbered> numbers) {
    var map = new LinkedHashMap<String, Object>();
    for (Facts.Numbered one : numbers) map.put(one.label(), one.number());
    return map;
  }

  /** The points as columns, for a plot. */
  private static Map<String, Object> series(List<Point> points) {
    return ordered(
        "second", points.stream().map(Point::second).toList(),
        "connected", points.stream().map(Point::connected).toList(),
        "connects", points.stream().map(Point::connects).toList(),
        "published", points.stream().map(Point::published).toList(),
        "received", points.stream().map(Point::received).toList(),
        "errors", points.stream().map(Point::errors).toList(),
        "p50", points.stream().map(Point::p50).toList(),
        "p90", points.stream().map(Point::p90).toList(),
        "p99", points.stream().map(Point::p99).toList(),
        "max", points.stream().map(Point::max).toList());
  }

  static Map<String, Object> ordered(Object... namesAndValues) {
    var map = new LinkedHashMap<String, Object>();
    for (int i = 0; i < namesAndValues.length; i += 2) map.put((String) namesAndValues[i], namesAndValues[i + 1]);
    return map;
  }

  /** A histogram in HdrHistogram's compressed format, in Base64. */
  static String encode(Histogram histogram) {
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(buffer);
    byte[] bytes = new byte[length];
    buffer.flip().get(bytes);
    return Base64.getEncoder().encodeToString(bytes);
  }
}
