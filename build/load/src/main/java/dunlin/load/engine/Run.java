package dunlin.load.engine;

import dunlin.load.client.Fleet;
import dunlin.load.client.Tally;
import dunlin.load.count.Count;
import dunlin.load.count.Meters;
import dunlin.load.count.Series;
import dunlin.load.count.Snapshot;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Expectation;
import dunlin.load.plan.Offer;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Step;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Goes through the steps of a plan, watches, and adds up. */
public final class Run {
  /*
   * Owner: the thread that calls execute(); stop() may come from any.
   * Bounds: Points; a drain ends when nothing has come for DRAIN_IDLE, or at its own end.
   * Failure: stop() ends the step that is under way and skips the others; what was measured is the result.
   */
  private static final long POLL_MILLIS = 10;
  private static final long GRACE_NANOS = 500_000_000;
  private static final Duration DRAIN_IDLE = Duration.ofSeconds(3);
  private static final double LATE_SHARE_MAX = 0.01;
  private static final long LAG_MICROS_MAX = 20_000;

  private final Plan plan;
  private final boolean allRuns;
  private final @Nullable ProcessWatch broker;
  private final BiConsumer<String, Point> progress;
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Points points = new Points();

  private long lastLookNanos;
  private long[] lastCounts = new long[4];
  private Duration traffic = Duration.ZERO;

  /**
   * @param allRuns whether messages of other processes count too
   * @param broker the broker's process, when it is on this machine
   * @param progress is told each second, with the name of the step
   */
  public Run(Plan plan, boolean allRuns, @Nullable ProcessWatch broker, BiConsumer<String, Point> progress) {
    this.plan = plan;
    this.allRuns = allRuns;
    this.broker = broker;
    this.progress = progress;
  }

  /** Ends the run early, and in order. */
  public void stop() {
    stop.countDown();
  }

  public Result execute() {
    var audience = new Audience(plan);
    List<Offer> offers = Offer.of(plan, audience);
    Instant started = Instant.now();
    int run = (int) (started.toEpochMilli() ^ ProcessHandle.current().pid() * 31);
    try (var fleet = new Fleet(plan, audience, run, allRuns)) {
      double cpuBefore = toolCpuSeconds();
      if (broker != null) broker.begin();
      long startNanos = System.nanoTime();
      lastLookNanos = startNanos;
      boolean all = steps(fleet, startNanos);
      BrokerUse use = broker == null ? null : broker.end();
      look(fleet.meters(), "end", startNanos);
      Duration lasted = Duration.ofNanos(System.nanoTime() - startNanos);
      double cpu = toolCpuSeconds() - cpuBefore;
      Tally tally = fleet.end();
      Snapshot snapshot = fleet.meters().snapshot();
      var verdicts = new ArrayList<Verdict>();
      for (Expectation expectation : plan.expectations()) {
        double value = Result.figure(expectation.figure(), snapshot, tally);
        verdicts.add(new Verdict(expectation.text(), value, expectation.holds(value)));
      }
      return new Result(
          plan.name(), started, lasted, traffic.isZero() ? lasted : traffic, !all, snapshot, tally, offers, points.list(), verdicts,
          warnings(snapshot, cpu, lasted), cpu, use);
    }
  }

  /** Answers whether all steps were gone through. */
  private boolean steps(Fleet fleet, long startNanos) {
    for (int i = 0; i < plan.steps().size(); i++) {
      Step step = plan.steps().get(i);
      long began = System.nanoTime();
      fleet.begin(i, step);
      boolean stopped =
          switch (step) {
            case Step.Connect _, Step.Disconnect _ -> !await(fleet, step, startNanos, Step.FOREVER);
            case Step.Traffic(_, List<Step.Flow> flows, _, Duration lasting) -> {
              boolean ended = await(fleet, step, startNanos, lasting);
              if (!flows.isEmpty()) traffic = traffic.plusNanos(System.nanoTime() - began);
              yield !ended;
            }
            case Step.Drain(_, Duration atMost) -> !drain(fleet, step, startNanos, atMost);
          };
      fleet.stopTasks();
      if (stopped) return false;
    }
    return true;
  }

  /** Waits for the end of a step; false when the run was stopped. */
  private boolean await(Fleet fleet, Step step, long startNanos, Duration lasting) {
    boolean timed = step instanceof Step.Traffic(_, List<Step.Flow> flows, List<Step.Churn> churns, _) && flows.isEmpty() && churns.isEmpty();
    // What is under way ends by itself, a little after its own beginning; what cannot be sent is not waited for.
    long end = System.nanoTime() + lasting.toNanos() + (timed ? 0 : GRACE_NANOS);
    while (System.nanoTime() - end < 0 && (timed || fleet.isBusy())) {
      if (pause()) return false;
      lookEachSecond(fleet.meters(), step.name(), startNanos);
    }
    return true;
  }

