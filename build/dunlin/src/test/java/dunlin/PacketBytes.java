package dunlin;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Building blocks for correct and wrong packets in tests. */
abstract sealed class PacketBytes permits RawClient {
  static final int CONNECT = 0x10;
  static final int CONNACK = 0x20;
  static final int PUBLISH = 0x30;
  static final int PUBACK = 0x40;
  static final int PUBREC = 0x50;
  static final int PUBREL = 0x62;
  static final int PUBCOMP = 0x70;
  static final int SUBSCRIBE = 0x82;
  static final int SUBACK = 0x90;
  static final int UNSUBSCRIBE = 0xA2;
  static final int UNSUBACK = 0xB0;
  static final int PINGREQ = 0xC0;
  static final int PINGRESP = 0xD0;
  static final int DISCONNECT = 0xE0;
  static final int AUTH = 0xF0;
  static final byte[] NO_PROPERTIES = {0};

  static final int PAYLOAD_FORMAT = 0x01;
  static final int MESSAGE_EXPIRY = 0x02;
  static final int CONTENT_TYPE = 0x03;
  static final int RESPONSE_TOPIC = 0x08;
  static final int CORRELATION_DATA = 0x09;
  static final int SUBSCRIPTION_IDENTIFIER = 0x0B;
  static final int TOPIC_ALIAS = 0x23;
  static final int USER_PROPERTY = 0x26;

  /** A CONNECT without user name, password and will. */
  static byte[] connect(int level, boolean clean, int keepAlive, String clientId, byte[] properties) {
    return connect(level, clean ? 2 : 0, keepAlive, properties, clientId);
  }

  /** A CONNECT with flags and the parts of its payload. */
  static byte[] connect(int level, int flags, int keepAlive, byte[] properties, Object... payload) {
    byte[] all = bytes(payload);
    return level == 5
        ? packet(CONNECT, "MQTT", level, flags, u16(keepAlive), properties, all)
        : packet(CONNECT, level == 3 ? "MQIsdp" : "MQTT", level, flags, u16(keepAlive), all);
  }

  static byte[] publishing(int level, String topic, int qos, int packetId, String payload) {
    return packet(
        PUBLISH | qos << 1,
        topic,
        qos == 0 ? new byte[0] : u16(packetId),
        level == 5 ? NO_PROPERTIES : new byte[0],
        payload.getBytes(StandardCharsets.UTF_8));
  }

  /** A packet with its right remaining length; a part is a byte as an int, a text with its length, or raw bytes. */
  static byte[] packet(int first, Object... parts) {
    byte[] body = bytes(parts);
    return bytes(first, varint(body.length), body);
  }

  static byte[] bytes(Object... parts) {
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
  static byte[] properties(byte[]... all) {
    byte[] block = bytes((Object[]) all);
    return bytes(varint(block.length), block);
  }

  static byte[] u16(int value) {
    return new byte[] {(byte) (value >> 8), (byte) value};
  }

  static byte[] u32(long value) {
    return new byte[] {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
  }

  static byte[] varint(int value) {
    var out = new ByteArrayOutputStream();
    int rest = value;
    for (; rest >= 0x80; rest >>>= 7) out.write((rest & 0x7F) | 0x80);
    out.write(rest);
    return out.toByteArray();
  }

  static byte[] sessionExpiry(long seconds) {
    return bytes(0x11, u32(seconds));
  }

  static byte[] willDelay(long seconds) {
    return bytes(0x18, u32(seconds));
  }

  static byte[] receiveMaximum(int messages) {
    return bytes(0x21, u16(messages));
  }

  static byte[] maximumPacketSize(int size) {
    return bytes(0x27, u32(size));
  }

  static byte[] topicAlias(int alias) {
    return bytes(0x23, u16(alias));
  }

  static byte[] subscriptionIdentifier(int identifier) {
    return bytes(0x0B, varint(identifier));
  }
}
