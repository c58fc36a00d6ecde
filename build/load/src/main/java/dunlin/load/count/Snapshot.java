package dunlin.load.count;

import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/** Counts, reasons and times of one process at one moment. Those of several processes add up without loss. */
public record Snapshot(Map<Count, Long> counts, Map<Codes, Map<String, Long>> codes, Map<String, Long> failures, Map<Series, Histogram> times) {
  /** The snapshot before the run begins. */
  public static final Snapshot EMPTY = new Snapshot(Map.of(), Map.of(), Map.of(), Map.of());

  public long get(Count count) {
    return counts.getOrDefault(count, 0L);
  }

  public long sum(Count... of) {
    long sum = 0;
    for (Count count : of) sum += get(count);
    return sum;
  }

  public Map<String, Long> reasons(Codes kind) {
    return codes.getOrDefault(kind, Map.of());
  }

  public Histogram time(Series series) {
    Histogram histogram = times.get(series);
    return histogram == null ? LoopMeters.newHistogram() : histogram;
  }

  /** All deliveries, whatever their QoS. */
  public Histogram deliveries() {
    Histogram sum = LoopMeters.newHistogram();
    for (int qos = 0; qos <= 2; qos++) sum.add(time(Series.deliver(qos)));
    return sum;
  }

  /** This snapshot with one count increased. */
  public Snapshot plus(Count count, long number) {
    var more = new EnumMap<Count, Long>(Count.class);
    more.putAll(counts);
    more.merge(count, number, Long::sum);
    return new Snapshot(more, codes, failures, times);
  }

  public Snapshot plus(Snapshot other) {
    var sums = new EnumMap<Count, Long>(Count.class);
    for (Count count : Count.values()) sums.put(count, get(count) + other.get(count));
    var reasons = new EnumMap<Codes, Map<String, Long>>(Codes.class);
    for (Codes kind : Codes.values()) {
      var both = new TreeMap<>(reasons(kind));
      other.reasons(kind).forEach((name, number) -> both.merge(name, number, Long::sum));
      reasons.put(kind, both);
    }
    var failed = new TreeMap<>(failures);
    other.failures.forEach((name, number) -> failed.merge(name, number, Long::sum));
    var histograms = new EnumMap<Series, Histogram>(Series.class);
    for (Series series : Series.values()) {
      if (!times.containsKey(series) && !other.times.containsKey(series)) continue;
      Histogram sum = time(series).copy();
      sum.add(other.time(series));
      histograms.put(series, sum);
    }
    return new Snapshot(sums, reasons, failed, histograms);
  }
}
