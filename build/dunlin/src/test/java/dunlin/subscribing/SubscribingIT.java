package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Effects of SUBSCRIBE and UNSUBSCRIBE; MQTT 5, sections 3.8 to 3.11 and 4.8. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SubscribingIT {
  private static final int NO_LOCAL = 4;

  private final TestBroker broker;

  SubscribingIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  /** A valid filter has no effect in a packet that has an error after it. */
  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  @Tag("pitfall-35")
  @Tag("MQTT-3.8.3-1")
  void aPacketWithAnErrorHasNoEffect(int level) {
    String topic = name();
    String clientId = name();
    byte[] none = level == 5 ? RawClient.noProperties() : new byte[0];
    byte[] connect = RawClient.connect(level, false, 0, clientId, RawClient.properties(RawClient.sessionExpiry(60)));
    try (var publisher = RawClient.connected(broker, name());
        var other = RawClient.connected(broker, name())) {
      other.subscribe(topic, 1);
      for (byte[] broken :
          new byte[][] {
            RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), none, topic, 1, "b\0", 1),
            RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), none, topic, 1, RawClient.u16(9), new byte[] {'x'}),
            RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), none, topic, 1, 0),
            RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), none, topic, 1, topic, 3),
            RawClient.packet(RawClient.PUBLISH | 2, RawClient.u16(200), topic),
            RawClient.packet(RawClient.PUBLISH | 2, topic, 1)
          }) {
        try (var client = RawClient.connected(broker.port(), connect)) {
          client.send(broken);
          assertThat(client.awaitClosed()).hasSize(level == 5 ? 1 : 0);
        }
        assertThat(publisher.publishAndWait(topic, "to one only")).isZero();
        assertThat(other.take().text()).isEqualTo("to one only");
        try (var client = RawClient.connected(broker.port(), connect)) {
          assertThat(client.sessionPresent()).isTrue();
          assertThat(client.untilPong()).isEmpty();
        }
      }
    }
  }

  @Test
  @Tag("pitfall-62")
  @Tag("MQTT-3.8.3-3")
  void noLocalAppliesToWaitingMessagesToo() {
    String topic = name();
    Connect connect = Connect.of(name()).receiveMaximum(1);
    try (var other = RawClient.connected(broker, name())) {
      try (var client = RawClient.connected(broker.port(), connect)) {
        client.subscribe(topic, 2 | NO_LOCAL);
        other.publishAndWait(topic, "fills the window");
        client.publishAndWait(topic, "own");
        client.publish(topic, 2, 9, "own, and never released");
        client.next(RawClient.PUBREC);
        other.publishAndWait(topic, "end");
      }
      try (var client = RawClient.connected(broker.port(), connect)) {
        client.publishAndWait(topic, "own, by the next connection");
        assertThat(client.before("end")).extracting(Message::text).containsExactly("fills the window");
        assertThat(client.untilPong()).isEmpty();
      }
    }
  }

  @Test
  @Tag("pitfall-66")
  @Tag("MQTT-3.3.4-3")
  void subscriptionIdentifiersAreResumedWithTheSession() {
    String topic = name();
    Connect connect = Connect.of(name());
    try (var publisher = RawClient.connected(broker, name())) {
      try (var client = RawClient.connected(broker.port(), connect)) {
        for (int identifier : new int[] {1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455}) {
          client.subscribe(topic + "/" + identifier, 1, RawClient.subscriptionIdentifier(identifier));
        }
        client.subscribe(topic + "/0", 1);
      }
      for (int round = 0; round < 2; round++) {
        for (long identifier : new long[] {1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455}) {
          publisher.publishAndWait(topic + "/" + identifier, Long.toString(identifier));
        }
        publisher.publishAndWait(topic + "/0", "end");
        try (var client = RawClient.connected(broker.port(), connect)) {
          for (Message message : client.before("end")) {
            assertThat(message.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactly(Long.valueOf(message.text()));
          }
          assertThat(client.untilPong()).isEmpty();
        }
      }
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("pitfall-68")
  @Tag("MQTT-3.10.4-2")
  @Tag("MQTT-3.10.4-3")
  @Tag("MQTT3-3.10.4-3")
  void unsubscribingCompletesExchangesInFlightAndStopsTheRest(boolean durable) {
    String topic = name();
    try (var publisher = RawClient.connected(broker, name());
        var client = RawClient.connected(broker.port(), Connect.of(name()).expiry(durable ? 60 : 0))) {
      client.subscribe(topic, 2);
      publisher.publish(topic, 2, 1, "in flight");
      publisher.publish(topic, 2, 2, "received");
      publisher.next(2, RawClient.PUBREC);
      Message first = client.message();
      Message second = client.message();
      client.pubrec(second.packetId());
      client.expect(RawClient.PUBREL);
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(7), RawClient.noProperties(), topic.toUpperCase(Locale.ROOT), topic);
      assertThat(client.expect(RawClient.UNSUBACK).body()).containsExactly(0, 7, 0, 0x11, 0);
      publisher.publishAndWait(topic, "too late");

      client.pubcomp(second.packetId());
      client.pubrec(first.packetId());
      assertThat(client.expect(RawClient.PUBREL).packetId()).isEqualTo(first.packetId());
      client.pubcomp(first.packetId());
      assertThat(client.untilPong()).isEmpty();
    }
  }

  @Test
  @Tag("pitfall-69")
  @Tag("MQTT-4.8.2-1")
  @Tag("MQTT-4.8.2-2")
  void filtersOfSharedSubscriptionsNeedANameAndAFilter() {
    try (var client = RawClient.connected(broker, name())) {
      client.send(
          RawClient.SUBSCRIBE, RawClient.u16(3), RawClient.noProperties(), "$share/g", 1, "$share/g/", 1, "$share//f", 1, "$share/a+b/f",
          1, "$share/a#/f", 1, "$share/#", 1, "$share/g/a#", 1, "$share/g//", 2);
      Packet suback = client.expect(RawClient.SUBACK);
      byte invalid = (byte) 0x8F;
      int length = suback.body().length;
      assertThat(Arrays.copyOfRange(suback.body(), length - 8, length))
          .containsExactly(invalid, invalid, invalid, invalid, invalid, invalid, invalid, 2);
    }
  }

  /** A refusal is an answer to the server and not a reason to try another member. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  @Tag("pitfall-70")
  @Tag("MQTT-4.8.2-6")
  void aRefusedMessageGoesToNoOtherMember(int qos) {
    String topic = name();
    try (var publisher = RawClient.connected(broker, name());
        var one = RawClient.connected(broker, name());
        var other = RawClient.connected(broker, name())) {
      one.subscribe("$share/g/" + topic, qos);
      publisher.publish(topic, qos, 1_000, "refused");
      publisher.next(qos == 1 ? RawClient.PUBACK : RawClient.PUBREC);
      Message message = one.message();
      other.subscribe("$share/g/" + topic, qos);
      one.send(qos == 1 ? RawClient.PUBACK : RawClient.PUBREC, RawClient.u16(message.packetId()), 0x97);
      one.ping();
      one.disconnect();
      for (int i = 0; i < 5; i++) assertThat(publisher.publishAndWait(topic, "next " + i)).isZero();
      for (int i = 0; i < 5; i++) assertThat(other.take().text()).isEqualTo("next " + i);
      assertThat(other.untilPong()).isEmpty();
    }
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }
}
