package dunlin.broker.limit;

import java.util.function.LongSupplier;

/** Limits the connections that are accepted per second: a token bucket that fills evenly and holds a burst. */
public final class RateBucket {
  /*
   * Owner: the event loop that accepts connections.
   * Bounds: no more tokens than the burst.
   */
  private static final long SECOND = 1_000_000_000L;

  private final long nanosPerToken;
  private final long full;
  private final LongSupplier nanoTime;

  /** When the bucket was, or would have been, empty. */
  private long emptyAt;

  /**
   * @param rate tokens per second, at least 1
   * @param burst tokens in a full bucket, at least 1
   */
  public RateBucket(int rate, int burst, LongSupplier nanoTime) {
    this.nanosPerToken = SECOND / rate;
    this.full = nanosPerToken * burst;
    this.nanoTime = nanoTime;
    this.emptyAt = nanoTime.getAsLong() - full;
  }

  /** Takes a token; false if there is none. */
  public boolean take() {
    long now = nanoTime.getAsLong();
    if (now - emptyAt > full) emptyAt = now - full;
    if (now - emptyAt < nanosPerToken) return false;
    emptyAt += nanosPerToken;
    return true;
  }
}
