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

/** Clients in this process: all of a plan, or a worker's share of them. */
public final class LocalCrew implements Crew {
  /* Owner: the thread that runs it; everything else happens on the fleet's loops. */
  private final Plan plan;
  private final Fleet fleet;
  private final double cpuBefore = SelfCheck.cpuSeconds();
  private final long madeNanos = System.nanoTime();

  private LocalCrew(Plan plan, Fleet fleet) {
    this.plan = plan;
    this.fleet = fleet;
  }

  /** All clients of a plan, and messages that they sent themselves. */
  public static LocalCrew all(Plan plan, Audience audience) {
    return all(plan, audience, false);
  }

  /** All clients of a plan that receive what other processes send; of their messages it knows nothing beforehand. */
  public static LocalCrew ofAllRuns(Plan plan, Audience audience) {
    return all(plan, audience, true);
  }

  private static LocalCrew all(Plan plan, Audience audience, boolean allRuns) {
    int run = (int) (Instant.now().toEpochMilli() ^ ProcessHandle.current().pid() * 31);
    return new LocalCrew(plan, new Fleet(plan, audience, Share.ALL, new WallClock(), run, allRuns));
  }

  /** One share of them. */
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

  /** The first half of the end: nothing is sent and received from then on. */
  public void endConnections(Consumer<Sent> sent) {
    fleet.end();
    fleet.sent(sent);
  }

  /** What shared groups have got here whose members are in several processes, by their filters. */
  public Map<String, SplitBook> splitGroups() {
    return fleet.splitGroups();
  }

  /** The number of a stream by the key that a book has it under, or -1 for none of this run. */
  public int streamNumber(long key) {
    return fleet.streamNumber(key);
  }

  /** The second half: holds what came against what was sent, here and elsewhere. */
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
