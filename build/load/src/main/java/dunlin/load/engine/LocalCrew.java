package dunlin.load.engine;

import dunlin.load.client.Fleet;
import dunlin.load.client.Sent;
import dunlin.load.client.Tally;
import dunlin.load.count.Count;
import dunlin.load.count.Meters;
import dunlin.load.count.Series;
import dunlin.load.count.Snapshot;
import dunlin.load.count.SplitBook;
import dunlin.load.count.WallClock;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Share;
import dunlin.load.plan.Step;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Clients in this process: all clients of a plan, or a worker's share. */
public final class LocalCrew implements Crew {
  /* Owner: the calling thread; the clients run on the fleet's loops. */
  private final Plan plan;
  private final Fleet fleet;
  private final double cpuBefore = SelfCheck.cpuSeconds();
  private final long madeNanos = System.nanoTime();

  private LocalCrew(Plan plan, Fleet fleet) {
    this.plan = plan;
    this.fleet = fleet;
  }

  /** All clients of a plan, which count only the messages of this run. */
  public static LocalCrew all(Plan plan, Audience audience) {
    return all(plan, audience, false);
  }

  /** All clients of a plan, which also count messages of other runs; used when this process only receives. */
  public static LocalCrew ofAllRuns(Plan plan, Audience audience) {
    return all(plan, audience, true);
  }

  private static LocalCrew all(Plan plan, Audience audience, boolean allRuns) {
    int run = (int) (Instant.now().toEpochMilli() ^ ProcessHandle.current().pid() * 31);
    return new LocalCrew(plan, new Fleet(plan, audience, Share.ALL, new WallClock(), run, allRuns));
  }

  /** One share of a plan's clients. */
  public static LocalCrew share(Plan plan, Audience audience, Share share, WallClock clock, int run) {
    return new LocalCrew(plan, new Fleet(plan, audience, share, clock, run, false));
  }

  @Override
  public void begin(int number, Step step) {
    begin(number, step, Fleet.soonNanos());
  }

  /** @param startNanos by System.nanoTime() */
  public void begin(int number, Step step, long startNanos) {
    fleet.begin(number, step, startNanos);
  }

  @Override
  public boolean isBusy() {
    return fleet.isBusy();
  }

  @Override
  public void stopTasks() {
    fleet.stopTasks();
  }

  @Override
  public long get(Count count) {
    return fleet.meters().get(count);
  }

  @Override
  public Snapshot counted() {
    return fleet.meters().counted();
  }

  @Override
  public Histogram deliveries() {
    var interval = fleet.meters().interval();
    Histogram deliveries = Meters.newHistogram();
    for (int qos = 0; qos <= 2; qos++) {
      Histogram part = interval.get(Series.deliver(qos));
      if (part != null) deliveries.add(part);
    }
    return deliveries;
  }

  @Override
  public Ending end() {
    endConnections(_ -> {});
    return tally(_ -> null);
  }

  /** The first half of the end: stops sending and receiving. */
  public void endConnections(Consumer<Sent> sent) {
    fleet.end();
    fleet.sent(sent);
  }

  /** The messages that arrived here for shared groups with members in several processes, by filter. */
  public Map<String, SplitBook> splitGroups() {
    return fleet.splitGroups();
  }

  /** The number of this run's stream that has a key in the books, or -1. */
  public int streamNumber(long key) {
    return fleet.streamNumber(key);
  }

  /** The second half: compares the received messages with those sent here and in other processes. */
  public Ending tally(IntFunction<@Nullable Sent> elsewhere) {
    Duration lasted = Duration.ofNanos(System.nanoTime() - madeNanos);
    double cpu = SelfCheck.cpuSeconds() - cpuBefore;
    Tally tally = fleet.tally(elsewhere);
    return Ending.alone(fleet.meters().snapshot(), tally, cpu, lasted, plan.loops());
  }

  @Override
  public void close() {
    fleet.close();
  }
}
