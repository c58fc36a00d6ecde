package dunlin.runtime;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/** Waits for what may take any time, as long as something moves; gives it up when nothing has moved for a stated time. */
public final class StallWatch {
  /*
   * Owner: the thread that waits; any thread asks whether it has given up.
   * Failure: a process that stood still itself saw nothing move. So what lies between two looks counts for STEP_MAX at most.
   */
  private static final long LOOK_MILLIS = 100;
  private static final long STEP_MAX = TimeUnit.SECONDS.toNanos(1);

  private final Duration longest;
  private final LongSupplier moved;
  private final LongSupplier nanoTime;

  private volatile boolean stalled; // single writer: the thread that waits

  /**
   * @param longest how long nothing may move
   * @param moved what grows, or changes, with each step forward; asked several times a second
   * @param nanoTime a monotonic clock, such as {@link System#nanoTime}
   */
  public StallWatch(Duration longest, LongSupplier moved, LongSupplier nanoTime) {
    this.longest = longest;
    this.moved = moved;
    this.nanoTime = nanoTime;
  }

  /**
   * Returns when the step has ended well.
   *
   * @throws ExecutionException when it has failed
   * @throws TimeoutException when nothing has moved for the longest time; the step goes on
   */
  public void await(CompletableFuture<?> step) throws ExecutionException, InterruptedException, TimeoutException {
    long seen = moved.getAsLong();
    long looked = nanoTime.getAsLong();
    long still = 0;
    while (!ended(step)) {
      long now = nanoTime.getAsLong();
      long moves = moved.getAsLong();
      still = moves == seen ? still + Math.min(STEP_MAX, now - looked) : 0;
      seen = moves;
      looked = now;
      if (still < longest.toNanos() || step.isDone()) continue;
      stalled = true;
      throw new TimeoutException("nothing has moved for " + longest);
    }
  }

  /** Whether it was given up; any thread. */
  public boolean stalled() {
    return stalled;
  }

  private static boolean ended(CompletableFuture<?> step) throws ExecutionException, InterruptedException {
    try {
      step.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    }
  }
}
