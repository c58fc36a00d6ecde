package dunlin.broker.codec;

import static dunlin.broker.codec.Refusal.accepted;
import static dunlin.broker.codec.Refusal.refused;
import static dunlin.broker.codec.Wire.CONNECT_3_1;
import static dunlin.broker.codec.Wire.CONNECT_3_1_1;
import static dunlin.broker.codec.Wire.CONNECT_5;
import static dunlin.broker.codec.Wire.packet;
import static dunlin.broker.codec.Wire.properties;
import static dunlin.broker.codec.Wire.u16;
import static dunlin.broker.codec.Wire.u32;
import static dunlin.model.ReasonCode.MALFORMED_PACKET;
import static dunlin.model.ReasonCode.PROTOCOL_ERROR;
import static dunlin.model.ReasonCode.QUOTA_EXCEEDED;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.ReasonCode;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Packets after CONNECT, except PUBLISH, that must be refused, and similar ones that must not. */
class MalformedPacketTest {
  private static final byte[] NONE = properties();
  private static final DecoderLimits FEW = new DecoderLimits(1 << 20, 1 << 14, 100, 10, 2, 0, true, 2);

  @ParameterizedTest
  @Tag("pitfall-31")
  @EnumSource
  @Tag("MQTT-2.1.3-1")
  @Tag("MQTT-3.6.1-1")
  @Tag("MQTT-3.8.1-1")
  @Tag("MQTT-3.10.1-1")
  @Tag("MQTT-3.14.1-1")
  @Tag("MQTT-3.15.1-1")
  @Tag("MQTT3-2.2.2-1")
  @Tag("MQTT3-3.6.1-1")
  @Tag("MQTT3-3.8.1-1")
  @Tag("MQTT3-3.10.1-1")
  @Tag("MQTT3-3.14.1-1")
  void flagsAreThoseOfTheType(ProtocolVersion version) {
    for (int type : new int[] {4, 5, 6, 7, 8, 10, 12, 14, 15}) {
      int right = type == 6 || type == 8 || type == 10 ? 0x02 : 0x00;
      for (int flags = 0; flags < 16; flags++) {
        boolean again = version == ProtocolVersion.MQTT_3_1 && right == 0x02 && flags == 0x0A;
        if (flags == right || again) continue;
        refused(MALFORMED_PACKET, Wire.connect(version), new byte[] {(byte) ((type << 4) | flags)});
      }
    }
  }

  @Test
  void version31RepeatsWithDup() {
    accepted(CONNECT_3_1, packet(0x6A, u16(1)));
    accepted(CONNECT_3_1, packet(0x8A, u16(1), "f", 0));
    accepted(CONNECT_3_1, packet(0xAA, u16(1), "f"));
    refused(MALFORMED_PACKET, CONNECT_3_1_1, new byte[] {0x6A});
  }

  @ParameterizedTest
  @Tag("pitfall-34")
  @EnumSource
  void whatOnlyAServerSendsIsAProtocolError(ProtocolVersion version) {
    for (int type : new int[] {2, 9, 11, 13}) {
      refused(PROTOCOL_ERROR, Wire.connect(version), new byte[] {(byte) (type << 4)});
    }
    refused(MALFORMED_PACKET, Wire.connect(version), new byte[] {0});
  }

  @Test
  void type15IsReservedBeforeVersion5() {
    refused(MALFORMED_PACKET, CONNECT_3_1, new byte[] {(byte) 0xF0});
    refused(MALFORMED_PACKET, CONNECT_3_1_1, new byte[] {(byte) 0xF0});
  }

  @Test
  void fixedSizesAreCheckedBeforeTheBodyComes() {
    refused(MALFORMED_PACKET, CONNECT_5, new byte[] {(byte) 0xC0, 1});
    refused(MALFORMED_PACKET, CONNECT_5, new byte[] {0x40, 1});
    refused(MALFORMED_PACKET, CONNECT_3_1_1, new byte[] {0x40, 3});
    refused(MALFORMED_PACKET, CONNECT_3_1_1, new byte[] {0x62, 0});
    refused(MALFORMED_PACKET, CONNECT_3_1_1, new byte[] {(byte) 0xE0, 1});
    accepted(CONNECT_3_1_1, packet(0xC0));
    accepted(CONNECT_3_1_1, packet(0xE0));
  }

