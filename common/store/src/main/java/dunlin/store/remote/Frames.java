package dunlin.store.remote;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dunlin.store.remote.wire.Wire;
import dunlin.store.serve.RangeReply;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The frames of a stream between a caller and a node. The first byte is the kind:
 *
 * <pre>
 *   1 hello      Wire.Hello
 *   2 welcome    Wire.Welcome
 *   3 requests   range (16), epoch (8), flags (1), count (4), then each: number (8), kind (1), milliseconds left (4),
 *                length (4), command
 *   4 replies    count (4), then each: number (8), outcome (1), length (4), body
 * </pre>
 *
 * The caller chooses the number, and may use it again after the reply. Flag 1: when one request of the frame is
 * refused, all later ones are, too.
 */
final class Frames {
  static final int VERSION = 1;
  static final int REQUESTS_HEADER_BYTES = 1 + 16 + 8 + 1 + 4;
  static final int REQUEST_HEADER_BYTES = 8 + 1 + 4 + 4;
  static final int REPLIES_HEADER_BYTES = 1 + 4;
  static final int REPLY_HEADER_BYTES = 8 + 1 + 4;

  static final byte HELLO = 1;
  static final byte WELCOME = 2;
  static final byte REQUESTS = 3;
  static final byte REPLIES = 4;

  private static final byte ORDERED = 1;
  private static final int REASON_BYTES_MAX = 512;

  /** One request, as received. */
  record Request(long number, Kind kind, int millisLeft, ByteBuffer command) {}

  /** The kind of a request. */
  enum Kind {
    COMMAND(0),
    BARRIER(1);

    final byte code;

    Kind(int code) {
      this.code = (byte) code;
    }

    static Kind of(byte code) {
      for (var kind : values()) if (kind.code == code) return kind;
      throw new FrameException("request of kind " + code);
    }
  }

  /** Requests to one range, as received in one frame. */
  record Requests(UUID range, long epoch, boolean ordered, List<Request> requests) {}

  /** One reply, with the number of its request. */
  record Reply(long number, RangeReply outcome) {}

  private Frames() {}

  static byte kind(byte[] frame) {
    if (frame.length == 0) throw new FrameException("empty frame");
    return frame[0];
  }

  static byte[] control(byte kind, MessageLite message) {
    byte[] body = message.toByteArray();
    var frame = new byte[1 + body.length];
    frame[0] = kind;
    System.arraycopy(body, 0, frame, 1, body.length);
    return frame;
  }

  static Wire.Hello hello(byte[] frame) {
    return read(Wire.Hello.parser(), frame, 1);
  }

  static Wire.Welcome welcome(byte[] frame) {
    return read(Wire.Welcome.parser(), frame, 1);
  }

  /** Parses a control message from this offset to the end of the frame. */
  static <M extends MessageLite> M read(Parser<M> parser, byte[] frame, int from) {
    try {
      return parser.parseFrom(frame, from, frame.length - from);
    } catch (InvalidProtocolBufferException e) {
      throw new FrameException("control message that cannot be read", e);
    }
  }

  /** Writes the header; {@link #appendRequest} follows {@code count} times. */
  static void beginRequests(ByteBuffer frame, UUID range, long epoch, boolean ordered, int count) {
    frame
        .put(REQUESTS)
        .putLong(range.getMostSignificantBits())
        .putLong(range.getLeastSignificantBits())
        .putLong(epoch)
        .put(ordered ? ORDERED : 0)
        .putInt(count);
  }

  static void appendRequest(ByteBuffer frame, long number, Kind kind, int millisLeft, byte[] command) {
    frame.putLong(number).put(kind.code).putInt(millisLeft).putInt(command.length).put(command);
  }

  static Requests requests(byte[] frame) {
    try {
      var in = ByteBuffer.wrap(frame, 1, frame.length - 1);
      var range = new UUID(in.getLong(), in.getLong());
      long epoch = in.getLong();
      byte flags = in.get();
      if (epoch < 0 || (flags & ~ORDERED) != 0) throw new FrameException("requests of epoch " + epoch + ", flags " + flags);
      int count = count(in, REQUEST_HEADER_BYTES);
      var requests = new ArrayList<Request>(count);
      for (int i = 0; i < count; i++) {
        long number = in.getLong();
        var kind = Kind.of(in.get());
        int millisLeft = in.getInt();
        if (millisLeft < 0) throw new FrameException("request with " + millisLeft + " ms left");
        requests.add(new Request(number, kind, millisLeft, body(in)));
      }
      end(in);
      return new Requests(range, epoch, flags == ORDERED, requests);
    } catch (BufferUnderflowException e) {
      throw new FrameException("requests end too early", e);
    }
  }

