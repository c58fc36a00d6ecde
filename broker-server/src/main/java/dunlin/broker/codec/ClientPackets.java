package dunlin.broker.codec;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import java.util.ArrayList;
import java.util.List;

/** Reads the packets that a client sends after CONNECT, except PUBLISH; MQTT 5, sections 3.4 to 3.15. */
final class ClientPackets {
  private ClientPackets() {}

  /**
   * Reads what follows the packet identifier of an acknowledgement of MQTT 5. Its reason string and user properties are
   * checked and discarded, because nothing reads them.
   *
   * @param ofPublish true for PUBACK and PUBREC, false for PUBREL and PUBCOMP
   */
  static ReasonCode readReason(PacketReader reader, boolean ofPublish) {
    int code = reader.readByte("reason code");
    if (reader.remaining() > 0) {
      ControlProperties.read(reader, PropertyId.IN_ACKNOWLEDGEMENT, "an acknowledgement");
      reader.expectEnd("an acknowledgement");
    }
    ReasonCode reason = ReasonCode.of(code);
    boolean allowed =
        switch (reason) {
          case SUCCESS -> true;
          case PACKET_IDENTIFIER_NOT_FOUND -> !ofPublish;
          case NO_MATCHING_SUBSCRIBERS,
              UNSPECIFIED_ERROR,
              IMPLEMENTATION_SPECIFIC_ERROR,
              NOT_AUTHORIZED,
              TOPIC_NAME_INVALID,
              PACKET_IDENTIFIER_IN_USE,
              QUOTA_EXCEEDED,
              PAYLOAD_FORMAT_INVALID ->
              ofPublish;
          case null, default -> false;
        };
    if (reason == null || !allowed) throw wrongReason(reader, code, "an acknowledgement"); // [MQTT-3.4.2-1]
    return reason;
  }

  static Packet.Subscribe readSubscribe(PacketReader reader, ProtocolVersion version) {
    int packetId = reader.readPacketId();
    ControlProperties properties = readProperties(reader, version, PropertyId.IN_SUBSCRIBE, "SUBSCRIBE");
    if (properties.subscriptionIdentifier() != 0 && !reader.limits().features().subscriptionIdentifiers()) {
      throw reader.error(
          ReasonCode.SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED,
          "subscription identifiers are switched off (dunlin.mqtt.subscription-identifiers-available)"); // section 3.2.2.3.12
    }
    if (reader.remaining() == 0) throw reader.protocolError("SUBSCRIBE without a topic filter"); // [MQTT-3.8.3-2]
    var subscriptions = new ArrayList<RequestedSubscription>();
    while (reader.remaining() > 0) {
      countFilter(reader, subscriptions.size() + 1);
      String filter = readFilter(reader);
      int options = reader.readByte("subscription options");
      subscriptions.add(
          new RequestedSubscription(filter, readOptions(reader, version, filter, options, properties.subscriptionIdentifier())));
    }
    return new Packet.Subscribe(packetId, subscriptions, properties.userProperties());
  }

  private static SubscriptionOptions readOptions(
      PacketReader reader, ProtocolVersion version, String filter, int options, int identifier) {
    int reserved = version.hasProperties() ? 0xC0 : 0xFC;
    if ((options & reserved) != 0) throw reader.malformed("reserved bits in subscription options " + options); // [MQTT-3.8.3-5]
    int qos = options & 0x03;
    if (qos == 3) throw reader.malformed("subscription with QoS 3");
    int retainHandling = options >> 4;
    if (retainHandling == 3) throw reader.malformed("subscription with Retain Handling 3");
    boolean noLocal = (options & 0x04) != 0;
    if (noLocal && TopicNames.isShared(filter)) {
      throw reader.protocolError("No Local on the shared subscription " + MalformedPacketException.quoted(filter)); // [MQTT-3.8.3-4]
    }
    return new SubscriptionOptions(QoS.of(qos), noLocal, (options & 0x08) != 0, retainHandling, identifier);
  }

