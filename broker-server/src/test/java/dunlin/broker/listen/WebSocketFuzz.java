package dunlin.broker.listen;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.Choices;
import dunlin.broker.codec.Wire;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * Fuzz target: a WebSocket connection from its first byte.
 *
 * <p>The first byte of an input chooses whether the rest is raw HTTP, or frames behind a valid request; the second how
 * it is divided. The checks are: the output is one HTTP answer followed by valid frames, with nothing after a close
 * frame; the division makes no difference to whether the connection is accepted; nothing fails inside; few bytes are
 * held; nothing is left.
 */
public final class WebSocketFuzz {
  private static final String REQUEST =
      String.join(
          "\r\n",
          "GET /mqtt HTTP/1.1",
          "Host: h",
          "Upgrade: websocket",
          "Connection: Upgrade",
          "Sec-WebSocket-Version: 13",
          "Sec-WebSocket-Protocol: mqtt",
          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
          "",
          "");
  private static final int STEPS_MAX = 40;

  /** The objects for all inputs of a run. */
  private static final class Shared {
    static final Fronts FRONTS = new Fronts();
  }

  private WebSocketFuzz() {}

  /** Jazzer's driver calls this by name, once and without a time limit. */
  public static void fuzzerInitialize() {
    assertThat(Shared.FRONTS.listener("ws").getConnections()).isZero();
  }

  /** Jazzer's driver calls this by name. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length < 2) return;
    var choices = new Choices(input);
    boolean http = choices.yes();
    var random = new SplittableRandom(choices.below(256));
    byte[] rest = http ? choices.bytes(input.length) : frames(choices);
    byte[] bytes = http ? rest : Wire.join(REQUEST.getBytes(StandardCharsets.US_ASCII), rest);

    Listener listener = Shared.FRONTS.listener("ws");
    Fronts.Outcome whole = Shared.FRONTS.connection(listener, bytes, () -> bytes.length);
    Fronts.Outcome pieces = Shared.FRONTS.connection(listener, bytes, () -> 1 + random.nextInt(40));
    byte[] content = content(whole);
    assertThat(pieces.open()).as("open, in pieces").isEqualTo(whole.open());
    byte[] again = content(pieces);
    if (whole.open()) assertThat(again.length).as("bytes of MQTT, in pieces").isEqualTo(content.length);
  }

  private static byte[] frames(Choices choices) {
    byte[] all = {};
    for (int step = 0; step < STEPS_MAX && choices.more(); step++) {
      int first = choices.of(0x82, 0x02, 0x00, 0x80, 0x89, 0x8A, 0x88, 0x81, 0x09, 0xC2, 0x83);
      byte[] content =
          switch (choices.below(6)) {
            case 0 -> Wire.packet(0x10, "MQTT", 5, 2, Wire.u16(0), Wire.properties(), "c");
            case 1 -> Wire.packet(0xC0);
            case 2 -> Wire.join(Wire.packet(0xC0), Wire.packet(0xC0), new byte[] {(byte) 0xC0});
            case 3 -> new byte[] {0};
            case 4 -> new byte[choices.below(256)];
            default -> choices.bytes(choices.below(20));
          };
      all = Wire.join(all, frame(first, content, choices));
    }
    return all;
  }

  /** A frame, mostly a valid one. */
  private static byte[] frame(int first, byte[] content, Choices choices) {
    int fault = choices.below(12);
    long length = fault == 1 ? choices.of(-1L, Long.MIN_VALUE, 1L << 40, 70_000L) : content.length;
    int mask = choices.of(0, 0x01020304, 0xFFFFFFFF);
    ByteBuffer head = ByteBuffer.allocate(14).put((byte) first);
    int masked = fault == 2 ? 0 : 0x80;
    if (length < 0 || length > 0xFFFF || fault == 3) head.put((byte) (masked | 127)).putLong(length);
    else if (length > 125 || fault == 4) head.put((byte) (masked | 126)).putShort((short) length);
    else head.put((byte) (masked | (int) length));
    if (masked != 0) head.putInt(mask);
    byte[] sent = content.clone();
    for (int i = 0; i < sent.length; i++) sent[i] ^= (byte) (mask >>> (24 - 8 * (i & 3)));
    byte[] header = new byte[head.position()];
    head.flip().get(header);
    return Wire.join(header, sent);
  }

  /** The MQTT bytes in the output; all of the output must follow the protocols. */
  private static byte[] content(Fronts.Outcome outcome) {
    byte[] written = outcome.written();
    if (written.length == 0) return written;
    String text = new String(written, StandardCharsets.ISO_8859_1);
    int end = text.indexOf("\r\n\r\n") + 4;
    assertThat(text).as("an answer").matches("(?s)HTTP/1\\.1 (101|4\\d\\d) .*");
    assertThat(end).as("its end").isGreaterThan(4);
    if (!text.startsWith("HTTP/1.1 101")) {
      assertThat(text).as("nothing behind a refusal").hasSize(end);
      return new byte[0];
    }
    ByteBuffer in = ByteBuffer.wrap(written, end, written.length - end);
    byte[] content = {};
    boolean closed = false;
    while (in.hasRemaining()) {
      assertThat(closed).as("a frame behind the close").isFalse();
      int first = in.get() & 0xFF;
      int length = in.get() & 0xFF;
      if (length == 126) length = in.getShort() & 0xFFFF;
      assertThat(length).as("masked, or longer than anything here").isLessThan(1 << 16);
      byte[] part = new byte[length];
      in.get(part);
      switch (first) {
        case 0x82 -> content = Wire.join(content, part);
        case 0x8A -> assertThat(length).as("a pong").isLessThan(126);
        case 0x88 -> closed = true;
        default -> throw new AssertionError("a frame that begins with " + first);
      }
    }
    return content;
  }
}
