package dunlin.admin.busy;

import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Tracer;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Takes samples by a trace of all topics of a tenant, which is gone afterwards. */
public final class Samples implements SamplesMXBean {
  /*
   * Owner: any thread that may block; the thread of the operator waits for the sample.
   * Bounds: one sample at a time, which has the tracer's place for it: 2,000 events a second, of all hops, in 4 MiB. So a busy node takes a part of each second,
   * from its beginning on, and counts the rest. Without a sample, messages cost nothing more.
   * Failure: another sample is an IllegalStateException with a sentence.
   */
  static final int ROWS_MAX = 100;

  private static final int SECONDS = 1;

  /** When the trace would end by itself. */
  private static final Duration AT_MOST = Duration.ofSeconds(10);

  private static final double NANOS_OF_SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final double PERCENT = 100;

  private final Tracer tracer;

  public Samples(Tracer tracer) {
    this.tracer = tracer;
  }

  @Override
  public List<SampledRow> sample(String tenant, SampledBy by, int max) {
    if (max < 1 || max > ROWS_MAX) throw new IllegalArgumentException("a sample has 1 to %d rows, not %d".formatted(ROWS_MAX, max));
    long begun = System.nanoTime();
    Trace trace = tracer.beginSample(tenant, AT_MOST);
    try {
      TimeUnit.SECONDS.sleep(SECONDS);
      List<Event> events = trace.read(0, Integer.MAX_VALUE).events().stream().filter(Event::comesIn).toList();
      double elapsed = (System.nanoTime() - begun) / NANOS_OF_SECOND;
      return rows(events, by, trace.published() / elapsed, max);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("the sample was broken off", stopped);
    } finally {
      tracer.endSample();
    }
  }

  /** @param perSecond messages of all names */
  private static List<SampledRow> rows(List<Event> events, SampledBy by, double perSecond, int max) {
    Map<String, Integer> messages = new HashMap<>();
    Map<String, Long> bytes = new HashMap<>();
    for (Event each : events) {
      messages.merge(by.of(each), 1, Integer::sum);
      bytes.merge(by.of(each), (long) each.payloadBytes(), Long::sum);
    }
    return messages.entrySet().stream()
        .map(
            each -> {
              double share = (double) each.getValue() / events.size();
              return new SampledRow(each.getKey(), each.getValue(), tenths(share * PERCENT), tenths(share * perSecond), bytes.getOrDefault(each.getKey(), 0L));
            })
        .sorted(Comparator.comparingInt(SampledRow::sampled).reversed().thenComparing(SampledRow::name))
        .limit(max)
        .toList();
  }

  private static double tenths(double number) {
    return Math.round(number * 10) / 10.0;
  }
}
