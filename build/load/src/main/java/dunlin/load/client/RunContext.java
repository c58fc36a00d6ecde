package dunlin.load.client;

import dunlin.load.count.Budget;
import dunlin.load.count.GroupBook;
import dunlin.load.count.Meters;
import dunlin.load.count.SharedBook;
import dunlin.load.count.SplitBook;
import dunlin.load.count.WallClock;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Share;
import dunlin.load.plan.StreamNumbers;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The state that all clients of a run share. */
final class RunContext {
  /* Owner: any thread. Bounds: one shared book for each group of the plan, one stream for each publisher and topic. */
  private final Plan plan;
  private final Share share;
  private final StreamNumbers numbers;
  private final int run;
  private final boolean allRuns;
  private final Meters meters;
  private final WallClock clock;
  private final Budget budget = new Budget(Budget.PAIRS_MAX);
  private final AtomicLong splitBytes = new AtomicLong(SplitBook.BYTES_MAX);
  private final Map<String, GroupBook> groups = new ConcurrentHashMap<>();
  private final AtomicReferenceArray<Stream> streams;

  private volatile int step; // written by the run's thread

  /** @param allRuns whether messages of other runs count too: when this process only receives */
  RunContext(Plan plan, Share share, int run, boolean allRuns, Meters meters, WallClock clock) {
    this.plan = plan;
    this.share = share;
    this.clock = clock;
    numbers = new StreamNumbers(plan);
    this.run = run;
    this.allRuns = allRuns;
    this.meters = meters;
    streams = new AtomicReferenceArray<>(numbers.count());
  }

  Plan plan() {
    return plan;
  }

  Share share() {
    return share;
  }

  StreamNumbers numbers() {
    return numbers;
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

  /** The book of a shared group, with all its members in this process. */
  GroupBook group(String filter) {
    return groups.computeIfAbsent(filter, _ -> share.isAll() ? new SharedBook(budget) : new SplitBook(splitBytes));
  }

  /** The groups with at least one member. */
  Map<String, GroupBook> groups() {
    return groups;
  }

  void enter(Stream stream) {
    streams.set(stream.id(), stream);
  }

  /** A stream that this process publishes, or null for one of another process or one that does not exist. */
  @Nullable Stream stream(int id) {
    return id < streams.length() ? streams.get(id) : null;
  }

  /** The stream with a key of a stamp, or null when this process does not publish it. */
  @Nullable Stream streamOf(long key) {
    int id = number(key);
    return id < 0 ? null : stream(id);
  }

  /** The number of this run's stream with a key of a stamp, or -1. */
  int number(long key) {
    int id = (int) key & 0xFFFFFF;
    return key >>> 24 == run && id < streams.length() ? id : -1;
  }

  /** The key in the stamps of a stream. */
  long key(int stream) {
    return ((long) run << 24) | stream;
  }

  int step() {
    return step;
  }

  void step(int number) {
    step = number;
  }
}
