package dunlin.harness;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Building blocks for correct and wrong packets in tests. */
public abstract sealed class PacketBytes permits RawClient {
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
  public static final int AUTH = 0xF0;

  public static final int PAYLOAD_FORMAT = 0x01;
  public static final int MESSAGE_EXPIRY = 0x02;
  public static final int CONTENT_TYPE = 0x03;
  public static final int RESPONSE_TOPIC = 0x08;
  public static final int CORRELATION_DATA = 0x09;
  public static final int SUBSCRIPTION_IDENTIFIER = 0x0B;
  public static final int TOPIC_ALIAS = 0x23;
  public static final int USER_PROPERTY = 0x26;

  /** The length of an empty list of properties. */
  public static byte[] noProperties() {
    return new byte[] {0};
  }

  /** A CONNECT without user name, password and will. */
  public static byte[] connect(int level, boolean clean, int keepAlive, String clientId, byte[] properties) {
    return connect(level, clean ? 2 : 0, keepAlive, properties, clientId);
  }

  /** A CONNECT with flags and the parts of its payload. */
  public static byte[] connect(int level, int flags, int keepAlive, byte[] properties, Object... payload) {
    byte[] all = bytes(payload);
    return level == 5
        ? packet(CONNECT, "MQTT", level, flags, u16(keepAlive), properties, all)
        : packet(CONNECT, level == 3 ? "MQIsdp" : "MQTT", level, flags, u16(keepAlive), all);
  }

  public static byte[] publishing(int level, String topic, int qos, int packetId, String payload) {
    return packet(
        PUBLISH | qos << 1,
        topic,
        qos == 0 ? new byte[0] : u16(packetId),
        level == 5 ? noProperties() : new byte[0],
        payload.getBytes(StandardCharsets.UTF_8));
  }

  /** A packet with its right remaining length; a part is a byte as an int, a text with its length, or raw bytes. */
  public static byte[] packet(int first, Object... parts) {
    byte[] body = bytes(parts);
    return bytes(first, varint(body.length), body);
  }

  public static byte[] bytes(Object... parts) {
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

  /** Properties with their length in front. */
  public static byte[] properties(byte[]... all) {
    byte[] block = bytes((Object[]) all);
    return bytes(varint(block.length), block);
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

  public static byte[] sessionExpiry(long seconds) {
    return bytes(0x11, u32(seconds));
  }

  public static byte[] willDelay(long seconds) {
    return bytes(0x18, u32(seconds));
  }

  public static byte[] receiveMaximum(int messages) {
    return bytes(0x21, u16(messages));
  }

  public static byte[] maximumPacketSize(int size) {
    return bytes(0x27, u32(size));
  }

  public static byte[] topicAlias(int alias) {
    return bytes(0x23, u16(alias));
  }

  public static byte[] subscriptionIdentifier(int identifier) {
    return bytes(0x0B, varint(identifier));
  }
}