  static Packet.Unsubscribe readUnsubscribe(PacketReader reader, ProtocolVersion version) {
    int packetId = reader.readPacketId();
    ControlProperties properties = readProperties(reader, version, PropertyId.IN_UNSUBSCRIBE, "UNSUBSCRIBE");
    if (reader.remaining() == 0) throw reader.protocolError("UNSUBSCRIBE without a topic filter"); // [MQTT-3.10.3-2]
    List<String> filters = new ArrayList<>();
    while (reader.remaining() > 0) {
      countFilter(reader, filters.size() + 1);
      filters.add(readFilter(reader));
    }
    return new Packet.Unsubscribe(packetId, filters, properties.userProperties());
  }

  /** Reads a topic filter. An empty one is malformed; other invalid filters are answered in SUBACK or UNSUBACK. */
  private static String readFilter(PacketReader reader) {
    String filter = reader.readText("topic filter");
    if (filter.isEmpty()) throw reader.malformed("empty topic filter"); // [MQTT-4.7.3-1]
    return filter;
  }

  private static void countFilter(PacketReader reader, int count) {
    int max = reader.limits().packets().filtersMax();
    if (count <= max) return;
    throw reader.exceeded(Limit.FILTERS, ReasonCode.QUOTA_EXCEEDED, "too many topic filters in one packet", max);
  }

  static Packet.Disconnect readDisconnect(PacketReader reader) {
    int code = reader.remaining() > 0 ? reader.readByte("reason code") : ReasonCode.SUCCESS.code();
    ControlProperties properties =
        reader.remaining() > 0
            ? ControlProperties.read(reader, PropertyId.IN_DISCONNECT, "DISCONNECT")
            : ControlProperties.none();
    reader.expectEnd("DISCONNECT");
    ReasonCode reason = ReasonCode.of(code);
    boolean allowed =
        switch (reason) {
          case SUCCESS,
              DISCONNECT_WITH_WILL_MESSAGE,
              UNSPECIFIED_ERROR,
              MALFORMED_PACKET,
              PROTOCOL_ERROR,
              IMPLEMENTATION_SPECIFIC_ERROR,
              TOPIC_NAME_INVALID,
              RECEIVE_MAXIMUM_EXCEEDED,
              TOPIC_ALIAS_INVALID,
              PACKET_TOO_LARGE,
              MESSAGE_RATE_TOO_HIGH,
              QUOTA_EXCEEDED,
              ADMINISTRATIVE_ACTION,
              PAYLOAD_FORMAT_INVALID ->
              true;
          case null, default -> false;
        };
    if (reason == null || !allowed) throw wrongReason(reader, code, "DISCONNECT"); // [MQTT-3.14.2-1]
    return new Packet.Disconnect(
        reason, properties.sessionExpirySeconds(), properties.reasonString(), null, properties.userProperties());
  }

  static Packet.Auth readAuth(PacketReader reader) {
    // The short form means success, which only a server may send.
    int code = reader.remaining() > 0 ? reader.readByte("reason code") : ReasonCode.SUCCESS.code();
    ReasonCode reason = ReasonCode.of(code);
    if (reason != ReasonCode.CONTINUE_AUTHENTICATION && reason != ReasonCode.RE_AUTHENTICATE) {
      throw wrongReason(reader, code, "AUTH"); // [MQTT-3.15.2-1]
    }
    ControlProperties properties = ControlProperties.read(reader, PropertyId.IN_AUTH, "AUTH");
    reader.expectEnd("AUTH");
    String method = properties.authenticationMethod();
    if (method == null) throw reader.protocolError("AUTH without an Authentication Method");
    return new Packet.Auth(
        reason, method, properties.authenticationData(), properties.reasonString(), properties.userProperties());
  }

  private static ControlProperties readProperties(
      PacketReader reader, ProtocolVersion version, long allowed, String packet) {
    return version.hasProperties() ? ControlProperties.read(reader, allowed, packet) : ControlProperties.none();
  }

  private static MalformedPacketException wrongReason(PacketReader reader, int code, String packet) {
    return reader.protocolError("reason code " + code + " in " + packet + " of a client");
  }
}
