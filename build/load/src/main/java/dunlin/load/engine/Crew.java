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

/** The clients of a run, in this process or in others. Only the run's thread calls it. */
public interface Crew extends AutoCloseable {
  /** Creates the clients without connecting them. */
  @FunctionalInterface
  interface Maker {
    Crew make(Plan plan, Audience audience);
  }

  /** Starts a step, which runs until {@link #isBusy} returns false. */
  void begin(int number, Step step);

  boolean isBusy();

  /** Processes the reports of other processes. */
  default void poll() {}

  /** Stops the current step and waits for its end. */
  void stopTasks();

  /** The current value of a count. */
  long get(Count count);

  default long sum(Count... counts) {
    long sum = 0;
    for (Count count : counts) sum += get(count);
    return sum;
  }

  /** All current counts and reasons, without times. */
  Snapshot counted();

  /** The states of the workers, if any. */
  default List<WorkerState> workers() {
    return List.of();
  }

  /** The delivery times since the last call. */
  Histogram deliveries();

  /** Ends all connections and adds up the results. No step can start afterwards. */
  Ending end();

  @Override
  void close();

  /**
   * The measurements of the clients.
   *
   * @param warnings reasons why the figures may show the tool's limits instead of the broker's
   * @param notes other remarks about the figures
   * @param missing the workers whose figures are missing
   */
  record Ending(Snapshot snapshot, Tally tally, double cpuSeconds, List<String> warnings, List<String> notes, List<String> missing) {
    /** The measurements of a single process. */
    static Ending alone(Snapshot snapshot, Tally tally, double cpuSeconds, Duration lasted, int loops) {
      return new Ending(snapshot, tally, cpuSeconds, SelfCheck.warnings(snapshot, cpuSeconds, lasted, loops), List.of(), List.of());
    }
  }
}
