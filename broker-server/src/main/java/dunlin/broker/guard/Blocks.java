package dunlin.broker.guard;

import com.github.benmanes.caffeine.cache.Cache;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** The present blocks of a kind. Each ends by itself. */
final class Blocks<K> {
  /*
   * Owner: any thread, including event loops: a lookup is one of a hash table.
   * Bounds: BYTES_MAX bytes, by estimate; that is some 5,000 blocks. Full: one that is asked for least ends early, and is counted
   * (endedEarly). The next block of the same key takes as many failures or connects as this one did.
   */
  static final int BYTES_MAX = 2 << 20;

  /** Without the characters. */
  static final int ENTRY_BYTES = 288;

  private final Cache<K, Block> present;
  private final LongAdder endedEarly = new LongAdder();

  /** @param time how long each block lasts */
  Blocks(Duration time, LongSupplier nanoTime) {
    present =
        TimedCaches.of(
            BYTES_MAX, (_, block) -> ENTRY_BYTES + 2 * (block.tenant().length() + block.value().length() + block.reason().length()), time, nanoTime, endedEarly);
  }

  boolean holds(K key) {
    return present.getIfPresent(key) != null;
  }

  /** Begins a block; false if there is one already. */
  boolean begin(K key, Block block) {
    return present.asMap().putIfAbsent(key, block) == null;
  }

  /** Ends a block; false if there is none. */
  boolean remove(K key) {
    return present.asMap().remove(key) != null;
  }

  List<Block> all() {
    return List.copyOf(present.asMap().values());
  }

  /** How many there are. */
  long size() {
    return TimedCaches.size(present);
  }

  /** How many have ended early because there were too many. */
  long endedEarly() {
    return endedEarly.sum();
  }
}
