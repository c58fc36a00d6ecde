package dunlin.broker.codec;

import static dunlin.broker.codec.Refusal.accepted;
import static dunlin.broker.codec.Refusal.refused;
import static dunlin.broker.codec.Wire.packet;
import static dunlin.broker.codec.Wire.properties;
import static dunlin.broker.codec.Wire.text;
import static dunlin.broker.codec.Wire.u16;
import static dunlin.broker.codec.Wire.u32;
import static dunlin.model.ReasonCode.CLIENT_IDENTIFIER_NOT_VALID;
import static dunlin.model.ReasonCode.MALFORMED_PACKET;
import static dunlin.model.ReasonCode.PROTOCOL_ERROR;
import static dunlin.model.ReasonCode.QUOTA_EXCEEDED;
import static dunlin.model.ReasonCode.TOPIC_NAME_INVALID;
import static dunlin.model.ReasonCode.UNSUPPORTED_PROTOCOL_VERSION;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** CONNECT packets that must be refused, and similar ones that must not. */
class MalformedConnectTest {
  private static byte[] connect3(int flags, Object... payload) {
    return packet(0x10, text("MQTT"), 4, flags, u16(60), Wire.bytes(payload));
  }

  private static byte[] connect5(int flags, byte[] properties, Object... payload) {
    return packet(0x10, text("MQTT"), 5, flags, u16(60), properties, Wire.bytes(payload));
  }

  @Test
  @Tag("MQTT-3.1.2-1")
  @Tag("MQTT3-3.1.2-1")
  void wrongProtocolNameIsMalformedAndNotAnswered() {
    for (String name : new String[] {"MQTT\u00e4", "mqtt", "", "MQTTX", "HTTP"}) {
      var refusal = refused(MALFORMED_PACKET, packet(0x10, text(name), 4, 2, u16(0), text("c")));
      assertThat(refusal.version()).isEmpty();
    }
  }

  @ParameterizedTest
  @Tag("pitfall-5")
  @ValueSource(ints = {0, 1, 2, 3, 6, 0x83, 0x84, 0x85, 255})
  @Tag("MQTT-3.1.2-2")
  @Tag("MQTT3-3.1.2-2")
  void unsupportedLevelIsToldInTheFormOfVersion3(int level) {
    var refusal = refused(UNSUPPORTED_PROTOCOL_VERSION, packet(0x10, text("MQTT"), level, 2, u16(0), text("c")));
    assertThat(refusal.version()).contains(ProtocolVersion.MQTT_3_1_1);
  }

  /** DUP, QoS and RETAIN are not used in a CONNECT of MQTT 3.1, and reserved later. */
  @ParameterizedTest
  @Tag("MQTT-2.1.3-1")
  @ValueSource(ints = {1, 2, 4, 8, 15})
  void onlyTheOldVersionIgnoresTheFlagsOfTheFixedHeader(int flags) {
    accepted(packet(0x10 | flags, text("MQIsdp"), 3, 2, u16(60), text("c")));
    refused(MALFORMED_PACKET, packet(0x10 | flags, text("MQTT"), 4, 2, u16(60), text("c")));
    refused(MALFORMED_PACKET, packet(0x10 | flags, text("MQTT"), 5, 2, u16(60), 0, text("c")));
  }

  @Test
  @Tag("MQTT-3.1.2-2")
  @Tag("MQTT3-3.1.2-2")
  void theOldNameIsForTheOldLevelOnly() {
    refused(UNSUPPORTED_PROTOCOL_VERSION, packet(0x10, text("MQIsdp"), 4, 2, u16(0), text("c")));
    refused(UNSUPPORTED_PROTOCOL_VERSION, packet(0x10, text("MQIsdp"), 0x83, 2, u16(0), text("c")));
    accepted(Wire.CONNECT_3_1);
  }

  @ParameterizedTest
  @EnumSource
  void theRefusalTellsTheVersion(ProtocolVersion version) {
    byte[] connect = Wire.connect(version).clone();
    connect[version == ProtocolVersion.MQTT_3_1 ? 11 : 9] |= 0x20; // retains a will that is not there
    assertThat(refused(MALFORMED_PACKET, connect).version()).contains(version);
  }

