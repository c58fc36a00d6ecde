package dunlin.bench.store;

/** The longest time without an event, between two moments. */
final class Gaps {
  /*
   * Owner: any thread; events of several threads may arrive slightly out of order; an event older than the last one is
   * ignored.
   */
  private boolean watching;
  private long last;
  private long longest;

  /** Starts the watch: from now on, time without an event is a gap. */
  synchronized void begin(long nanos) {
    watching = true;
    last = nanos;
    longest = 0;
  }

  synchronized void event(long nanos) {
    if (!watching || nanos - last < 0) return;
    longest = Math.max(longest, nanos - last);
    last = nanos;
  }

  /** The longest gap, including the current one. */
  synchronized long longest(long nanos) {
    return watching ? Math.max(longest, nanos - last) : 0;
  }
}
