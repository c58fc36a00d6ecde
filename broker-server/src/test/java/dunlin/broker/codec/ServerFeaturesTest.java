package dunlin.broker.codec;

import static dunlin.broker.codec.Refusal.accepted;
import static dunlin.broker.codec.Refusal.refused;
import static dunlin.broker.codec.Wire.CONNECT_3_1_1;
import static dunlin.broker.codec.Wire.CONNECT_5;
import static dunlin.broker.codec.Wire.bytes;
import static dunlin.broker.codec.Wire.packet;
import static dunlin.broker.codec.Wire.properties;
import static dunlin.broker.codec.Wire.u16;
import static dunlin.model.ReasonCode.CLIENT_IDENTIFIER_NOT_VALID;
import static dunlin.model.ReasonCode.PACKET_TOO_LARGE;
import static dunlin.model.ReasonCode.PAYLOAD_FORMAT_INVALID;
import static dunlin.model.ReasonCode.QOS_NOT_SUPPORTED;
import static dunlin.model.ReasonCode.QUOTA_EXCEEDED;
import static dunlin.model.ReasonCode.RETAIN_NOT_SUPPORTED;
import static dunlin.model.ReasonCode.SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED;
import static dunlin.model.ReasonCode.TOPIC_NAME_INVALID;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.QoS;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Packets that a server without some features, or with narrow limits, refuses. */
class ServerFeaturesTest {
  private static final DecoderLimits PLAIN =
      new DecoderLimits(
          new PacketLimits(1 << 20, 1 << 16, 50, 5, 2, 10, 23, 8), new DecoderLimits.Features(QoS.AT_LEAST_ONCE, false, false, true), 4, true);

  private static byte[] connect(int flags, Object... payload) {
    return packet(0x10, "MQTT", 5, flags, u16(60), 0, bytes(payload));
  }

  private static byte[] will(int flags, Object properties, byte[] payload) {
    return connect(0x06 | flags, "c", properties, "will/topic", u16(payload.length), payload);
  }

  @Test
  @Tag("MQTT-3.2.2-11")
  void aPublishAboveTheMaximumQosIsRefusedByItsFirstByte() {
    accepted(PLAIN, CONNECT_5, packet(0x32, "t", u16(1), 0));
    accepted(PLAIN, CONNECT_3_1_1, packet(0x32, "t", u16(1)));
    refused(PLAIN, QOS_NOT_SUPPORTED, CONNECT_5, new byte[] {0x34});
    refused(PLAIN, QOS_NOT_SUPPORTED, CONNECT_3_1_1, new byte[] {0x34});
  }

  @Test
  @Tag("MQTT-3.2.2-14")
  void aRetainedPublishIsRefusedByItsFirstByte() {
    assertThat(refused(PLAIN, RETAIN_NOT_SUPPORTED, CONNECT_5, new byte[] {0x31}).limit()).isEmpty();
    refused(PLAIN, RETAIN_NOT_SUPPORTED, CONNECT_3_1_1, new byte[] {0x33});
  }

  @Test
  @Tag("MQTT-3.2.2-12")
  @Tag("MQTT-3.2.2-13")
  void aConnectWithAWillThatTheServerCannotSendIsRefused() {
    byte[] text = {'t'};
    accepted(PLAIN, will(0x08, 0, text));
    refused(PLAIN, QOS_NOT_SUPPORTED, will(0x10, 0, text));
    refused(PLAIN, RETAIN_NOT_SUPPORTED, will(0x20, 0, text));
  }

  @Test
  void subscriptionIdentifiersCanBeOff() {
    accepted(PLAIN, CONNECT_5, packet(0x82, u16(1), 0, "t", 0));
    refused(PLAIN, SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED, CONNECT_5, packet(0x82, u16(1), properties(0x0B, 1), "t", 0));
  }

  @Test
  void aWillsPayloadIsLimitedAndCheckedIfItIsDeclaredAsText() {
    byte[] text = properties(0x01, 1);
    accepted(PLAIN, will(0, text, "b\u00e4r\0".getBytes(StandardCharsets.UTF_8)));
    accepted(PLAIN, will(0, 0, new byte[] {(byte) 0xFF}));
    accepted(PLAIN, will(0, 0, new byte[8]));
    refused(PLAIN, PAYLOAD_FORMAT_INVALID, will(0, text, new byte[] {'a', (byte) 0xC3}));
    assertThat(refused(PLAIN, PACKET_TOO_LARGE, will(0, 0, new byte[9])).limit()).hasValue(Limit.WILL_PAYLOAD);
  }

  @Test
  @Tag("MQTT-3.1.3-5")
  @Tag("MQTT-3.1.3-8")
  void clientIdentifiersAreLimitedButNeverBelow23Bytes() {
    accepted(PLAIN, connect(2, "a".repeat(23)));
    var refusal = refused(PLAIN, CLIENT_IDENTIFIER_NOT_VALID, connect(2, "a".repeat(24)));
    assertThat(refusal).hasMessage("client identifier has 24 bytes, limit 23 (dunlin.mqtt.client-id-max)");
  }

  @Test
  void aRefusalNamesTheSettingOfItsLimit() {
    var levels = refused(PLAIN, TOPIC_NAME_INVALID, CONNECT_5, packet(0x30, "a/b/c/d/e/f", 0));
    assertThat(levels).hasMessage("topic name has 6 levels, limit 5 (dunlin.mqtt.topic-levels-max)");
    assertThat(levels.limit()).hasValue(Limit.TOPIC_LEVELS);

    byte[] user = bytes(0x26, "k", "v");
    var users = refused(PLAIN, QUOTA_EXCEEDED, CONNECT_5, packet(0x30, "t", properties(user, user, user)));
    assertThat(users.limit()).hasValue(Limit.USER_PROPERTIES);
  }

  @Test
  void aTopicNameThatIsTooLongIsRefusedBeforeTheRestOfThePacketComes() {
    var refusal = refused(PLAIN, TOPIC_NAME_INVALID, CONNECT_5, bytes(0x30, Wire.varint(100_000), u16(51)));
    assertThat(refusal.limit()).hasValue(Limit.TOPIC_LENGTH);
  }

  @Test
  void aTopicNameOfAllowedLengthInPiecesIsRead() {
    byte[] publish = packet(0x30, "a".repeat(50), 0, new byte[1_000]);
    byte[] all = Wire.join(CONNECT_5, publish);
    for (int cut = CONNECT_5.length; cut <= CONNECT_5.length + 60; cut++) {
      var recorder = new Recorder();
      var decoder = new PacketDecoder(PLAIN);
      ByteBuf in = Unpooled.buffer().writeBytes(all, 0, cut);
      while (decoder.decode(in, recorder)) assertThat(in.readerIndex()).isPositive();
      in.writeBytes(all, cut, all.length - cut);
      while (decoder.decode(in, recorder)) assertThat(in.readerIndex()).isPositive();
      assertThat(recorder.calls()).as("cut at %d", cut).hasSize(2);
      in.release();
    }
  }
}
