package dunlin.placement.plan;

import dunlin.placement.NodeReport.Load;
import dunlin.placement.Operation.Split;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Whether and where a range should be split. */
public final class SplitChoice {
  private SplitChoice() {}

  /**
   * The split for load comes before the one for size: a busy range hurts now, a large one only when it is moved. Empty
   * below a minimum of bytes.
   */
  public static Optional<Split> choose(RangeDescriptor range, Load load, SplitSettings settings) {
    boolean busy = settings.busy(load.bytes(), load.operationsPerSecond());
    var byLoad = busy ? cut(range.keys(), load.busiest()) : Optional.<byte[]>empty();
    var cut = byLoad.isPresent() || !settings.large(load.bytes()) ? byLoad : cut(range.keys(), load.middle());
    return cut.map(key -> at(range, key));
  }

  /** The split of a range at a key. The child's identifier is derived from both, so asking twice makes one child. */
  public static Split at(RangeDescriptor range, byte[] cut) {
    var digest = sha256();
    digest.update("dunlin.split".getBytes(StandardCharsets.UTF_8));
    digest.update(ByteBuffer.allocate(24)
        .putLong(range.id().getMostSignificantBits())
        .putLong(range.id().getLeastSignificantBits())
        .putLong(range.epoch())
        .flip());
    var hash = ByteBuffer.wrap(digest.digest(cut));
    // The upper 32 bits stand for the kind; version 8 and variant as in every identifier of our own making.
    long upper = (range.id().getMostSignificantBits() & 0xFFFF_FFFF_0000_0000L) | (hash.getInt() & 0xFFFF_0FFFL) | 0x8000;
    long lower = (hash.getLong() & 0x3FFF_FFFF_FFFF_FFFFL) | (1L << 63);
    return new Split(range.id(), range.epoch(), cut, new UUID(upper, lower));
  }

  /** A reported key, shortened to the bound of a boundary; empty when it leaves one side empty. */
  private static Optional<byte[]> cut(KeyInterval keys, byte @Nullable [] key) {
    if (key == null) return Optional.empty();
    byte[] cut = key.length > KeyInterval.BOUNDARY_BYTES_MAX ? Arrays.copyOf(key, KeyInterval.BOUNDARY_BYTES_MAX) : key;
    return keys.splitsAt(cut) ? Optional.of(cut) : Optional.empty();
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("this Java has no SHA-256", e);
    }
  }
}
