package dunlin.broker.codec;

import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Bytes composed by hand, valid or invalid. */
public final class Wire {
  /** CONNECT with a clean start, client identifier "c" and nothing else. */
  static final byte[] CONNECT_3_1 = packet(0x10, text("MQIsdp"), 3, 0x02, u16(60), text("c"));

  static final byte[] CONNECT_3_1_1 = packet(0x10, text("MQTT"), 4, 0x02, u16(60), text("c"));
  static final byte[] CONNECT_5 = packet(0x10, text("MQTT"), 5, 0x02, u16(60), 0, text("c"));

  private Wire() {}

  static byte[] connect(ProtocolVersion version) {
    return switch (version) {
      case MQTT_3_1 -> CONNECT_3_1;
      case MQTT_3_1_1 -> CONNECT_3_1_1;
      case MQTT_5 -> CONNECT_5;
    };
  }

  /**
   * A packet with its correct remaining length; a part is a byte as an int or character, a text with its length, or raw
   * bytes.
   */
  public static byte[] packet(int first, Object... parts) {
    byte[] body = bytes(parts);
    return join(new byte[] {(byte) first}, varint(body.length), body);
  }

  public static byte[] bytes(Object... parts) {
    var out = new ByteArrayOutputStream();
    for (Object part : parts) {
      switch (part) {
        case Integer b -> out.write(b);
        case Character c -> out.write(c);
        case String text -> out.writeBytes(text(text));
        case byte[] raw -> out.writeBytes(raw);
        default -> throw new IllegalArgumentException("part " + part);
      }
    }
    return out.toByteArray();
  }

  /** Properties with their correct length in front. */
  public static byte[] properties(Object... parts) {
    byte[] block = bytes(parts);
    return join(varint(block.length), block);
  }

  public static byte[] text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return join(u16(bytes.length), bytes);
  }

  public static byte[] u16(int value) {
    return new byte[] {(byte) (value >> 8), (byte) value};
  }

  public static byte[] u32(long value) {
    return new byte[] {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
  }

  public static byte[] varint(int value) {
    var out = new ByteArrayOutputStream();
    int rest = value;
    for (; rest >= 0x80; rest >>>= 7) out.write((rest & 0x7F) | 0x80);
    out.write(rest);
    return out.toByteArray();
  }

  public static byte[] join(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (byte[] part : parts) out.writeBytes(part);
    return out.toByteArray();
  }

  static byte[] readAll(ByteBuf buffer) {
    byte[] bytes = new byte[buffer.readableBytes()];
    buffer.readBytes(bytes);
    return bytes;
  }
}
