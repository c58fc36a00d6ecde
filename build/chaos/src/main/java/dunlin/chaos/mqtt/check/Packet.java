package dunlin.chaos.mqtt.check;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * A received control packet of MQTT 3.1.1 or 5.0.
 *
 * @param first the first byte: type and flags
 */
public record Packet(int level, int first, byte[] body) {
  public static final int CONNECT = 0x10;
  public static final int CONNACK = 0x20;
  public static final int PUBLISH = 0x30;
  public static final int PUBACK = 0x40;
  public static final int PUBREC = 0x50;
  public static final int PUBREL = 0x62;
  public static final int PUBCOMP = 0x70;
  public static final int SUBSCRIBE = 0x82;
  public static final int SUBACK = 0x90;
  public static final int UNSUBSCRIBE = 0xA2;
  public static final int UNSUBACK = 0xB0;
  public static final int PINGREQ = 0xC0;
  public static final int PINGRESP = 0xD0;
  public static final int DISCONNECT = 0xE0;
  public static final int ERRORS = 0x80;
  private static final int MESSAGE_EXPIRY = 0x02;
  private static final int CORRELATION_DATA = 0x09;
  private static final int BODY_MAX = 2 * 1024 * 1024;

  /** The fields of a PUBLISH; {@code tag} is its correlation data, and {@code expirySeconds} is -1 when it has none. */
  public record Publish(String topic, int packetId, int qos, boolean dup, boolean retain, byte[] payload, String tag, long expirySeconds) {}

  /** The type, with its fixed flags. */
  public int type() {
    int type = first & 0xF0;
    return type == (PUBREL & 0xF0) ? PUBREL : type;
  }

  public static Packet read(int level, DataInputStream in) throws IOException {
    int first = in.readUnsignedByte();
    int length = 0;
    int shift = 0;
    int b;
    do {
      b = in.readUnsignedByte();
      length |= (b & 0x7F) << shift;
      shift += 7;
    } while (b >= 0x80 && shift < 28);
    if (length > BODY_MAX) throw new IOException("a packet of " + length + " bytes");
    byte[] body = new byte[length];
    in.readFully(body);
    return new Packet(level, first, body);
  }

  /** The packet identifier of everything but CONNACK, PUBLISH, PINGRESP and DISCONNECT. */
  public int packetId() {
    return (body[0] & 0xFF) << 8 | (body[1] & 0xFF);
  }

  /** The reason code, where this type has one; 0 when omitted. */
  public int reason() {
    return switch (type()) {
      case CONNACK -> body[1] & 0xFF;
      case PUBACK, PUBREC, PUBREL, PUBCOMP -> body.length > 2 ? body[2] & 0xFF : 0;
      case SUBACK, UNSUBACK -> level == 4 && type() == UNSUBACK ? 0 : body[body.length - 1] & 0xFF;
      case DISCONNECT -> body.length > 0 ? body[0] & 0xFF : 0;
      default -> throw new IllegalStateException("no reason code in a packet of type " + type());
    };
  }

  public boolean sessionPresent() {
    return body[0] == 1;
  }

  public Publish publish() {
    var in = ByteBuffer.wrap(body);
    String topic = text(in);
    int qos = first >> 1 & 3;
    int packetId = qos == 0 ? 0 : in.getShort() & 0xFFFF;
    String tag = "";
    long expiry = -1;
    if (level == 5) {
      int end = varint(in) + in.position();
      while (in.position() < end) {
        int property = in.get() & 0xFF;
        switch (property) {
          case MESSAGE_EXPIRY -> expiry = in.getInt() & 0xFFFF_FFFFL;
          case CORRELATION_DATA -> tag = text(in);
          case 0x0B -> varint(in);
          default -> throw new IllegalStateException("a property that nobody has sent: " + property);
        }
      }
    }
    byte[] payload = new byte[in.remaining()];
    in.get(payload);
    return new Publish(topic, packetId, qos, (first & 8) != 0, (first & 1) != 0, payload, tag, expiry);
  }

