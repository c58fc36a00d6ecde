package dunlin.dist.deliver;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The thread that serves one delivery: its worker's while copies of the lane wait there or are being served, and else
 * the lane's. Runs all other work of the delivery on it, such as that of its link.
 */
final class ServingThread implements Executor {
  /*
   * The number of copies at the worker says who serves. Only the lane's thread raises it and only the worker lowers it.
   * So what the lane reads as 0 stays 0 until the lane itself hands a copy over, and what the worker reads as more stays
   * more until the worker itself has served. Each of them sees what the other did before.
   *
   * Bounds: the tasks are the link's: a fixed number of frames that its stream passes on ahead, and some of its own.
   * Failure: when a task comes to the thread that does not serve any more, that passes it on. A worker is shut down after
   * the last copy was handed over, and serves what it has: a task that it refuses is run when it has served that.
   */
  private final Executor lane;
  private final Executor worker;
  private final AtomicInteger copies = new AtomicInteger();
  private final TaskQueue tasks = new TaskQueue();

  ServingThread(Executor lane, Executor worker) {
    this.lane = lane;
    this.worker = worker;
  }

  /** Whether the lane serves. Asked on the lane's thread, for which a yes holds until it hands over. */
  boolean isLane() {
    return copies.get() == 0;
  }

  /** Copies at the worker. */
  int copies() {
    return copies.get();
  }

  /** Hands over to the worker, with one more copy for it; the lane's thread. */
  void handOver() {
    copies.getAndIncrement();
  }

  /** The worker begins with copies: tasks that are submitted until the end are run there. */
  void begin() {
    tasks.claim();
  }

  /** The worker has served this many copies. It runs the tasks, and hands back to the lane if no copy is left. */
  void end(int served) {
    boolean more = tasks.run();
    copies.getAndAdd(-served);
    if (more || !tasks.isEmpty()) runSoon();
  }

  @Override
  public void execute(Runnable task) {
    if (tasks.add(task)) runSoon();
  }

  private void runSoon() {
    if (isLane()) {
      lane.execute(this::runOnLane);
      return;
    }
    try {
      worker.execute(this::runOnWorker);
    } catch (RejectedExecutionException shutDown) {
      if (isLane()) lane.execute(this::runOnLane); // else end() finds the task
    }
  }

  private void runOnLane() {
    if (isLane()) run();
    else runSoon();
  }

  private void runOnWorker() {
    if (isLane()) runSoon();
    else run();
  }

  private void run() {
    if (tasks.run()) runSoon();
  }
}
