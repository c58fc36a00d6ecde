package dunlin.broker.codec;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.mqtt.MqttConnAckVariableHeader;
import io.netty.handler.codec.mqtt.MqttConnectMessage;
import io.netty.handler.codec.mqtt.MqttConnectPayload;
import io.netty.handler.codec.mqtt.MqttConnectVariableHeader;
import io.netty.handler.codec.mqtt.MqttDecoder;
import io.netty.handler.codec.mqtt.MqttEncoder;
import io.netty.handler.codec.mqtt.MqttFixedHeader;
import io.netty.handler.codec.mqtt.MqttMessage;
import io.netty.handler.codec.mqtt.MqttMessageFactory;
import io.netty.handler.codec.mqtt.MqttMessageIdAndPropertiesVariableHeader;
import io.netty.handler.codec.mqtt.MqttMessageIdVariableHeader;
import io.netty.handler.codec.mqtt.MqttMessageType;
import io.netty.handler.codec.mqtt.MqttProperties;
import io.netty.handler.codec.mqtt.MqttPubReplyMessageVariableHeader;
import io.netty.handler.codec.mqtt.MqttPublishMessage;
import io.netty.handler.codec.mqtt.MqttPublishVariableHeader;
import io.netty.handler.codec.mqtt.MqttQoS;
import io.netty.handler.codec.mqtt.MqttReasonCodeAndPropertiesVariableHeader;
import io.netty.handler.codec.mqtt.MqttSubAckMessage;
import io.netty.handler.codec.mqtt.MqttSubscribeMessage;
import io.netty.handler.codec.mqtt.MqttSubscribePayload;
import io.netty.handler.codec.mqtt.MqttSubscriptionOption;
import io.netty.handler.codec.mqtt.MqttSubscriptionOption.RetainedHandlingPolicy;
import io.netty.handler.codec.mqtt.MqttTopicSubscription;
import io.netty.handler.codec.mqtt.MqttUnsubAckMessage;
import io.netty.handler.codec.mqtt.MqttUnsubscribeMessage;
import io.netty.handler.codec.mqtt.MqttUnsubscribePayload;
import io.netty.handler.codec.mqtt.MqttVersion;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Netty's MQTT codec as the oracle: the same packets through an independent implementation. */
@SuppressWarnings("NullAway") // Netty uses null for absent values; javac loses @Nullable of arrays in records.
final class Netty {
  private static final AttributeKey<MqttVersion> VERSION = AttributeKey.valueOf("NETTY_CODEC_MQTT_VERSION");

  private Netty() {}

  /** The packet's bytes as Netty's encoder writes them. */
  static byte[] encode(ProtocolVersion version, Object packet) {
    var channel = new EmbeddedChannel(MqttEncoder.INSTANCE);
    channel.attr(VERSION).set(version(version));
    channel.writeOutbound(message(version, packet));
    ByteBuf out = Unpooled.buffer();
    while (channel.readOutbound() instanceof ByteBuf part) {
      out.writeBytes(part);
      part.release();
    }
    byte[] bytes = ByteBufUtil.getBytes(out);
    out.release();
    channel.finishAndReleaseAll();
    return bytes;
  }

  /** The packets that Netty's decoder reads; empty if the bytes are invalid or incomplete. */
  static List<Object> decode(ProtocolVersion version, byte[] bytes) {
    return decode(version, bytes, Integer.MAX_VALUE);
  }

  /**
   * The same, but packets beyond {@code packetsMax} are only represented by their type: this codec may have no form for
   * them.
   */
  static List<Object> decode(ProtocolVersion version, byte[] bytes, int packetsMax) {
    var channel = new EmbeddedChannel(new MqttDecoder(1 << 20, 1 << 16));
    channel.attr(VERSION).set(version(version));
    channel.writeInbound(Unpooled.wrappedBuffer(bytes));
    List<Object> packets = new ArrayList<>();
    while (channel.readInbound() instanceof MqttMessage message) {
      if (message.decoderResult().isSuccess()) {
        packets.add(packets.size() < packetsMax ? packet(version, message) : message.fixedHeader().messageType());
      }
      ReferenceCountUtil.release(message);
    }
    channel.finishAndReleaseAll();
    return packets;
  }

