package dunlin.cluster.call;

import java.util.concurrent.TimeUnit;

/** Waits for the ends of a node's own threads, all by one time. */
public final class ThreadEnd {
  private ThreadEnd() {}

  /**
   * Whether a thread has ended by then.
   *
   * @param untilNanos as of {@link System#nanoTime}; a time that has passed is not waited for
   */
  public static boolean by(long untilNanos, Thread thread) throws InterruptedException {
    long left = untilNanos - System.nanoTime();
    if (left > 0) TimeUnit.NANOSECONDS.timedJoin(thread, left);
    return !thread.isAlive();
  }
}
