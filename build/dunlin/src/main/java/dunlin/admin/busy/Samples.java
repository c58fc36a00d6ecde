package dunlin.admin.busy;

import dunlin.transport.trace.MessageSample;
import dunlin.transport.trace.MessageSample.Message;
import dunlin.transport.trace.Tracer;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Takes random samples of what is published, which are gone afterwards. */
public final class Samples implements SamplesMXBean {
  /*
   * A count of all messages by topic would need memory for each topic, or a sketch in each event loop that each message pays for. A random sample needs neither, and is
   * as good for what is busiest: each message of the second is as likely in it as any other, so a topic with a share of 1 % has 0.7 to 1.3 % of the sample in 19 of 20
   * samples, and one with 10 % has 9.1 to 10.9 %. Those with a few messages among millions are not in it, or by chance.
   *
   * Owner: any thread that may block; the thread of the operator waits for the sample.
   * Bounds: one sample at a time, of MessageSample.SIZE messages. Without a sample, messages cost nothing more.
   * Failure: another sample is an IllegalStateException with a sentence.
   */
  static final int ROWS_MAX = 100;

  private static final int SECONDS = 1;

  /** When the sample would end by itself. */
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
    MessageSample sample = tracer.beginSample(tenant, AT_MOST);
    try {
      TimeUnit.SECONDS.sleep(SECONDS);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("the sample was broken off", stopped);
    } finally {
      tracer.endSample(sample);
    }
    double elapsed = (System.nanoTime() - begun) / NANOS_OF_SECOND;
    return rows(sample.messages(), by, sample.published() / elapsed, max);
  }

  /** @param perSecond messages of all names */
  private static List<SampledRow> rows(List<Message> sampled, SampledBy by, double perSecond, int max) {
    Map<String, Integer> messages = new HashMap<>();
    Map<String, Long> bytes = new HashMap<>();
    for (Message each : sampled) {
      messages.merge(by.of(each), 1, Integer::sum);
      bytes.merge(by.of(each), (long) each.payloadBytes(), Long::sum);
    }
    return messages.entrySet().stream()
        .map(
            each -> {
              double share = (double) each.getValue() / sampled.size();
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
