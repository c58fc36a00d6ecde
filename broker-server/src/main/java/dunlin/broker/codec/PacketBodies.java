package dunlin.broker.codec;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The bytes after the fixed header, of each packet except PUBLISH and in each version; MQTT 5, chapter 3. */
final class PacketBodies {
  private PacketBodies() {}

  /** The first byte of the packet: type and flags. */
  static int firstByte(Packet packet) {
    return switch (packet) {
      case Packet.Connect _ -> 0x10;
      case Packet.Connack _ -> 0x20;
      case Packet.Puback _ -> 0x40;
      case Packet.Pubrec _ -> 0x50;
      case Packet.Pubrel _ -> 0x62;
      case Packet.Pubcomp _ -> 0x70;
      case Packet.Subscribe _ -> 0x82;
      case Packet.Suback _ -> 0x90;
      case Packet.Unsubscribe _ -> 0xA2;
      case Packet.Unsuback _ -> 0xB0;
      case Packet.Pingreq _ -> 0xC0;
      case Packet.Pingresp _ -> 0xD0;
      case Packet.Disconnect _ -> 0xE0;
      case Packet.Auth _ -> 0xF0;
    };
  }

  /**
   * The bytes after the fixed header.
   *
   * @throws IllegalArgumentException if the version cannot express this packet
   */
  static PacketWriter body(ProtocolVersion version, Packet packet) {
    var body = new PacketWriter();
    boolean properties = version.hasProperties();
    switch (packet) {
      case Packet.Connect p -> connect(body, version, p);
      case Packet.Connack p -> connack(body, version, p);
      case Packet.Puback p -> {
        refuseErrorInMqtt3("PUBACK", version, p.reason());
        acknowledge(body, properties, p.packetId(), p.reason(), p.reasonString(), p.userProperties());
      }
      case Packet.Pubrec p -> {
        refuseErrorInMqtt3("PUBREC", version, p.reason());
        acknowledge(body, properties, p.packetId(), p.reason(), p.reasonString(), p.userProperties());
      }
      case Packet.Pubrel p -> acknowledge(body, properties, p.packetId(), p.reason(), p.reasonString(), p.userProperties());
      case Packet.Pubcomp p -> acknowledge(body, properties, p.packetId(), p.reason(), p.reasonString(), p.userProperties());
      case Packet.Subscribe p -> subscribe(body, properties, p);
      case Packet.Suback p -> {
        body.writeShort(p.packetId());
        if (properties) body.writeWithLength(problem(p.reasonString(), p.userProperties()));
        for (ReasonCode reason : p.reasons()) {
          body.writeByte(reason.isError() && !properties ? 0x80 : reason.code());
        }
      }
      case Packet.Unsubscribe p -> {
        body.writeShort(p.packetId());
        if (properties) body.writeWithLength(new PacketWriter().userProperties(p.userProperties()));
        for (String filter : p.filters()) body.writeText(filter);
      }
      case Packet.Unsuback p -> {
        body.writeShort(p.packetId());
        if (properties) {
          body.writeWithLength(problem(p.reasonString(), p.userProperties()));
          for (ReasonCode reason : p.reasons()) body.writeByte(reason.code());
        }
      }
      case Packet.Pingreq _, Packet.Pingresp _ -> {}
      case Packet.Disconnect p -> disconnect(body, version, p);
      case Packet.Auth p -> auth(body, version, p);
    }
    return body;
  }

