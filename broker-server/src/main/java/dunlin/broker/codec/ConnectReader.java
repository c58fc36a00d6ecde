package dunlin.broker.codec;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import org.jspecify.annotations.Nullable;

/** Reads CONNECT of all versions; MQTT 3.1, 3.1.1 and 5.0, section 3.1. */
final class ConnectReader {
  private static final int USER_NAME = 0x80;
  private static final int PASSWORD = 0x40;
  private static final int WILL_RETAIN = 0x20;
  private static final int WILL_QOS = 0x18;
  private static final int WILL = 0x04;
  private static final int CLEAN_START = 0x02;
  private static final int RESERVED = 0x01;

  private ConnectReader() {}

  static Packet.Connect read(PacketReader reader) {
    ProtocolVersion version = readVersion(reader);
    reader.version(version);
    int flags = reader.readByte("connect flags");
    checkFlags(reader, version, flags);
    int keepAliveSeconds = reader.readShort("keep alive");
    ControlProperties properties =
        version.hasProperties()
            ? ControlProperties.read(reader, PropertyId.IN_CONNECT, "CONNECT")
            : ControlProperties.none();
    if (properties.authenticationData() != null && properties.authenticationMethod() == null) {
      throw reader.protocolError("Authentication Data without an Authentication Method");
    }

    String clientId = readClientId(reader);
    boolean cleanStart = (flags & CLEAN_START) != 0;
    Will will = (flags & WILL) != 0 ? readWill(reader, version, flags) : null;
    String userName = present(reader, version, flags & USER_NAME) ? reader.readText("user name") : null;
    byte @Nullable [] password = present(reader, version, flags & PASSWORD) ? reader.readBinary("password") : null;
    reader.expectEnd("CONNECT");
    checkClientId(reader, version, clientId, cleanStart);

    return new Packet.Connect(
        version,
        cleanStart,
        keepAliveSeconds,
        clientId,
        properties.sessionExpirySeconds(),
        properties.receiveMaximum(),
        properties.maximumPacketSize(),
        properties.topicAliasMaximum(),
        properties.requestResponseInformation(),
        properties.requestProblemInformation(),
        properties.authenticationMethod(),
        properties.authenticationData(),
        userName,
        password,
        properties.userProperties(),
        will);
  }

  private static ProtocolVersion readVersion(PacketReader reader) {
    String name = reader.readText("protocol name");
    boolean oldName = name.equals("MQIsdp");
    if (!oldName && !name.equals("MQTT")) {
      throw reader.malformed("protocol name " + MalformedPacketException.quoted(name)); // [MQTT-3.1.2-1]
    }
    // An unsupported version is answered in the form of 3.1.1, which such clients understand.
    reader.version(ProtocolVersion.MQTT_3_1_1);
    int level = reader.readByte("protocol level");
    if (oldName && level == 3) return ProtocolVersion.MQTT_3_1;
    if (!oldName && level == 4) return ProtocolVersion.MQTT_3_1_1;
    if (!oldName && level == 5) return ProtocolVersion.MQTT_5;
    // [MQTT-3.1.2-2]; levels of 0x80 and above are those of bridges of other brokers, and not in any specification.
    throw reader.error(ReasonCode.UNSUPPORTED_PROTOCOL_VERSION, "protocol " + name + " level " + level);
  }

  private static void checkFlags(PacketReader reader, ProtocolVersion version, int flags) {
    // [MQTT-3.1.2-3]; in MQTT 3.1 the flag is unused.
    if ((flags & RESERVED) != 0 && version != ProtocolVersion.MQTT_3_1) throw reader.malformed("reserved connect flag set");
    if ((flags & WILL_QOS) == WILL_QOS) throw reader.malformed("will with QoS 3"); // [MQTT-3.1.2-12]
    if ((flags & WILL) == 0 && (flags & (WILL_QOS | WILL_RETAIN)) != 0) {
      throw reader.malformed("Will QoS or Will Retain without a will"); // [MQTT-3.1.2-11, -13]
    }
    if (!version.hasProperties() && (flags & PASSWORD) != 0 && (flags & USER_NAME) == 0) {
      throw reader.malformed("password without a user name"); // [3.1.1: MQTT-3.1.2-22]
    }
  }

