package dunlin.admin.events;

import dunlin.admin.api.ApiAnswers.Overview;
import dunlin.admin.api.ApiAnswers.Status;
import dunlin.runtime.metrics.NodeBeans;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** How the node is and how much it does, once a second. */
public final class OverviewEvents implements EventSource {
  /*
   * Owner: the thread of its stream.
   * Bounds: READINGS_MAX readings of the meters, each of some kilobytes.
   */
  private static final Duration PAUSE = Duration.ofSeconds(1);
  private static final int READINGS_MAX = 61;
  private static final double NANOS_OF_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final Supplier<Status> status;
  private final Supplier<NodeReading> meters;
  private final ArrayDeque<NodeReading> readings = new ArrayDeque<>();

  /** @param status how the node is, and who asks */
  public OverviewEvents(Supplier<Status> status, MeterRegistry registry, NodeBeans beans) {
    this.status = status;
    this.meters = () -> NodeReading.now(registry, beans);
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }

  @Override
  public List<Overview> look() {
    NodeReading now = meters.get();
    NodeReading last = readings.isEmpty() ? now : readings.getLast();
    readings.add(now);
    if (readings.size() > READINGS_MAX) readings.removeFirst();
    NodeReading first = readings.getFirst();
    double seconds = (now.nanos() - last.nanos()) / NANOS_OF_SECOND;
    return List.of(
        new Overview(
            status.get(), TimeUnit.NANOSECONDS.toMillis(now.nanos() - last.nanos()), rate(last.publishesIn(), now.publishesIn(), seconds),
            rate(last.publishesOut(), now.publishesOut(), seconds), rate(last.bytesIn(), now.bytesIn(), seconds),
            rate(last.bytesOut(), now.bytesOut(), seconds), now.dropped(), now.timesSince(first, "dunlin.publish.acknowledge"),
            now.timesSince(first, "dunlin.publish.delivery")));
  }

  /** A second, to one decimal. Counts of other threads may be seen late, but never fall. */
  private static double rate(double before, double after, double seconds) {
    return seconds <= 0 ? 0 : Math.round(Math.max(0, after - before) / seconds * 10) / 10.0;
  }

  @Override
  public void close() {
    // has nothing that must be given back
  }
}
