package dunlin.transport.link;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The frames between the two sides of a link. The first byte is the kind; numbers are unsigned varints.
 *
 * <pre>
 *   1 HELLO    version, own identity, the other's identity or 0, received up to, opening
 *   2 DATA     number, confirms up to, payload
 *   3 CONFIRM  up to
 *   4 GOODBYE
 *   5 REFUSE   1 when it refuses the link and 0 when only the pipe, sentence in UTF-8
 * </pre>
 */
sealed interface LinkFrame {
  /** The protocol version of this side. */
  int VERSION = 1;

  /** The maximum length of an opening. */
  int OPENING_BYTES_MAX = 64 * 1024;

  /** The maximum length of a sentence; a longer one is shortened. */
  int SENTENCE_BYTES_MAX = 1024;

  /** The first frame of each side on a pipe. Frames are counted from 1, so {@code received} is 0 when none was. */
  record Hello(long identity, long other, long received, byte[] opening) implements LinkFrame {}

  record Data(long number, long confirms, byte[] payload) implements LinkFrame {}

  record Confirm(long upTo) implements LinkFrame {}

  record Goodbye() implements LinkFrame {}

  record Refuse(boolean lost, String sentence) implements LinkFrame {}

  default byte[] encode() {
    return switch (this) {
      case Hello(var identity, var other, var received, var opening) ->
          new Writer(HELLO, 4, opening).number(VERSION).number(identity).number(other).number(received).end();
      case Data(var number, var confirms, var payload) -> new Writer(DATA, 2, payload).number(number).number(confirms).end();
      case Confirm(var upTo) -> new Writer(CONFIRM, 1, NOTHING).number(upTo).end();
      case Goodbye() -> new Writer(GOODBYE, 0, NOTHING).end();
      case Refuse(var lost, var sentence) -> new Writer(REFUSE, 1, cut(sentence)).number(lost ? 1 : 0).end();
    };
  }

  /** Reads one frame, with at most {@code payloadBytesMax} of payload. */
  static LinkFrame decode(byte[] bytes, long payloadBytesMax) throws MalformedLinkFrameException {
    if (bytes.length == 0) throw new MalformedLinkFrameException("a frame without a byte");
    var in = new Reader(bytes);
    return switch (bytes[0]) {
      case HELLO -> {
        long version = in.number("the version");
        if (version != VERSION) {
          throw new MalformedLinkFrameException("HELLO in version " + Long.toUnsignedString(version) + ", known is " + VERSION);
        }
        long identity = in.number("the identity");
        if (identity == 0) throw new MalformedLinkFrameException("HELLO without an identity");
        yield new Hello(identity, in.number("the other identity"), in.count("received up to"), in.rest("HELLO", OPENING_BYTES_MAX));
      }
      case DATA -> new Data(in.count("the number of the frame"), in.count("confirms up to"), in.rest("DATA", payloadBytesMax));
      case CONFIRM -> {
        var confirm = new Confirm(in.count("confirms up to"));
        in.rest("CONFIRM", 0);
        yield confirm;
      }
      case GOODBYE -> {
        in.rest("GOODBYE", 0);
        yield new Goodbye();
      }
      case REFUSE -> {
        long lost = in.number("what is refused");
        if (lost != 0 && lost != 1) throw new MalformedLinkFrameException("REFUSE of neither a pipe nor a link");
        yield new Refuse(lost == 1, new String(in.rest("REFUSE", SENTENCE_BYTES_MAX), StandardCharsets.UTF_8));
      }
      default -> throw new MalformedLinkFrameException("a frame of the unknown kind " + (bytes[0] & 0xFF));
    };
  }

  byte HELLO = 1;
  byte DATA = 2;
  byte CONFIRM = 3;
  byte GOODBYE = 4;
  byte REFUSE = 5;

  /** The maximum length of a number. */
  int NUMBER_BYTES_MAX = 10;

  byte[] NOTHING = new byte[0];

  /** The bytes of a sentence; a long one is shortened between characters. */
  private static byte[] cut(String sentence) {
    byte[] bytes = sentence.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= SENTENCE_BYTES_MAX) return bytes;
    int end = SENTENCE_BYTES_MAX;
    while ((bytes[end] & 0xC0) == 0x80) end--;
    return Arrays.copyOf(bytes, end);
  }

  /** Writes numbers, followed by the bytes that end the frame. */
  final class Writer {
    private final byte[] rest;
    private final byte[] head;
    private int index = 1;

    private Writer(byte kind, int numbers, byte[] rest) {
      this.rest = rest;
      head = new byte[1 + numbers * NUMBER_BYTES_MAX];
      head[0] = kind;
    }

    private Writer number(long value) {
      long left = value;
      while ((left & ~0x7FL) != 0) {
        head[index++] = (byte) (left | 0x80);
        left >>>= 7;
      }
      head[index++] = (byte) left;
      return this;
    }

    private byte[] end() {
      byte[] frame = Arrays.copyOf(head, index + rest.length);
      System.arraycopy(rest, 0, frame, index, rest.length);
      return frame;
    }
  }

  /** Reads the numbers after the kind, then the rest. */
  final class Reader {
    private final byte[] bytes;
    private int index = 1;

    private Reader(byte[] bytes) {
      this.bytes = bytes;
    }

    /** An unsigned number of 64 bits. */
    private long number(String what) throws MalformedLinkFrameException {
      long value = 0;
      for (int shift = 0; shift < 64; shift += 7) {
        if (index == bytes.length) throw new MalformedLinkFrameException("a frame that ends within " + what);
        byte next = bytes[index++];
        value |= (next & 0x7FL) << shift;
        if (next >= 0) {
          if (next == 0 && shift > 0) throw new MalformedLinkFrameException(what + " in more bytes than it needs");
          if (shift == 63 && next > 1) break;
          return value;
        }
      }
      throw new MalformedLinkFrameException(what + " in more than 64 bits");
    }

    /** A number of frames, which is always less than 2^63. */
    private long count(String what) throws MalformedLinkFrameException {
      long value = number(what);
      if (value < 0) throw new MalformedLinkFrameException(what + " " + Long.toUnsignedString(value) + ", more than can be");
      return value;
    }

    private byte[] rest(String kind, long bytesMax) throws MalformedLinkFrameException {
      int length = bytes.length - index;
      if (length > bytesMax) throw new MalformedLinkFrameException(kind + " with " + length + " bytes, allowed are " + bytesMax);
      return Arrays.copyOfRange(bytes, index, bytes.length);
    }
  }
}
