package dunlin.model;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The texts of an index's filters, each with the number of its tenant, contiguous in large arrays. */
final class FilterTexts {
  /*
   * A byte[] and an object for each filter would cost some 30 B more than the text; here the overhead is 8 B: the
   * tenant's number (48 bits, so that none is used twice) and the length (16 bits).
   *
   * Owner: the index's writer appends; any thread reads a text by an offset from the table, whose release and acquire
   * also order the bytes. A text never changes and its offset is never reused, so an unchanged offset proves an
   * unchanged text.
   * Bounds: the texts of live filters, as much again of dead ones (the index then copies the live ones into a new object),
   * and one chunk of slack. Within an offset's 36 bits: 64 GiB.
   */
  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final int CHUNK_BITS = 20;
  private static final int CHUNK = 1 << CHUNK_BITS;
  private static final int FIRST = 1 << 10;
  private static final int HEADER = 8;

  /** The longest text, that of an MQTT string. */
  static final int LENGTH_MAX = 65_535;

  /** One more than the largest offset. */
  static final long OFFSET_LIMIT = 1L << 36;

  // Written by the index's writer; a chunk is complete up to every offset that was returned before it was set.
  private volatile byte[][] chunks = {new byte[FIRST]};
  private long end;

  /** Bytes appended so far, dead ones included. */
  long size() {
    return end;
  }

  static int sizeOf(byte[] text) {
    return HEADER + text.length;
  }

  /** Appends a text and returns its offset. */
  long append(long tenant, byte[] text, int length) {
    int needed = HEADER + length;
    if (((end + needed - 1) ^ end) >>> CHUNK_BITS != 0) end = (end | (CHUNK - 1)) + 1; // a text never spans two chunks
    if (end + needed > OFFSET_LIMIT) throw new IllegalStateException("more than 64 GiB of topic filters");
    byte[] chunk = room((int) (end >>> CHUNK_BITS), at(end) + needed);
    int at = at(end);
    LONGS.set(chunk, at, (tenant << 16) | length);
    System.arraycopy(text, 0, chunk, at + HEADER, length);
    long offset = end;
    end += needed;
    return offset;
  }

  /** The chunk with at least this many bytes; the first one grows, so that a small index stays small. */
  private byte[] room(int chunk, int bytes) {
    byte[][] all = chunks;
    if (chunk < all.length && all[chunk].length >= bytes) return all[chunk];
    byte[][] more = Arrays.copyOf(all, Math.max(all.length, chunk + 1));
    if (chunk > 0) {
      more[chunk] = new byte[CHUNK];
    } else {
      int size = all[0].length;
      while (size < bytes) size *= 2;
      more[0] = Arrays.copyOf(all[0], size);
    }
    chunks = more;
    return more[chunk];
  }

  long tenant(long offset) {
    return header(chunk(offset), at(offset)) >>> 16;
  }

  byte[] text(long offset) {
    byte[] chunk = chunk(offset);
    int from = at(offset) + HEADER;
    return Arrays.copyOfRange(chunk, from, from + length(header(chunk, at(offset))));
  }

  boolean equals(long offset, long tenant, byte[] text) {
    byte[] chunk = chunk(offset);
    int from = at(offset) + HEADER;
    long header = header(chunk, at(offset));
    return header >>> 16 == tenant && Arrays.equals(chunk, from, from + length(header), text, 0, text.length);
  }

  /** Whether the text is this path, or begins with it and a slash; {@code length} is -1 for the path without a level. */
  boolean isOnPath(long offset, long tenant, byte[] path, int length) {
    byte[] chunk = chunk(offset);
    int from = at(offset) + HEADER;
    long header = header(chunk, at(offset));
    if (header >>> 16 != tenant) return false;
    if (length < 0) return true;
    int own = length(header);
    return own >= length
        && Arrays.equals(chunk, from, from + length, path, 0, length)
        && (own == length || chunk[from + length] == '/');
  }

  /** Whether the topic name matches the text as a filter. */
  boolean matches(long offset, long tenant, byte[] topic, int start, int end) {
    byte[] chunk = chunk(offset);
    int f = at(offset) + HEADER;
    long header = header(chunk, at(offset));
    int filterEnd = f + length(header);
    if (header >>> 16 != tenant) return false;
    int t = start;
    // Leading wildcards do not match topic names that begin with $ [MQTT-4.7.2-1].
    if (start < end && topic[start] == '$' && (chunk[f] == '+' || chunk[f] == '#')) return false;
    while (true) {
      int same = Arrays.mismatch(chunk, f, filterEnd, topic, t, end);
      if (same < 0) return true;
      f += same;
      t += same;
      if (f == filterEnd) return false;
      switch (chunk[f]) {
        case '+' -> {
          f++;
          t = PathHash.levelEnd(topic, t, end);
        }
        case '#' -> {
          return true;
        }
        case '/' -> {
          // The rest of the filter is "/#", which also matches its parent level.
          return t == end && f + 2 == filterEnd && chunk[f + 1] == '#';
        }
        default -> {
          return false;
        }
      }
    }
  }

  private byte[] chunk(long offset) {
    return chunks[(int) (offset >>> CHUNK_BITS)];
  }

  private static int at(long offset) {
    return (int) offset & (CHUNK - 1);
  }

  private static long header(byte[] chunk, int at) {
    return (long) LONGS.get(chunk, at);
  }

  private static int length(long header) {
    return (int) header & LENGTH_MAX;
  }
}