  private static void connect(PacketWriter body, ProtocolVersion version, Packet.Connect p) {
    if (p.version() != version) throw new IllegalArgumentException("CONNECT of " + p.version() + " in " + version);
    Will will = p.will();
    String userName = p.userName();
    byte[] password = p.password();
    body.writeText(version == ProtocolVersion.MQTT_3_1 ? "MQIsdp" : "MQTT").writeByte(version.level());
    int flags = (userName != null ? 0x80 : 0) | (password != null ? 0x40 : 0) | (p.cleanStart() ? 0x02 : 0);
    if (will != null) flags |= (will.retain() ? 0x20 : 0) | (will.qos().code() << 3) | 0x04;
    body.writeByte(flags).writeShort(p.keepAliveSeconds());
    if (version.hasProperties()) {
      var properties = new PacketWriter();
      if (p.sessionExpirySeconds() >= 0) {
        properties.intProperty(PropertyId.SESSION_EXPIRY_INTERVAL, p.sessionExpirySeconds());
      }
      if (p.receiveMaximum() != 65_535) properties.shortProperty(PropertyId.RECEIVE_MAXIMUM, p.receiveMaximum());
      if (p.maximumPacketSize() > 0) properties.intProperty(PropertyId.MAXIMUM_PACKET_SIZE, p.maximumPacketSize());
      if (p.topicAliasMaximum() > 0) properties.shortProperty(PropertyId.TOPIC_ALIAS_MAXIMUM, p.topicAliasMaximum());
      if (p.requestResponseInformation()) properties.byteProperty(PropertyId.REQUEST_RESPONSE_INFORMATION, 1);
      if (!p.requestProblemInformation()) properties.byteProperty(PropertyId.REQUEST_PROBLEM_INFORMATION, 0);
      properties.textProperty(PropertyId.AUTHENTICATION_METHOD, p.authenticationMethod());
      properties.binaryProperty(PropertyId.AUTHENTICATION_DATA, p.authenticationData());
      body.writeWithLength(properties.userProperties(p.userProperties()));
    }
    body.writeText(p.clientId());
    if (will != null) {
      if (version.hasProperties()) {
        var properties = new PacketWriter();
        if (will.delaySeconds() > 0) properties.intProperty(PropertyId.WILL_DELAY_INTERVAL, will.delaySeconds());
        body.writeWithLength(properties.writeRaw(will.properties(), will.properties().length));
      }
      body.writeText(will.topic()).writeBinary(will.payload());
    }
    if (userName != null) body.writeText(userName);
    if (password != null) body.writeBinary(password);
  }

  private static void connack(PacketWriter body, ProtocolVersion version, Packet.Connack p) {
    if (!version.hasProperties()) {
      int returnCode = connackReturnCode(p.reason());
      if (returnCode < 0) throw new IllegalArgumentException("CONNACK of " + version + " cannot say " + p.reason());
      // MQTT 3.1 reserves this byte.
      body.writeByte(p.sessionPresent() && version != ProtocolVersion.MQTT_3_1 ? 1 : 0).writeByte(returnCode);
      return;
    }
    var properties = new PacketWriter();
    if (p.sessionExpirySeconds() >= 0) {
      properties.intProperty(PropertyId.SESSION_EXPIRY_INTERVAL, p.sessionExpirySeconds());
    }
    if (p.receiveMaximum() != 65_535) properties.shortProperty(PropertyId.RECEIVE_MAXIMUM, p.receiveMaximum());
    if (p.maximumQoS() != QoS.EXACTLY_ONCE) properties.byteProperty(PropertyId.MAXIMUM_QOS, p.maximumQoS().code());
    unavailable(properties, PropertyId.RETAIN_AVAILABLE, p.retainAvailable());
    if (p.maximumPacketSize() > 0) properties.intProperty(PropertyId.MAXIMUM_PACKET_SIZE, p.maximumPacketSize());
    properties.textProperty(PropertyId.ASSIGNED_CLIENT_IDENTIFIER, p.assignedClientIdentifier());
    if (p.topicAliasMaximum() > 0) properties.shortProperty(PropertyId.TOPIC_ALIAS_MAXIMUM, p.topicAliasMaximum());
    properties.textProperty(PropertyId.REASON_STRING, p.reasonString());
    properties.userProperties(p.userProperties());
    unavailable(properties, PropertyId.WILDCARD_SUBSCRIPTION_AVAILABLE, p.wildcardSubscriptionAvailable());
    unavailable(properties, PropertyId.SUBSCRIPTION_IDENTIFIERS_AVAILABLE, p.subscriptionIdentifiersAvailable());
    unavailable(properties, PropertyId.SHARED_SUBSCRIPTION_AVAILABLE, p.sharedSubscriptionAvailable());
    if (p.serverKeepAliveSeconds() >= 0) {
      properties.shortProperty(PropertyId.SERVER_KEEP_ALIVE, p.serverKeepAliveSeconds());
    }
    properties.textProperty(PropertyId.RESPONSE_INFORMATION, p.responseInformation());
    properties.textProperty(PropertyId.SERVER_REFERENCE, p.serverReference());
    properties.textProperty(PropertyId.AUTHENTICATION_METHOD, p.authenticationMethod());
    properties.binaryProperty(PropertyId.AUTHENTICATION_DATA, p.authenticationData());
    body.writeByte(p.sessionPresent() ? 1 : 0).writeByte(p.reason().code()).writeWithLength(properties);
  }

  /** Writes the property with value 0 for "not available"; it is left out for "available". */
  private static void unavailable(PacketWriter properties, int id, boolean available) {
    if (!available) properties.byteProperty(id, 0);
  }

