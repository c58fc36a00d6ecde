package dunlin.load.engine;

import dunlin.load.count.Count;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Expectation;
import dunlin.load.plan.Offer;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Step;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Executes the steps of a plan, observes them, and adds up the result. */
public final class Run {
  /*
   * Owner: the thread that calls execute(); any thread may call stop().
   * Bounds: Points; a drain ends when nothing has arrived for DRAIN_IDLE, or at its time limit.
   * Failure: stop() ends the current step and skips the others; the result has the figures so far.
   */
  private static final long POLL_MILLIS = 10;
  private static final long GRACE_NANOS = 500_000_000;
  private static final Duration DRAIN_IDLE = Duration.ofSeconds(3);

  private final Plan plan;
  private final Crew.Maker maker;
  private final @Nullable ProcessWatch broker;
  private final Progress progress;
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Points points = new Points();

  private long startNanos;
  private Stage stage;
  private long lastLookNanos;
  private long[] lastCounts = new long[4];
  private Duration traffic = Duration.ZERO;

  /**
   * @param maker creates the clients when the run begins
   * @param broker the broker's process, when it is on this machine
   * @param progress observes the run
   */
  public Run(Plan plan, Crew.Maker maker, @Nullable ProcessWatch broker, Progress progress) {
    this.plan = plan;
    this.maker = maker;
    this.broker = broker;
    this.progress = progress;
    stage = new Stage("begin", 0, 0, Step.FOREVER);
  }

  /** The current step. */
  private record Stage(String name, int number, long beganNanos, Duration atMost) {}

  /** Ends the run early and cleanly. */
  public void stop() {
    stop.countDown();
  }

  public Result execute() {
    var audience = new Audience(plan);
    List<Offer> offers = Offer.of(plan, audience);
    Instant started = Instant.now();
    try (Crew crew = maker.make(plan, audience)) {
      if (broker != null) broker.begin();
      startNanos = System.nanoTime();
      lastLookNanos = startNanos;
      boolean all = steps(crew);
      BrokerUse use = broker == null ? null : broker.end();
      stage = new Stage("end", plan.steps().size(), System.nanoTime(), Step.FOREVER);
      look(crew);
      Duration lasted = Duration.ofNanos(System.nanoTime() - startNanos);
      Crew.Ending ending = crew.end();
      var verdicts = new ArrayList<Verdict>();
      for (Expectation expectation : plan.expectations()) {
        double value = Result.figure(expectation.figure(), ending.snapshot(), ending.tally());
        verdicts.add(new Verdict(expectation.text(), value, expectation.holds(value)));
      }
      return new Result(
          plan.name(), started, lasted, traffic.isZero() ? lasted : traffic, !all, ending.snapshot(), ending.tally(), offers, points.list(), verdicts,
          ending.warnings(), ending.notes(), ending.missing(), ending.cpuSeconds(), use);
    }
  }

  /** Returns whether all steps were executed. */
  private boolean steps(Crew crew) {
    for (int i = 0; i < plan.steps().size(); i++) {
      Step step = plan.steps().get(i);
      long began = System.nanoTime();
      stage = new Stage(step.name(), i + 1, began, atMost(step));
      crew.begin(i, step);
      boolean stopped =
          switch (step) {
            case Step.Connect _, Step.Disconnect _ -> !await(crew, step, Step.FOREVER);
            case Step.Traffic(_, List<Step.Flow> flows, _, Duration lasting) -> {
              boolean ended = await(crew, step, lasting);
              if (!flows.isEmpty()) traffic = traffic.plusNanos(System.nanoTime() - began);
              yield !ended;
            }
            case Step.Drain(_, Duration atMost) -> !drain(crew, atMost);
          };
      crew.stopTasks();
      if (stopped) return false;
    }
    return true;
  }

  private static Duration atMost(Step step) {
    return switch (step) {
      case Step.Connect _, Step.Disconnect _ -> Step.FOREVER;
      case Step.Traffic traffic -> traffic.lasting();
      case Step.Drain drain -> drain.atMost();
    };
  }

