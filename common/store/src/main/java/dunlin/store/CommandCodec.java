package dunlin.store;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * How commands are encoded in the log. The format must stay readable for as long as a log may hold it, so it begins
 * with a version or kind byte.
 */
public interface CommandCodec<C> {
  /** What this command may use of the range's bounds. Called with each proposal, on the caller's thread. */
  default CommandKind kind(C command) {
    return CommandKind.CALL;
  }

  /**
   * Whose command it is, such as its tenant: commands of one source keep their order while they wait for the log, and sources take turns. Null for a command that
   * concerns several, which keeps its place among all. Called with each proposal, on the caller's thread.
   */
  default @Nullable String source(C command) {
    return null;
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