  @Test
  @Tag("pitfall-3")
  @Tag("MQTT-3.1.2-3")
  @Tag("MQTT3-3.1.2-3")
  void reservedFlagIsMalformed() {
    refused(MALFORMED_PACKET, connect3(0x03, "c"));
    refused(MALFORMED_PACKET, connect5(0x03, properties(), "c"));
    accepted(packet(0x10, text("MQIsdp"), 3, 0x03, u16(0), text("c")));
  }

  @Test
  @Tag("pitfall-4")
  @Tag("MQTT-3.1.2-11")
  @Tag("MQTT-3.1.2-12")
  @Tag("MQTT-3.1.2-13")
  @Tag("MQTT3-3.1.2-11")
  @Tag("MQTT3-3.1.2-13")
  @Tag("MQTT3-3.1.2-14")
  @Tag("MQTT3-3.1.2-15")
  void willQosAndRetainNeedAWillAndQos3IsInvalid() {
    refused(MALFORMED_PACKET, connect3(0x0A, "c"));
    refused(MALFORMED_PACKET, connect3(0x12, "c"));
    refused(MALFORMED_PACKET, connect3(0x22, "c"));
    refused(MALFORMED_PACKET, connect3(0x1E, "c", "t", "p"));
    refused(MALFORMED_PACKET, connect5(0x0A, properties(), "c"));
    refused(MALFORMED_PACKET, connect5(0x12, properties(), "c"));
    refused(MALFORMED_PACKET, connect5(0x22, properties(), "c"));
    refused(MALFORMED_PACKET, connect5(0x1E, properties(), "c", properties(), "t", "p"));
    accepted(connect3(0x36, "c", "t", "p"));
  }

  @Test
  @Tag("pitfall-4")
  @Tag("MQTT-3.1.2-9")
  @Tag("MQTT-3.1.2-16")
  @Tag("MQTT-3.1.2-17")
  @Tag("MQTT-3.1.2-18")
  @Tag("MQTT-3.1.2-19")
  @Tag("MQTT3-3.1.2-9")
  @Tag("MQTT3-3.1.2-18")
  @Tag("MQTT3-3.1.2-19")
  @Tag("MQTT3-3.1.2-20")
  @Tag("MQTT3-3.1.2-21")
  void flagsAndFieldsMustAgree() {
    refused(MALFORMED_PACKET, connect3(0x82, "c"));
    refused(MALFORMED_PACKET, connect3(0xC2, "c", "user"));
    refused(MALFORMED_PACKET, connect3(0x06, "c"));
    refused(MALFORMED_PACKET, connect3(0x06, "c", "topic"));
    refused(MALFORMED_PACKET, connect3(0x02, "c", "user"));
    refused(MALFORMED_PACKET, connect3(0x82, "c", "user", "password"));
    refused(MALFORMED_PACKET, connect3(0x02, "c", "t", "p")); // a will without its flag
    refused(MALFORMED_PACKET, connect5(0x82, properties(), "c"));
    refused(MALFORMED_PACKET, connect5(0x42, properties(), "c"));
    refused(MALFORMED_PACKET, connect5(0x02, properties(), "c", "user"));
    refused(MALFORMED_PACKET, connect5(0x82, properties(), "c", "user", "password"));
    refused(MALFORMED_PACKET, connect5(0x06, properties(), "c", properties()));
    refused(MALFORMED_PACKET, connect5(0x06, properties(), "c", properties(), "t"));
    refused(MALFORMED_PACKET, connect5(0x06, properties(), "c", "t", "p")); // will properties are missing
    accepted(connect3(0xC2, "c", "user", "password"));
  }

  @Test
  @Tag("MQTT-3.1.3-4")
  @Tag("MQTT-3.1.3-12")
  @Tag("MQTT3-3.1.3-4")
  @Tag("MQTT3-3.1.3-11")
  void clientIdentifierAndUserNameAreUtf8() {
    byte[] overlong = {0, 2, (byte) 0xC0, (byte) 0x80};
    byte[] surrogate = {0, 3, (byte) 0xED, (byte) 0xA0, (byte) 0x80};
    for (byte[] bad : new byte[][] {overlong, surrogate}) {
      refused(MALFORMED_PACKET, connect3(0x02, (Object) bad));
      refused(MALFORMED_PACKET, connect5(0x02, properties(), (Object) bad));
      refused(MALFORMED_PACKET, connect3(0x82, "c", bad));
      refused(MALFORMED_PACKET, connect5(0x82, properties(), "c", bad));
    }
    accepted(connect3(0xC2, "\u00e4", "\u6f22", overlong)); // a password is binary data
  }

