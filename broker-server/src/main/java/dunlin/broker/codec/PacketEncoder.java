package dunlin.broker.codec;

import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;

/**
 * Writes packets into buffers; MQTT 3.1, 3.1.1 and 5.0, chapter 3. The packets of the publish handshakes are written
 * without an allocation.
 */
public final class PacketEncoder {
  private static final int PUBLISH = 0x30;
  private static final int PUBACK = 0x40;
  private static final int PUBREC = 0x50;
  private static final int PUBREL = 0x62;
  private static final int PUBCOMP = 0x70;
  private static final int DUP = 0x08;
  private static final int RETAIN = 0x01;
  private static final int ALIAS_LENGTH = 3;

  private PacketEncoder() {}

  /**
   * Writes a PUBLISH packet to a subscriber, with the remaining Message Expiry Interval [MQTT-3.3.2-6].
   *
   * @param packetId 1 to 65,535 unless the QoS is 0
   * @param subscriptionIdentifiers the identifiers of the matching subscriptions; none in MQTT 3
   * @param topicAlias 0 for none, an alias to send together with the topic name, or the negative of an alias to send
   *     instead of it
   */
  public static void publish(
      ByteBuf out,
      ProtocolVersion version,
      Publication message,
      QoS qos,
      boolean dup,
      boolean retain,
      int packetId,
      int[] subscriptionIdentifiers,
      int topicAlias,
      long nowMillis) {
    assert qos == QoS.AT_MOST_ONCE ? !dup : packetId > 0 && packetId <= 0xFFFF : qos + ", packet " + packetId + ", DUP " + dup;
    assert topicAlias == 0 || version.hasProperties() : "topic alias in " + version;
    int propertiesLength = propertiesLength(version, message, subscriptionIdentifiers, topicAlias);
    int remaining = publishRemaining(version, message, qos, propertiesLength, topicAlias);
    out.ensureWritable(1 + PacketWriter.varintLength(remaining) + remaining);
    out.writeByte(PUBLISH | (dup ? DUP : 0) | (qos.code() << 1) | (retain ? RETAIN : 0));
    writeVarint(out, remaining);
    byte[] body = message.body();
    int topicLength = message.topicLength();
    if (topicAlias < 0) {
      out.writeShort(0);
    } else {
      out.writeShort(topicLength);
      out.writeBytes(body, 0, topicLength);
    }
    if (qos != QoS.AT_MOST_ONCE) out.writeShort(packetId);
    if (version.hasProperties()) {
      writeVarint(out, propertiesLength);
      int start = out.writerIndex();
      out.writeBytes(body, topicLength, message.propertiesLength());
      int expiryOffset = message.expiryOffset();
      if (expiryOffset >= 0) {
        out.setInt(start + expiryOffset - topicLength, (int) message.remainingExpirySeconds(nowMillis));
      }
      if (topicAlias != 0) out.writeByte(PropertyId.TOPIC_ALIAS).writeShort(Math.abs(topicAlias));
      for (int identifier : subscriptionIdentifiers) {
        out.writeByte(PropertyId.SUBSCRIPTION_IDENTIFIER);
        writeVarint(out, identifier);
      }
    }
    out.writeBytes(body, message.payloadOffset(), message.payloadLength());
  }

  /** The exact number of bytes that {@link #publish} writes, for comparison with the client's Maximum Packet Size. */
  public static int publishLength(
      ProtocolVersion version, Publication message, QoS qos, int[] subscriptionIdentifiers, int topicAlias) {
    int propertiesLength = propertiesLength(version, message, subscriptionIdentifiers, topicAlias);
    int remaining = publishRemaining(version, message, qos, propertiesLength, topicAlias);
    return 1 + PacketWriter.varintLength(remaining) + remaining;
  }

  private static int publishRemaining(
      ProtocolVersion version, Publication message, QoS qos, int propertiesLength, int topicAlias) {
    long remaining = 2L + (topicAlias < 0 ? 0 : message.topicLength()) + message.payloadLength();
    if (qos != QoS.AT_MOST_ONCE) remaining += 2;
    if (version.hasProperties()) remaining += PacketWriter.varintLength(propertiesLength) + propertiesLength;
    return checkRemaining(remaining);
  }

