package dunlin.runtime;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** Bounds log lines that others can cause at will, such as clients: a number of lines a second, and a count of those left out. */
public final class LineLimit {
  /*
   * Owner: any thread.
   * Bounds: three numbers. Full: the line is left out and counted; the next line that may be written says how many were
   * left out.
   */
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final int linesMax;
  private final LongSupplier nanoTime;
  private final AtomicLong second;
  private final AtomicInteger lines = new AtomicInteger();
  private final AtomicLong leftOut = new AtomicLong();

  public LineLimit(int linesMax, LongSupplier nanoTime) {
    this.linesMax = linesMax;
    this.nanoTime = nanoTime;
    this.second = new AtomicLong(nanoTime.getAsLong() / SECOND_NANOS);
  }

  /** Whether a line may be written now; if not, it is counted as left out. */
  public boolean admits() {
    long now = nanoTime.getAsLong() / SECOND_NANOS;
    long then = second.get();
    if (now != then && second.compareAndSet(then, now)) lines.set(0);
    if (lines.incrementAndGet() <= linesMax) return true;
    leftOut.incrementAndGet();
    return false;
  }

  /** Number of lines left out since the last call. */
  public long leftOut() {
    return leftOut.getAndSet(0);
  }
}