  /** Waits for the end of a step; false when the run was stopped. */
  private boolean await(Crew crew, Step step, Duration lasting) {
    boolean timed = step instanceof Step.Traffic(_, List<Step.Flow> flows, List<Step.Churn> churns, _) && flows.isEmpty() && churns.isEmpty();
    // A step with tasks ends by itself, slightly late because it starts late. Messages that cannot be sent are not
    // waited for.
    long end = System.nanoTime() + lasting.toNanos() + (timed ? 0 : GRACE_NANOS);
    while (System.nanoTime() - end < 0 && (timed || crew.isBusy())) {
      if (pause()) return false;
      lookEachSecond(crew);
    }
    return true;
  }

  private boolean drain(Crew crew, Duration atMost) {
    long end = System.nanoTime() + atMost.toNanos();
    long received = -1;
    long idleSince = System.nanoTime();
    while (System.nanoTime() - end < 0) {
      crew.poll();
      long now = crew.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2, Count.ACKNOWLEDGED_1, Count.ACKNOWLEDGED_2);
      if (now != received) {
        received = now;
        idleSince = System.nanoTime();
      } else if ((unanswered(crew) <= 0 && missing(crew) <= 0) || System.nanoTime() - idleSince > DRAIN_IDLE.toNanos()) {
        return true;
      }
      if (pause()) return false;
      lookEachSecond(crew);
    }
    return true;
  }

  private static long missing(Crew crew) {
    long received = crew.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2);
    return crew.get(Count.DUE) - (received - crew.sum(Count.DUPLICATED_0, Count.DUPLICATED_1, Count.DUPLICATED_2));
  }

  /** The number of unanswered publishes. */
  private static long unanswered(Crew crew) {
    return crew.sum(Count.PUBLISHED_1, Count.PUBLISHED_2) - crew.sum(Count.ACKNOWLEDGED_1, Count.ACKNOWLEDGED_2, Count.PUBLISH_REFUSED, Count.UNACKNOWLEDGED);
  }

  /** Waits for POLL_MILLIS; returns whether the run is to stop. */
  private boolean pause() {
    try {
      return stop.await(POLL_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      return true;
    }
  }

  // ---- watching

  private void lookEachSecond(Crew crew) {
    if (System.nanoTime() - lastLookNanos >= 1_000_000_000L) look(crew);
  }

  private void look(Crew crew) {
    long now = System.nanoTime();
    double seconds = Math.max(1e-3, (now - lastLookNanos) / 1e9);
    lastLookNanos = now;
    long connects = crew.get(Count.CONNECTED);
    long published = crew.sum(Count.PUBLISHED_0, Count.PUBLISHED_1, Count.PUBLISHED_2);
    long received = crew.sum(Count.RECEIVED_0, Count.RECEIVED_1, Count.RECEIVED_2);
    long errors =
        crew.sum(
            Count.CONNECT_REFUSED, Count.CONNECT_FAILED, Count.CONNECT_TIMED_OUT, Count.DISCONNECTED_BY_BROKER, Count.CONNECTION_LOST,
            Count.PROTOCOL_ERRORS, Count.PING_TIMED_OUT, Count.SUBSCRIBE_REFUSED, Count.SUBSCRIBE_TIMED_OUT, Count.PUBLISH_REFUSED,
            Count.PUBLISH_TIMED_OUT, Count.QUEUE_DROPPED);
    Histogram deliveries = crew.deliveries();
    boolean none = deliveries.getTotalCount() == 0;
    long[] counts = {connects, published, received, errors};
    var point =
        new Point(
            (now - startNanos) / 1e9,
            connects - crew.get(Count.CONNECTIONS_ENDED),
            (connects - lastCounts[0]) / seconds,
            (published - lastCounts[1]) / seconds,
            (received - lastCounts[2]) / seconds,
            (errors - lastCounts[3]) / seconds,
            none ? -1 : deliveries.getValueAtPercentile(50),
            none ? -1 : deliveries.getValueAtPercentile(90),
            none ? -1 : deliveries.getValueAtPercentile(99),
            none ? -1 : deliveries.getMaxValue());
    lastCounts = counts;
    points.add(point);
    if (broker != null) broker.look();
    double stageSeconds = (now - stage.beganNanos()) / 1e9;
    double stageMax = stage.atMost().compareTo(Step.FOREVER) >= 0 ? Double.POSITIVE_INFINITY : stage.atMost().toNanos() / 1e9;
    progress.second(new Phase(stage.name(), stage.number(), plan.steps().size(), stageSeconds, stageMax), new Moment(point, crew.counted(), crew.workers()));
  }
}
