package dunlin.store;

import java.nio.ByteBuffer;

/**
 * How commands are encoded in the log. The format must stay readable for as long as a log may hold it, so it begins
 * with a version or kind byte.
 */
public interface CommandCodec<C> {
  /** What this command may use of the range's bounds. Called with each proposal, on the caller's thread. */
  default CommandKind kind(C command) {
    return CommandKind.CALL;
  }

  /** Bytes that {@link #encode} writes for this command. */
  int encodedLength(C command);

  void encode(C command, ByteBuffer out);

  /**
   * Reads one command, which ends at the buffer's limit.
   *
   * @throws IllegalStateException when the format of the bytes is unknown
   */
  C decode(ByteBuffer in);
}