  private static MqttVersion version(ProtocolVersion version) {
    return switch (version) {
      case MQTT_3_1 -> MqttVersion.MQTT_3_1;
      case MQTT_3_1_1 -> MqttVersion.MQTT_3_1_1;
      case MQTT_5 -> MqttVersion.MQTT_5;
    };
  }

  private static MqttMessage message(ProtocolVersion version, Object packet) {
    return switch (packet) {
      case Publish p ->
          MqttMessageFactory.newMessage(
              new MqttFixedHeader(MqttMessageType.PUBLISH, p.dup(), MqttQoS.valueOf(p.qos().code()), p.retain(), 0),
              new MqttPublishVariableHeader(p.topic(), p.packetId(), properties(p.properties())),
              Unpooled.wrappedBuffer(p.payload()));
      case Packet.Connect p -> connect(version, p);
      case Packet.Puback p ->
          reply(MqttMessageType.PUBACK, p.packetId(), p.reason(), problem(p.reasonString(), p.userProperties()));
      case Packet.Pubrec p ->
          reply(MqttMessageType.PUBREC, p.packetId(), p.reason(), problem(p.reasonString(), p.userProperties()));
      case Packet.Pubrel p ->
          reply(MqttMessageType.PUBREL, p.packetId(), p.reason(), problem(p.reasonString(), p.userProperties()));
      case Packet.Pubcomp p ->
          reply(MqttMessageType.PUBCOMP, p.packetId(), p.reason(), problem(p.reasonString(), p.userProperties()));
      case Packet.Subscribe p -> {
        List<Prop> properties = problem(null, p.userProperties());
        if (p.subscriptionIdentifier() > 0) properties.add(Prop.of(0x0B, p.subscriptionIdentifier()));
        yield MqttMessageFactory.newMessage(
            fixed(MqttMessageType.SUBSCRIBE),
            new MqttMessageIdAndPropertiesVariableHeader(p.packetId(), properties(properties)),
            new MqttSubscribePayload(p.subscriptions().stream().map(Netty::subscription).toList()));
      }
      case Packet.Unsubscribe p ->
          MqttMessageFactory.newMessage(
              fixed(MqttMessageType.UNSUBSCRIBE),
              new MqttMessageIdAndPropertiesVariableHeader(
                  p.packetId(), properties(problem(null, p.userProperties()))),
              new MqttUnsubscribePayload(p.filters()));
      case Packet.Pingreq _ -> MqttMessage.PINGREQ;
      case Packet.Disconnect p -> {
        List<Prop> properties = problem(p.reasonString(), p.userProperties());
        if (p.sessionExpirySeconds() >= 0) properties.add(Prop.of(0x11, p.sessionExpirySeconds()));
        yield reasoned(MqttMessageType.DISCONNECT, p.reason(), properties);
      }
      case Packet.Auth p -> {
        List<Prop> properties = problem(p.reasonString(), p.userProperties());
        properties.add(Prop.of(0x15, p.authenticationMethod()));
        if (p.authenticationData() != null) properties.add(Prop.of(0x16, p.authenticationData()));
        yield reasoned(MqttMessageType.AUTH, p.reason(), properties);
      }
      default -> throw new IllegalArgumentException("not a client's: " + packet);
    };
  }

  private static MqttFixedHeader fixed(MqttMessageType type) {
    boolean acknowledged =
        switch (type) {
          case PUBREL, SUBSCRIBE, UNSUBSCRIBE -> true;
          default -> false;
        };
    return new MqttFixedHeader(type, false, acknowledged ? MqttQoS.AT_LEAST_ONCE : MqttQoS.AT_MOST_ONCE, false, 0);
  }

  private static MqttMessage reply(MqttMessageType type, int packetId, ReasonCode reason, List<Prop> properties) {
    return MqttMessageFactory.newMessage(
        fixed(type), new MqttPubReplyMessageVariableHeader(packetId, (byte) reason.code(), properties(properties)), null);
  }

  private static MqttMessage reasoned(MqttMessageType type, ReasonCode reason, List<Prop> properties) {
    return MqttMessageFactory.newMessage(
        fixed(type), new MqttReasonCodeAndPropertiesVariableHeader((byte) reason.code(), properties(properties)), null);
  }

