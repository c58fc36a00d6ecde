package dunlin.store.raft;

import dunlin.store.CommandCodec;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Several commands as one entry of the log: format (1 byte), the epoch that the callers expect (8, left out for the
 * first), the number of commands (4), then each command after its length (4).
 */
final class EntryFormat {
  static final int HEADER_BYTES_MAX = 1 + 8 + 4;
  static final long FIRST_EPOCH = 1;
  static final int COMMAND_HEADER_BYTES = 4;

  private static final byte FORMAT = 1;
  private static final byte FORMAT_EPOCH = 2;

  /** The commands of an entry, and the epoch that they are for. */
  record Commands<C>(long epoch, List<C> commands) {}

  private EntryFormat() {}

  static int headerBytes(long epoch) {
    return epoch == FIRST_EPOCH ? HEADER_BYTES_MAX - Long.BYTES : HEADER_BYTES_MAX;
  }

  /** Writes the header; {@link #append} follows {@code count} times. */
  static void begin(ByteBuffer out, long epoch, int count) {
    if (epoch == FIRST_EPOCH) out.put(FORMAT);
    else out.put(FORMAT_EPOCH).putLong(epoch);
    out.putInt(count);
  }

  /** Writes one command of this encoded length. */
  static <C> void append(ByteBuffer out, C command, int length, CommandCodec<C> codec) {
    out.putInt(length);
    ByteBuffer body = out.slice(out.position(), length);
    codec.encode(command, body);
    if (body.hasRemaining())
      throw new IllegalStateException("a command of " + length + " bytes was encoded in " + body.position());
    out.position(out.position() + length);
  }

  static <C> Commands<C> decode(ByteBuffer in, CommandCodec<C> codec) {
    try {
      byte format = in.get();
      if (format != FORMAT && format != FORMAT_EPOCH)
        throw new IllegalStateException("log entry of format " + format + ", known are " + FORMAT + " and " + FORMAT_EPOCH);
      long epoch = format == FORMAT ? FIRST_EPOCH : in.getLong();
      int count = in.getInt();
      // Every command takes at least its length, so a damaged count cannot ask for more room than the entry has.
      if (count < 0 || count > in.remaining() / COMMAND_HEADER_BYTES)
        throw new IllegalStateException("log entry of " + in.limit() + " bytes claims " + count + " commands");
      var commands = new ArrayList<C>(count);
      for (int i = 0; i < count; i++) {
        int length = in.getInt();
        if (length < 0 || length > in.remaining())
          throw new IllegalStateException("log entry: command " + i + " claims " + length + " bytes of " + in.remaining());
        commands.add(codec.decode(in.slice(in.position(), length)));
        in.position(in.position() + length);
      }
      if (in.hasRemaining()) throw new IllegalStateException("log entry has " + in.remaining() + " bytes too many");
      return new Commands<>(epoch, commands);
    } catch (BufferUnderflowException e) {
      throw new IllegalStateException("log entry ends too early", e);
    }
  }
}
