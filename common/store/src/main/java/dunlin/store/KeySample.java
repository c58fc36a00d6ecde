package dunlin.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * Keys of rows that were written lately, about evenly chosen among the writes: every so-many-th row, with so many chosen such
 * that the sample is of the last seconds, however busy they were.
 */
final class KeySample {
  /*
   * Owner: the applying thread writes; any thread reads what was taken, under the lock.
   * Bounds: SIZE keys, each of at most what a boundary of a range may have.
   *
   * Costs a subtraction for each write to RocksDB. Only when a key of it is due are its keys gone through, which is a few
   * dozen times a second at most, once the distance fits.
   */
  static final int SIZE = 128;
  private static final long SPAN_NANOS = Duration.ofSeconds(5).toNanos();
  private static final int DISTANCE_MAX = 1 << 20;
  /** How much the distance changes at a time. */
  private static final int STEP = 16;

  private final SplittableRandom random;
  private final LongSupplier nanos;
  private final byte[][] taken = new byte[SIZE][]; // guarded by this
  private int count; // guarded by this

  private int distance = 1;
  private int left = 1;
  private int next;
  private long roundBegan;

  KeySample(long seed, LongSupplier nanos) {
    random = new SplittableRandom(seed);
    this.nanos = nanos;
    roundBegan = nanos.getAsLong();
  }

  /** Rows are being written, all at once. */
  void written(Collection<byte[]> keys) {
    int rows = keys.size();
    if (left > rows) {
      left -= rows;
      return;
    }
    for (byte[] key : keys) if (--left == 0) take(key);
  }

  private void take(byte[] key) {
    synchronized (this) {
      taken[next] = Arrays.copyOf(key, Math.min(key.length, KeyInterval.BOUNDARY_BYTES_MAX));
      count = Math.max(count, next + 1);
    }
    next++;
    if (next == SIZE) {
      next = 0;
      long now = nanos.getAsLong();
      distance = fitting(now - roundBegan);
      roundBegan = now;
    }
    left = 1 + random.nextInt(2 * distance - 1); // the distance, on average, so that a rhythm of the writes does not show
  }

  /** The distance at which as many writes as in this time would have filled the sample in the time that it shall be of. */
  private int fitting(long tookNanos) {
    long wanted = (long) ((double) distance * SPAN_NANOS / Math.max(1, tookNanos));
    return Math.toIntExact(Math.clamp(Math.clamp(wanted, distance / STEP, (long) distance * STEP), 1, DISTANCE_MAX));
  }

  synchronized List<byte[]> keys() {
    return new ArrayList<>(Arrays.asList(taken).subList(0, count));
  }
}