  /** A reply whose body is encoded already, so that its size is known. */
  record EncodedReply(long number, byte outcome, byte[] body) {
    static EncodedReply of(long number, RangeReply outcome) {
      return switch (outcome) {
        case RangeReply.Done(var result) -> new EncodedReply(number, (byte) 0, result);
        case RangeReply.NotLeader(var leader) -> new EncodedReply(number, (byte) 1, leader == null ? new byte[0] : Locations.bytes(leader));
        case RangeReply.WrongEpoch(var now) -> new EncodedReply(number, (byte) 2, Locations.toWire(now).toByteArray());
        case RangeReply.Overloaded _ -> new EncodedReply(number, (byte) 3, new byte[0]);
        case RangeReply.Unavailable(var reason) -> new EncodedReply(number, (byte) 4, text(reason));
        case RangeReply.Expired _ -> new EncodedReply(number, (byte) 5, new byte[0]);
        case RangeReply.Unknown(var reason) -> new EncodedReply(number, (byte) 6, text(reason));
      };
    }

    int bytes() {
      return REPLY_HEADER_BYTES + body.length;
    }
  }

  static byte[] replies(List<EncodedReply> replies, int bytes) {
    var frame = ByteBuffer.allocate(bytes).put(REPLIES).putInt(replies.size());
    for (var reply : replies) frame.putLong(reply.number()).put(reply.outcome()).putInt(reply.body().length).put(reply.body());
    assert !frame.hasRemaining() : "a frame of replies has " + frame.remaining() + " bytes too many";
    return frame.array();
  }

  static List<Reply> replies(byte[] frame) {
    try {
      var in = ByteBuffer.wrap(frame, 1, frame.length - 1);
      int count = count(in, REPLY_HEADER_BYTES);
      var replies = new ArrayList<Reply>(count);
      for (int i = 0; i < count; i++) {
        long number = in.getLong();
        byte outcome = in.get();
        replies.add(new Reply(number, outcome(outcome, body(in))));
      }
      end(in);
      return replies;
    } catch (BufferUnderflowException e) {
      throw new FrameException("replies end too early", e);
    }
  }

  private static RangeReply outcome(byte code, ByteBuffer body) {
    return switch (code) {
      case 0 -> new RangeReply.Done(bytes(body));
      case 1 -> new RangeReply.NotLeader(leader(body));
      case 2 -> new RangeReply.WrongEpoch(Locations.read(body));
      case 3 -> new RangeReply.Overloaded();
      case 4 -> new RangeReply.Unavailable(text(body));
      case 5 -> new RangeReply.Expired();
      case 6 -> new RangeReply.Unknown(text(body));
      default -> throw new FrameException("reply with outcome " + code);
    };
  }

  private static @Nullable UUID leader(ByteBuffer body) {
    if (!body.hasRemaining()) return null;
    if (body.remaining() != 16) throw new FrameException("node of " + body.remaining() + " bytes");
    return new UUID(body.getLong(), body.getLong());
  }

  private static byte[] bytes(ByteBuffer body) {
    var bytes = new byte[body.remaining()];
    body.get(bytes);
    return bytes;
  }

  private static byte[] text(String reason) {
    byte[] bytes = reason.getBytes(StandardCharsets.UTF_8);
    return bytes.length <= REASON_BYTES_MAX ? bytes : Arrays.copyOf(bytes, REASON_BYTES_MAX);
  }

  private static String text(ByteBuffer body) {
    if (body.remaining() > REASON_BYTES_MAX) throw new FrameException("reason of " + body.remaining() + " bytes");
    return StandardCharsets.UTF_8.decode(body).toString();
  }

  /** Reads a count of elements of at least this size, so a wrong count cannot allocate more than the frame holds. */
  private static int count(ByteBuffer in, int eachBytes) {
    int count = in.getInt();
    if (count < 0 || count > in.remaining() / eachBytes)
      throw new FrameException("frame of " + in.limit() + " bytes claims " + count + " parts");
    return count;
  }

  private static ByteBuffer body(ByteBuffer in) {
    int length = in.getInt();
    if (length < 0 || length > in.remaining())
      throw new FrameException("part claims " + length + " bytes of " + in.remaining());
    var body = in.slice(in.position(), length);
    in.position(in.position() + length);
    return body;
  }

  private static void end(ByteBuffer in) {
    if (in.hasRemaining()) throw new FrameException("frame has " + in.remaining() + " bytes too many");
  }
}
