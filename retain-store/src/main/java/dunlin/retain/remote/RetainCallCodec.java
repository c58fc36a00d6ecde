package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Row;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.store.ways.WantedTenants;
import dunlin.transport.call.CallProtocol;
import dunlin.transport.lane.MalformedFrameException;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Calls and answers between processes. A call is a kind byte, then the fields in the order in which the records declare them. Messages are written as in the
 * log and in rows.
 */
final class RetainCallCodec {
  static final CallProtocol PROTOCOL =
      new CallProtocol(
          "retain 4",
          "retain tier",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the retain tier is not known")),
          StoreException::isForNextLeader,
          new Moved());

  private static final int SET = 1;
  private static final int FIND = 2;
  private static final int LIST = 3;
  private static final int SUMS = 4;
  private static final int ADD = 5;
  private static final int HELD = 6;

  private RetainCallCodec() {}

  /** The failure that says which keys the range has now. */
  private static final class Moved implements CallProtocol.Kinds {
    @Override
    public byte @Nullable [] encode(Throwable failure) {
      return failure instanceof WrongEpochException moved ? moved.toBytes() : null;
    }

    @Override
    public RuntimeException decode(byte[] failure) throws MalformedFrameException {
      try {
        return WrongEpochException.parse(failure);
      } catch (IllegalStateException e) {
        throw new MalformedFrameException("a failure that cannot be read: " + e.getMessage());
      }
    }
  }

  static byte[] encode(RetainCall call) {
    return FieldWriter.bytesOf(
        out -> {
          switch (call) {
            case RetainCall.Set(var epoch, var message) -> writeChange(out, SET, epoch, message);
            case RetainCall.Add(var epoch, var message) -> writeChange(out, ADD, epoch, message);
            case RetainCall.Find(var epoch, var tenant, var filter, var after, var messagesMax, var bytesMax) -> {
              out.octet(FIND);
              out.number(epoch);
              out.text(tenant);
              out.text(filter);
              writeCursor(out, after);
              out.number(messagesMax);
              out.number(bytesMax);
            }
            case RetainCall.ListKeys(var epoch, var prefix, var from, var max) -> {
              out.octet(LIST);
              out.number(epoch);
              out.bytes(prefix);
              out.bytes(from);
              out.number(max);
            }
            case RetainCall.AskSums() -> out.octet(SUMS);
            case RetainCall.AskHeld(var tenants) -> {
              out.octet(HELD);
              out.list(tenants, FieldWriter::text);
            }
          }
        });
  }

  private static void writeChange(FieldWriter out, int kind, long epoch, Publication message) {
    out.octet(kind);
    out.number(epoch);
    writeMessage(out, message);
  }

  static RetainCall decode(byte[] call) throws MalformedFrameException {
    return read(call, RetainCallCodec::readCall, "a call");
  }

  private static RetainCall readCall(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case SET -> new RetainCall.Set(in.number(), readRetained(in));
      case ADD -> new RetainCall.Add(in.number(), readRetained(in));
      case FIND -> new RetainCall.Find(in.number(), in.text(), in.text(), readCursor(in), in.count(), in.count());
      case LIST -> new RetainCall.ListKeys(in.number(), in.bytes(), in.bytes(), in.count());
      case SUMS -> new RetainCall.AskSums();
      case HELD -> new RetainCall.AskHeld(readTenants(in));
      default -> throw new IllegalStateException("kind " + kind + " of a call");
    };
  }

  private static List<String> readTenants(FieldReader in) {
    var tenants = in.list(FieldReader::text);
    if (tenants.size() > WantedTenants.TENANTS_MAX) throw new IllegalStateException(tenants.size() + " tenants");
    return tenants;
  }

  private static Publication readRetained(FieldReader in) {
    var message = readMessage(in);
    if (!message.retain()) throw new IllegalStateException("a message that is not to be retained");
    return message;
  }

  static byte[] encode(ReasonCode reason) {
    return FieldWriter.bytesOf(out -> out.octet(reason.code()));
  }

  static ReasonCode decodeReason(byte[] answer) throws MalformedFrameException {
    return read(answer, RetainCallCodec::readReason, "an answer");
  }

  private static ReasonCode readReason(FieldReader in) {
    int code = in.octet();
    var reason = ReasonCode.of(code);
    if (reason == null) throw new IllegalStateException("reason code " + code);
    return reason;
  }

  static byte[] encodeAdded(Optional<ReasonCode> reason) {
    return FieldWriter.bytesOf(
        out -> {
          out.flag(reason.isPresent());
          reason.ifPresent(given -> out.octet(given.code()));
        });
  }

  static Optional<ReasonCode> decodeAdded(byte[] answer) throws MalformedFrameException {
    return read(answer, in -> in.flag() ? Optional.of(readReason(in)) : Optional.empty(), "an answer");
  }

  static byte[] encode(Page page) {
    return FieldWriter.bytesOf(
        out -> {
          out.list(page.messages(), RetainCallCodec::writeMessage);
          writeCursor(out, page.next());
        });
  }

  static Page decodePage(byte[] answer) throws MalformedFrameException {
    return read(answer, in -> new Page(in.list(RetainCallCodec::readMessage), readCursor(in)), "a page");
  }

  static byte[] encode(Listing listing) {
    return FieldWriter.bytesOf(
        out -> {
          out.list(
              listing.rows(),
              (to, row) -> {
                to.bytes(row.key());
                to.number(row.bytes());
              });
          byte[] next = listing.next();
          out.flag(next != null);
          if (next != null) out.bytes(next);
        });
  }

  static Listing decodeListing(byte[] answer) throws MalformedFrameException {
    return read(answer, in -> new Listing(in.list(row -> new Row(row.bytes(), row.count())), in.flag() ? in.bytes() : null), "a listing");
  }

  static byte[] encode(Sums sums) {
    return FieldWriter.bytesOf(
        out -> {
          out.number(sums.messages());
          out.number(sums.topicBytes());
          out.number(sums.bytes());
        });
  }

  static Sums decodeSums(byte[] answer) throws MalformedFrameException {
    return read(answer, in -> new Sums(in.number(), in.number(), in.number()), "sums");
  }

  static byte[] encode(List<Held> held) {
    return FieldWriter.bytesOf(
        out ->
            out.list(
                held,
                (to, each) -> {
                  to.number(each.messages());
                  to.number(each.bytes());
                }));
  }

  static List<Held> decodeHeld(byte[] answer) throws MalformedFrameException {
    return read(answer, in -> in.list(each -> new Held(each.number(), each.number())), "what tenants have");
  }

  private static <T> T read(byte[] bytes, Function<FieldReader, T> fields, String what) throws MalformedFrameException {
    try {
      return FieldReader.read(bytes, fields);
    } catch (IllegalStateException e) {
      throw new MalformedFrameException(what + " that cannot be read: " + e.getMessage());
    }
  }

  private static void writeMessage(FieldWriter out, Publication message) {
    out.value(message, message.encodedLength(), Publication::writeTo);
  }

  private static Publication readMessage(FieldReader in) {
    return in.value(Publication::readFrom);
  }

  private static void writeCursor(FieldWriter out, @Nullable Cursor cursor) {
    out.flag(cursor != null);
    if (cursor != null) out.bytes(cursor.key());
  }

  private static @Nullable Cursor readCursor(FieldReader in) {
    return in.flag() ? new Cursor(in.bytes()) : null;
  }
}