  private static MqttMessage connect(ProtocolVersion version, Packet.Connect p) {
    List<Prop> properties = problem(null, p.userProperties());
    if (p.sessionExpirySeconds() >= 0) properties.add(Prop.of(0x11, p.sessionExpirySeconds()));
    if (p.receiveMaximum() != 65_535) properties.add(Prop.of(0x21, p.receiveMaximum()));
    if (p.maximumPacketSize() > 0) properties.add(Prop.of(0x27, p.maximumPacketSize()));
    if (p.topicAliasMaximum() > 0) properties.add(Prop.of(0x22, p.topicAliasMaximum()));
    if (p.requestResponseInformation()) properties.add(Prop.of(0x19, 1));
    if (!p.requestProblemInformation()) properties.add(Prop.of(0x17, 0));
    if (p.authenticationMethod() != null) properties.add(Prop.of(0x15, p.authenticationMethod()));
    if (p.authenticationData() != null) properties.add(Prop.of(0x16, p.authenticationData()));
    Will will = p.will();
    List<Prop> willProperties = new ArrayList<>();
    if (will != null) {
      willProperties.addAll(Prop.parse(will.properties()));
      if (will.delaySeconds() > 0) willProperties.add(Prop.of(0x18, will.delaySeconds()));
    }
    return MqttMessageFactory.newMessage(
        fixed(MqttMessageType.CONNECT),
        new MqttConnectVariableHeader(
            version == ProtocolVersion.MQTT_3_1 ? "MQIsdp" : "MQTT",
            version.level(),
            p.userName() != null,
            p.password() != null,
            will != null && will.retain(),
            will == null ? 0 : will.qos().code(),
            will != null,
            p.cleanStart(),
            p.keepAliveSeconds(),
            properties(properties)),
        nettyPayload(p, will, properties(willProperties)));
  }

  private static MqttConnectPayload nettyPayload(Packet.Connect p, @Nullable Will will, MqttProperties willProperties) {
    return new MqttConnectPayload(
        p.clientId(),
        willProperties,
        will == null ? null : will.topic(),
        will == null ? null : will.payload(),
        p.userName(),
        p.password());
  }

  private static MqttTopicSubscription subscription(RequestedSubscription subscription) {
    SubscriptionOptions options = subscription.options();
    return new MqttTopicSubscription(
        subscription.filter(),
        new MqttSubscriptionOption(
            MqttQoS.valueOf(options.maximumQoS().code()),
            options.noLocal(),
            options.retainAsPublished(),
            RetainedHandlingPolicy.valueOf(options.retainHandling())));
  }

  private static Object packet(ProtocolVersion version, MqttMessage message) {
    MqttFixedHeader fixed = message.fixedHeader();
    return switch (fixed.messageType()) {
      case CONNECT -> connect((MqttConnectMessage) message);
      case CONNACK -> connack(version, (MqttConnAckVariableHeader) message.variableHeader());
      case PUBLISH -> {
        MqttPublishVariableHeader header = ((MqttPublishMessage) message).variableHeader();
        int packetId = fixed.qosLevel() == MqttQoS.AT_MOST_ONCE ? 0 : header.packetId();
        yield new Publish(
            fixed.isDup(), QoS.of(fixed.qosLevel().value()), fixed.isRetain(), packetId, header.topicName(),
            list(header.properties()), ByteBufUtil.getBytes(((MqttPublishMessage) message).payload()));
      }
      case PUBACK, PUBREC, PUBREL, PUBCOMP -> acknowledgement(message);
      case SUBSCRIBE -> {
        var subscribe = (MqttSubscribeMessage) message;
        List<Prop> properties = list(subscribe.idAndPropertiesVariableHeader().properties());
        int identifier = (int) number(properties, 0x0B, 0);
        yield new Packet.Subscribe(
            subscribe.variableHeader().messageId(),
            subscribe.payload().topicSubscriptions().stream().map(s -> subscription(s, identifier)).toList(),
            users(properties));
      }
      case SUBACK -> {
        var suback = (MqttSubAckMessage) message;
        List<Prop> properties = list(suback.idAndPropertiesVariableHeader().properties());
        yield new Packet.Suback(
            suback.variableHeader().messageId(),
            suback.payload().reasonCodes().stream().map(Netty::reason).toList(),
            text(properties, 0x1F),
            users(properties));
      }
      case UNSUBSCRIBE -> {
        var unsubscribe = (MqttUnsubscribeMessage) message;
        yield new Packet.Unsubscribe(
            unsubscribe.variableHeader().messageId(),
            unsubscribe.payload().topics(),
            users(list(unsubscribe.idAndPropertiesVariableHeader().properties())));
      }
      case UNSUBACK -> {
        var unsuback = (MqttUnsubAckMessage) message;
        List<Prop> properties = list(unsuback.idAndPropertiesVariableHeader().properties());
        yield new Packet.Unsuback(
            unsuback.variableHeader().messageId(),
            unsuback.payload().unsubscribeReasonCodes().stream().map(code -> reason(code)).toList(),
            text(properties, 0x1F),
            users(properties));
      }
      case PINGREQ -> new Packet.Pingreq();
      case PINGRESP -> new Packet.Pingresp();
      case DISCONNECT -> {
        if (!(message.variableHeader() instanceof MqttReasonCodeAndPropertiesVariableHeader header)) {
          yield Packet.Disconnect.of(ReasonCode.SUCCESS, null);
        }
        List<Prop> properties = list(header.properties());
        yield new Packet.Disconnect(
            reason(header.reasonCode()), number(properties, 0x11, -1), text(properties, 0x1F), text(properties, 0x1C),
            users(properties));
      }
      case AUTH -> {
        var header = (MqttReasonCodeAndPropertiesVariableHeader) message.variableHeader();
        List<Prop> properties = list(header.properties());
        String method = text(properties, 0x15);
        yield new Packet.Auth(
            reason(header.reasonCode()), method == null ? "none" : method, binary(properties, 0x16),
            text(properties, 0x1F), users(properties));
      }
    };
  }

