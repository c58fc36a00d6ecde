package dunlin.retain;

import dunlin.model.Publication;
import dunlin.retain.RetainCommand.Add;
import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.retain.RetainCommand.Set;
import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The encoding of commands in the log and of rows in the store. */
final class RetainCodec implements CommandCodec<RetainCommand> {
  /*
   * A command begins with its kind; a new format of a command gets a new kind:
   *   4 Set            messagesMax, topicBytesMax, bytesMax (8 each) | message as Publication writes it
   *   5 Add            clock (8) | the fields of Set
   *   2 Clear          key, to the end
   *   3 RemoveExpired  clock (8) | count (1) | for each: length (4), key
   * A row's value is the message as Publication writes it, which begins with its own format number.
   */
  private static final byte CLEAR = 2;
  private static final byte REMOVE_EXPIRED = 3;
  private static final byte SET = 4;
  private static final byte ADD = 5;

  @Override
  public CommandKind kind(RetainCommand command) {
    return switch (command) {
      case Set _, Add _ -> CommandKind.FLOW;
      case Clear _, RemoveExpired _ -> CommandKind.RELEASE;
    };
  }

  @Override
  public String source(RetainCommand command) {
    return tenantOf(command);
  }

  /** The tenant of a topic; empty for what removes expired messages, which may come at any time. */
  static String tenantOf(RetainCommand command) {
    return switch (command) {
      case Set set -> set.message().publisher().tenant();
      case Add add -> add.message().publisher().tenant();
      case Clear clear -> TopicKeys.tenant(clear.key());
      case RemoveExpired _ -> "";
    };
  }

  @Override
  public int encodedLength(RetainCommand command) {
    return 1
        + switch (command) {
          case Set set -> 3 * Long.BYTES + set.message().encodedLength();
          case Add add -> 4 * Long.BYTES + add.message().encodedLength();
          case Clear clear -> clear.key().length;
          case RemoveExpired remove -> {
            int length = Long.BYTES + 1;
            for (byte[] key : remove.keys()) length += Integer.BYTES + key.length;
            yield length;
          }
        };
  }

  @Override
  public void encode(RetainCommand command, ByteBuffer out) {
    switch (command) {
      case Set set -> {
        out.put(SET);
        write(set.bounds(), set.message(), out);
      }
      case Add add -> {
        out.put(ADD).putLong(add.nowMillis());
        write(add.bounds(), add.message(), out);
      }
      case Clear clear -> out.put(CLEAR).put(clear.key());
      case RemoveExpired remove -> {
        out.put(REMOVE_EXPIRED).putLong(remove.nowMillis()).put((byte) remove.keys().size());
        for (byte[] key : remove.keys()) out.putInt(key.length).put(key);
      }
    }
  }

  private static void write(RetainBounds bounds, Publication message, ByteBuffer out) {
    out.putLong(bounds.messagesMax()).putLong(bounds.topicBytesMax()).putLong(bounds.bytesMax());
    message.writeTo(out);
  }

  @Override
  public RetainCommand decode(ByteBuffer in) {
    try {
      RetainCommand command = read(in);
      if (in.hasRemaining()) throw new IllegalStateException(in.remaining() + " bytes behind a retain command");
      return command;
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IllegalStateException("damaged retain command", e);
    }
  }

  private static RetainCommand read(ByteBuffer in) {
    byte kind = in.get();
    return switch (kind) {
      case SET -> new Set(bounds(in), Publication.readFrom(in));
      case ADD -> new Add(in.getLong(), bounds(in), Publication.readFrom(in));
      case CLEAR -> new Clear(bytes(in, in.remaining()));
      case REMOVE_EXPIRED -> {
        long nowMillis = in.getLong();
        int size = Byte.toUnsignedInt(in.get());
        List<byte[]> keys = new ArrayList<>(Math.min(size, RemoveExpired.KEYS_MAX));
        for (int i = 0; i < size; i++) keys.add(bytes(in, in.getInt()));
        yield new RemoveExpired(nowMillis, keys);
      }
      default -> throw new IllegalStateException("retain command of unknown kind " + kind);
    };
  }

  private static RetainBounds bounds(ByteBuffer in) {
    return new RetainBounds(in.getLong(), in.getLong(), in.getLong());
  }

  private static byte[] bytes(ByteBuffer in, int length) {
    if (length < 0 || length > in.remaining()) {
      throw new IllegalStateException("key of " + length + " bytes in " + in.remaining());
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  static byte[] row(Publication message) {
    byte[] value = new byte[message.encodedLength()];
    message.writeTo(ByteBuffer.wrap(value));
    return value;
  }

  /**
   * Reads what {@link #row} wrote.
   *
   * @throws IllegalStateException when it is damaged or of an unknown format
   */
  static Publication message(byte[] row) {
    try {
      return Publication.readFrom(ByteBuffer.wrap(row));
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IllegalStateException("damaged retained message of " + row.length + " bytes", e);
    }
  }
}
