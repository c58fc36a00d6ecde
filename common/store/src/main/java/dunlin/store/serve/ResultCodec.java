package dunlin.store.serve;

import java.nio.ByteBuffer;

/**
 * The wire format of results between nodes. They are never stored, but nodes may have different versions, so it begins
 * with a version or kind byte.
 */
public interface ResultCodec<R> {
  byte[] encode(R result);

  /**
   * Reads one result, which ends at the buffer's limit.
   *
   * @throws IllegalStateException when the format of the bytes is unknown
   */
  R decode(ByteBuffer in);
}
