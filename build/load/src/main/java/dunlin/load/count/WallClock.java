package dunlin.load.count;

/**
 * Microseconds since 1970 that never step back: the wall clock is read once, and the monotonic clock counts from there.
 * So times of two processes on one machine are comparable, and adjustments of the wall clock do not distort a run.
 */
public final class WallClock {
  private final long startMicros;
  private final long startNanos;

  public WallClock() {
    var now = java.time.Instant.now();
    startNanos = System.nanoTime();
    startMicros = now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
  }

  private WallClock(long startMicros, long startNanos) {
    this.startMicros = startMicros;
    this.startNanos = startNanos;
  }

  /** This clock moved forward. */
  public WallClock shifted(long micros) {
    return new WallClock(startMicros + micros, startNanos);
  }

  public long micros() {
    return microsOf(System.nanoTime());
  }

  /** The time at which {@link System#nanoTime} showed a value. */
  public long microsOf(long nanos) {
    return startMicros + Math.floorDiv(nanos - startNanos, 1_000);
  }

  /** What {@link System#nanoTime} shows at a time. */
  public long nanosOf(long micros) {
    return startNanos + (micros - startMicros) * 1_000;
  }
}
