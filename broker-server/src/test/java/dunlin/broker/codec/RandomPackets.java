package dunlin.broker.codec;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Valid packets of one version, generated from a seed. */
@SuppressWarnings("NullAway") // javac loses @Nullable of array components on the constructors of records.
final class RandomPackets {
  private static final ReasonCode[] PUBLISH_REASONS = {
    ReasonCode.SUCCESS, ReasonCode.NO_MATCHING_SUBSCRIBERS, ReasonCode.UNSPECIFIED_ERROR, ReasonCode.NOT_AUTHORIZED,
    ReasonCode.TOPIC_NAME_INVALID, ReasonCode.QUOTA_EXCEEDED, ReasonCode.PAYLOAD_FORMAT_INVALID
  };
  private static final ReasonCode[] RELEASE_REASONS = {ReasonCode.SUCCESS, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND};

  private final ProtocolVersion version;
  private final boolean mqtt5;
  private final SplittableRandom random;

  RandomPackets(ProtocolVersion version, long seed) {
    this.version = version;
    this.mqtt5 = version.hasProperties();
    this.random = new SplittableRandom(seed);
  }

  /** A {@link Packet} or {@link Publish} that a client may send after CONNECT. */
  Object nextOfClient() {
    return switch (random.nextInt(mqtt5 ? 10 : 8)) {
      case 0, 1 -> publish();
      case 2 -> new Packet.Puback(packetId(), publishReason(), problem(), userProperties());
      case 3 -> new Packet.Pubrec(packetId(), publishReason(), problem(), userProperties());
      case 4 -> new Packet.Pubrel(packetId(), releaseReason(), problem(), userProperties());
      case 5 -> new Packet.Pubcomp(packetId(), releaseReason(), problem(), userProperties());
      case 6 -> random.nextBoolean() ? subscribe() : unsubscribe();
      case 7 -> new Packet.Pingreq();
      case 8 ->
          new Packet.Disconnect(
              random.nextBoolean() ? ReasonCode.SUCCESS : ReasonCode.DISCONNECT_WITH_WILL_MESSAGE,
              random.nextBoolean() ? -1 : u32(),
              problem(),
              null,
              userProperties());
      default ->
          new Packet.Auth(
              random.nextBoolean() ? ReasonCode.CONTINUE_AUTHENTICATION : ReasonCode.RE_AUTHENTICATE,
              text(),
              random.nextBoolean() ? null : bytes(20),
              problem(),
              userProperties());
    };
  }

  /** A {@link Packet} or {@link Publish} that a server may send. */
  Object nextOfServer() {
    return switch (random.nextInt(mqtt5 ? 11 : 9)) {
      case 0 -> publish();
      case 1 -> connack();
      case 2 -> new Packet.Puback(packetId(), publishReason(), problem(), userProperties());
      case 3 -> new Packet.Pubrec(packetId(), publishReason(), problem(), userProperties());
      case 4 -> new Packet.Pubrel(packetId(), releaseReason(), problem(), userProperties());
      case 5 -> new Packet.Pubcomp(packetId(), releaseReason(), problem(), userProperties());
      case 6 ->
          new Packet.Suback(
              packetId(),
              reasons(ReasonCode.SUCCESS, ReasonCode.GRANTED_QOS_1, ReasonCode.GRANTED_QOS_2, ReasonCode.UNSPECIFIED_ERROR),
              problem(),
              userProperties());
      case 7 ->
          new Packet.Unsuback(
              packetId(),
              mqtt5 ? reasons(ReasonCode.SUCCESS, ReasonCode.NO_SUBSCRIPTION_EXISTED, ReasonCode.NOT_AUTHORIZED) : List.of(),
              problem(),
              userProperties());
      case 8 -> new Packet.Pingresp();
      case 9 ->
          new Packet.Disconnect(
              random.nextBoolean() ? ReasonCode.SESSION_TAKEN_OVER : ReasonCode.SERVER_MOVED,
              -1,
              problem(),
              random.nextBoolean() ? null : text(),
              userProperties());
      default -> new Packet.Auth(ReasonCode.CONTINUE_AUTHENTICATION, text(), bytes(20), problem(), userProperties());
    };
  }

