package dunlin.store;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * The identity of a range: the name of its kind, and the UUID of its Raft group, which also names its directory. The
 * upper 32 bits of the UUID stand for the kind, so that the kind of a range found on disk or announced by another node
 * is known.
 */
public record RangeId(String kind, UUID uuid) {
  public RangeId {
    if (!isOf(kind, uuid))
      throw new IllegalArgumentException("range " + uuid + " is not of kind '" + kind + "'");
  }

  /** The range of this kind that a new store begins with: the same UUID on every node and after every restart. */
  public static RangeId firstOf(String kind) {
    var hash = hash(kind);
    long upper = hash.getLong();
    long lower = hash.getLong();
    // Version 8 and the variant bits: a UUID of our own making, RFC 9562 section 5.8.
    return new RangeId(
        kind, new UUID((upper & 0xFFFF_FFFF_FFFF_0FFFL) | 0x8000, (lower & 0x3FFF_FFFF_FFFF_FFFFL) | (1L << 63)));
  }

  /**
   * One of several ranges of this kind that a new store begins with; with the same UUID everywhere, as above.
   *
   * @param number from 0 for the first range
   */
  public static RangeId numbered(String kind, int number) {
    var first = firstOf(kind);
    if (number == 0) return first;
    return new RangeId(kind, new UUID(first.uuid.getMostSignificantBits(), (first.uuid.getLeastSignificantBits() >>> 32 << 32) | number));
  }

  /** Whether it is one of those that a store or a cluster begins with, and not one that came of a split. */
  public boolean isNumbered() {
    var first = firstOf(kind);
    return uuid.getMostSignificantBits() == first.uuid.getMostSignificantBits()
        && uuid.getLeastSignificantBits() >>> 32 == first.uuid.getLeastSignificantBits() >>> 32;
  }

  /** Whether a range with this identifier is of this kind. */
  public static boolean isOf(String kind, UUID uuid) {
    return kindBits(uuid) == (int) (hash(kind).getLong() >>> 32);
  }

  static int kindBits(UUID uuid) {
    return (int) (uuid.getMostSignificantBits() >>> 32);
  }

  private static ByteBuffer hash(String kind) {
    if (!kind.matches("[a-z][a-z0-9-]{0,31}"))
      throw new IllegalArgumentException("kind of a range is '" + kind + "', must be a short lower-case word");
    return ByteBuffer.wrap(sha256("dunlin.range." + kind));
  }

  private static byte[] sha256(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("this Java has no SHA-256", e);
    }
  }

  /** The kind, followed by the end of the UUID unless the range is the first of its kind. */
  @Override
  public String toString() {
    String whole = uuid.toString();
    return uuid.equals(firstOf(kind).uuid()) ? kind : kind + "-" + whole.substring(whole.length() - 8);
  }
}
