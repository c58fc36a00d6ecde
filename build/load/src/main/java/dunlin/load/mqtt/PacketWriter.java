package dunlin.load.mqtt;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Appends the packets that a client sends to a buffer. */
public final class PacketWriter {
  private static final byte[] NAME = "MQTT".getBytes(StandardCharsets.US_ASCII);
  private static final int SESSION_EXPIRY = 0x11;
  private static final int RECEIVE_MAXIMUM = 0x21;

  private PacketWriter() {}

  public static void connect(ByteBuf out, Connect connect) {
    Will will = connect.will();
    byte[] user = connect.user();
    byte[] password = connect.password();
    boolean properties = connect.version().hasProperties();
    int propertyLength = (connect.sessionExpirySeconds() > 0 ? 5 : 0) + (connect.receiveMaximum() > 0 ? 3 : 0);

    int length = 2 + NAME.length + 1 + 1 + 2 + 2 + connect.clientId().length;
    if (properties) length += 1 + propertyLength;
    if (will != null) length += (properties ? 1 : 0) + 2 + will.topic().length + 2 + will.payload().length;
    if (user != null) length += 2 + user.length;
    if (password != null) length += 2 + password.length;

    int flags = connect.clean() ? 2 : 0;
    if (will != null) flags |= 4 | (will.qos() << 3) | (will.retain() ? 0x20 : 0);
    if (password != null) flags |= 0x40;
    if (user != null) flags |= 0x80;

    header(out, PacketType.CONNECT, 0, length);
    bytes(out, NAME);
    out.writeByte(connect.version().protocolLevel()).writeByte(flags).writeShort(connect.keepAliveSeconds());
    if (properties) {
      out.writeByte(propertyLength);
      if (connect.sessionExpirySeconds() > 0) out.writeByte(SESSION_EXPIRY).writeInt((int) connect.sessionExpirySeconds());
      if (connect.receiveMaximum() > 0) out.writeByte(RECEIVE_MAXIMUM).writeShort(connect.receiveMaximum());
    }
    bytes(out, connect.clientId());
    if (will != null) {
      if (properties) out.writeByte(0);
      bytes(out, will.topic());
      bytes(out, will.payload());
    }
    if (user != null) bytes(out, user);
    if (password != null) bytes(out, password);
  }

  /** A PUBLISH without its payload, which the caller appends. */
  public static void publishHead(
      ByteBuf out, Version version, byte[] topic, int qos, boolean retain, boolean dup, int packetId, int payloadLength) {
    int length = 2 + topic.length + (qos > 0 ? 2 : 0) + (version.hasProperties() ? 1 : 0) + payloadLength;
    header(out, PacketType.PUBLISH, (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0), length);
    bytes(out, topic);
    if (qos > 0) out.writeShort(packetId);
    if (version.hasProperties()) out.writeByte(0);
  }

  /** PUBACK, PUBREC, PUBREL or PUBCOMP, all of them successes. */
  public static void ack(ByteBuf out, int type, int packetId) {
    out.writeByte((type << 4) | (type == PacketType.PUBREL ? 2 : 0)).writeByte(2).writeShort(packetId);
  }

  public static void subscribe(ByteBuf out, Version version, int packetId, List<Filter> filters) {
    int length = 2 + (version.hasProperties() ? 1 : 0);
    for (Filter filter : filters) length += 2 + filter.text().length + 1;
    header(out, PacketType.SUBSCRIBE, 2, length);
    out.writeShort(packetId);
    if (version.hasProperties()) out.writeByte(0);
    for (Filter filter : filters) {
      bytes(out, filter.text());
      out.writeByte(filter.qos());
    }
  }

  public static void pingreq(ByteBuf out) {
    out.writeShort(PacketType.PINGREQ << 12);
  }

  /** A DISCONNECT with reason 0, so that the will is not published. */
  public static void disconnect(ByteBuf out) {
    out.writeShort(PacketType.DISCONNECT << 12);
  }

  private static void header(ByteBuf out, int type, int flags, int length) {
    out.writeByte((type << 4) | flags);
    int rest = length;
    while (rest > 0x7F) {
      out.writeByte((rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    out.writeByte(rest);
  }

  private static void bytes(ByteBuf out, byte[] text) {
    out.writeShort(text.length).writeBytes(text);
  }
}