  @ParameterizedTest
  @ValueSource(ints = {0x40, 0x50, 0x62, 0x70})
  void acknowledgementsNameAPacket(int first) {
    refused(PROTOCOL_ERROR, CONNECT_3_1_1, packet(first, u16(0)));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(first, u16(0)));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(first, u16(0), 0, NONE));
  }

  @ParameterizedTest
  @ValueSource(ints = {0x40, 0x50, 0x62, 0x70})
  void acknowledgementsOfVersion5HaveThreeForms(int first) {
    accepted(CONNECT_5, packet(first, u16(1)));
    accepted(CONNECT_5, packet(first, u16(1), 0));
    accepted(CONNECT_5, packet(first, u16(1), 0, NONE));
    accepted(CONNECT_5, packet(first, u16(1), 0, properties(0x1F, "why", 0x26, "k", "v")));
    refused(MALFORMED_PACKET, CONNECT_5, packet(first, u16(1), 0, 1));
    refused(MALFORMED_PACKET, CONNECT_5, packet(first, u16(1), 0, NONE, 0));
    refused(MALFORMED_PACKET, CONNECT_5, packet(first, u16(1), 0, properties(0x1F, "a\0")));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(first, u16(1), 0, properties(0x1F, "why", 0x1F, "why")));
  }

  @Test
  @Tag("MQTT-3.4.2-1")
  @Tag("MQTT-3.5.2-1")
  @Tag("MQTT-3.6.2-1")
  @Tag("MQTT-3.7.2-1")
  @Tag("MQTT-3.14.2-1")
  @Tag("MQTT-3.15.2-1")
  void reasonCodesAreThoseOfTheTypeAndOfClients() {
    Set<Integer> publish = Set.of(0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99);
    Set<Integer> release = Set.of(0, 0x92);
    Set<Integer> disconnect =
        Set.of(0, 4, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99);
    Set<Integer> auth = Set.of(0x18, 0x19);
    for (int code = 0; code < 256; code++) {
      check(publish.contains(code), packet(0x40, u16(1), code));
      check(publish.contains(code), packet(0x50, u16(1), code));
      check(release.contains(code), packet(0x62, u16(1), code));
      check(release.contains(code), packet(0x70, u16(1), code));
      check(disconnect.contains(code), packet(0xE0, code));
      check(auth.contains(code), packet(0xF0, code, properties(0x15, "m")));
    }
  }

  private static void check(boolean allowed, byte[] packet) {
    if (allowed) accepted(CONNECT_5, packet);
    else refused(PROTOCOL_ERROR, CONNECT_5, packet);
  }

  @Test
  void disconnectHasThreeForms() {
    assertThat(((Packet.Disconnect) accepted(CONNECT_5, packet(0xE0))).reason()).isEqualTo(ReasonCode.SUCCESS);
    accepted(CONNECT_5, packet(0xE0, 4));
    var whole = (Packet.Disconnect) accepted(CONNECT_5, packet(0xE0, 4, properties(0x11, u32(0xFFFF_FFFFL), 0x1F, "bye")));
    assertThat(whole.sessionExpirySeconds()).isEqualTo(0xFFFF_FFFFL);
    assertThat(whole.reasonString()).isEqualTo("bye");
    refused(MALFORMED_PACKET, CONNECT_5, packet(0xE0, 0, NONE, 0));
  }

  @Test
  void authNamesItsMethod() {
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0xF0));
    refused(MALFORMED_PACKET, CONNECT_5, packet(0xF0, 0x18));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0xF0, 0x18, NONE));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0xF0, 0x18, properties(0x16, "data")));
    refused(MALFORMED_PACKET, CONNECT_5, packet(0xF0, 0x18, properties(0x15, "m"), 0));
  }

  @Test
  @Tag("pitfall-58")
  @Tag("MQTT-3.8.3-2")
  @Tag("MQTT-3.10.3-2")
  @Tag("MQTT3-3.8.3-3")
  @Tag("MQTT3-3.10.3-2")
  void subscribeAndUnsubscribeNameAFilter() {
    refused(PROTOCOL_ERROR, CONNECT_3_1_1, packet(0x82, u16(1)));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x82, u16(1), NONE));
    refused(PROTOCOL_ERROR, CONNECT_3_1_1, packet(0xA2, u16(1)));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0xA2, u16(1), NONE));
    refused(MALFORMED_PACKET, CONNECT_5, packet(0x82, u16(1)));
    refused(MALFORMED_PACKET, CONNECT_5, packet(0x82));
  }

  @Test
  @Tag("MQTT-2.2.1-3")
  @Tag("MQTT3-2.3.1-1")
  void subscribeAndUnsubscribeHaveAPacketIdentifier() {
    refused(PROTOCOL_ERROR, CONNECT_3_1_1, packet(0x82, u16(0), "f", 0));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0xA2, u16(0), NONE, "f"));
  }

  @Test
  @Tag("pitfall-58")
  @Tag("MQTT-3.8.3-5")
  @Tag("MQTT3-3.8.3-4")
  void subscriptionOptionsAreAllChecked() {
    for (int options = 0; options < 256; options++) {
      byte[] of3 = packet(0x82, u16(1), "f", options);
      byte[] of5 = packet(0x82, u16(1), NONE, "f", options);
      if (options < 3) accepted(CONNECT_3_1_1, of3);
      else refused(MALFORMED_PACKET, CONNECT_3_1_1, of3);
      if ((options & 0xC0) == 0 && (options & 0x03) != 3 && (options & 0x30) != 0x30) accepted(CONNECT_5, of5);
      else refused(MALFORMED_PACKET, CONNECT_5, of5);
    }
  }

  @Test
  @Tag("pitfall-62")
  @Tag("MQTT-3.8.3-4")
  void noLocalIsNotForSharedSubscriptions() {
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x82, u16(1), NONE, "$share/g/f", 0x04));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x82, u16(1), NONE, "f", 0x04, "$oshare/g/f", 0x04));
    accepted(CONNECT_5, packet(0x82, u16(1), NONE, "$shared/g/f", 0x04));
  }

  @Test
  @Tag("pitfall-66")
  void subscriptionIdentifierIsNotZero() {
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x82, u16(1), properties(0x0B, 0), "f", 0));
    refused(PROTOCOL_ERROR, CONNECT_5, packet(0x82, u16(1), properties(0x0B, 1, 0x0B, 2), "f", 0));
    byte[] largest = {(byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 0x7F};
    var subscribe = (Packet.Subscribe) accepted(CONNECT_5, packet(0x82, u16(1), properties(0x0B, largest), "f", 0));
    assertThat(subscribe.subscriptionIdentifier()).isEqualTo(268_435_455);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sport+", "a/#/b", "a#", "$share/g", "$share//f", "$share/a+b/f"})
  void invalidFiltersAreLeftToSuback(String filter) {
    var subscribe = (Packet.Subscribe) accepted(CONNECT_5, packet(0x82, u16(1), NONE, "good", 1, filter, 0));
    assertThat(subscribe.subscriptions()).extracting(RequestedSubscription::filter).containsExactly("good", filter);
    var unsubscribe = (Packet.Unsubscribe) accepted(CONNECT_5, packet(0xA2, u16(1), NONE, filter));
    assertThat(unsubscribe.filters()).isEqualTo(List.of(filter));
  }

  @Test
  @Tag("pitfall-35")
  @Tag("MQTT-4.7.3-1")
  @Tag("MQTT-4.7.3-2")
  @Tag("MQTT3-4.7.3-1")
  void oneMalformedFilterMakesThePacketMalformed() {
    refused(MALFORMED_PACKET, CONNECT_5, packet(0x82, u16(1), NONE, "good", 1, "b\0d", 0));
    refused(MALFORMED_PACKET, CONNECT_3_1_1, packet(0xA2, u16(1), "good", new byte[] {0, 1, (byte) 0xFF}));
    refused(MALFORMED_PACKET, CONNECT_3_1_1, packet(0x82, u16(1), "good", 1, "cut"));
    refused(MALFORMED_PACKET, CONNECT_5, packet(0x82, u16(1), NONE, "good", 1, "", 0));
    refused(MALFORMED_PACKET, CONNECT_3_1_1, packet(0xA2, u16(1), "", "good"));
  }

  @Test
  @Tag("MQTT-3.8.3-1")
  @Tag("MQTT-3.10.3-1")
  @Tag("MQTT-4.7.3-2")
  @Tag("MQTT3-3.8.3-1")
  @Tag("MQTT3-3.10.3-1")
  @Tag("MQTT3-4.7.3-2")
  void filtersAreUtf8() {
    byte[] overlong = {0, 2, (byte) 0xC0, (byte) 0xAF};
    byte[] surrogate = {0, 3, (byte) 0xED, (byte) 0xB0, (byte) 0x80};
    byte[] nul = {0, 1, 0};
    for (byte[] bad : new byte[][] {overlong, surrogate, nul}) {
      refused(MALFORMED_PACKET, CONNECT_3_1_1, packet(0x82, u16(1), bad, 0));
      refused(MALFORMED_PACKET, CONNECT_5, packet(0x82, u16(1), NONE, bad, 0));
      refused(MALFORMED_PACKET, CONNECT_3_1_1, packet(0xA2, u16(1), bad));
      refused(MALFORMED_PACKET, CONNECT_5, packet(0xA2, u16(1), NONE, bad));
    }
    accepted(CONNECT_3_1_1, packet(0x82, u16(1), "\u00e4/\uFEFF/+", 0));
    accepted(CONNECT_5, packet(0xA2, u16(1), NONE, "\u00e4/\uFEFF/+"));
  }

  @Test
  void filtersAndUserPropertiesAreLimited() {
    accepted(FEW, CONNECT_3_1_1, packet(0x82, u16(1), "a", 0, "b", 0));
    refused(FEW, QUOTA_EXCEEDED, CONNECT_3_1_1, packet(0x82, u16(1), "a", 0, "b", 0, "c", 0));
    accepted(FEW, CONNECT_3_1_1, packet(0xA2, u16(1), "a", "b"));
    refused(FEW, QUOTA_EXCEEDED, CONNECT_3_1_1, packet(0xA2, u16(1), "a", "b", "c"));
    byte[] user = {0x26, 0, 1, 'k', 0, 1, 'v'};
    refused(FEW, QUOTA_EXCEEDED, CONNECT_5, packet(0x40, u16(1), 0, properties(user, user, user)));
  }
}
