package dunlin.load.plan;

import dunlin.load.count.Stamp;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The payload of a message: its stamp and padding up to a size, or a text that contains the stamp. */
public final class Payload {
  public static final int BYTES_MAX = 8 * 1_024 * 1_024;

  private static final byte[] FILLING = new byte[4_096];

  static {
    for (int i = 0; i < FILLING.length; i++) FILLING[i] = (byte) ('a' + i % 26);
  }

  private final int size;
  private final @Nullable Template text;

  private Payload(int size, @Nullable Template text) {
    this.size = size;
    this.text = text;
  }

  public static Payload ofSize(int size) {
    if (size < Stamp.BYTES) {
      throw new IllegalArgumentException("a payload of %d bytes has no room for the %d bytes by which messages are counted".formatted(size, Stamp.BYTES));
    }
    if (size > BYTES_MAX) throw new IllegalArgumentException("a payload of %,d bytes is too large; %,d is the most".formatted(size, BYTES_MAX));
    return new Payload(size, null);
  }

  public static Payload ofText(Template text) {
    if (!text.has(Template.Kind.STAMP)) {
      throw new IllegalArgumentException("the payload has no %%h: the stamp by which messages are counted must stand somewhere in it".formatted());
    }
    return new Payload(0, text);
  }

  /** The minimum size in bytes; exact unless a text contains numbers. */
  public int size() {
    return text == null ? size : text.toString().length() + Stamp.TEXT_BYTES;
  }

  /** Whether all messages have the same length, which is then known before the payload is written. */
  public boolean isFixed() {
    return text == null;
  }

  public void write(ByteBuf out, Who who, int run, int stream, long sequence, long micros) {
    if (text == null) {
      Stamp.write(out, run, stream, sequence, micros);
      for (int left = size - Stamp.BYTES; left > 0; left -= FILLING.length) out.writeBytes(FILLING, 0, Math.min(left, FILLING.length));
      return;
    }
    List<Template.Part> parts = text.parts();
    for (int i = 0; i < parts.size(); i++) {
      Template.Part part = parts.get(i);
      switch (part.kind()) {
        case TEXT -> out.writeCharSequence(part.text(), StandardCharsets.UTF_8);
        case NUMBER -> number(out, Template.compute(part, who.number()));
        case CLIENT_ID -> out.writeCharSequence(who.clientId(), StandardCharsets.UTF_8);
        case USER -> out.writeCharSequence(who.user(), StandardCharsets.UTF_8);
        case SEQUENCE -> number(out, sequence);
        case TIME -> number(out, micros / 1_000);
        case STAMP -> Stamp.writeText(out, run, stream, sequence, micros);
      }
    }
  }

  private static void number(ByteBuf out, long number) {
    out.writeCharSequence(Long.toString(number), StandardCharsets.US_ASCII);
  }
}
