package dunlin.store.disk;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.KeyInterval;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * An approximately even sample of the keys written in the last seconds: one write in every {@code distance} is sampled,
 * and the distance adapts to the rate of writes.
 */
final class KeySample {
  /*
   * Owner: the applying thread writes; any thread reads the sample, under the lock.
   * Bounds: SIZE keys, each no longer than a boundary of a range.
   *
   * Once the distance has adapted, this costs a subtraction for each write and at most a few dozen copies of keys a
   * second.
   */
  static final int SIZE = 128;
  private static final long SPAN_NANOS = Duration.ofSeconds(5).toNanos();
  private static final int DISTANCE_MAX = 1 << 20;
  /** How much the distance changes at a time. */
  private static final int STEP = 16;

  private final SplittableRandom random;
  private final LongSupplier nanos;
  @GuardedBy("this")
  private final byte[][] taken = new byte[SIZE][];
  @GuardedBy("this")
  private final long[] takenAt = new long[SIZE];
  @GuardedBy("this")
  private int count;
  @GuardedBy("this")
  private boolean sparse;

  private int distance = 1;
  private int left = 1;
  private int next;
  private long roundBegan;

  KeySample(long seed, LongSupplier nanos) {
    random = new SplittableRandom(seed);
    this.nanos = nanos;
    roundBegan = nanos.getAsLong();
  }

  /** Takes note of a write to this key. */
  void written(byte[] key) {
    if (--left == 0) take(key);
  }

  private void take(byte[] key) {
    long now = nanos.getAsLong();
    synchronized (this) {
      taken[next] = Arrays.copyOf(key, Math.min(key.length, KeyInterval.BOUNDARY_BYTES_MAX));
      takenAt[next] = now;
      count = Math.max(count, next + 1);
      if (sparse) distance = Math.max(1, distance / STEP);
      sparse = false;
    }
    next++;
    if (next == SIZE) {
      next = 0;
      distance = fitting(now - roundBegan);
      roundBegan = now;
    }
    left = 1 + random.nextInt(2 * distance - 1); // random, with the distance as its mean, so that patterns in the writes do not bias the sample
  }

  /** The distance at which the writes of this time would have filled the sample in its target time. */
  private int fitting(long tookNanos) {
    long wanted = (long) ((double) distance * SPAN_NANOS / Math.max(1, tookNanos));
    return Math.toIntExact(Math.clamp(Math.clamp(wanted, distance / STEP, (long) distance * STEP), 1, DISTANCE_MAX));
  }

  /** The keys without outdated ones. When few are left, the rate of writes has dropped and the distance is too large. */
  synchronized List<byte[]> keys() {
    long oldest = nanos.getAsLong() - 2 * SPAN_NANOS;
    var keys = new ArrayList<byte[]>();
    for (int i = 0; i < count; i++) if (takenAt[i] - oldest >= 0) keys.add(taken[i]);
    sparse = keys.size() < SIZE / 4;
    return keys;
  }
}