  private static String text(ByteBuffer in) {
    byte[] bytes = new byte[in.getShort() & 0xFFFF];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static int varint(ByteBuffer in) {
    int value = 0;
    int shift = 0;
    int b;
    do {
      b = in.get() & 0xFF;
      value |= (b & 0x7F) << shift;
      shift += 7;
    } while (b >= 0x80);
    return value;
  }

  // ------------------------------------------------------------------------------------------------------------ what is sent

  /** A will. */
  public record Will(String topic, String payload, int qos, boolean retain, long delaySeconds) {}

  public static byte[] connect(int level, String clientId, boolean clean, long expirySeconds, int receiveMaximum, Optional<Will> will) {
    byte[] properties = level == 5 ? properties(bytes(0x11, u32(expirySeconds)), bytes(0x21, u16(receiveMaximum))) : new byte[0];
    int flags = clean ? 2 : 0;
    byte[] last = new byte[0];
    if (will.isPresent()) {
      var said = will.get();
      flags |= 4 | said.qos << 3 | (said.retain ? 0x20 : 0);
      byte[] payload = said.payload.getBytes(StandardCharsets.UTF_8);
      byte[] delay = level == 5 ? properties(bytes(0x18, u32(said.delaySeconds))) : new byte[0];
      last = bytes(delay, said.topic, u16(payload.length), payload);
    }
    return packet(CONNECT, "MQTT", level, flags, u16(0), properties, clientId, last);
  }

  /** A CONNECT with credentials, and a session that ends with the connection. */
  public static byte[] connect(int level, String clientId, String user, String password) {
    return packet(CONNECT, "MQTT", level, 0xC2, u16(0), level == 5 ? properties() : new byte[0], clientId, user, password);
  }

  public static byte[] publish(int level, Publish publish) {
    int first = PUBLISH | (publish.dup ? 8 : 0) | publish.qos << 1 | (publish.retain ? 1 : 0);
    byte[] properties = new byte[0];
    if (level == 5) {
      byte[] expiry = publish.expirySeconds < 0 ? new byte[0] : bytes(MESSAGE_EXPIRY, u32(publish.expirySeconds));
      byte[] tag = publish.tag.isEmpty() ? new byte[0] : bytes(CORRELATION_DATA, publish.tag);
      properties = properties(expiry, tag);
    }
    return packet(first, publish.topic, publish.qos == 0 ? new byte[0] : u16(publish.packetId), properties, publish.payload);
  }

  public static byte[] subscribe(int level, int packetId, String filter, int qos) {
    return subscribe(level, packetId, List.of(filter), qos);
  }

  /** One SUBSCRIBE with all these filters. */
  public static byte[] subscribe(int level, int packetId, List<String> filters, int qos) {
    var entries = new ByteArrayOutputStream();
    for (String filter : filters) entries.writeBytes(bytes(filter, qos));
    return packet(SUBSCRIBE, u16(packetId), level == 5 ? properties() : new byte[0], entries.toByteArray());
  }

  public static byte[] unsubscribe(int level, int packetId, String filter) {
    return packet(UNSUBSCRIBE, u16(packetId), level == 5 ? properties() : new byte[0], filter);
  }

  /** PUBACK, PUBREC, PUBREL or PUBCOMP with success. */
  public static byte[] answer(int type, int packetId) {
    return packet(type, u16(packetId));
  }

  public static byte[] ping() {
    return packet(PINGREQ);
  }

  public static byte[] disconnect() {
    return packet(DISCONNECT);
  }

  /** A packet; a part is a byte as an int, a text with its length, or raw bytes. */
  private static byte[] packet(int first, Object... parts) {
    byte[] body = bytes(parts);
    return bytes(first, varint(body.length), body);
  }

  private static byte[] bytes(Object... parts) {
    var out = new ByteArrayOutputStream();
    for (Object part : parts) {
      switch (part) {
        case Integer b -> out.write(b);
        case String text -> {
          byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
          out.writeBytes(u16(utf8.length));
          out.writeBytes(utf8);
        }
        case byte[] raw -> out.writeBytes(raw);
        default -> throw new IllegalArgumentException("part " + part);
      }
    }
    return out.toByteArray();
  }

  private static byte[] properties(byte[]... all) {
    byte[] block = bytes((Object[]) all);
    return bytes(varint(block.length), block);
  }

  private static byte[] u16(int value) {
    return new byte[] {(byte) (value >> 8), (byte) value};
  }

  private static byte[] u32(long value) {
    return new byte[] {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
  }

  private static byte[] varint(int value) {
    var out = new ByteArrayOutputStream();
    int rest = value;
    for (; rest >= 0x80; rest >>>= 7) out.write((rest & 0x7F) | 0x80);
    out.write(rest);
    return out.toByteArray();
  }
}