  @Test
  @Tag("MQTT-3.1.3-1")
  @Tag("MQTT-3.1.3-3")
  @Tag("MQTT3-3.1.3-1")
  @Tag("MQTT3-3.1.3-3")
  void fieldsOfThePayloadAreReadInTheirOrder() {
    Packet.Connect of3 = (Packet.Connect) accepted(connect3(0xC6, "client", "topic", "will", "user", "password"));
    Packet.Connect of5 =
        (Packet.Connect)
            accepted(connect5(0xC6, properties(), "client", properties(0x18, u32(7)), "topic", "will", "user", "password"));
    for (Packet.Connect connect : new Packet.Connect[] {of3, of5}) {
      assertThat(connect.clientId()).isEqualTo("client");
      assertThat(connect.userName()).isEqualTo("user");
      assertThat(connect.password()).asString().isEqualTo("password");
      Will will = Objects.requireNonNull(connect.will());
      assertThat(will.topic()).isEqualTo("topic");
      assertThat(will.payload()).asString().isEqualTo("will");
      assertThat(will.delaySeconds()).isEqualTo(connect.version() == ProtocolVersion.MQTT_5 ? 7 : 0);
    }
    refused(MALFORMED_PACKET, connect3(0x02));
    refused(MALFORMED_PACKET, connect5(0x02, properties()));
    refused(MALFORMED_PACKET, connect5(0x06, properties(), properties(0x18, u32(7)), "client", "topic", "will"));
  }

  @Test
  void packetsEndTakesPrecedenceOverUserFlagsInVersion31() {
    byte[] connect = packet(0x10, text("MQIsdp"), 3, 0xC2, u16(0), text("c"));
    assertThat(((Packet.Connect) accepted(connect)).userName()).isNull();
    refused(MALFORMED_PACKET, packet(0x10, text("MQIsdp"), 3, 0xC2, u16(0), text("c"), 0));
  }

  @Test
  @Tag("pitfall-8")
  @Tag("MQTT3-3.1.2-22")
  void passwordAloneIsForVersion5Only() {
    refused(MALFORMED_PACKET, connect3(0x42, "c", "password"));
    accepted(connect5(0x42, properties(), "c", "password"));
  }

  @Test
  @Tag("pitfall-6")
  @Tag("MQTT3-3.1.3-7")
  void emptyClientIdentifierDependsOnTheVersion() {
    assertThat(refused(CLIENT_IDENTIFIER_NOT_VALID, connect3(0x00, "")).version()).contains(ProtocolVersion.MQTT_3_1_1);
    accepted(connect3(0x02, ""));
    accepted(connect5(0x00, properties(), ""));
    refused(CLIENT_IDENTIFIER_NOT_VALID, packet(0x10, text("MQIsdp"), 3, 0x02, u16(0), text("")));
  }

  @Test
  void brokenPacketWithEmptyIdentifierIsMalformedFirst() {
    refused(MALFORMED_PACKET, connect3(0x00, "", "extra"));
  }

  @Test
  @Tag("pitfall-28")
  @Tag("pitfall-29")
  @Tag("MQTT-3.1.3-11")
  @Tag("MQTT-4.7.0-1")
  @Tag("MQTT-4.7.3-1")
  @Tag("MQTT3-3.1.3-10")
  @Tag("MQTT3-4.7.1-1")
  @Tag("MQTT3-4.7.3-1")
  void willTopicMustBeATopicName() {
    for (String topic : new String[] {"", "a/+", "#", "a#b", "$share/g/t", "$oshare/g/t", "$share"}) {
      refused(TOPIC_NAME_INVALID, connect3(0x06, "c", topic, "p"));
      refused(TOPIC_NAME_INVALID, connect5(0x06, properties(), "c", properties(), topic, "p"));
    }
    refused(MALFORMED_PACKET, connect3(0x06, "c", "a\0b", "p"));
    refused(MALFORMED_PACKET, connect3(0x06, "c", new byte[] {0, 2, (byte) 0xC0, (byte) 0x80}, "p"));
    refused(MALFORMED_PACKET, connect5(0x06, properties(), "c", properties(), new byte[] {0, 2, (byte) 0xC0, (byte) 0x80}, "p"));
    accepted(connect3(0x06, "c", "$shared/g", "p"));
  }