  /** MQTT 3's return code for a reason, -1 for none; MQTT 3.1.1, table 3.1. */
  static int connackReturnCode(ReasonCode reason) {
    return switch (reason) {
      case SUCCESS -> 0;
      case UNSUPPORTED_PROTOCOL_VERSION -> 1;
      case CLIENT_IDENTIFIER_NOT_VALID -> 2;
      case UNSPECIFIED_ERROR,
          IMPLEMENTATION_SPECIFIC_ERROR,
          SERVER_UNAVAILABLE,
          SERVER_BUSY,
          SERVER_SHUTTING_DOWN,
          QUOTA_EXCEEDED,
          USE_ANOTHER_SERVER,
          SERVER_MOVED,
          CONNECTION_RATE_EXCEEDED ->
          3;
      case BAD_USER_NAME_OR_PASSWORD -> 4;
      case NOT_AUTHORIZED,
          BANNED,
          BAD_AUTHENTICATION_METHOD,
          TOPIC_NAME_INVALID,
          RETAIN_NOT_SUPPORTED,
          QOS_NOT_SUPPORTED ->
          5;
      default -> -1;
    };
  }

  private static void acknowledge(
      PacketWriter body,
      boolean properties,
      int packetId,
      ReasonCode reason,
      @Nullable String reasonString,
      List<UserProperty> userProperties) {
    body.writeShort(packetId);
    if (!properties) return;
    PacketWriter problem = problem(reasonString, userProperties);
    if (problem.length() > 0) body.writeByte(reason.code()).writeWithLength(problem);
    else if (reason != ReasonCode.SUCCESS) body.writeByte(reason.code());
  }

  private static void subscribe(PacketWriter body, boolean properties, Packet.Subscribe p) {
    body.writeShort(p.packetId());
    if (properties) {
      var written = new PacketWriter();
      if (p.subscriptionIdentifier() > 0) {
        written.writeByte(PropertyId.SUBSCRIPTION_IDENTIFIER).writeVarint(p.subscriptionIdentifier());
      }
      body.writeWithLength(written.userProperties(p.userProperties()));
    }
    for (RequestedSubscription subscription : p.subscriptions()) {
      var options = subscription.options();
      int bits = options.maximumQoS().code();
      if (properties) {
        bits |= (options.noLocal() ? 0x04 : 0) | (options.retainAsPublished() ? 0x08 : 0) | (options.retainHandling() << 4);
      }
      body.writeText(subscription.filter()).writeByte(bits);
    }
  }

  private static void disconnect(PacketWriter body, ProtocolVersion version, Packet.Disconnect p) {
    if (!version.hasProperties()) throw new IllegalArgumentException("a server of " + version + " sends no DISCONNECT");
    var properties = new PacketWriter();
    if (p.sessionExpirySeconds() >= 0) {
      properties.intProperty(PropertyId.SESSION_EXPIRY_INTERVAL, p.sessionExpirySeconds());
    }
    properties.textProperty(PropertyId.REASON_STRING, p.reasonString());
    properties.textProperty(PropertyId.SERVER_REFERENCE, p.serverReference());
    properties.userProperties(p.userProperties());
    if (properties.length() > 0) body.writeByte(p.reason().code()).writeWithLength(properties);
    else if (p.reason() != ReasonCode.SUCCESS) body.writeByte(p.reason().code());
  }

  private static void auth(PacketWriter body, ProtocolVersion version, Packet.Auth p) {
    if (!version.hasProperties()) throw new IllegalArgumentException(version + " has no AUTH");
    var properties = new PacketWriter();
    properties.textProperty(PropertyId.AUTHENTICATION_METHOD, p.authenticationMethod());
    properties.binaryProperty(PropertyId.AUTHENTICATION_DATA, p.authenticationData());
    properties.textProperty(PropertyId.REASON_STRING, p.reasonString());
    properties.userProperties(p.userProperties());
    body.writeByte(p.reason().code()).writeWithLength(properties);
  }

  private static PacketWriter problem(@Nullable String reasonString, List<UserProperty> userProperties) {
    return new PacketWriter().textProperty(PropertyId.REASON_STRING, reasonString).userProperties(userProperties);
  }

  /** MQTT 3 has no field for the error; leaving it out would mean that the message was accepted. */
  static void refuseErrorInMqtt3(String packet, ProtocolVersion version, ReasonCode reason) {
    if (reason.isError() && !version.hasProperties()) {
      throw new IllegalArgumentException(packet + " of " + version + " cannot say " + reason);
    }
  }
}
