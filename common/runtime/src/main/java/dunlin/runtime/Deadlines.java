package dunlin.runtime;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Deadlines of threads that read requests and write answers. When one passes, its thread is interrupted, which closes the connection. */
public final class Deadlines implements AutoCloseable {
  /*
   * Owner: any thread begins and ends its own deadlines; one thread of this object watches them.
   * Bounds: one for each thread that answers; their callers bound those. One that ends in time is removed at once.
   */
  private final ScheduledThreadPoolExecutor timer;

  /** @param thread the name of the thread that watches them */
  public Deadlines(String thread) {
    timer = new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().name(thread).daemon().factory());
    timer.setRemoveOnCancelPolicy(true);
  }

  /** A deadline of the calling thread. */
  public Deadline begin(int seconds) {
    return new Deadline(seconds);
  }

  public final class Deadline implements AutoCloseable {
    private final Thread thread = Thread.currentThread();
    private Future<?> due;

    private Deadline(int seconds) {
      due = after(seconds);
    }

    private Future<?> after(int seconds) {
      return timer.schedule(thread::interrupt, seconds, TimeUnit.SECONDS);
    }

    /** Replaces it by one that begins now. */
    public void extend(int seconds) {
      due.cancel(false);
      due = after(seconds);
    }

    @Override
    public void close() {
      due.cancel(false);
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
