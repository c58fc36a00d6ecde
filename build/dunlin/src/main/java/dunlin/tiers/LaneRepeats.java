package dunlin.tiers;

import dunlin.transport.lane.Repeating;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How the lanes of this node send again what a leader has left unanswered: those of frontends to the routes, and those from there to the sessions. */
final class LaneRepeats {
  /*
   * Owner: any thread.
   * Bounds: those of the lanes.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LaneRepeats.class);

  private final SecureRandom random = new SecureRandom();
  private final ScheduledExecutorService timer;
  private final Duration patience;

  /** @param patience how long after it came a message may be sent again */
  LaneRepeats(ScheduledExecutorService timer, Duration patience) {
    this.timer = timer;
    this.patience = patience;
  }

  /** For a lane that belongs to a thread. */
  Repeating on(Executor thread) {
    return new Repeating(random.nextLong(), patience, System::nanoTime, (task, millis) -> later(thread, task, millis));
  }

  private void later(Executor thread, Runnable task, long millis) {
    try {
      var _ = timer.schedule(() -> execute(thread, task), millis, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException stopped) {
      LOG.debug("A lane is not resumed: the node is stopping");
    }
  }

  private static void execute(Executor thread, Runnable task) {
    try {
      thread.execute(task);
    } catch (RejectedExecutionException ended) {
      LOG.debug("A lane is not resumed: its thread has ended");
    }
  }
}