  private static Packet connect(MqttConnectMessage message) {
    MqttConnectVariableHeader header = message.variableHeader();
    MqttConnectPayload payload = message.payload();
    List<Prop> properties = list(header.properties());
    Will will = null;
    if (header.isWillFlag()) {
      List<Prop> willProperties = list(payload.willProperties());
      long delay = number(willProperties, 0x18, 0);
      willProperties.removeIf(property -> property.id() == 0x18);
      will =
          new Will(
              payload.willTopic(), payload.willMessageInBytes(), QoS.of(header.willQos()), header.isWillRetain(), delay,
              Prop.block(willProperties), -1);
    }
    ProtocolVersion version =
        switch (header.version()) {
          case 3 -> ProtocolVersion.MQTT_3_1;
          case 4 -> ProtocolVersion.MQTT_3_1_1;
          default -> ProtocolVersion.MQTT_5;
        };
    return new Packet.Connect(
        version,
        header.isCleanSession(),
        header.keepAliveTimeSeconds(),
        payload.clientIdentifier(),
        number(properties, 0x11, -1),
        (int) number(properties, 0x21, 65_535),
        number(properties, 0x27, 0),
        (int) number(properties, 0x22, 0),
        number(properties, 0x19, 0) == 1,
        number(properties, 0x17, 1) == 1,
        text(properties, 0x15),
        binary(properties, 0x16),
        payload.userName(),
        header.hasPassword() ? payload.passwordInBytes() : null,
        users(properties),
        will);
  }

  private static Packet connack(ProtocolVersion version, MqttConnAckVariableHeader header) {
    List<Prop> properties = list(header.properties());
    int code = header.connectReturnCode().byteValue() & 0xFF;
    ReasonCode[] mqtt3 = {
      ReasonCode.SUCCESS, ReasonCode.UNSUPPORTED_PROTOCOL_VERSION, ReasonCode.CLIENT_IDENTIFIER_NOT_VALID,
      ReasonCode.SERVER_UNAVAILABLE, ReasonCode.BAD_USER_NAME_OR_PASSWORD, ReasonCode.NOT_AUTHORIZED
    };
    return new Packet.Connack(
        header.isSessionPresent(),
        version.hasProperties() ? reason(code) : mqtt3[code],
        number(properties, 0x11, -1),
        (int) number(properties, 0x21, 65_535),
        QoS.of((int) number(properties, 0x24, 2)),
        number(properties, 0x25, 1) == 1,
        number(properties, 0x27, 0),
        text(properties, 0x12),
        (int) number(properties, 0x22, 0),
        text(properties, 0x1F),
        users(properties),
        number(properties, 0x28, 1) == 1,
        number(properties, 0x29, 1) == 1,
        number(properties, 0x2A, 1) == 1,
        (int) number(properties, 0x13, -1),
        text(properties, 0x1A),
        text(properties, 0x1C),
        text(properties, 0x15),
        binary(properties, 0x16));
  }