  Packet.Connect connect() {
    String userName = random.nextBoolean() ? null : text();
    boolean clean = random.nextBoolean();
    boolean anonymous = version == ProtocolVersion.MQTT_5 || (version == ProtocolVersion.MQTT_3_1_1 && clean);
    String method = mqtt5 && random.nextBoolean() ? text() : null;
    return new Packet.Connect(
        version,
        clean,
        random.nextInt(65_536),
        anonymous && random.nextBoolean() ? "" : topicName(20),
        mqtt5 && random.nextBoolean() ? u32() : -1,
        mqtt5 && random.nextBoolean() ? 1 + random.nextInt(65_535) : 65_535,
        mqtt5 && random.nextBoolean() ? Math.max(1, u32()) : 0,
        mqtt5 && random.nextBoolean() ? random.nextInt(65_536) : 0,
        mqtt5 && random.nextBoolean(),
        !mqtt5 || random.nextBoolean(),
        method,
        method != null && random.nextBoolean() ? bytes(20) : null,
        userName,
        (mqtt5 || userName != null) && random.nextBoolean() ? bytes(20) : null,
        userProperties(),
        random.nextBoolean() ? null : will());
  }

  private Will will() {
    List<Prop> properties = messageProperties();
    int expiryOffset = -1;
    int at = 0;
    for (Prop property : properties) {
      if (property.id() == 0x02) expiryOffset = at + 1;
      at += property.encoded().length;
    }
    return new Will(
        topicName(30), bytes(50), qos(), random.nextBoolean(), mqtt5 && random.nextBoolean() ? u32() : 0,
        Prop.block(properties), expiryOffset);
  }

  private Packet.Connack connack() {
    boolean accepted = random.nextBoolean();
    ReasonCode[] refusals = {
      ReasonCode.UNSUPPORTED_PROTOCOL_VERSION, ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, ReasonCode.SERVER_UNAVAILABLE,
      ReasonCode.BAD_USER_NAME_OR_PASSWORD, ReasonCode.NOT_AUTHORIZED
    };
    ReasonCode reason = accepted ? ReasonCode.SUCCESS : reason(refusals);
    boolean present = accepted && version != ProtocolVersion.MQTT_3_1 && random.nextBoolean();
    if (!mqtt5) return accepted ? Packet.Connack.accepted(present) : Packet.Connack.refused(reason, null);
    return new Packet.Connack(
        present,
        reason,
        random.nextBoolean() ? -1 : u32(),
        random.nextBoolean() ? 65_535 : 1 + random.nextInt(65_535),
        qos(),
        random.nextBoolean(),
        random.nextBoolean() ? 0 : Math.max(1, u32()),
        random.nextBoolean() ? null : text(),
        random.nextInt(65_536),
        problem(),
        userProperties(),
        random.nextBoolean(),
        random.nextBoolean(),
        random.nextBoolean(),
        random.nextInt(-1, 65_536),
        problem(),
        problem(),
        problem(),
        random.nextBoolean() ? null : bytes(20));
  }

  Publish publish() {
    QoS qos = qos();
    boolean again = qos != QoS.AT_MOST_ONCE && random.nextBoolean();
    int packetId = qos == QoS.AT_MOST_ONCE ? 0 : packetId();
    return new Publish(again, qos, random.nextBoolean(), packetId, topicName(60), messageProperties(), bytes(300));
  }

