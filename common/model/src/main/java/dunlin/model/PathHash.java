package dunlin.model;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Hashes of paths of topic levels; each level is folded into the hash of the path before it.
 *
 * <p>The hash of a path depends only on its text and the two keys, so the places of all levels of a topic in a table
 * are known without reading the table.
 *
 * @param wordKey multiplies the full eight-byte words of a level
 * @param endKey multiplies the rest of a level
 */
record PathHash(long wordKey, long endKey) {
  /*
   * Keyed multiply-and-fold over eight bytes at a time: one multiplication for a level of up to seven bytes. Clients
   * cannot construct colliding levels without the keys, and a collision only costs time, since FilterIndex compares
   * texts. The last word of a level has the count of its bytes at the top, so levels, "+" and "#" are always folded
   * differently. The low byte is not hashed: it is the number of levels plus one. So paths of different depth never
   * collide, and no path is 0, which marks a free place. A path deeper than DEPTH_MAX gets the low byte 0, or is 0, and
   * is never found.
   */
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long DEPTH = 0xFF;

  /** The most levels that a path can have. */
  static final int DEPTH_MAX = 254;

  private static final long PLUS = 0xFFL << 56;
  private static final long HASH = 0xFEL << 56;
  private static final long SLASHES = 0x2F2F_2F2F_2F2F_2F2FL;
  private static final long ONES = 0x0101_0101_0101_0101L;
  private static final long HIGHS = 0x8080_8080_8080_8080L;

  /** The path without a level, of the tenant with this number. */
  long root(long tenant) {
    return end(wordKey ^ tenant, 0);
  }

  /** The path followed by {@code +}. */
  long plus(long path) {
    return end(path ^ PLUS, path);
  }

  /** The path followed by {@code #}. */
  long hash(long path) {
    return end(path ^ HASH, path);
  }

  /** The path followed by the level of these bytes. */
  long level(long path, byte[] text, int from, int to) {
    long h = path;
    int i = from;
    for (; i + 8 <= to; i += 8) h = fold(h ^ (long) LONGS.get(text, i), wordKey);
    int left = to - i;
    long word = 0;
    if (i + 8 <= text.length) {
      word = (long) LONGS.get(text, i) & ((1L << (8 * left)) - 1);
    } else {
      for (int k = 0; k < left; k++) word |= (text[i + k] & 0xFFL) << (8 * k);
    }
    return end(h ^ (word | (left + 1L) << 56), path);
  }

  /** The path followed by a filter's level, which may be a wildcard. */
  long filterLevel(long path, byte[] text, int from, int to) {
    if (isLevel(text, from, to, '+')) return plus(path);
    if (isLevel(text, from, to, '#')) return hash(path);
    return level(path, text, from, to);
  }

  /** Whether the level is this one character. */
  static boolean isLevel(byte[] text, int from, int to, char wildcard) {
    return to - from == 1 && text[from] == wildcard;
  }

  /** Where the level that begins at {@code from} ends: at the next slash, or at {@code end}. */
  static int levelEnd(byte[] text, int from, int end) {
    int i = from;
    for (; i + 8 <= text.length; i += 8) {
      long word = (long) LONGS.get(text, i) ^ SLASHES;
      long zeros = (word - ONES) & ~word & HIGHS;
      if (zeros != 0) return Math.min(end, i + (Long.numberOfTrailingZeros(zeros) >>> 3));
      if (i + 8 >= end) return end;
    }
    while (i < end && text[i] != '/') i++;
    return i;
  }

  private long end(long word, long parent) {
    long depth = (parent & DEPTH) + 1;
    return (fold(word, endKey) & ~DEPTH) | (depth & DEPTH);
  }

  private static long fold(long word, long key) {
    return (word * key) ^ Math.unsignedMultiplyHigh(word, key);
  }
}
