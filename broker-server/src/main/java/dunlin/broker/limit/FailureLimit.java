package dunlin.broker.limit;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Counts refused attempts to authenticate by address, to slow down the guessing of passwords. */
public final class FailureLimit {
  /*
   * Owner: any thread; the first thread that finds the window expired replaces it.
   * Bounds: ADDRESSES_MAX addresses in a minute. Full: failures of further addresses are counted but do not limit them;
   * with that many addresses, none is likely to be near its limit.
   * Failure: none; the counts are lost at a restart.
   */
  static final int ADDRESSES_MAX = 65_536;
  private static final long WINDOW_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final int max;
  private final LongSupplier nanoTime;
  private final LongAdder untracked = new LongAdder();

  private volatile Window window;

  private record Window(long number, ConcurrentHashMap<Long, AtomicInteger> failures) {
    static Window of(long number) {
      return new Window(number, new ConcurrentHashMap<>());
    }
  }

  /** @param max maximum number of failures of an address in a minute, 0 for no limit */
  public FailureLimit(int max, LongSupplier nanoTime) {
    this.max = max;
    this.nanoTime = nanoTime;
    this.window = Window.of(nanoTime.getAsLong() / WINDOW_NANOS);
  }

  /** Whether the address has reached the limit for this minute. */
  public boolean exceeded(SocketAddress address) {
    if (max == 0) return false;
    Window current = current();
    if (current.failures.isEmpty() || !(address instanceof InetSocketAddress inet)) return false;
    AtomicInteger failures = current.failures.get(AddressCounts.keyOf(inet.getAddress()));
    return failures != null && failures.get() >= max;
  }

  /**
   * Counts a failure.
   *
   * @return whether the address has now reached the limit for this minute
   */
  public boolean failed(SocketAddress address) {
    if (max == 0 || !(address instanceof InetSocketAddress inet)) return false;
    Window current = current();
    Long key = AddressCounts.keyOf(inet.getAddress());
    AtomicInteger failures = current.failures.get(key);
    if (failures == null) {
      if (current.failures.size() >= ADDRESSES_MAX) {
        untracked.increment();
        return false;
      }
      failures = current.failures.computeIfAbsent(key, _ -> new AtomicInteger());
    }
    return failures.incrementAndGet() == max;
  }

  /** Number of addresses with failures in this minute. */
  public int addresses() {
    return current().failures.size();
  }

  /** Number of failures that were not counted against their address because too many addresses had failures. */
  public long untracked() {
    return untracked.sum();
  }

  /** The present window. Two threads may both begin one; then a few failures of its first microsecond are lost. */
  private Window current() {
    Window current = window;
    long number = nanoTime.getAsLong() / WINDOW_NANOS;
    if (current.number != number) window = current = Window.of(number);
    return current;
  }
}
