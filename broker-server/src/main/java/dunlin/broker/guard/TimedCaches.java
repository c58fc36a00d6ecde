package dunlin.broker.guard;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.RemovalCause;
import com.github.benmanes.caffeine.cache.Weigher;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** Makes tables whose entries end by themselves, and that have a bound in bytes. */
final class TimedCaches {
  private TimedCaches() {}

  /**
   * @param time how long an entry lasts after it was written
   * @param displaced counts the entries that end early since there is no room
   */
  static <K, V> Cache<K, V> of(int bytesMax, Weigher<K, V> weigher, Duration time, LongSupplier nanoTime, LongAdder displaced) {
    return Caffeine.newBuilder()
        .maximumWeight(bytesMax)
        .weigher(weigher)
        .expireAfterWrite(time)
        .ticker(nanoTime::getAsLong)
        .executor(Runnable::run)
        .evictionListener(
            (_, _, cause) -> {
              if (cause == RemovalCause.SIZE) displaced.increment();
            })
        .build();
  }

  /** How many entries there are that have not ended. */
  static long size(Cache<?, ?> cache) {
    cache.cleanUp();
    return cache.estimatedSize();
  }
}
