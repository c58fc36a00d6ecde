package dunlin.bench.store;

/** The longest time without an event, between two moments. */
final class Gaps {
  /*
   * Owner: any thread; events of several may come a little out of order, and an earlier one than the last is of no account.
   */
  private boolean watching;
  private long last;
  private long longest;

  /** Begins to watch: from now on it is a gap when nothing comes. */
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

  /** The longest gap, the one until now included. */
  synchronized long longest(long nanos) {
    return watching ? Math.max(longest, nanos - last) : 0;
  }
}