  private static int propertiesLength(
      ProtocolVersion version, Publication message, int[] subscriptionIdentifiers, int topicAlias) {
    if (!version.hasProperties()) return 0;
    int length = message.propertiesLength() + (topicAlias == 0 ? 0 : ALIAS_LENGTH);
    for (int identifier : subscriptionIdentifiers) length += 1 + PacketWriter.varintLength(identifier);
    return length;
  }

  /** Writes PUBACK. MQTT 3 has no error reasons here; the connection is closed instead. */
  public static void puback(ByteBuf out, ProtocolVersion version, int packetId, ReasonCode reason) {
    PacketBodies.refuseErrorInMqtt3("PUBACK", version, reason);
    acknowledge(out, PUBACK, version, packetId, reason);
  }

  /** Writes PUBREC. MQTT 3 has no error reasons here; the connection is closed instead. */
  public static void pubrec(ByteBuf out, ProtocolVersion version, int packetId, ReasonCode reason) {
    PacketBodies.refuseErrorInMqtt3("PUBREC", version, reason);
    acknowledge(out, PUBREC, version, packetId, reason);
  }

  /** Writes PUBREL; in MQTT 3 without the reason. */
  public static void pubrel(ByteBuf out, ProtocolVersion version, int packetId, ReasonCode reason) {
    acknowledge(out, PUBREL, version, packetId, reason);
  }

  /** Writes PUBCOMP; in MQTT 3 without the reason. */
  public static void pubcomp(ByteBuf out, ProtocolVersion version, int packetId, ReasonCode reason) {
    acknowledge(out, PUBCOMP, version, packetId, reason);
  }

  private static void acknowledge(ByteBuf out, int first, ProtocolVersion version, int packetId, ReasonCode reason) {
    assert packetId > 0 && packetId <= 0xFFFF : "packet identifier " + packetId;
    if (!version.hasProperties() || reason == ReasonCode.SUCCESS) {
      out.writeInt((first << 24) | (2 << 16) | packetId);
    } else {
      out.writeInt((first << 24) | (3 << 16) | packetId);
      out.writeByte(reason.code());
    }
  }

  /**
   * Writes any other packet.
   *
   * @throws IllegalArgumentException if the version cannot express this packet: DISCONNECT and AUTH in MQTT 3, and a
   *     refusal without a {@link #connackReturnCode}; nothing is written then
   */
  public static void encode(ByteBuf out, ProtocolVersion version, Packet packet) {
    write(out, PacketBodies.firstByte(packet), PacketBodies.body(version, packet));
  }

  /**
   * Writes a packet to a client that accepts packets up to {@code maximumPacketSize}. To make it fit, first its user
   * properties and then its reason string are left out [MQTT-3.2.2-19, -20 and the like].
   *
   * @param maximumPacketSize as in CONNECT, 0 for no limit
   * @return false if it does not fit even then; nothing is written then [MQTT-3.1.2-24]
   */
  public static boolean encode(ByteBuf out, ProtocolVersion version, Packet packet, long maximumPacketSize) {
    Packet candidate = packet;
    for (int attempt = 0; attempt < 3; attempt++) {
      if (attempt > 0) candidate = packet.withoutProblemInformation(attempt == 1);
      PacketWriter body = PacketBodies.body(version, candidate);
      int size = 1 + PacketWriter.varintLength(body.length()) + body.length();
      if (maximumPacketSize == 0 || size <= maximumPacketSize) {
        write(out, PacketBodies.firstByte(candidate), body);
        return true;
      }
    }
    return false;
  }

  /**
   * The return code that tells a client of MQTT 3 why it is refused, 0 to 5, or -1 if the reason has no code: then the
   * connection is closed without CONNACK [3.1.1: MQTT-3.2.2-6].
   */
  public static int connackReturnCode(ReasonCode reason) {
    return PacketBodies.connackReturnCode(reason);
  }

  private static void write(ByteBuf out, int first, PacketWriter body) {
    int remaining = checkRemaining(body.length());
    out.ensureWritable(1 + PacketWriter.varintLength(remaining) + remaining);
    out.writeByte(first);
    writeVarint(out, remaining);
    body.writeTo(out);
  }

  private static int checkRemaining(long remaining) {
    if (remaining > PacketWriter.VARINT_MAX) {
      throw new IllegalArgumentException("packet with remaining length " + remaining);
    }
    return (int) remaining;
  }

  private static void writeVarint(ByteBuf out, int value) {
    int rest = value;
    for (; rest >= 0x80; rest >>>= 7) out.writeByte((rest & 0x7F) | 0x80);
    out.writeByte(rest);
  }
}
