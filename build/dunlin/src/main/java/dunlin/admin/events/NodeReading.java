package dunlin.admin.events;

import dunlin.admin.api.ApiAnswers.Times;
import dunlin.runtime.metrics.LatencyHistogramMXBean;
import dunlin.runtime.metrics.NodeBeans;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * What the meters of a node show at one moment, since the start; two of these make rates.
 *
 * @param nanos when it was read, by the monotonic clock
 * @param dropped by hop and reason; without those of which there are none
 * @param times histograms by their names
 */
record NodeReading(long nanos, double publishesIn, double publishesOut, double bytesIn, double bytesOut, Map<String, Long> dropped, Map<String, Histogram> times) {
  private static final double HALF = 0.5;
  private static final double NINETY_NINE = 0.99;
  private static final Histogram NONE = new Histogram(0, Map.of());

  /** @param atMost how many were measured up to each bound in milliseconds, in their order */
  record Histogram(long count, Map<Long, Long> atMost) {}

  NodeReading {
    dropped = Map.copyOf(dropped);
    times = Map.copyOf(times);
  }

  static NodeReading now(MeterRegistry registry, NodeBeans beans) {
    Map<String, Double> counts = new HashMap<>();
    Map<String, Long> dropped = new HashMap<>();
    for (Meter meter : registry.getMeters()) {
      if (!(meter instanceof FunctionCounter counter)) continue;
      Meter.Id id = meter.getId();
      switch (id.getName()) {
        case "dunlin.received", "dunlin.sent" -> counts.merge(id.getName(), counter.count(), Double::sum);
        case "dunlin.packets.received", "dunlin.packets.sent" -> {
          if (Objects.equals(id.getTag("type"), "publish")) counts.merge(id.getName(), counter.count(), Double::sum);
        }
        case "dunlin.messages.dropped" -> {
          long count = (long) counter.count();
          if (count > 0) dropped.merge(id.getTag("hop") + " " + id.getTag("reason"), count, Long::sum);
        }
        default -> {}
      }
    }
    Map<String, Histogram> times = new HashMap<>();
    beans.all(LatencyHistogramMXBean.class, "name").forEach((name, bean) -> times.put(name, new Histogram(bean.getCount(), bean.getAtMostMillis())));
    return new NodeReading(
        System.nanoTime(), counts.getOrDefault("dunlin.packets.received", 0.0), counts.getOrDefault("dunlin.packets.sent", 0.0),
        counts.getOrDefault("dunlin.received", 0.0), counts.getOrDefault("dunlin.sent", 0.0), dropped, times);
  }

  /** The times of a histogram between an earlier reading and this one. */
  Times timesSince(NodeReading earlier, String name) {
    Histogram now = times.getOrDefault(name, NONE);
    Histogram then = earlier.times.getOrDefault(name, NONE);
    long count = now.count - then.count;
    return count <= 0 ? new Times(0, 0, 0) : new Times(count, atMost(now, then, count * HALF), atMost(now, then, count * NINETY_NINE));
  }

  /** The first bound up to which so many were measured; -1 when there is none. */
  private static long atMost(Histogram now, Histogram then, double wanted) {
    for (var bound : now.atMost.entrySet()) {
      if (bound.getValue() - then.atMost.getOrDefault(bound.getKey(), 0L) >= wanted) return bound.getKey();
    }
    return -1;
  }
}
