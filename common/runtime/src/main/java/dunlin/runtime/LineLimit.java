package dunlin.runtime;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** Bounds log lines that others can cause at will, such as clients: a number of lines in a period, and a count of those left out. */
public final class LineLimit {
  /*
   * Owner: any thread.
   * Bounds: three numbers. Full: the line is left out and counted; the next line that may be written says how many were
   * left out.
   */
  private final int linesMax;
  private final long periodNanos;
  private final LongSupplier nanoTime;
  private final AtomicLong period;
  private final AtomicInteger lines = new AtomicInteger();
  private final AtomicLong leftOut = new AtomicLong();

  /** So many lines a second. */
  public LineLimit(int linesMax, LongSupplier nanoTime) {
    this(linesMax, Duration.ofSeconds(1), nanoTime);
  }

  /**
   * @param linesMax lines in each period
   * @param nanoTime a clock that never steps, in nanoseconds
   */
  public LineLimit(int linesMax, Duration period, LongSupplier nanoTime) {
    this.linesMax = linesMax;
    this.periodNanos = period.toNanos();
    this.nanoTime = nanoTime;
    this.period = new AtomicLong(Math.floorDiv(nanoTime.getAsLong(), periodNanos));
  }

  /** Whether a line may be written now; if not, it is counted as left out. */
  public boolean admits() {
    long now = Math.floorDiv(nanoTime.getAsLong(), periodNanos);
    long then = period.get();
    if (now != then && period.compareAndSet(then, now)) lines.set(0);
    if (lines.incrementAndGet() <= linesMax) return true;
    leftOut.incrementAndGet();
    return false;
  }

  /** Number of lines left out since the last call. */
  public long leftOut() {
    return leftOut.getAndSet(0);
  }
}