  @Test
  @Tag("pitfall-28")
  void emptyWillPayloadIsLegal() {
    var connect = (Packet.Connect) accepted(connect3(0x06, "c", "t", ""));
    assertThat(connect.will()).isNotNull();
  }

  @Test
  @Tag("pitfall-14")
  void numbersOutOfRangeAreProtocolErrors() {
    refused(PROTOCOL_ERROR, connect5(2, properties(0x21, u16(0)), "c"));
    refused(PROTOCOL_ERROR, connect5(2, properties(0x27, u32(0)), "c"));
    refused(PROTOCOL_ERROR, connect5(2, properties(0x17, 2), "c"));
    refused(PROTOCOL_ERROR, connect5(2, properties(0x19, 2), "c"));
    refused(PROTOCOL_ERROR, connect5(6, properties(), "c", properties(0x01, 2), "t", "p"));
    accepted(connect5(2, properties(0x21, u16(1), 0x27, u32(1), 0x17, 0, 0x19, 1, 0x22, u16(0)), "c"));
  }

  @Test
  @Tag("pitfall-15")
  void authenticationDataNeedsAMethod() {
    refused(PROTOCOL_ERROR, connect5(2, properties(0x16, "data"), "c"));
    accepted(connect5(2, properties(0x16, "data", 0x15, "method"), "c"));
  }

  @Test
  void responseTopicOfAWillHasNoWildcards() {
    refused(PROTOCOL_ERROR, connect5(6, properties(), "c", properties(0x08, "a/#"), "t", "p"));
    refused(PROTOCOL_ERROR, connect5(6, properties(), "c", properties(0x08, ""), "t", "p"));
  }

  @Test
  @Tag("pitfall-35")
  void nothingMayFollow() {
    refused(MALFORMED_PACKET, connect3(0x02, "c", 0));
    refused(MALFORMED_PACKET, connect5(0x02, properties(), "c", 0));
  }

  @Test
  void everyTruncationIsMalformed() {
    byte[] whole =
        connect5(
            0xF6, properties(0x11, u32(5), 0x26, "k", "v"), "c", properties(0x18, u32(1), 0x02, u32(2)), "t", "p", "u", "w");
    accepted(whole);
    IntStream.range(2, whole.length)
        .forEach(length -> refused(MALFORMED_PACKET, packet(0x10, Arrays.copyOfRange(whole, 2, length))));
  }

  @Test
  @Tag("pitfall-1")
  @Tag("MQTT-3.1.0-1")
  @Tag("MQTT3-3.1.0-1")
  void onlyConnectComesFirst() {
    for (int first = 0; first < 256; first++) {
      byte[] packet = {(byte) first};
      if (first >> 4 != 1) assertThat(refused(PROTOCOL_ERROR, packet).version()).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource
  @Tag("MQTT-3.1.0-2")
  @Tag("MQTT3-3.1.0-2")
  void secondConnectIsAProtocolError(ProtocolVersion version) {
    refused(PROTOCOL_ERROR, Wire.connect(version), Wire.connect(version));
  }

  @Test
  void userPropertiesAreLimited() {
    var limits = new DecoderLimits(1 << 20, 1 << 20, 100, 10, 2, 0, true, 10);
    byte[] user = {0x26, 0, 1, 'k', 0, 1, 'v'};
    accepted(limits, connect5(6, properties(user, user), "c", properties(user, user), "t", "p"));
    refused(limits, QUOTA_EXCEEDED, connect5(2, properties(user, user, user), "c"));
    refused(
        limits,
        QUOTA_EXCEEDED,
        connect5(6, properties(), "c", properties(user, user, user), "t", "p"));
  }
}
