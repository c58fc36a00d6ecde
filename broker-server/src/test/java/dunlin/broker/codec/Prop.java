package dunlin.broker.codec;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;

/** One MQTT 5 property in tests: a number, a text or bytes, and a second text for user properties. */
record Prop(int id, long number, String text, String second, byte[] bytes) {
  /** The data types of table 2-4, written down separately from the code under test. */
  enum Type {
    BYTE,
    SHORT,
    INT,
    VARINT,
    TEXT,
    BINARY,
    PAIR
  }

  static Type type(int id) {
    return switch (id) {
      case 0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A -> Type.BYTE;
      case 0x13, 0x21, 0x22, 0x23 -> Type.SHORT;
      case 0x02, 0x11, 0x18, 0x27 -> Type.INT;
      case 0x0B -> Type.VARINT;
      case 0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F -> Type.TEXT;
      case 0x09, 0x16 -> Type.BINARY;
      case 0x26 -> Type.PAIR;
      default -> throw new IllegalArgumentException("no property " + id);
    };
  }

  static Prop of(int id, long number) {
    return new Prop(id, number, "", "", new byte[0]);
  }

  static Prop of(int id, String text) {
    return new Prop(id, 0, text, "", new byte[0]);
  }

  static Prop of(int id, byte[] bytes) {
    return new Prop(id, 0, "", "", bytes);
  }

  static Prop user(String name, String value) {
    return new Prop(0x26, 0, name, value, new byte[0]);
  }

  /** The encoded properties without their length. */
  static byte[] block(List<Prop> properties) {
    var out = new ByteArrayOutputStream();
    for (Prop property : properties) out.writeBytes(property.encoded());
    return out.toByteArray();
  }

  byte[] encoded() {
    byte[] value =
        switch (type(id)) {
          case BYTE -> new byte[] {(byte) number};
          case SHORT -> Wire.u16((int) number);
          case INT -> Wire.u32(number);
          case VARINT -> Wire.varint((int) number);
          case TEXT -> Wire.text(text);
          case BINARY -> Wire.join(Wire.u16(bytes.length), bytes);
          case PAIR -> Wire.join(Wire.text(text), Wire.text(second));
        };
    return Wire.join(new byte[] {(byte) id}, value);
  }

  static List<Prop> parse(byte[] block) {
    List<Prop> properties = new ArrayList<>();
    ByteBuffer in = ByteBuffer.wrap(block);
    while (in.hasRemaining()) {
      int id = in.get();
      properties.add(
          switch (type(id)) {
            case BYTE -> of(id, in.get());
            case SHORT -> of(id, Short.toUnsignedInt(in.getShort()));
            case INT -> of(id, Integer.toUnsignedLong(in.getInt()));
            case VARINT -> of(id, varint(in));
            case TEXT -> of(id, new String(binary(in), StandardCharsets.UTF_8));
            case BINARY -> of(id, binary(in));
            case PAIR ->
                user(new String(binary(in), StandardCharsets.UTF_8), new String(binary(in), StandardCharsets.UTF_8));
          });
    }
    return properties;
  }

  private static byte[] binary(ByteBuffer in) {
    byte[] bytes = new byte[Short.toUnsignedInt(in.getShort())];
    in.get(bytes);
    return bytes;
  }

  private static long varint(ByteBuffer in) {
    long value = 0;
    for (int shift = 0; ; shift += 7) {
      int b = in.get();
      value |= (long) (b & 0x7F) << shift;
      if (b >= 0) return value;
    }
  }

  /**
   * The properties in the order of their identifiers, and otherwise in their original order, because Netty keeps no
   * other order.
   */
  static String canonical(List<Prop> properties) {
    var sorted = new ArrayList<>(properties);
    sorted.sort(Comparator.comparingInt(Prop::id));
    return sorted.toString();
  }

  @Override
  public String toString() {
    return switch (type(id)) {
      case BYTE, SHORT, INT, VARINT -> id + "=" + number;
      case TEXT -> id + "=\"" + text + '"';
      case BINARY -> id + "=" + HexFormat.of().formatHex(bytes);
      case PAIR -> id + "=\"" + text + "\":\"" + second + '"';
    };
  }
}
