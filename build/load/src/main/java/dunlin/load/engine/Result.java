package dunlin.load.engine;

import dunlin.load.client.Tally;
import dunlin.load.count.Count;
import dunlin.load.count.Series;
import dunlin.load.count.Snapshot;
import dunlin.load.plan.Figure;
import dunlin.load.plan.Offer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The result of a run.
 *
 * @param interrupted whether it was ended before its last step
 * @param traffic the time during which messages were published, or the whole run when there were none
 * @param toolCpuSeconds of this process, or of all workers
 * @param notes other remarks about the figures
 * @param missing lost workers with their shares, which are not in the figures
 */
public record Result(
    String name,
    Instant started,
    Duration lasted,
    Duration traffic,
    boolean interrupted,
    Snapshot snapshot,
    Tally tally,
    List<Offer> offers,
    List<Point> points,
    List<Verdict> verdicts,
    List<String> warnings,
    List<String> notes,
    List<String> missing,
    double toolCpuSeconds,
    @Nullable BrokerUse broker) {

  public Result {
    offers = List.copyOf(offers);
    points = List.copyOf(points);
    verdicts = List.copyOf(verdicts);
    warnings = List.copyOf(warnings);
    notes = List.copyOf(notes);
    missing = List.copyOf(missing);
  }

  public long published() {
    return snapshot.sum(Count.PUBLISHED_0, Count.PUBLISHED_1, Count.PUBLISHED_2);
  }

  public long received() {
    return snapshot.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2);
  }

  /** Whether all expectations were met and no figures are missing. */
  public boolean isGood() {
    return missing.isEmpty() && verdicts.stream().allMatch(Verdict::met);
  }

  public double figure(Figure figure) {
    return figure(figure, snapshot, tally);
  }

  static double figure(Figure figure, Snapshot all, Tally tally) {
    return switch (figure) {
      case LOST -> tally.total();
      case DUPLICATED -> all.sum(Count.DUPLICATED_0, Count.DUPLICATED_1, Count.DUPLICATED_2);
      case OUT_OF_ORDER -> all.sum(Count.OUT_OF_ORDER_0, Count.OUT_OF_ORDER_1, Count.OUT_OF_ORDER_2);
      case UNACKNOWLEDGED -> all.get(Count.UNACKNOWLEDGED);
      case REFUSED_CONNECTS -> all.get(Count.CONNECT_REFUSED);
      case FAILED_CONNECTS -> all.sum(Count.CONNECT_FAILED, Count.CONNECT_TIMED_OUT);
      case REFUSED_PUBLISHES -> all.get(Count.PUBLISH_REFUSED);
      case REFUSED_SUBSCRIPTIONS -> all.get(Count.SUBSCRIBE_REFUSED);
      case DISCONNECTS -> all.sum(Count.DISCONNECTED_BY_BROKER, Count.CONNECTION_LOST, Count.PING_TIMED_OUT);
      case TIMEOUTS -> all.sum(Count.CONNECT_TIMED_OUT, Count.SUBSCRIBE_TIMED_OUT, Count.PUBLISH_TIMED_OUT, Count.PING_TIMED_OUT);
      case QUEUE_DROPS -> all.get(Count.QUEUE_DROPPED);
      case PUBLISHED -> all.sum(Count.PUBLISHED_0, Count.PUBLISHED_1, Count.PUBLISHED_2);
      case RECEIVED -> all.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2);
      case RETAINED -> all.get(Count.RETAINED);
      case WILLS -> all.get(Count.WILLS);
      case CONNECTED -> all.get(Count.CONNECTED);
      case MEAN -> all.deliveries().getMean();
      case P50 -> percentile(all.deliveries(), 50);
      case P90 -> percentile(all.deliveries(), 90);
      case P99 -> percentile(all.deliveries(), 99);
      case P999 -> percentile(all.deliveries(), 99.9);
      case MAX -> all.deliveries().getMaxValue();
      case ACK_P99 -> {
        Histogram both = all.time(Series.ACKNOWLEDGE_1).copy();
        both.add(all.time(Series.ACKNOWLEDGE_2));
        yield percentile(both, 99);
      }
      case CONNECT_P99 -> percentile(all.time(Series.CONNECT), 99);
      case CONNECT_MAX -> all.time(Series.CONNECT).getMaxValue();
      case SUBSCRIBE_P99 -> percentile(all.time(Series.SUBSCRIBE), 99);
    };
  }

  private static double percentile(Histogram histogram, double percentile) {
    return histogram.getTotalCount() == 0 ? 0 : histogram.getValueAtPercentile(percentile);
  }
}
