package dunlin.broker.codec;

import static dunlin.broker.codec.Refusal.accepted;
import static dunlin.broker.codec.Refusal.refused;
import static dunlin.broker.codec.Wire.CONNECT_3_1_1;
import static dunlin.broker.codec.Wire.CONNECT_5;
import static dunlin.broker.codec.Wire.packet;
import static dunlin.broker.codec.Wire.properties;
import static dunlin.broker.codec.Wire.u16;
import static dunlin.broker.codec.Wire.u32;
import static dunlin.model.ReasonCode.MALFORMED_PACKET;
import static dunlin.model.ReasonCode.PROTOCOL_ERROR;
import static dunlin.model.ReasonCode.QUOTA_EXCEEDED;
import static dunlin.model.ReasonCode.TOPIC_ALIAS_INVALID;
import static dunlin.model.ReasonCode.TOPIC_NAME_INVALID;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.Publisher;
import dunlin.model.QoS;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** PUBLISH packets that must be refused, and similar ones that must not; topic aliases. */
class MalformedPublishTest {
  private static final byte[] NONE = properties();

  private static byte[] aliased(String topic, int alias) {
    return packet(0x30, topic, properties(0x23, u16(alias)), 'x');
  }

  @ParameterizedTest
  @Tag("pitfall-39")
  @EnumSource
  @Tag("MQTT-3.3.1-2")
  @Tag("MQTT-3.3.1-4")
  @Tag("MQTT3-3.3.1-2")
  @Tag("MQTT3-3.3.1-4")
  void flagsAreRefusedAtTheFirstByte(ProtocolVersion version) {
    for (int flags : new int[] {0x06, 0x07, 0x0E, 0x0F, 0x08, 0x09}) {
      refused(MALFORMED_PACKET, Wire.connect(version), new byte[] {(byte) (0x30 | flags)});
    }
  }

