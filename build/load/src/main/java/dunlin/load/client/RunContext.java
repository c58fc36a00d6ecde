package dunlin.load.client;

import dunlin.load.count.Budget;
import dunlin.load.count.Meters;
import dunlin.load.count.SharedBook;
import dunlin.load.count.WallClock;
import dunlin.load.plan.Plan;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** What all clients of a run share. */
public final class RunContext {
  /* Owner: any thread. Bounds: one shared book for each group of the plan, one stream for each publisher and topic. */
  private final Plan plan;
  private final int run;
  private final boolean allRuns;
  private final Meters meters;
  private final WallClock clock = new WallClock();
  private final Budget budget = new Budget(Budget.PAIRS_MAX);
  private final Map<String, SharedBook> groups = new ConcurrentHashMap<>();
  private final AtomicReferenceArray<Stream> streams;

  private volatile int step; // written by the run's own thread

  /** @param allRuns whether messages of other runs count too: when this process only receives */
  public RunContext(Plan plan, int run, boolean allRuns, Meters meters, int streamCount) {
    this.plan = plan;
    this.run = run;
    this.allRuns = allRuns;
    this.meters = meters;
    streams = new AtomicReferenceArray<>(streamCount);
  }

  Plan plan() {
    return plan;
  }

  int run() {
    return run;
  }

  boolean counts(int otherRun) {
    return allRuns || otherRun == run;
  }

  Meters meters() {
    return meters;
  }

  WallClock clock() {
    return clock;
  }

  Budget budget() {
    return budget;
  }

  /** What a shared group has got, all its members together. */
  public SharedBook group(String filter) {
    return groups.computeIfAbsent(filter, _ -> new SharedBook(budget));
  }

  /** The groups that somebody has joined. */
  public Map<String, SharedBook> groups() {
    return groups;
  }

  void enter(Stream stream) {
    streams.set(stream.id(), stream);
  }

  public int streams() {
    return streams.length();
  }

  /** A stream of this run, or null when a broker has made one up. */
  public @Nullable Stream stream(int id) {
    return id < streams.length() ? streams.get(id) : null;
  }

  /** The stream by the key of its stamp, or null for one of another run. */
  @Nullable Stream streamOf(long key) {
    return key >>> 24 == run ? stream((int) key & 0xFFFFFF) : null;
  }

  int step() {
    return step;
  }

  public void step(int number) {
    step = number;
  }
}
