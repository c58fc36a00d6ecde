package dunlin.store.disk;

import dunlin.store.KeyInterval;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Looks for a row with about half of the bytes below it: a binary search over keys as numbers, which continues with the
 * existing row nearest to each probe.
 */
final class MiddleKey {
  private static final int STEPS_MAX = 64;
  /** The number of bytes after the common prefix of two keys that are used as the number. */
  private static final int DIGITS = 16;

  /** The middle may be missed by one in this many bytes: sizes are estimates. */
  private static final int GOOD_ENOUGH = 16;

  /** Rows in the order of their keys. */
  interface Rows {
    /** The first key at or above this one. */
    byte @Nullable [] ceiling(byte[] key);

    /** The last key below this one; null asks for the last of all. */
    byte @Nullable [] lower(byte @Nullable [] key);

    /** Bytes of all rows from one key up to another, exclusive. */
    long bytes(byte[] from, byte[] to);
  }

  private MiddleKey() {}

  static Optional<byte[]> find(Rows rows, KeyInterval keys) {
    byte[] first = rows.ceiling(keys.start());
    byte[] last = rows.lower(keys.end());
    if (first == null || last == null || Arrays.compareUnsigned(first, last) >= 0) return Optional.empty();
    long all = rows.bytes(first, after(last));
    byte[] low = first;
    byte[] high = last;
    byte[] best = last;
    long missed = Long.MAX_VALUE;
    for (int step = 0; step < STEPS_MAX && missed > all / GOOD_ENOUGH; step++) {
      byte[] half = between(low, high);
      byte[] found = rows.ceiling(half);
      if (found == null || Arrays.compareUnsigned(found, high) > 0) break; // rows have been deleted since
      long below = rows.bytes(first, found);
      if (Math.abs(2 * below - all) < missed) {
        missed = Math.abs(2 * below - all);
        best = found;
      }
      if (2 * below < all) {
        if (Arrays.equals(found, high)) break; // the interval above it has been searched
        low = found;
      } else {
        byte[] under = rows.lower(half);
        if (under == null || Arrays.compareUnsigned(under, low) <= 0) break; // no row is between low and the one found
        high = under;
      }
    }
    return Optional.of(best);
  }

  private static byte[] after(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  /** A key about half-way between two, above the lower one and not above the other. */
  static byte[] between(byte[] low, byte[] high) {
    int length = Math.max(0, Arrays.mismatch(low, high)) + DIGITS;
    var sum = new BigInteger(1, Arrays.copyOf(low, length)).add(new BigInteger(1, Arrays.copyOf(high, length)));
    byte[] digits = sum.shiftRight(1).toByteArray(); // may have one more byte, for the sign, or fewer
    int count = Math.min(digits.length, length);
    byte[] half = new byte[length];
    System.arraycopy(digits, digits.length - count, half, length - count, count);
    if (Arrays.compareUnsigned(half, low) <= 0) half = after(low);
    return Arrays.compareUnsigned(half, high) > 0 ? high : half;
  }
}
