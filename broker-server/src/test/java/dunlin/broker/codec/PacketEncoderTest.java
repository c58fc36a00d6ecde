package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class PacketEncoderTest {
  private static final Publisher PUBLISHER = new Publisher(Publisher.DEFAULT_TENANT, "p");
  private static final int[] NO_IDENTIFIERS = {};

  private static byte[] publish(
      ProtocolVersion version, Publication message, QoS qos, int packetId, int[] identifiers, long nowMillis) {
    ByteBuf out = Unpooled.buffer(1);
    out.writeByte(0x55); // the preceding bytes must stay
    PacketEncoder.publish(out, version, message, qos, false, false, packetId, identifiers, 0, nowMillis);
    assertThat(out.readByte()).isEqualTo((byte) 0x55);
    assertThat(out.readableBytes()).isEqualTo(PacketEncoder.publishLength(version, message, qos, identifiers, 0));
    byte[] bytes = Wire.readAll(out);
    out.release();
    return bytes;
  }

  @ParameterizedTest
  @EnumSource
  void lengthOfPublishIsForetoldAtEveryStepOfTheVarints(ProtocolVersion version) {
    for (int payload : new int[] {0, 1, 110, 118, 127, 128, 16_370, 16_384, 2_097_150, 2_097_160}) {
      var message = Publication.of(PUBLISHER, "topic", QoS.AT_LEAST_ONCE, false, 0, new byte[payload]);
      for (QoS qos : QoS.values()) {
        byte[] bytes = publish(version, message, qos, qos.code(), new int[] {1, 127, 128, 268_435_455}, 0);
        assertThat(bytes.length).isGreaterThan(payload);
      }
    }
  }

  @Test
  void anAliasIsSentWithItsTopicNameOrInsteadOfIt() {
    var message = new Publish(false, QoS.AT_LEAST_ONCE, false, 7, "topic/name", List.of(Prop.of(0x03, "text")), new byte[] {1});
    for (int alias : new int[] {3, -3}) {
      ByteBuf out = Unpooled.buffer();
      PacketEncoder.publish(
          out, ProtocolVersion.MQTT_5, message.publication(), QoS.AT_LEAST_ONCE, false, false, 7, new int[] {9}, alias, 0);
      int foretold =
          PacketEncoder.publishLength(
              ProtocolVersion.MQTT_5, message.publication(), QoS.AT_LEAST_ONCE, new int[] {9}, alias);
      assertThat(out.readableBytes()).isEqualTo(foretold);
      byte[] properties = Wire.properties(0x03, "text", 0x23, Wire.u16(3), 0x0B, 9);
      String name = alias > 0 ? "topic/name" : "";
      assertThat(Wire.readAll(out)).isEqualTo(Wire.packet(0x32, name, Wire.u16(7), properties, new byte[] {1}));
      out.release();
    }
  }

  @Test
  @Tag("MQTT-3.3.2-6")
  void theRemainingExpiryIsSent() {
    List<Prop> properties = List.of(Prop.user("a", "b"), Prop.of(0x02, 100), Prop.of(0x03, "text"));
    var message = new Publish(false, QoS.AT_MOST_ONCE, false, 0, "t", properties, new byte[] {1}).publication();
    byte[] before = message.body().clone();

    for (long waited : new long[] {0, 1, 1_000, 40_500, 99_999, 100_000, 200_000}) {
      byte[] bytes =
          publish(ProtocolVersion.MQTT_5, message, QoS.AT_MOST_ONCE, 0, NO_IDENTIFIERS, Publish.NOW + waited);
      var read = (Publish) Netty.decode(ProtocolVersion.MQTT_5, bytes).getFirst();
      long left = Math.max(0, 100 - waited / 1_000);
      assertThat(Prop.canonical(read.properties()))
          .isEqualTo(Prop.canonical(List.of(Prop.user("a", "b"), Prop.of(0x02, left), Prop.of(0x03, "text"))));
    }
    assertThat(message.body()).as("the shared message").isEqualTo(before);
  }

  @Test
  @Tag("MQTT-3.3.4-3")
  void allSubscriptionIdentifiersAreSentBehindThePropertiesOfTheMessage() {
    var message =
        new Publish(false, QoS.EXACTLY_ONCE, false, 1, "t", List.of(Prop.of(0x01, 1)), new byte[] {9}).publication();
    byte[] bytes = publish(ProtocolVersion.MQTT_5, message, QoS.AT_LEAST_ONCE, 3, new int[] {1, 300, 268_435_455}, 0);
    assertThat(bytes)
        .isEqualTo(
            Wire.packet(
                0x32, "t", Wire.u16(3), Wire.properties(1, 1, 0x0B, 1, 0x0B, Wire.varint(300), 0x0B, Wire.varint(268_435_455)),
                9));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "MQTT_5")
  void version3GetsNoProperties(ProtocolVersion version) {
    var message =
        new Publish(false, QoS.AT_LEAST_ONCE, true, 1, "topic", List.of(Prop.of(0x02, 5)), new byte[] {9, 8}).publication();
    ByteBuf out = Unpooled.buffer();
    PacketEncoder.publish(out, version, message, QoS.AT_LEAST_ONCE, true, true, 0xFFFF, new int[] {5}, 0, 0);
    assertThat(Wire.readAll(out)).isEqualTo(Wire.packet(0x3B, "topic", Wire.u16(0xFFFF), 9, 8));
  }

  @Test
  void publishIsWrittenWithoutAllocation() {
    var message =
        new Publish(false, QoS.AT_LEAST_ONCE, false, 1, "topic", List.of(Prop.of(0x02, 5)), new byte[256]).publication();
    ByteBuf out = Unpooled.buffer(1 << 12);
    int[] identifiers = {7, 300};
    Runnable round =
        () -> {
          for (int i = 0; i < 1_000; i++) {
            out.clear();
            PacketEncoder.publish(
                out, ProtocolVersion.MQTT_5, message, QoS.AT_LEAST_ONCE, false, false, 1, identifiers, 0, Publish.NOW);
            PacketEncoder.puback(out, ProtocolVersion.MQTT_5, 1, ReasonCode.NO_MATCHING_SUBSCRIBERS);
            PacketEncoder.pubrel(out, ProtocolVersion.MQTT_3_1_1, 1, ReasonCode.SUCCESS);
          }
        };
    assertThat(DeliveryInPiecesTest.allocatedBy(round)).as("bytes allocated for 3,000 packets").isLessThan(3_000);
  }

  @Test
  void acknowledgementsTakeTheShortestForm() {
    ByteBuf out = Unpooled.buffer();
    PacketEncoder.puback(out, ProtocolVersion.MQTT_5, 0x1234, ReasonCode.SUCCESS);
    PacketEncoder.pubrec(out, ProtocolVersion.MQTT_5, 0xFFFF, ReasonCode.QUOTA_EXCEEDED);
    PacketEncoder.pubrel(out, ProtocolVersion.MQTT_5, 1, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND);
    PacketEncoder.pubcomp(out, ProtocolVersion.MQTT_3_1, 2, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND);
    PacketEncoder.puback(out, ProtocolVersion.MQTT_3_1_1, 3, ReasonCode.NO_MATCHING_SUBSCRIBERS);
    assertThat(Wire.readAll(out))
        .isEqualTo(
            Wire.join(
                Wire.bytes(0x40, 2, 0x12, 0x34),
                Wire.bytes(0x50, 3, 0xFF, 0xFF, 0x97),
                Wire.bytes(0x62, 3, 0, 1, 0x92),
                Wire.bytes(0x70, 2, 0, 2),
                Wire.bytes(0x40, 2, 0, 3)));
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "MQTT_5")
  void version3CannotRefuseAMessage(ProtocolVersion version) {
    ByteBuf out = Unpooled.buffer();
    assertThatThrownBy(() -> PacketEncoder.puback(out, version, 1, ReasonCode.QUOTA_EXCEEDED))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> PacketEncoder.pubrec(out, version, 1, ReasonCode.NOT_AUTHORIZED))
        .isInstanceOf(IllegalArgumentException.class);
    var puback = new Packet.Puback(1, ReasonCode.NOT_AUTHORIZED, null, List.of());
    assertThatThrownBy(() -> PacketEncoder.encode(out, version, puback)).isInstanceOf(IllegalArgumentException.class);
    assertThat(out.isReadable()).isFalse();
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "MQTT_5")
  void version3HasNoDisconnectOfTheServerAndNoAuth(ProtocolVersion version) {
    ByteBuf out = Unpooled.buffer();
    var auth = new Packet.Auth(ReasonCode.CONTINUE_AUTHENTICATION, "m", new byte[0], null, List.of());
    assertThatThrownBy(() -> PacketEncoder.encode(out, version, Packet.Disconnect.of(ReasonCode.SERVER_BUSY, null)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> PacketEncoder.encode(out, version, auth)).isInstanceOf(IllegalArgumentException.class);
    assertThat(out.isReadable()).isFalse();
  }

  @Test
  @Tag("MQTT3-3.2.2-4")
  void version3HasReturnCodesForSomeRefusalsOnly() {
    Map<ReasonCode, Integer> exact =
        Map.of(
            ReasonCode.SUCCESS, 0,
            ReasonCode.UNSUPPORTED_PROTOCOL_VERSION, 1,
            ReasonCode.CLIENT_IDENTIFIER_NOT_VALID, 2,
            ReasonCode.SERVER_UNAVAILABLE, 3,
            ReasonCode.BAD_USER_NAME_OR_PASSWORD, 4,
            ReasonCode.NOT_AUTHORIZED, 5);
    exact.forEach((reason, code) -> assertThat(PacketEncoder.connackReturnCode(reason)).isEqualTo(code));
    for (ReasonCode reason : ReasonCode.values()) {
      int code = PacketEncoder.connackReturnCode(reason);
      ByteBuf out = Unpooled.buffer();
      var connack = Packet.Connack.refused(reason, "why");
      if (code < 0) {
        assertThatThrownBy(() -> PacketEncoder.encode(out, ProtocolVersion.MQTT_3_1_1, connack))
            .isInstanceOf(IllegalArgumentException.class);
      } else {
        assertThat(code == 0).isEqualTo(!reason.isError());
        PacketEncoder.encode(out, ProtocolVersion.MQTT_3_1_1, connack);
        assertThat(Wire.readAll(out)).isEqualTo(Wire.bytes(0x20, 2, 0, code));
      }
    }
    assertThat(PacketEncoder.connackReturnCode(ReasonCode.MALFORMED_PACKET)).isNegative();
  }

  @Test
  void sessionPresentIsNotSentInVersion31NorInRefusals() {
    ByteBuf out = Unpooled.buffer();
    PacketEncoder.encode(out, ProtocolVersion.MQTT_3_1, Packet.Connack.accepted(true));
    PacketEncoder.encode(out, ProtocolVersion.MQTT_3_1_1, Packet.Connack.accepted(true));
    assertThat(Wire.readAll(out)).isEqualTo(Wire.bytes(0x20, 2, 0, 0, 0x20, 2, 1, 0));
    var accepted = Packet.Connack.accepted(true);
    assertThat(accepted.withoutProblemInformation(false)).isEqualTo(accepted);
  }

  @Test
  @Tag("MQTT3-3.9.3-2")
  void version3HasOneCodeForEveryFailedSubscription() {
    var suback =
        new Packet.Suback(
            7,
            List.of(
                ReasonCode.SUCCESS, ReasonCode.GRANTED_QOS_1, ReasonCode.GRANTED_QOS_2, ReasonCode.NOT_AUTHORIZED,
                ReasonCode.TOPIC_FILTER_INVALID),
            "why",
            List.of());
    ByteBuf out = Unpooled.buffer();
    PacketEncoder.encode(out, ProtocolVersion.MQTT_3_1_1, suback);
    assertThat(Wire.readAll(out)).isEqualTo(Wire.packet(0x90, Wire.u16(7), 0, 1, 2, 0x80, 0x80));
    PacketEncoder.encode(
        out, ProtocolVersion.MQTT_3_1_1, new Packet.Unsuback(7, List.of(ReasonCode.SUCCESS), "why", List.of()));
    assertThat(Wire.readAll(out)).isEqualTo(Wire.packet(0xB0, Wire.u16(7)));
  }

  @Test
  @Tag("MQTT-3.1.2-24")
  void problemInformationGivesWayToTheClientsMaximum() {
    var user = new UserProperty("name", "value");
    var puback = new Packet.Puback(1, ReasonCode.QUOTA_EXCEEDED, "reason", List.of(user));
    int full = 2 + 2 + 1 + 1 + 9 + 14;
    int withReason = 2 + 2 + 1 + 1 + 9;
    int bare = 2 + 2 + 1;

    assertThat(lengthWithin(puback, 0)).isEqualTo(full);
    assertThat(lengthWithin(puback, full)).isEqualTo(full);
    assertThat(lengthWithin(puback, full - 1)).isEqualTo(withReason);
    assertThat(lengthWithin(puback, withReason)).isEqualTo(withReason);
    assertThat(lengthWithin(puback, withReason - 1)).isEqualTo(bare);
    assertThat(lengthWithin(puback, bare)).isEqualTo(bare);
    assertThat(lengthWithin(puback, bare - 1)).as("nothing written").isEqualTo(-1);
    assertThat(lengthWithin(Packet.Connack.refused(ReasonCode.BANNED, "x".repeat(100)), 5)).isEqualTo(5);
    assertThat(lengthWithin(Packet.Disconnect.of(ReasonCode.BANNED, "x".repeat(100)), 3)).isEqualTo(3);
  }

  static Stream<Packet> explained() {
    String why = "because of a limit";
    List<UserProperty> users = List.of(new UserProperty("name", "value"), new UserProperty("name", "other"));
    List<ReasonCode> filters = List.of(ReasonCode.NOT_AUTHORIZED, ReasonCode.TOPIC_FILTER_INVALID);
    return Stream.of(
        new Packet.Puback(1, ReasonCode.QUOTA_EXCEEDED, why, users),
        new Packet.Pubrec(1, ReasonCode.QUOTA_EXCEEDED, why, users),
        new Packet.Pubrel(1, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND, why, users),
        new Packet.Pubcomp(1, ReasonCode.PACKET_IDENTIFIER_NOT_FOUND, why, users),
        new Packet.Suback(1, filters, why, users),
        new Packet.Unsuback(1, filters, why, users),
        new Packet.Connack(
            false, ReasonCode.BANNED, -1, 65_535, QoS.EXACTLY_ONCE, true, 0, null, 0, why, users, true, true, true, -1, null, null,
            "method", new byte[] {1}),
        new Packet.Disconnect(ReasonCode.BANNED, -1, why, null, users),
        new Packet.Auth(ReasonCode.CONTINUE_AUTHENTICATION, "method", new byte[] {1}, why, users));
  }

  /** For every limit: written packets keep to it, and a packet is not written only if it does not fit in any form. */
  @ParameterizedTest
  @MethodSource("explained")
  @Tag("MQTT-3.2.2-19")
  @Tag("MQTT-3.2.2-20")
  @Tag("MQTT-3.4.2-2")
  @Tag("MQTT-3.4.2-3")
  @Tag("MQTT-3.5.2-2")
  @Tag("MQTT-3.5.2-3")
  @Tag("MQTT-3.6.2-2")
  @Tag("MQTT-3.6.2-3")
  @Tag("MQTT-3.7.2-2")
  @Tag("MQTT-3.7.2-3")
  @Tag("MQTT-3.9.2-1")
  @Tag("MQTT-3.9.2-2")
  @Tag("MQTT-3.11.2-1")
  @Tag("MQTT-3.11.2-2")
  @Tag("MQTT-3.14.2-3")
  @Tag("MQTT-3.14.2-4")
  @Tag("MQTT-3.15.2-2")
  @Tag("MQTT-3.15.2-3")
  void reasonStringAndUserPropertiesKeepToTheClientsMaximum(Packet packet) {
    int full = lengthWithin(packet, 0);
    int bare = lengthWithin(packet.withoutProblemInformation(false), 0);
    assertThat(bare).isLessThan(full);
    for (int limit = 1; limit <= full; limit++) {
      int length = lengthWithin(packet, limit);
      if (limit < bare) assertThat(length).isEqualTo(-1);
      else assertThat(length).as("limit %d", limit).isBetween(bare, limit);
    }
    assertThat(lengthWithin(packet, full)).isEqualTo(full);
  }

  /** Number of bytes written, or -1 if the packet does not fit. */
  private static int lengthWithin(Packet packet, long maximumPacketSize) {
    ByteBuf out = Unpooled.buffer();
    boolean fits = PacketEncoder.encode(out, ProtocolVersion.MQTT_5, packet, maximumPacketSize);
    int length = out.readableBytes();
    if (fits) assertThat(Netty.decode(ProtocolVersion.MQTT_5, Wire.readAll(out))).hasSize(1);
    else assertThat(length).isZero();
    return fits ? length : -1;
  }

  @Test
  @Tag("MQTT-4.7.3-3")
  void textLongerThanItsLengthFieldAllowsIsRefused() {
    ByteBuf out = Unpooled.buffer();
    var packet = Packet.Disconnect.of(ReasonCode.SERVER_BUSY, "x".repeat(65_536));
    assertThatThrownBy(() -> PacketEncoder.encode(out, ProtocolVersion.MQTT_5, packet))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(out.isReadable()).isFalse();
  }

  @Test
  @Tag("MQTT-3.1.3-10")
  void willBecomesAMessageWithItsPropertiesAndWithoutItsDelay() {
    List<Prop> properties = List.of(Prop.of(0x18, 30), Prop.user("a", "1"), Prop.of(0x02, 50), Prop.user("a", "2"));
    byte[] connect =
        Wire.packet(
            0x10, "MQTT", 5, 0x2E, Wire.u16(60), 0, "c", Wire.properties(Prop.block(properties)), "last/words", "gone");

    var read = (Packet.Connect) Refusal.accepted(connect);

    Will will = Objects.requireNonNull(read.will());
    assertThat(will.delaySeconds()).isEqualTo(30);
    Publication message = will.toPublication(PUBLISHER, 5_000);
    assertThat(message.topic()).isEqualTo("last/words");
    assertThat(message.payload()).asString().isEqualTo("gone");
    assertThat(message.qos()).isEqualTo(QoS.AT_LEAST_ONCE);
    assertThat(message.retain()).isTrue();
    assertThat(message.remainingExpirySeconds(15_000)).isEqualTo(40);
    byte[] block =
        Arrays.copyOfRange(message.body(), message.topicLength(), message.topicLength() + message.propertiesLength());
    assertThat(Prop.parse(block).toString()).isEqualTo(properties.subList(1, 4).toString());
  }

  @Test
  void willWithoutPropertiesNeverExpires() {
    Publication message = Will.of("t", new byte[] {1}, QoS.EXACTLY_ONCE, false).toPublication(PUBLISHER, 5);
    assertThat(message.expired(Long.MAX_VALUE)).isFalse();
    assertThat(message.expiryOffset()).isEqualTo(-1);
    assertThat(message.payload()).containsExactly(1);
  }
}
