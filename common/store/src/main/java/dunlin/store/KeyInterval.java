package dunlin.store;

import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The keys {@code start <= key < end} in the order of unsigned bytes. An empty start is the lowest key that there is; a
 * missing end is above all keys. Never empty.
 */
public final class KeyInterval {
  /** The maximum length of a boundary. A short key between two rows is enough to split a range anywhere. */
  public static final int BOUNDARY_BYTES_MAX = 4096;

  private static final KeyInterval ALL = new KeyInterval(new byte[0], null);

  private final byte[] start;
  private final byte @Nullable [] end;

  private KeyInterval(byte[] start, byte @Nullable [] end) {
    this.start = start;
    this.end = end;
  }

  /** Every key. */
  public static KeyInterval all() {
    return ALL;
  }

  /**
   * @param end exclusive; null for no end
   * @throws IllegalArgumentException when no key would be in it, or a boundary is too long
   */
  public static KeyInterval between(byte[] start, byte @Nullable [] end) {
    if (start.length > BOUNDARY_BYTES_MAX || (end != null && end.length > BOUNDARY_BYTES_MAX))
      throw new IllegalArgumentException("a boundary of an interval has at most " + BOUNDARY_BYTES_MAX + " bytes");
    if (end != null && Arrays.compareUnsigned(start, end) >= 0)
      throw new IllegalArgumentException("empty interval from " + hex(start) + " to " + hex(end));
    return new KeyInterval(start.clone(), end == null ? null : end.clone());
  }

  public boolean contains(byte[] key) {
    return Arrays.compareUnsigned(start, key) <= 0 && (end == null || Arrays.compareUnsigned(key, end) < 0);
  }

  public boolean contains(KeyInterval other) {
    return Arrays.compareUnsigned(start, other.start) <= 0
        && (end == null || (other.end != null && Arrays.compareUnsigned(other.end, end) <= 0));
  }

  public boolean overlaps(KeyInterval other) {
    return (end == null || Arrays.compareUnsigned(other.start, end) < 0)
        && (other.end == null || Arrays.compareUnsigned(start, other.end) < 0);
  }

  /** Whether the other interval begins exactly where this one ends. */
  public boolean meets(KeyInterval other) {
    return end != null && Arrays.equals(end, other.start);
  }

  /** Whether a cut at this key leaves something on both sides. */
  public boolean splitsAt(byte[] key) {
    return key.length <= BOUNDARY_BYTES_MAX && contains(key) && !Arrays.equals(start, key);
  }

  /** The keys below the cut. */
  public KeyInterval below(byte[] cut) {
    checkCut(cut);
    return between(start, cut);
  }

  /** The cut and the keys above it. */
  public KeyInterval from(byte[] cut) {
    checkCut(cut);
    return between(cut, end);
  }

  private void checkCut(byte[] cut) {
    if (!splitsAt(cut)) throw new IllegalArgumentException(this + " cannot be split at " + hex(cut));
  }

  public byte[] start() {
    return start.clone();
  }

  /** Exclusive; null when there is no end. */
  public byte @Nullable [] end() {
    return end == null ? null : end.clone();
  }

  /** Orders intervals that do not overlap. */
  public int compareStart(KeyInterval other) {
    return Arrays.compareUnsigned(start, other.start);
  }

  void writeTo(FieldWriter out) {
    out.bytes(start);
    out.flag(end != null);
    if (end != null) out.bytes(end);
  }

  static KeyInterval readFrom(FieldReader in) {
    byte[] start = in.bytes();
    return between(start, in.flag() ? in.bytes() : null);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof KeyInterval that && Arrays.equals(start, that.start) && Arrays.equals(end, that.end);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(start) + Arrays.hashCode(end);
  }

  @Override
  public String toString() {
    return "[" + hex(start) + ", " + (end == null ? "end" : hex(end)) + ")";
  }

  private static String hex(byte[] key) {
    return key.length == 0 ? "start" : HexFormat.of().formatHex(key);
  }
}