  private static Will readWill(PacketReader reader, ProtocolVersion version, int flags) {
    var properties = new MessageProperties();
    properties.clear();
    if (version.hasProperties()) properties.read(reader, PropertyId.IN_WILL, "will");
    QoS qos = QoS.of((flags & WILL_QOS) >> 3);
    boolean retain = (flags & WILL_RETAIN) != 0;
    checkAvailable(reader, qos, retain);
    int topicLength = reader.skipText("will topic");
    if (topicLength == 0) throw reader.error(ReasonCode.TOPIC_NAME_INVALID, "empty will topic"); // [MQTT-4.7.3-1]
    TopicNames.check(reader, topicLength, "will topic");
    String topic = reader.lastText(topicLength);
    byte[] payload = readWillPayload(reader, properties.text());
    byte[] kept = new byte[properties.keptLength()];
    if (kept.length > 0) properties.copy(kept, 0);
    return new Will(
        topic,
        payload,
        qos,
        retain,
        properties.willDelaySeconds(),
        kept,
        properties.expiryOffset());
  }

  private static void checkAvailable(PacketReader reader, QoS qos, boolean retain) {
    DecoderLimits limits = reader.limits();
    if (qos.code() > limits.features().maximumQoS().code()) {
      throw reader.error(ReasonCode.QOS_NOT_SUPPORTED, "will with " + PacketDecoder.aboveMaximum(qos.code(), limits)); // [MQTT-3.2.2-12]
    }
    if (retain && !limits.features().retain()) {
      throw reader.error(ReasonCode.RETAIN_NOT_SUPPORTED, "will with " + PacketDecoder.RETAIN_OFF); // [MQTT-3.2.2-13]
    }
  }

  private static byte[] readWillPayload(PacketReader reader, boolean text) {
    DecoderLimits limits = reader.limits();
    int length = reader.skipBinary("will payload");
    if (length > limits.packets().willPayloadMax()) {
      throw reader.exceeded(
          Limit.WILL_PAYLOAD, ReasonCode.PACKET_TOO_LARGE, "will payload has " + length + " bytes", limits.packets().willPayloadMax());
    }
    int from = reader.index() - length;
    if (text && limits.features().payloadFormatCheck() && !Utf8.wellFormed(reader.buffer(), from, length)) {
      throw reader.error(ReasonCode.PAYLOAD_FORMAT_INVALID, "the will's payload is declared as UTF-8 text but is not");
    }
    byte[] payload = new byte[length];
    reader.buffer().getBytes(from, payload);
    return payload;
  }

  private static String readClientId(PacketReader reader) {
    int length = reader.skipText("client identifier");
    int max = reader.limits().packets().clientIdMax();
    if (length > max) {
      throw reader.exceeded(
          Limit.CLIENT_ID, ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, "client identifier has " + length + " bytes", max);
    }
    return reader.lastText(length);
  }

  /** In MQTT 3.1 the packet's end takes precedence over the flags of user name and password (its section 3.1). */
  private static boolean present(PacketReader reader, ProtocolVersion version, int flag) {
    return flag != 0 && (version != ProtocolVersion.MQTT_3_1 || reader.remaining() > 0);
  }

  private static void checkClientId(
      PacketReader reader, ProtocolVersion version, String clientId, boolean cleanStart) {
    if (!clientId.isEmpty()) return;
    boolean allowed =
        switch (version) {
          case MQTT_3_1 -> false;
          case MQTT_3_1_1 -> cleanStart; // [3.1.1: MQTT-3.1.3-7, -8]
          case MQTT_5 -> true; // [MQTT-3.1.3-6]
        };
    if (!allowed) {
      throw reader.error(ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, "empty client identifier in MQTT " + version);
    }
  }
}
