package dunlin.broker.limit;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Counts refused attempts to authenticate by address, so that passwords cannot be guessed fast. */
public final class FailureLimit {
  /*
   * Owner: any thread; the window is replaced by the first thread that finds it over.
   * Bounds: ADDRESSES_MAX addresses in a minute. Full: failures of further addresses are counted, but not held against them; with
   *   that many addresses at work none of them is near its limit.
   * Failure: none; a restart forgets everything.
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

  /**
   * @param max failures in a minute that an address may have, 0 for any number
   */
  public FailureLimit(int max, LongSupplier nanoTime) {
    this.max = max;
    this.nanoTime = nanoTime;
    this.window = Window.of(nanoTime.getAsLong() / WINDOW_NANOS);
  }

  /** Whether the address has used up this minute's failures. */
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
   * @return whether it was the last that the address may have in this minute
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

  /** Addresses that have failed in this minute. */
  public int addresses() {
    return current().failures.size();
  }

  /** Failures that were not held against their address, since too many addresses had some. */
  public long untracked() {
    return untracked.sum();
  }

  /** Two threads may both begin a window; then a few failures of its first microsecond are forgotten. */
  private Window current() {
    Window current = window;
    long number = nanoTime.getAsLong() / WINDOW_NANOS;
    if (current.number != number) window = current = Window.of(number);
    return current;
  }
}