  private boolean drain(Fleet fleet, Step step, long startNanos, Duration atMost) {
    long end = System.nanoTime() + atMost.toNanos();
    long received = -1;
    long idleSince = System.nanoTime();
    while (System.nanoTime() - end < 0) {
      long now = fleet.meters().sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2, Count.ACKNOWLEDGED_1, Count.ACKNOWLEDGED_2);
      if (now != received) {
        received = now;
        idleSince = System.nanoTime();
      } else if ((fleet.unanswered() <= 0 && fleet.missing() <= 0) || System.nanoTime() - idleSince > DRAIN_IDLE.toNanos()) {
        return true;
      }
      if (pause()) return false;
      lookEachSecond(fleet.meters(), step.name(), startNanos);
    }
    return true;
  }

  /** Waits a moment; answers whether the run is to stop. */
  private boolean pause() {
    try {
      return stop.await(POLL_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      return true;
    }
  }

  // ---- watching

  private void lookEachSecond(Meters meters, String step, long startNanos) {
    if (System.nanoTime() - lastLookNanos >= 1_000_000_000L) look(meters, step, startNanos);
  }

  private void look(Meters meters, String step, long startNanos) {
    long now = System.nanoTime();
    double seconds = Math.max(1e-3, (now - lastLookNanos) / 1e9);
    lastLookNanos = now;
    long connects = meters.get(Count.CONNECTED);
    long published = meters.sum(Count.PUBLISHED_0, Count.PUBLISHED_1, Count.PUBLISHED_2);
    long received = meters.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2);
    long errors =
        meters.sum(
            Count.CONNECT_REFUSED, Count.CONNECT_FAILED, Count.CONNECT_TIMED_OUT, Count.DISCONNECTED_BY_BROKER, Count.CONNECTION_LOST,
            Count.PROTOCOL_ERRORS, Count.PING_TIMED_OUT, Count.SUBSCRIBE_REFUSED, Count.SUBSCRIBE_TIMED_OUT, Count.PUBLISH_REFUSED,
            Count.PUBLISH_TIMED_OUT, Count.QUEUE_DROPPED);
    var interval = meters.interval();
    var deliveries = new Histogram(3_600_000_000L, 3);
    for (int qos = 0; qos <= 2; qos++) {
      Histogram part = interval.get(Series.deliver(qos));
      if (part != null) deliveries.add(part);
    }
    boolean none = deliveries.getTotalCount() == 0;
    long[] counts = {connects, published, received, errors};
    var point =
        new Point(
            (now - startNanos) / 1e9,
            connects - meters.get(Count.CONNECTIONS_ENDED),
            (connects - lastCounts[0]) / seconds,
            (published - lastCounts[1]) / seconds,
            (received - lastCounts[2]) / seconds,
            (errors - lastCounts[3]) / seconds,
            none ? -1 : deliveries.getValueAtPercentile(50),
            none ? -1 : deliveries.getValueAtPercentile(99),
            none ? -1 : deliveries.getMaxValue());
    lastCounts = counts;
    points.add(point);
    if (broker != null) broker.look();
    progress.accept(step, point);
  }

  private static double toolCpuSeconds() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean bean ? bean.getProcessCpuTime() / 1e9 : 0;
  }

  /** What makes the figures say more about the tool than about the broker. */
  private List<String> warnings(Snapshot snapshot, double cpu, Duration lasted) {
    var warnings = new ArrayList<String>();
    long ticks = snapshot.get(Count.TICKS);
    long late = snapshot.get(Count.LATE_TICKS);
    if (ticks > 0 && late > LATE_SHARE_MAX * ticks) {
      warnings.add(String.format(Locale.ROOT, "The tool itself was at its limit: %,d of %,d ticks came more than 20 ms late. Use more processes, machines or processors.", late, ticks));
    }
    int loops = plan.loops() > 0 ? plan.loops() : Runtime.getRuntime().availableProcessors();
    double cores = cpu / Math.max(0.1, lasted.toNanos() / 1e9);
    if (lasted.toSeconds() >= 5 && cores > 0.9 * loops) {
      warnings.add(String.format(Locale.ROOT, "The tool itself was at its limit: it took %.1f processors, and has %d event loops.", cores, loops));
    }
    Histogram lag = snapshot.time(Series.SEND_LAG);
    if (lag.getTotalCount() > 0 && lag.getValueAtPercentile(99) > LAG_MICROS_MAX) {
      warnings.add(
          String.format(
              Locale.ROOT, "One message in a hundred was sent %,d ms late or more: the tool, its sockets or the inflight windows were full. Times count from when it was due.",
              lag.getValueAtPercentile(99) / 1_000));
    }
    long unchecked = snapshot.get(Count.UNCHECKED);
    if (unchecked > 0) {
      warnings.add(String.format(Locale.ROOT, "The books were full: %,d messages were received and not checked for loss, duplicates and order.", unchecked));
    }
    return warnings;
  }
}
