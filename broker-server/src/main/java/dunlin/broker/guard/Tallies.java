package dunlin.broker.guard;

import com.github.benmanes.caffeine.cache.Cache;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

/**
 * What was counted for each key in its window, which begins when the key is first seen and does not slide.
 *
 * @param <K> whose tally it is
 * @param <T> the tally, for any thread
 */
final class Tallies<K, T> {
  /*
   * Owner: any thread, including event loops.
   * Bounds: BYTES_MAX bytes, by estimate; that is some 50,000 addresses, 35,000 user names or 15,000 clients. Full: a tally is forgotten and
   * counted (forgotten). It is one of those that were seen least, by an estimate that outlives the tallies (W-TinyLFU): keys that are seen once
   * do not displace one that is seen again and again. So to wash out a tally of its own, an attacker would have to do as often what is counted,
   * for thousands of other keys, as for this one.
   * Failure: a key that is forgotten while it is counted loses this one count.
   */
  static final int BYTES_MAX = 8 << 20;

  private final Cache<K, T> tallies;
  private final Supplier<T> fresh;
  private final LongAdder forgotten = new LongAdder();

  /**
   * @param entryBytes of a tally with its key and its entry, without the characters
   * @param characters of the texts in a key
   */
  Tallies(Duration window, int entryBytes, ToIntFunction<K> characters, Supplier<T> fresh, LongSupplier nanoTime) {
    this.fresh = fresh;
    // A tally is changed in place, so only its beginning is a write.
    tallies = TimedCaches.of(BYTES_MAX, (key, _) -> entryBytes + 2 * characters.applyAsInt(key), window, nanoTime, forgotten);
  }

  /** The tally of a key in its present window, which begins now if there is none. */
  T of(K key) {
    return tallies.get(key, _ -> fresh.get());
  }

  void forget(K key) {
    tallies.invalidate(key);
  }

  /** How many there are. */
  long size() {
    return TimedCaches.size(tallies);
  }

  /** How many were forgotten before their windows ended, because there were too many. */
  long forgotten() {
    return forgotten.sum();
  }
}