  @Test
  @Tag("pitfall-39")
  @Tag("MQTT-2.2.1-3")
  @Tag("MQTT3-2.3.1-1")
  void packetIdentifierIsNotZero() {
    refused(PROTOCOL_ERROR, CONNECT_3_1_1, packet(0x32, "t", u16(0), 'x'));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x34, "t", u16(0), NONE, 'x'));
    accepted(CONNECT_3_1_1, packet(0x32, "t", u16(0xFFFF)));
  }

  @ParameterizedTest
  @Tag("pitfall-38")
  @ValueSource(strings = {"+", "#", "a/+", "a/#", "a+b", "a#", "12345678+", "1234567/#", "12345678901234567#890"})
  @Tag("MQTT-3.3.2-2")
  @Tag("MQTT-4.7.0-1")
  @Tag("MQTT3-3.3.2-2")
  @Tag("MQTT3-4.7.1-1")
  void topicNameHasNoWildcards(String topic) {
    refused(TOPIC_NAME_INVALID, CONNECT_3_1_1, packet(0x30, topic));
    refused(TOPIC_NAME_INVALID, CONNECT_5, packet(0x30, topic, NONE));
  }

  @Test
  @Tag("pitfall-38")
  @Tag("MQTT-4.7.3-1")
  @Tag("MQTT3-4.7.3-1")
  void topicNameIsNotEmpty() {
    refused(PROTOCOL_ERROR, CONNECT_3_1_1, packet(0x30, ""));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x30, "", NONE));
  }

  @ParameterizedTest
  @ValueSource(strings = {"$share", "$share/", "$share/g", "$share/g/t", "$oshare", "$oshare/g/t"})
  void topicNameIsNotThatOfASharedSubscription(String topic) {
    refused(TOPIC_NAME_INVALID, CONNECT_3_1_1, packet(0x30, topic));
  }

  @ParameterizedTest
  @ValueSource(strings = {"$", "$x", "$SYS", "$shared", "$sharex/y", "share", "/", "//", " ", "\u00e4/\u6f22", "a,b\"!$"})
  void otherTopicNamesAreNotJudgedHere(String topic) {
    var publish = (Publish) accepted(CONNECT_3_1_1, packet(0x30, topic));
    assertThat(publish.topic()).isEqualTo(topic);
  }

  @Test
  @Tag("MQTT-4.7.3-3")
  @Tag("MQTT3-4.7.3-3")
  void lengthAndLevelsOfTopicNamesAreLimited() {
    var limits = new DecoderLimits(1 << 20, 1 << 14, 20, 5, 2, 4, true, 10);
    accepted(limits, CONNECT_3_1_1, packet(0x30, "a".repeat(20)));
    refused(limits, TOPIC_NAME_INVALID, CONNECT_3_1_1, packet(0x30, "a".repeat(21)));
    accepted(limits, CONNECT_3_1_1, packet(0x30, "a/b/c/d/e"));
    refused(limits, TOPIC_NAME_INVALID, CONNECT_3_1_1, packet(0x30, "//////"));
    refused(limits, TOPIC_NAME_INVALID, CONNECT_3_1_1, packet(0x30, "/a/a/a/a/a"));
  }

  @Test
  @Tag("pitfall-40")
  @Tag("MQTT-3.3.4-6")
  void subscriptionIdentifierIsTheServersToSend() {
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x30, "t", properties(0x0B, 1)));
  }

  @Test
  @Tag("pitfall-41")
  @Tag("MQTT-3.3.2-14")
  void responseTopicHasNoWildcards() {
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x30, "t", properties(0x08, "a/+")));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x30, "t", properties(0x08, "#")));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x30, "t", properties(0x08, "")));
    accepted(CONNECT_5, packet(0x30, "t", properties(0x08, "a/b")));
  }

  @Test
  void payloadFormatIndicatorIs0Or1() {
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x30, "t", properties(0x01, 2)));
    accepted(CONNECT_5, packet(0x30, "t", properties(0x01, 1)));
  }

  @Test
  void userPropertiesAreLimited() {
    var limits = new DecoderLimits(1 << 20, 1 << 14, 20, 5, 2, 4, true, 10);
    byte[] user = {0x26, 0, 1, 'k', 0, 1, 'v'};
    accepted(limits, CONNECT_5, packet(0x30, "t", properties(user, user)));
    refused(limits, QUOTA_EXCEEDED, CONNECT_5, packet(0x30, "t", properties(user, user, user)));
  }

  @Test
  void everyTruncationIsMalformed() {
    byte[] whole = packet(0x32, "topic", u16(7), properties(0x02, u32(9), 0x26, "k", "v"));
    accepted(CONNECT_5, whole);
    IntStream.range(2, whole.length)
        .forEach(length -> refused(MALFORMED_PACKET, CONNECT_5, packet(0x32, Arrays.copyOfRange(whole, 2, length))));
  }

  @Test
  @Tag("pitfall-35")
  void propertiesMayNotReachIntoThePayload() {
    refused(MALFORMED_PACKET, CONNECT_5, packet(0x30, "t", 4, 0x02, u16(0), 'p', 'q', 'r'));
    refused(MALFORMED_PACKET, CONNECT_5, packet(0x30, "t", 1, 0x02, u32(0), 'p'));
  }

  @Test
  @Tag("pitfall-42")
  @Tag("MQTT-3.2.2-17")
  @Tag("MQTT-3.2.2-18")
  @Tag("MQTT-3.3.2-8")
  @Tag("MQTT-3.3.2-9")
  void aliasIsWithinWhatWasAnnounced() {
    int maximum = DecoderLimits.defaults().topicAliasMaximum();
    refused(TOPIC_ALIAS_INVALID, CONNECT_5, aliased("t", 0));
    refused(TOPIC_ALIAS_INVALID, CONNECT_5, aliased("t", maximum + 1));
    accepted(CONNECT_5, aliased("t", maximum));
    refused(new DecoderLimits(1_000, 1_000, 20, 5, 2, 0, true, 10), TOPIC_ALIAS_INVALID, CONNECT_5, aliased("t", 1));
  }

  @Test
  @Tag("pitfall-42")
  @Tag("MQTT-3.3.2-12")
  void aliasStandsForItsLastTopicName() {
    var publish =
        (Publish)
            accepted(
                CONNECT_5, aliased("first", 3), aliased("other", 1), aliased("", 3), aliased("second", 3), aliased("", 3));
    assertThat(publish.topic()).isEqualTo("second");
    assertThat(publish.properties()).as("the alias is not the subscribers'").isEmpty();
    assertThat(publish.payload()).containsExactly('x');
  }

  @Test
  void unknownAliasIsAProtocolError() {
    refused(PROTOCOL_ERROR, CONNECT_5, aliased("", 1));
    refused(PROTOCOL_ERROR, CONNECT_5, aliased("t", 2), aliased("", 1));
    refused(PROTOCOL_ERROR, CONNECT_5, aliased("t", 2), aliased("", 3));
  }

  @Test
  @Tag("pitfall-42")
  void aliasIsCutOutAtAnyPosition() {
    byte[] user = {0x26, 0, 1, 'k', 0, 1, 'v'};
    byte[] alias = {0x23, 0, 1};
    byte[] expiry = Wire.bytes(0x02, u32(77));
    for (byte[] block :
        new byte[][] {
          properties(alias, expiry, user), properties(expiry, alias, user), properties(user, expiry, alias), properties(alias)
        }) {
      var whole = (Publish) accepted(CONNECT_5, packet(0x30, "t", block, 'x', 'y'));
      assertThat(whole.properties()).noneMatch(property -> property.id() == 0x23);
      assertThat(whole.properties()).hasSize(block.length > 5 ? 2 : 0);
      assertThat(whole.payload()).containsExactly('x', 'y');
    }
  }

  @Test
  @Tag("MQTT-3.3.2-7")
  void aliasesLiveAsLongAsTheirConnection() {
    var limits = DecoderLimits.defaults();
    Recorder.decode(limits, CONNECT_5, aliased("t", 1));
    refused(limits, PROTOCOL_ERROR, CONNECT_5, aliased("", 1));
  }

  @Test
  void publishIsInvalidAfterItsCallback() {
    var kept = new AtomicReference<InboundPublish>();
    var handler =
        new Ignoring() {
          @Override
          public void onPublish(InboundPublish publish) {
            kept.set(publish);
          }
        };
    var decoder = new PacketDecoder(DecoderLimits.defaults());
    ByteBuf in = Unpooled.wrappedBuffer(CONNECT_3_1_1, packet(0x33, "t", u16(9), 'x'));
    decoder.decode(in, handler);
    decoder.decode(in, handler);
    in.release();

    InboundPublish publish = kept.get();
    assertThat(publish.qos()).isEqualTo(QoS.AT_LEAST_ONCE);
    assertThatThrownBy(publish::topic).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> publish.toPublication(new Publisher("default", "c"), 0, null))
        .isInstanceOf(IllegalStateException.class);
  }
}
