package dunlin.dist.deliver;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Brings answers and feedback to a lane's thread, those of many copies at once, and those of one thread in their order. */
final class LaneAnswers implements Executor {
  /*
   * Owner: any thread submits. What the lane's own thread submits runs at once when nothing is in front of it.
   * Bounds: the copies that are not answered.
   * Failure: when the lane's thread has ended, so have the links of its publishers, for whom all unanswered messages
   * are lost; answers are dropped.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LaneAnswers.class);

  private final Executor thread;
  private final Thread lane = Thread.currentThread();
  private final TaskQueue tasks = new TaskQueue();

  /** Created on the lane's thread. */
  LaneAnswers(Executor thread) {
    this.thread = thread;
  }

  @Override
  public void execute(Runnable task) {
    if (tasks.isEmpty() && lane.equals(Thread.currentThread())) task.run();
    else if (tasks.add(task)) runSoon();
  }

  private void runSoon() {
    try {
      thread.execute(this::run);
    } catch (RejectedExecutionException ended) {
      LOG.debug("The thread of a lane has ended before all of its answers came");
    }
  }

  private void run() {
    if (tasks.run()) runSoon();
  }
}