  private Packet.Subscribe subscribe() {
    int identifier = mqtt5 && random.nextBoolean() ? 1 + random.nextInt(SubscriptionOptions.SUBSCRIPTION_IDENTIFIER_MAX) : 0;
    List<RequestedSubscription> subscriptions = new ArrayList<>();
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      var options =
          new SubscriptionOptions(
              qos(), mqtt5 && random.nextBoolean(), mqtt5 && random.nextBoolean(), mqtt5 ? random.nextInt(3) : 0, identifier);
      subscriptions.add(new RequestedSubscription(topicName(30) + "/+/#", options));
    }
    return new Packet.Subscribe(packetId(), subscriptions, userProperties());
  }

  private Packet.Unsubscribe unsubscribe() {
    List<String> filters = IntStream.rangeClosed(0, random.nextInt(5)).mapToObj(_ -> topicName(30) + "/#").toList();
    return new Packet.Unsubscribe(packetId(), filters, userProperties());
  }

  private List<Prop> messageProperties() {
    List<Prop> properties = new ArrayList<>();
    if (!mqtt5 || random.nextInt(3) == 0) return properties;
    if (random.nextBoolean()) properties.add(Prop.of(0x01, random.nextInt(2)));
    if (random.nextBoolean()) properties.add(Prop.of(0x02, u32()));
    if (random.nextBoolean()) properties.add(Prop.of(0x03, text()));
    if (random.nextBoolean()) properties.add(Prop.of(0x08, topicName(30)));
    if (random.nextBoolean()) properties.add(Prop.of(0x09, bytes(30)));
    for (int i = random.nextInt(5); i > 0; i--) properties.add(Prop.user(text(), text()));
    for (int i = properties.size() - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      Prop swapped = properties.get(i);
      properties.set(i, properties.get(other));
      properties.set(other, swapped);
    }
    return properties;
  }

  int packetId() {
    return 1 + random.nextInt(65_535);
  }

  QoS qos() {
    return QoS.of(random.nextInt(3));
  }

  private long u32() {
    return random.nextBoolean() ? random.nextInt(1_000) : random.nextLong(1L << 32);
  }

  private ReasonCode publishReason() {
    return mqtt5 ? reason(PUBLISH_REASONS) : ReasonCode.SUCCESS;
  }

  private ReasonCode releaseReason() {
    return mqtt5 ? reason(RELEASE_REASONS) : ReasonCode.SUCCESS;
  }

  private ReasonCode reason(ReasonCode[] reasons) {
    return reasons[random.nextInt(reasons.length)];
  }

  private List<ReasonCode> reasons(ReasonCode... reasons) {
    return IntStream.rangeClosed(0, random.nextInt(5)).mapToObj(_ -> reasons[random.nextInt(reasons.length)]).toList();
  }

  private @Nullable String problem() {
    return mqtt5 && random.nextInt(3) == 0 ? text() : null;
  }

  private List<UserProperty> userProperties() {
    if (!mqtt5 || random.nextBoolean()) return List.of();
    return IntStream.range(0, random.nextInt(4)).mapToObj(_ -> new UserProperty(text(), text())).toList();
  }

  private byte[] bytes(int max) {
    byte[] bytes = new byte[random.nextInt(max + 1)];
    random.nextBytes(bytes);
    return bytes;
  }

  private String text() {
    var text = new StringBuilder();
    boolean ascii = random.nextBoolean();
    for (int i = random.nextInt(20); i > 0; i--) {
      text.appendCodePoint(
          switch (ascii ? 0 : random.nextInt(4)) {
            case 0 -> random.nextInt(0x20, 0x7F);
            case 1 -> random.nextInt(0xA0, 0x800);
            case 2 -> random.nextBoolean() ? 0xFEFF : random.nextInt(0xE000, 0xF900);
            default -> random.nextInt(0x10000, 0x1FFFE);
          });
    }
    return text.toString();
  }

  private String topicName(int max) {
    String text = text().replace('+', '-').replace('#', '/').replace('$', 's');
    String topic = text.isEmpty() ? "t" : text;
    return topic.length() <= max ? topic : topic.substring(0, topic.offsetByCodePoints(0, topic.codePointCount(0, max) - 1));
  }
}
