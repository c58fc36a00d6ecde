package dunlin.dist.deliver;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tasks that gather for a thread, so that many cost one wake-up. */
final class TaskQueue {
  /*
   * Owner: any thread adds; one thread at a time runs them, in their order.
   * Bounds: those of the callers. One run takes RUN_MAX tasks, so that the thread gets to its other work.
   * Failure: a task that throws is logged, and the next one runs.
   */
  private static final Logger LOG = LoggerFactory.getLogger(TaskQueue.class);
  private static final int RUN_MAX = 1_024;

  private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();

  /** Whether somebody has promised a run. */
  private final AtomicBoolean due = new AtomicBoolean();

  /** Adds a task. Returns whether the caller must see to a run. */
  boolean add(Runnable task) {
    tasks.add(task);
    return claim();
  }

  /** Promises a run. Returns false if another caller has promised it. */
  boolean claim() {
    return !due.get() && due.compareAndSet(false, true);
  }

  boolean isEmpty() {
    return tasks.isEmpty();
  }

  /** Runs the tasks. Returns whether there are more and the caller must see to a further run. */
  boolean run() {
    due.set(false); // first: a task that is added now is either seen below, or promised another run
    for (int i = 0; i < RUN_MAX; i++) {
      Runnable task = tasks.poll();
      if (task == null) return false;
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        LOG.error("A task of a delivery has failed", e);
      }
    }
    return !tasks.isEmpty() && claim();
  }
}
