package dunlin.store.serve;

import java.nio.ByteBuffer;

/** How results travel between nodes. They are never stored, but nodes of two versions may talk: begin with a version or kind byte. */
public interface ResultCodec<R> {
  byte[] encode(R result);

  /**
   * Reads one result, which ends at the buffer's limit.
   *
   * @throws IllegalStateException when the bytes are of no known format
   */
  R decode(ByteBuffer in);
}