  private static Packet acknowledgement(MqttMessage message) {
    int packetId = ((MqttMessageIdVariableHeader) message.variableHeader()).messageId();
    ReasonCode reason = ReasonCode.SUCCESS;
    List<Prop> properties = List.of();
    if (message.variableHeader() instanceof MqttPubReplyMessageVariableHeader header) {
      reason = reason(header.reasonCode());
      properties = list(header.properties());
    }
    String problem = text(properties, 0x1F);
    List<UserProperty> users = users(properties);
    return switch (message.fixedHeader().messageType()) {
      case PUBACK -> new Packet.Puback(packetId, reason, problem, users);
      case PUBREC -> new Packet.Pubrec(packetId, reason, problem, users);
      case PUBREL -> new Packet.Pubrel(packetId, reason, problem, users);
      default -> new Packet.Pubcomp(packetId, reason, problem, users);
    };
  }

  private static RequestedSubscription subscription(MqttTopicSubscription subscription, int identifier) {
    MqttSubscriptionOption option = subscription.option();
    return new RequestedSubscription(
        subscription.topicFilter(),
        new SubscriptionOptions(
            QoS.of(option.qos().value()), option.isNoLocal(), option.isRetainAsPublished(),
            option.retainHandling().value(), identifier));
  }

  private static ReasonCode reason(int code) {
    return Objects.requireNonNull(ReasonCode.of(code & 0xFF), () -> "reason code " + code);
  }

  private static MqttProperties properties(List<Prop> list) {
    var properties = new MqttProperties();
    for (Prop property : list) {
      switch (Prop.type(property.id())) {
        case BYTE, SHORT, INT, VARINT ->
            properties.add(new MqttProperties.IntegerProperty(property.id(), (int) property.number()));
        case TEXT -> properties.add(new MqttProperties.StringProperty(property.id(), property.text()));
        case BINARY -> properties.add(new MqttProperties.BinaryProperty(property.id(), property.bytes()));
        case PAIR -> properties.add(new MqttProperties.UserProperty(property.text(), property.second()));
      }
    }
    return properties;
  }

  private static List<Prop> list(MqttProperties properties) {
    List<Prop> list = new ArrayList<>();
    for (MqttProperties.MqttProperty<?> property : properties.listAll()) {
      switch (property) {
        case MqttProperties.IntegerProperty p -> list.add(Prop.of(p.propertyId(), Integer.toUnsignedLong(p.value())));
        case MqttProperties.UserProperties users -> {
          for (var pair : users.value()) list.add(Prop.user(pair.key, pair.value));
        }
        case MqttProperties.UserProperty p -> list.add(Prop.user(p.value().key, p.value().value));
        case MqttProperties.StringProperty p -> list.add(Prop.of(p.propertyId(), p.value()));
        case MqttProperties.BinaryProperty p -> list.add(Prop.of(p.propertyId(), p.value()));
        default -> throw new IllegalStateException("property " + property);
      }
    }
    return list;
  }

  private static List<Prop> problem(@Nullable String reasonString, List<UserProperty> userProperties) {
    List<Prop> properties = new ArrayList<>();
    if (reasonString != null) properties.add(Prop.of(0x1F, reasonString));
    for (UserProperty property : userProperties) properties.add(Prop.user(property.name(), property.value()));
    return properties;
  }

  private static List<UserProperty> users(List<Prop> properties) {
    return properties.stream().filter(p -> p.id() == 0x26).map(p -> new UserProperty(p.text(), p.second())).toList();
  }

  private static long number(List<Prop> properties, int id, long absent) {
    return properties.stream().filter(p -> p.id() == id).mapToLong(Prop::number).findFirst().orElse(absent);
  }

  private static @Nullable String text(List<Prop> properties, int id) {
    return properties.stream().filter(p -> p.id() == id).map(Prop::text).findFirst().orElse(null);
  }

  private static byte @Nullable [] binary(List<Prop> properties, int id) {
    return properties.stream().filter(p -> p.id() == id).map(Prop::bytes).findFirst().orElse(null);
  }
}
