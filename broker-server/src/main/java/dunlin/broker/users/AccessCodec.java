package dunlin.broker.users;

import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The encoding of commands in the log and of rows in the store. */
final class AccessCodec implements CommandCodec<AccessCommand> {
  /*
   * A command begins with its kind; a new format gets a new kind. A row's key is the code of its kind and its name in UTF-8, and its value begins with ROW_FORMAT. The
   * row with the key 0 is the header.
   */
  private static final int PUT = 1;
  private static final int DELETE = 2;
  private static final int SWEEP = 3;
  private static final int ROW_FORMAT = 1;
  private static final int HEADER_FORMAT = 1;

  @Override
  public CommandKind kind(AccessCommand command) {
    return command instanceof AccessCommand.Put ? CommandKind.CALL : CommandKind.RELEASE;
  }

  @Override
  public int encodedLength(AccessCommand command) {
    return FieldWriter.lengthOf(out -> write(out, command));
  }

  @Override
  public void encode(AccessCommand command, ByteBuffer out) {
    write(new FieldWriter(out), command);
  }

  @Override
  public AccessCommand decode(ByteBuffer in) {
    return FieldReader.read(in, AccessCodec::readCommand);
  }

  private static void write(FieldWriter out, AccessCommand command) {
    switch (command) {
      case AccessCommand.Put(var bounds, var change, var secret) -> {
        out.octet(PUT);
        out.number(bounds.usersMax());
        out.number(bounds.rolesMax());
        out.number(bounds.bansMax());
        out.number(bounds.bytesMax());
        writePut(out, change);
        out.bytes(secret);
      }
      case AccessCommand.Delete(var change) -> {
        out.octet(DELETE);
        writeDelete(out, change);
      }
      case AccessCommand.Sweep(var nowMillis, var bans) -> {
        out.octet(SWEEP);
        out.number(nowMillis);
        out.list(bans, AccessCodec::writeKey);
      }
    }
  }

  private static AccessCommand readCommand(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case PUT -> new AccessCommand.Put(new AccessBounds(in.count(), in.count(), in.count(), in.number()), readPut(in), in.bytes());
      case DELETE -> new AccessCommand.Delete(readDelete(in));
      case SWEEP -> new AccessCommand.Sweep(in.number(), in.list(AccessCodec::readKey));
      default -> throw new IllegalStateException("access command of unknown kind " + kind);
    };
  }

  static void writePut(FieldWriter out, AccessChange.Put put) {
    out.number(put.expected());
    writeEntry(out, put.entry());
    out.flag(put.keepsVerifier());
  }

  static AccessChange.Put readPut(FieldReader in) {
    return new AccessChange.Put(in.number(), readEntry(in), in.flag());
  }

  static void writeDelete(FieldWriter out, AccessChange.Delete delete) {
    out.number(delete.expected());
    writeKey(out, delete.key());
  }

  static AccessChange.Delete readDelete(FieldReader in) {
    return new AccessChange.Delete(in.number(), readKey(in));
  }

  private static void writeEntry(FieldWriter out, AccessEntry entry) {
    writeKey(out, entry.key());
    switch (entry) {
      case AccessEntry.User(_, var verifier, var roles, var enabled) -> {
        out.text(verifier);
        out.list(roles, FieldWriter::text);
        out.flag(enabled);
      }
      case AccessEntry.Role(_, var rules) -> out.list(rules, FieldWriter::text);
      case AccessEntry.Tenant(_, var state, var limits) -> {
        out.octet(state.code());
        out.list(limits, FieldWriter::text);
      }
      case AccessEntry.Ban(_, _, var until, var reason) -> {
        out.number(until);
        out.text(reason);
      }
    }
  }

  private static AccessEntry readEntry(FieldReader in) {
    var key = readKey(in);
    return switch (key.kind()) {
      case USER -> new AccessEntry.User(key.name(), in.text(), in.list(FieldReader::text), in.flag());
      case ROLE -> new AccessEntry.Role(key.name(), in.list(FieldReader::text));
      case TENANT -> new AccessEntry.Tenant(key.name(), AccessEntry.Tenant.State.of(in.octet()), in.list(FieldReader::text));
      case BANNED_CLIENT, BANNED_USER, BANNED_ADDRESS -> new AccessEntry.Ban(key.kind(), key.name(), in.number(), in.text());
    };
  }

  static void writeKey(FieldWriter out, AccessEntry.RowKey key) {
    out.octet(key.kind().code());
    out.text(key.name());
  }

  static AccessEntry.RowKey readKey(FieldReader in) {
    return new AccessEntry.RowKey(AccessEntry.Kind.of(in.octet()), in.text());
  }

  static byte[] key(AccessEntry.RowKey key) {
    byte[] name = key.name().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(1 + name.length).put((byte) key.kind().code()).put(name).array();
  }

  static byte[] value(AccessRow row) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(ROW_FORMAT);
          writeRow(out, row);
        });
  }

  static AccessRow row(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(ROW_FORMAT, "an access row");
          return readRow(in);
        });
  }

  static void writeRow(FieldWriter out, AccessRow row) {
    out.number(row.version());
    out.number(row.since());
    writeEntry(out, row.entry());
  }

  static AccessRow readRow(FieldReader in) {
    return new AccessRow(in.number(), in.number(), readEntry(in));
  }

  /**
   * What the range has beside its rows.
   *
   * @param version of the last change, which may have been a deletion
   */
  record Header(long version, byte[] secret) {}

  static byte[] value(Header header) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(HEADER_FORMAT);
          out.number(header.version());
          out.bytes(header.secret());
        });
  }

  static Header header(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(HEADER_FORMAT, "the header of access rows");
          return new Header(in.number(), in.bytes());
        });
  }
}
