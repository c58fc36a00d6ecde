package dunlin.runtime;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/** Waits for a step that may take any time while it makes progress, and gives up after a time without progress. */
public final class StallWatch {
  /*
   * Owner: the waiting thread; any thread may ask whether it has given up.
   * Failure: a process that was paused itself saw no progress. So the time between two looks counts as STEP_MAX at
   * most.
   */
  private static final long LOOK_MILLIS = 100;
  private static final long STEP_MAX = TimeUnit.SECONDS.toNanos(1);

  private final Duration longest;
  private final LongSupplier moved;
  private final LongSupplier nanoTime;

  private volatile boolean stalled; // single writer: the waiting thread

  /**
   * @param longest the longest time without progress
   * @param moved a value that changes with progress; read several times a second
   * @param nanoTime a monotonic clock, such as {@link System#nanoTime}
   */
  public StallWatch(Duration longest, LongSupplier moved, LongSupplier nanoTime) {
    this.longest = longest;
    this.moved = moved;
    this.nanoTime = nanoTime;
  }

  /**
   * Returns when the step has completed.
   *
   * @throws ExecutionException when it has failed
   * @throws TimeoutException when there was no progress for the longest time; the step is not cancelled
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
      throw new TimeoutException("there was no progress for " + longest);
    }
  }

  /** Whether it has given up; any thread. */
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
