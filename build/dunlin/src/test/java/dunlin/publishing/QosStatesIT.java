package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** States of QoS 1 and 2 exchanges that are easily handled wrongly; MQTT 5, sections 4.3 and 4.4. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QosStatesIT {
  private final TestBroker broker;

  QosStatesIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @ParameterizedTest(name = "level {0}, durable publisher {1}")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("pitfall-47")
  @Tag("MQTT-4.3.3-10")
  void repeatsBeforeThePubrecAreAcknowledgedToo(int level, boolean durable) {
    String topic = name();
    try (var subscriber = RawClient.connected(broker, name(), RawClient.sessionExpiry(60));
        var publisher = publisher(level, durable, name())) {
      subscriber.subscribe(topic, 2); // its messages are stored first, which delays PUBREC
      for (int i = 0; i < 5; i++) publisher.publish(topic, "once", 2, 7, i > 0);
      for (int i = 0; i < 5; i++) assertThat(publisher.expect(RawClient.PUBREC).packetId()).isEqualTo(7);
      publisher.pubrel(7);
      publisher.expect(RawClient.PUBCOMP);
      publisher.publish(topic, "end", 2, 8, false);
      assertThat(subscriber.before("end")).extracting(Message::text).containsExactly("once");
    }
  }

  @ParameterizedTest(name = "level {0}, durable publisher {1}")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("pitfall-47")
  @Tag("pitfall-51")
  @Tag("MQTT-4.3.3-10")
  @Tag("MQTT-4.3.3-11")
  @Tag("MQTT-4.3.3-12")
  @Tag("MQTT3-4.3.3-2")
  void aRepeatedPublishIsAcknowledgedEachTimeAndDeliveredOnce(int level, boolean durable) {
    String topic = name();
    String clientId = name();
    try (var subscriber = RawClient.connected(broker, name())) {
      subscriber.subscribe(topic, 2);
      for (int connection = 0; connection < (durable ? 3 : 1); connection++) {
        try (var publisher = publisher(level, durable, clientId)) {
          for (int i = 0; i < 5; i++) {
            publisher.publish(topic, "once", 2, 7, connection + i > 0);
            Packet pubrec = publisher.expect(RawClient.PUBREC);
            assertThat(pubrec.packetId()).isEqualTo(7);
            assertThat(pubrec.reason()).isZero();
          }
          // Another exchange runs at the same time, and its release must not release this one.
          publisher.publish(topic, "beside " + connection, 2, 8, false);
          publisher.expect(RawClient.PUBREC);
          publisher.pubrel(8);
          publisher.expect(RawClient.PUBCOMP);
          if (connection < 2 && durable) continue;
          publisher.pubrel(7);
          assertThat(publisher.expect(RawClient.PUBCOMP).reason()).isZero();
          publisher.pubrel(7);
          assertThat(publisher.expect(RawClient.PUBCOMP).reason()).isEqualTo(level == 5 ? 0x92 : 0);
          publisher.publish(topic, "with the identifier that is free again", 2, 7, false);
          publisher.expect(RawClient.PUBREC);
        }
      }
      List<Message> messages = subscriber.before("with the identifier that is free again");
      assertThat(messages).filteredOn(message -> !message.text().startsWith("beside")).extracting(Message::text).containsExactly("once");
      assertThat(messages).hasSize(durable ? 4 : 2);
    }
  }

  @ParameterizedTest(name = "PUBREC had come {0}")
  @ValueSource(booleans = {false, true})
  @Tag("pitfall-46")
  @Tag("MQTT-4.3.3-7")
  @Tag("MQTT-4.3.3-13")
  void expiryDoesNotEndAnExchangeThatHasBegun(boolean received) {
    String topic = name();
    Connect connect = Connect.of(name());
    Message first;
    try (var publisher = RawClient.connected(broker, name())) {
      try (var subscriber = RawClient.connected(broker.port(), connect)) {
        subscriber.subscribe(topic, 2);
        byte[] expiry = RawClient.properties(RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(3)));
        publisher.send(RawClient.PUBLISH | 4, topic, RawClient.u16(1), expiry, new byte[] {'x'});
        publisher.expect(RawClient.PUBREC);
        first = subscriber.message();
        if (received) {
          subscriber.pubrec(first.packetId());
          subscriber.expect(RawClient.PUBREL);
        }
        await().pollDelay(Duration.ofMillis(3_200)).until(() -> true);
        assertThat(subscriber.untilPong()).isEmpty();
      }
      publisher.pubrel(1); // the message has expired, and PUBREL is answered all the same
      assertThat(publisher.expect(RawClient.PUBCOMP).reason()).isZero();
    }
    try (var subscriber = RawClient.connected(broker.port(), connect)) {
      if (!received) {
        Message again = subscriber.message();
        assertThat(again.packetId()).isEqualTo(first.packetId());
        assertThat(again.duplicate()).isTrue();
        assertThat(again.numbers(RawClient.MESSAGE_EXPIRY)).containsExactly(0L);
        subscriber.pubrec(again.packetId());
      }
      assertThat(subscriber.expect(RawClient.PUBREL).packetId()).isEqualTo(first.packetId());
      subscriber.pubcomp(first.packetId());
      assertThat(subscriber.untilPong()).isEmpty();
    }
  }

  /** The client has refused the message: it is not resent, also not after a reconnect. */
  @ParameterizedTest
  @ValueSource(ints = {0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99})
  @Tag("pitfall-50")
  @Tag("MQTT-4.3.3-4")
  @Tag("MQTT-4.4.0-2")
  void aMessageThatTheClientRefusesIsNotResent(int reason) {
    String topic = name();
    Connect connect = Connect.of(name()).receiveMaximum(2);
    try (var publisher = RawClient.connected(broker, name())) {
      try (var subscriber = RawClient.connected(broker.port(), connect)) {
        subscriber.subscribe(topic, 2);
        for (int i = 1; i <= 3; i++) publisher.publish(topic, 1 + i % 2, i, "" + i);
        Message first = subscriber.message();
        Message second = subscriber.message();
        subscriber.send(RawClient.PUBREC, RawClient.u16(first.packetId()), reason);
        subscriber.send(RawClient.PUBACK, RawClient.u16(second.packetId()), reason);
        Message third = subscriber.message();
        assertThat(third.text()).isEqualTo("3");
        assertThat(subscriber.untilPong()).isEmpty();
      }
      try (var subscriber = RawClient.connected(broker.port(), connect)) {
        assertThat(subscriber.take().text()).isEqualTo("3");
        subscriber.publishAndWait(topic, "end");
        assertThat(subscriber.before("end")).isEmpty();
      }
    }
  }

  /** A message is resent only on another connection, however long the acknowledgement takes. */
  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  @Tag("pitfall-52")
  @Tag("MQTT-4.4.0-1")
  @Tag("MQTT-4.6.0-1")
  @Tag("MQTT3-4.4.0-1")
  @Tag("MQTT3-4.6.0-1")
  void nothingIsResentWhileTheClientIsConnected(int level) {
    String topic = name();
    byte[] connect = RawClient.connect(level, false, 0, name(), RawClient.properties(RawClient.sessionExpiry(60)));
    try (var publisher = RawClient.connected(broker, name())) {
      try (var subscriber = RawClient.connected(broker.port(), connect)) {
        subscriber.subscribe(topic, 2);
        for (int i = 1; i <= 6; i++) publisher.publish(topic, 1 + i % 2, i, "" + i);
        List<Packet> sent = subscriber.next(6, RawClient.PUBLISH);
        assertThat(sent).extracting(Packet::text).containsExactly("1", "2", "3", "4", "5", "6");
        subscriber.pubrec(sent.getFirst().packetId());
        assertThat(subscriber.expect(RawClient.PUBREL).packetId()).isEqualTo(sent.getFirst().packetId());
        await().pollDelay(Duration.ofMillis(1_500)).until(() -> true);
        assertThat(subscriber.untilPong()).isEmpty();
      }
      try (var subscriber = RawClient.connected(broker.port(), connect)) {
        assertThat(subscriber.expect(RawClient.PUBREL).packetId()).isPositive();
        assertThat(subscriber.next(5, RawClient.PUBLISH)).allMatch(Packet::duplicate).extracting(Packet::text)
            .containsExactly("2", "3", "4", "5", "6");
        assertThat(subscriber.untilPong()).isEmpty();
      }
    }
  }

  private RawClient publisher(int level, boolean durable, String clientId) {
    byte[] properties = RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0));
    return RawClient.connected(broker.port(), RawClient.connect(level, !durable, 0, clientId, properties));
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }
}
