package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallProtocol;
import dunlin.transport.lane.MalformedFrameException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Calls and answers between processes. A call is a kind byte, then the fields in the order in which the records declare them. Messages are written as in the
 * log and in rows.
 */
final class RetainCallCodec {
  static final CallProtocol PROTOCOL =
      new CallProtocol(
          "retain 1",
          "retain tier",
          StoreException::new,
          why -> new OutcomeUnknownException(why, new StoreException("the answer of the retain tier is not known")),
          StoreException::isForNextLeader,
          CallProtocol.Kinds.none());

  private static final int SET = 1;
  private static final int FIND = 2;
  private static final int COUNT = 3;

  private RetainCallCodec() {}

  static byte[] encode(RetainCall call) {
    return FieldWriter.bytesOf(
        out -> {
          switch (call) {
            case RetainCall.Set(var message) -> {
              out.octet(SET);
              writeMessage(out, message);
            }
            case RetainCall.Find(var tenant, var filter, var after, var messagesMax, var bytesMax) -> {
              out.octet(FIND);
              out.text(tenant);
              out.text(filter);
              writeCursor(out, after);
              out.number(messagesMax);
              out.number(bytesMax);
            }
            case RetainCall.Count() -> out.octet(COUNT);
          }
        });
  }

  static RetainCall decode(byte[] call) throws MalformedFrameException {
    return read(call, RetainCallCodec::readCall, "a call");
  }

  private static RetainCall readCall(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case SET -> {
        var message = readMessage(in);
        if (!message.retain()) throw new IllegalStateException("a message that is not to be retained");
        yield new RetainCall.Set(message);
      }
      case FIND -> new RetainCall.Find(in.text(), in.text(), readCursor(in), in.count(), in.count());
      case COUNT -> new RetainCall.Count();
      default -> throw new IllegalStateException("kind " + kind + " of a call");
    };
  }

  static byte[] encode(ReasonCode reason) {
    return FieldWriter.bytesOf(out -> out.octet(reason.code()));
  }

  static ReasonCode decodeReason(byte[] answer) throws MalformedFrameException {
    return read(
        answer,
        in -> {
          int code = in.octet();
          var reason = ReasonCode.of(code);
          if (reason == null) throw new IllegalStateException("reason code " + code);
          return reason;
        },
        "an answer");
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

  static byte[] encode(long count) {
    return FieldWriter.bytesOf(out -> out.number(count));
  }

  static Long decodeCount(byte[] answer) throws MalformedFrameException {
    return read(answer, FieldReader::number, "a number");
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
