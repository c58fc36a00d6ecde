package dunlin.load.engine;

import dunlin.load.client.Tally;
import dunlin.load.count.Count;
import dunlin.load.count.Snapshot;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Step;
import java.time.Duration;
import java.util.List;
import org.HdrHistogram.Histogram;

/** The clients of a run, in this process or in others. One thread calls it, the run's. */
public interface Crew extends AutoCloseable {
  /** Makes the clients; connects none. */
  @FunctionalInterface
  interface Maker {
    Crew make(Plan plan, Audience audience);
  }

  /** Begins a step, which goes on until {@link #isBusy} says no. */
  void begin(int number, Step step);

  boolean isBusy();

  /** Takes in what other processes have said of their clients. */
  default void poll() {}

  /** Ends what was begun, and waits until it has ended. */
  void stopTasks();

  /** What has been counted so far. */
  long get(Count count);

  default long sum(Count... counts) {
    long sum = 0;
    for (Count count : counts) sum += get(count);
    return sum;
  }

  /** All that has been counted so far, with reasons and without times. */
  Snapshot counted();

  /** How each worker is, when there are any. */
  default List<WorkerState> workers() {
    return List.of();
  }

  /** The deliveries that were timed since the last call. */
  Histogram deliveries();

  /** Ends all connections, and adds up. Nothing can be begun from then on. */
  Ending end();

  @Override
  void close();

  /**
   * What clients have measured.
   *
   * @param warnings what makes the figures say more about the tool than about the broker
   * @param notes what else there is to know of them
   * @param missing whose figures are not in it
   */
  record Ending(Snapshot snapshot, Tally tally, double cpuSeconds, List<String> warnings, List<String> notes, List<String> missing) {
    /** Without anybody else's. */
    static Ending alone(Snapshot snapshot, Tally tally, double cpuSeconds, Duration lasted, int loops) {
      return new Ending(snapshot, tally, cpuSeconds, SelfCheck.warnings(snapshot, cpuSeconds, lasted, loops), List.of(), List.of());
    }
  }
}
