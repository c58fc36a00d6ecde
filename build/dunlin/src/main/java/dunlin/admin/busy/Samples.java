package dunlin.admin.busy;

import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Takes samples by a trace of all topics, which is gone afterwards. */
public final class Samples implements SamplesMXBean {
  /*
   * Owner: any thread that may block; the thread of the operator waits for the sample.
   * Bounds: one sample at a time, which is one of the tracer's traces: 2,000 events a second, of all hops, in 4 MiB. So a busy node takes a part of each second,
   * from its beginning on. Without a sample, messages cost nothing more.
   * Failure: another sample, or too many traces, is an IllegalStateException with a sentence.
   */
  static final int ROWS_MAX = 100;

  /** An operator's trace cannot have this name. */
  private static final String TRACE = "sample-of-messages";
  private static final int SECONDS = 1;

  /** When the trace would end by itself. */
  private static final Duration AT_MOST = Duration.ofSeconds(10);

  private static final double NANOS_OF_SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final double PERCENT = 100;

  private final Tracer tracer;
  private final MeterRegistry meters;
  private final Semaphore one = new Semaphore(1);

  public Samples(Tracer tracer, MeterRegistry meters) {
    this.tracer = tracer;
    this.meters = meters;
  }

  @Override
  public List<SampledRow> sample(String tenant, SampledBy by, int max) {
    if (max < 1 || max > ROWS_MAX) throw new IllegalArgumentException("a sample has 1 to %d rows, not %d".formatted(ROWS_MAX, max));
    if (!one.tryAcquire()) throw new IllegalStateException("another sample is being taken; ask again in a few seconds");
    try {
      double published = published();
      long begun = System.nanoTime();
      Trace trace = tracer.begin(TRACE, tenant, "", "#", "", AT_MOST);
      TimeUnit.SECONDS.sleep(SECONDS);
      Trace.Part all = trace.read(0, Integer.MAX_VALUE);
      double elapsed = (System.nanoTime() - begun) / NANOS_OF_SECOND;
      boolean whole = all.lost() == 0 && all.leftOut() == 0;
      List<Event> events = all.events().stream().filter(Samples::isPublished).toList();
      return rows(events, by, whole ? events.size() / elapsed : (published() - published) / elapsed, max);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("the sample was broken off", stopped);
    } finally {
      tracer.discard(TRACE);
      one.release();
    }
  }

  private static boolean isPublished(Event event) {
    return event.hop().equals("publish") && event.step().equals(Step.RECEIVED.label());
  }

  /** PUBLISH packets that clients have sent since the start. */
  private double published() {
    return meters.find("dunlin.packets.received").tag("type", "publish").functionCounters().stream().mapToDouble(FunctionCounter::count).sum();
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
