package dunlin.publishing;

import static dunlin.harness.RawClient.CONTENT_TYPE;
import static dunlin.harness.RawClient.CORRELATION_DATA;
import static dunlin.harness.RawClient.DISCONNECT;
import static dunlin.harness.RawClient.MESSAGE_EXPIRY;
import static dunlin.harness.RawClient.noProperties;
import static dunlin.harness.RawClient.PAYLOAD_FORMAT;
import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBCOMP;
import static dunlin.harness.RawClient.PUBLISH;
import static dunlin.harness.RawClient.PUBREC;
import static dunlin.harness.RawClient.PUBREL;
import static dunlin.harness.RawClient.RESPONSE_TOPIC;
import static dunlin.harness.RawClient.USER_PROPERTY;
import static dunlin.harness.RawClient.bytes;
import static dunlin.harness.RawClient.connect;
import static dunlin.harness.RawClient.connected;
import static dunlin.harness.RawClient.connected3;
import static dunlin.harness.RawClient.properties;
import static dunlin.harness.RawClient.sessionExpiry;
import static dunlin.harness.RawClient.u16;
import static dunlin.harness.RawClient.u32;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Message;
import dunlin.harness.ServerRules.Property;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The way of a message in and out; MQTT 5, sections 3.3 and 4.3 to 4.6.
 *
 * <p>Long, since it is one table of conversations against one broker that all of them share, a group of statements each.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MessageIT {
  private static final int DUP = 0x08;

  private final TestBroker broker;

  MessageIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  /** The receiver's half of the three protocols. */
  @ParameterizedTest(name = "MQTT level {0}, durable session {1}")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("MQTT-2.2.1-5")
  @Tag("MQTT-3.3.4-1")
  @Tag("MQTT-4.3.2-4")
  @Tag("MQTT-4.3.2-5")
  @Tag("MQTT-4.3.3-8")
  @Tag("MQTT-4.3.3-10")
  @Tag("MQTT-4.3.3-11")
  @Tag("MQTT-4.3.3-12")
  @Tag("MQTT3-2.3.1-6")
  @Tag("MQTT3-3.3.4-1")
  @Tag("MQTT3-4.3.2-2")
  @Tag("MQTT3-4.3.3-2")
  void aPublishIsAnsweredAsItsQosAsks(int level, boolean durable) {
    String topic = id();
    try (RawClient subscriber = connected(broker, id());
        RawClient client = client(level, durable, id())) {
      subscriber.subscribe(topic, 2);
      client.publish(topic, 0, 0, "zero");
      client.ping();

      client.publish(topic, 1, 0xABCD, "one");
      assertThat(client.expect(PUBACK).packetId()).isEqualTo(0xABCD);
      send(client, level, DUP, topic, 1, 0xABCD, "another with the same identifier");
      assertThat(client.expect(PUBACK).packetId()).isEqualTo(0xABCD);

      client.publish(topic, 2, 0xFFFF, "two");
      assertThat(client.expect(PUBREC).packetId()).isEqualTo(0xFFFF);
      for (int i = 0; i < 3; i++) {
        send(client, level, DUP, topic, 2, 0xFFFF, "two");
        assertThat(client.expect(PUBREC).packetId()).isEqualTo(0xFFFF);
      }
      client.send(PUBREL, u16(0xFFFF));
      assertThat(client.expect(PUBCOMP).packetId()).isEqualTo(0xFFFF);
      send(client, level, DUP, topic, 2, 0xFFFF, "a new one");
      assertThat(client.expect(PUBREC).packetId()).isEqualTo(0xFFFF);
      client.send(PUBREL, u16(0xFFFF));
      assertThat(client.expect(PUBCOMP).packetId()).isEqualTo(0xFFFF);

      client.publish(topic, 1, 1, "end");
      assertThat(subscriber.before("end"))
          .extracting(Message::text)
          .containsExactlyInAnyOrder("zero", "one", "another with the same identifier", "two", "a new one");
    }
  }

  /** The sender's half of the three protocols. The publisher sets DUP, which must not be passed on to the subscriber. */
  @ParameterizedTest(name = "MQTT level {0}, durable session {1}")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("MQTT-2.2.1-2")
  @Tag("MQTT-2.2.1-4")
  @Tag("MQTT-3.3.1-2")
  @Tag("MQTT-3.3.1-3")
  @Tag("MQTT-4.3.1-1")
  @Tag("MQTT-4.3.2-1")
  @Tag("MQTT-4.3.2-2")
  @Tag("MQTT-4.3.3-1")
  @Tag("MQTT-4.3.3-2")
  @Tag("MQTT-4.3.3-4")
  @Tag("MQTT3-2.3.1-4")
  @Tag("MQTT3-2.3.1-5")
  @Tag("MQTT3-3.3.1-2")
  @Tag("MQTT3-3.3.1-3")
  @Tag("MQTT3-4.3.1-1")
  @Tag("MQTT3-4.3.2-1")
  @Tag("MQTT3-4.3.3-1")
  void aMessageIsSentAsItsQosAsks(int level, boolean durable) {
    String topic = id();
    try (RawClient subscriber = client(level, durable, id());
        RawClient publisher = connected(broker, id())) {
      subscriber.subscribe(topic, 2);
      publisher.publish(topic, 0, 0, "zero");
      Message zero = subscriber.message();
      // A packet identifier would appear as the beginning of the payload.
      assertThat(zero.first()).isEqualTo(PUBLISH);
      assertThat(zero.text()).isEqualTo("zero");

      List<Message> inFlight = new ArrayList<>();
      for (int i = 1; i <= 20; i++) {
        send(publisher, 5, DUP, topic, 1 + i % 2, i, Integer.toString(i));
        publisher.expect(i % 2 == 0 ? PUBACK : PUBREC);
        Message message = subscriber.message();
        assertThat(message.duplicate()).as("DUP").isFalse();
        assertThat(message.qos()).isEqualTo(1 + i % 2);
        inFlight.add(message);
      }
      assertThat(inFlight).extracting(Message::packetId).doesNotHaveDuplicates().doesNotContain(0);
      for (Message message : inFlight) {
        if (message.qos() == 1) {
          subscriber.send(PUBACK, u16(message.packetId()));
        } else {
          subscriber.send(PUBREC, u16(message.packetId()));
          assertThat(subscriber.expect(PUBREL).packetId()).isEqualTo(message.packetId());
          subscriber.send(PUBCOMP, u16(message.packetId()));
        }
      }
      subscriber.ping(); // nothing is resent while the connection lasts
    }
  }

  @Test
  @Tag("MQTT3-2.3.1-4")
  @Tag("MQTT3-3.3.1-1")
  @Tag("MQTT3-4.3.2-1")
  @Tag("MQTT3-4.3.3-1")
  @Tag("MQTT3-4.4.0-1")
  @Tag("MQTT3-4.6.0-6")
  void aClientOfMqtt3GetsUnacknowledgedMessagesAgainInOrder() {
    String clientId = id();
    List<Message> sent = new ArrayList<>();
    try (RawClient subscriber = client(4, true, clientId);
        RawClient publisher = connected(broker, id())) {
      subscriber.subscribe(clientId, 2);
      for (int i = 1; i <= 9; i++) {
        publisher.publish(clientId, 1 + i % 2, i, Integer.toString(i));
        publisher.expect(i % 2 == 0 ? PUBACK : PUBREC);
        sent.add(subscriber.message());
      }
      // The first exchange has PUBREC only; the second is complete.
      subscriber.send(PUBREC, u16(sent.get(0).packetId()));
      assertThat(subscriber.expect(PUBREL).packetId()).isEqualTo(sent.get(0).packetId());
      subscriber.send(PUBACK, u16(sent.get(1).packetId()));
      subscriber.ping();
    }
    try (RawClient subscriber = client(4, true, clientId)) {
      assertThat(subscriber.expect(PUBREL).packetId()).isEqualTo(sent.get(0).packetId());
      for (Message before : sent.subList(2, sent.size())) {
        Message again = subscriber.message();
        assertThat(again.text()).isEqualTo(before.text());
        assertThat(again.packetId()).isEqualTo(before.packetId());
        assertThat(again.qos()).isEqualTo(before.qos());
        assertThat(again.duplicate()).isTrue();
      }
      subscriber.ping();
    }
  }

  /** A client that delivers QoS 2 messages at PUBREL gets them in order only in this way. */
  @Test
  @Tag("MQTT3-4.6.0-6")
  void pubrelsToAClientOfMqtt3AreInTheOrderOfItsPubrecs() {
    for (boolean durable : new boolean[] {false, true}) {
      String topic = id();
      try (RawClient subscriber = client(4, durable, id());
          RawClient publisher = connected(broker, id())) {
        subscriber.subscribe(topic, 2);
        List<Integer> packets = new ArrayList<>();
        for (int i = 1; i <= 200; i++) {
          publisher.publish(topic, 2, i, "x");
          publisher.expect(PUBREC);
          packets.add(subscriber.message().packetId());
        }
        for (int packet : packets.reversed()) subscriber.send(PUBREC, u16(packet));
        for (int packet : packets.reversed()) assertThat(subscriber.expect(PUBREL).packetId()).isEqualTo(packet);
      }
    }
  }

  /** Live, from the inbox, and as a retained message. */
  @Test
  @Tag("MQTT-3.1.2-27")
  @Tag("MQTT-3.3.2-4")
  @Tag("MQTT-3.3.2-15")
  @Tag("MQTT-3.3.2-16")
  @Tag("MQTT-3.3.2-17")
  @Tag("MQTT-3.3.2-18")
  @Tag("MQTT-3.3.2-20")
  void propertiesReachSubscribersAsTheyWere() {
    String topic = id();
    String away = id();
    byte[][] all = {
      bytes(USER_PROPERTY, "z", "1"),
      bytes(PAYLOAD_FORMAT, 1),
      bytes(RESPONSE_TOPIC, "answers/\u00e4"),
      bytes(USER_PROPERTY, "a", ""),
      bytes(CORRELATION_DATA, u16(4), new byte[] {0, (byte) 0xFF, 1, 0}),
      bytes(CONTENT_TYPE, "text/plain; charset=\u6f22"),
      bytes(USER_PROPERTY, "z", "1"),
      bytes(USER_PROPERTY, "", "\uFEFF")
    };
    try (RawClient live = connected(broker, id());
        RawClient publisher = connected(broker, id());
        RawClient later = connected(broker, id())) {
      live.subscribe(topic, 1);
      try (RawClient leaving = client(5, true, away)) {
        leaving.subscribe(topic, 1);
      }
      publisher.send(PUBLISH | 2 | 1, topic, u16(1), properties(all), new byte[] {'x'});
      publisher.expect(PUBACK);
      later.subscribe(topic, 1);
      try (RawClient back = client(5, true, away)) {
        List<Property> expected = live.take().propertyList();
        assertThat(expected).extracting(Property::id)
            .containsExactlyInAnyOrder(
                USER_PROPERTY, PAYLOAD_FORMAT, RESPONSE_TOPIC, USER_PROPERTY, CORRELATION_DATA, CONTENT_TYPE, USER_PROPERTY,
                USER_PROPERTY);
        assertThat(expected).contains(
            new Property(PAYLOAD_FORMAT, 1, ""),
            new Property(RESPONSE_TOPIC, 0, "answers/\u00e4"),
            new Property(CONTENT_TYPE, 0, "text/plain; charset=\u6f22"));
        assertThat(expected).filteredOn(each -> each.id() == USER_PROPERTY).extracting(Property::text)
            .containsExactly("z=1", "a=", "z=1", "=\uFEFF");
        for (Message message : List.of(back.message(), later.message())) {
          assertThat(message.propertyList()).isEqualTo(expected);
          // As bytes, since correlation data is not text.
          assertThat(hex(message.properties())).contains(hex(all[4]));
        }
      }
    }
  }

  /** Once PUBLISH was sent or received, the QoS 2 exchange continues even if the message expires. */
  @Test
  @Tag("MQTT-4.3.3-7")
  @Tag("MQTT-4.3.3-13")
  void anExchangeOutlivesTheExpiryOfItsMessage() {
    String clientId = id();
    Message sent;
    try (RawClient subscriber = client(5, true, clientId);
        RawClient publisher = connected(broker, id())) {
      subscriber.subscribe(clientId, 2);
      publisher.send(PUBLISH | 4, clientId, u16(9), properties(bytes(MESSAGE_EXPIRY, u32(3))), new byte[] {'x'});
      publisher.expect(PUBREC);
      sent = subscriber.message();
      await().pollDelay(Duration.ofMillis(3_200)).until(() -> true);

      publisher.send(PUBREL, u16(9));
      assertThat(publisher.expect(PUBCOMP).reason()).isZero();
    }
    try (RawClient subscriber = client(5, true, clientId)) {
      Message again = subscriber.message();
      assertThat(again.packetId()).isEqualTo(sent.packetId());
      assertThat(again.duplicate()).isTrue();
      subscriber.send(PUBREC, u16(again.packetId()));
      assertThat(subscriber.expect(PUBREL).packetId()).isEqualTo(sent.packetId());
      subscriber.send(PUBCOMP, u16(again.packetId()));
      subscriber.ping();
    }
  }

  /**
   * A broker with little room refuses messages in MQTT 5. In MQTT 3 a full inbox closes the connection, and a stuck
   * group does not get its copy.
   */
  @Test
  @Tag("MQTT-4.3.3-9")
  @Tag("MQTT3-4.8.0-2")
  void aRefusedMessageMayBeResent(@TempDir Path data) {
    try (TestBroker small =
            TestBroker.on(
                data,
                Map.of(
                    "dunlin.session.queue-messages-max", "10",
                    "dunlin.shared.wait", "300ms",
                    "dunlin.inbox.messages-max", "1",
                    "dunlin.inbox.overflow", "reject"));
        RawClient full = connected(small, "full", RawClient.receiveMaximum(1));
        RawClient publisher = connected(small, "5");
        RawClient old = connected3(small, "4")) {
      full.subscribe("$share/g/t", 2);
      for (int i = 1; i <= 11; i++) {
        publisher.publish("t", 1, i, Integer.toString(i));
        assertThat(publisher.expect(PUBACK).reason()).isZero();
      }
      publisher.publish("t", 2, 77, "refused");
      assertThat(publisher.expect(PUBREC).reason()).isEqualTo(0x97);
      old.publish("t", 1, 1, "dropped");
      assertThat(old.expect(PUBACK).packetId()).isEqualTo(1);

      try (RawClient durable = connected(small, "durable", RawClient.sessionExpiry(60))) {
        durable.subscribe("inbox", 1);
      }
      old.publish("inbox", 1, 2, "taken");
      assertThat(old.expect(PUBACK).packetId()).isEqualTo(2);
      old.publish("inbox", 1, 3, "refused, too");
      old.expectClosed();

      for (int i = 1; i <= 11; i++) assertThat(full.take().text()).isEqualTo(Integer.toString(i));
      publisher.publish("t", 2, 77, "new");
      assertThat(publisher.expect(PUBREC).reason()).isZero();
      publisher.send(PUBREL, u16(77));
      assertThat(publisher.expect(PUBCOMP).reason()).isZero();
      assertThat(full.take().text()).isEqualTo("new");
    }
  }

  /**
   * A client of MQTT 3 resends a refused message and all later ones. Those already in flight must not be stored before
   * it.
   */
  @Test
  @Tag("MQTT3-4.6.0-6")
  void nothingIsStoredAfterARefusedMessage(@TempDir Path data) {
    try (TestBroker small = TestBroker.on(data, Map.of("dunlin.inbox.bytes-max", "2048", "dunlin.inbox.overflow", "reject"))) {
      try (RawClient durable = RawClient.connected(small.port(), RawClient.Connect.of("durable"))) {
        durable.subscribe("t", 1);
      }
      try (RawClient old = connected3(small, "old")) {
        byte[] first = RawClient.publishing(4, "t", 1, 1, "first");
        byte[] refused = RawClient.publishing(4, "t", 1, 2, "x".repeat(3_000));
        byte[] behind = RawClient.publishing(4, "t", 1, 3, "behind it");
        old.sendBehind(RawClient.bytes(first, refused), behind, Integer.MAX_VALUE);
        assertThat(old.expect(PUBACK).packetId()).isEqualTo(1);
        old.expectClosed();
      }
      try (RawClient old = connected3(small, "old")) {
        old.publish("t", 1, 3, "later");
        assertThat(old.expect(PUBACK).packetId()).isEqualTo(3);
      }
      try (RawClient durable = RawClient.connected(small.port(), RawClient.Connect.of("durable"))) {
        assertThat(durable.take().text()).isEqualTo("first");
        assertThat(durable.take().text()).as("not what came behind the one that was refused").isEqualTo("later");
      }
    }
  }

  @Test
  @Tag("MQTT3-3.1.2-7")
  @Tag("MQTT3-3.3.1-5")
  @Tag("MQTT3-3.3.1-6")
  @Tag("MQTT3-3.3.1-7")
  @Tag("MQTT3-3.3.1-8")
  @Tag("MQTT3-3.3.1-9")
  @Tag("MQTT3-3.3.1-10")
  @Tag("MQTT3-3.3.1-12")
  void retainedMessagesOfMqtt3OutliveTheSessionOfTheirPublisher() {
    String root = id();
    try (RawClient live = connected3(broker, id());
        RawClient before = connected3(broker, id())) {
      retain(before, root + "/retained/before", 1, "before");
      live.subscribe(root + "/#", 2);
      // From here on retained messages are not read any more: one that changed during that would come live, and again
      // as retained.
      assertThat(live.take().text()).isEqualTo("before");
      try (RawClient publisher = connected3(broker, id())) {
        for (int qos = 0; qos <= 2; qos++) {
          retain(publisher, root + "/" + qos, 2, "older");
          retain(publisher, root + "/" + qos, qos, "kept with QoS " + qos);
        }
        retain(publisher, root + "/gone", 1, "gone");
        retain(publisher, root + "/gone", 1, "");
        publisher.publish(root + "/0", 1, 1, "not retained");
        publisher.expect(PUBACK);
        publisher.send(DISCONNECT);
        publisher.expectClosed();
      }
      List<Message> passed = live.before("not retained");
      assertThat(passed).extracting(Message::text)
          .containsExactlyInAnyOrder(
              "older", "older", "older", "kept with QoS 0", "kept with QoS 1", "kept with QoS 2", "gone", "");
      assertThat(passed).noneMatch(Message::retain);
    }
    await()
        .atMost(TestBroker.SOON)
        .untilAsserted( // QoS 0 has no acknowledgement of being stored
            () -> {
              try (RawClient subscriber = connected3(broker, id())) {
                subscriber.subscribe(root + "/+", 2);
                List<Message> kept = List.of(subscriber.take(), subscriber.take(), subscriber.take());
                assertThat(kept).allMatch(Message::retain);
                assertThat(kept).extracting(message -> message.text() + message.qos())
                    .containsExactlyInAnyOrder("kept with QoS 00", "kept with QoS 11", "kept with QoS 22");
                subscriber.publish(root + "/end", 0, 0, "end");
                assertThat(subscriber.before("end")).isEmpty();
              }
            });
  }

  private static void retain(RawClient publisher, String topic, int qos, String payload) {
    send(publisher, 4, 1, topic, qos, 5, payload);
    if (qos == 1) publisher.expect(PUBACK);
    if (qos < 2) return;
    publisher.expect(PUBREC);
    publisher.send(PUBREL, u16(5));
    publisher.expect(PUBCOMP);
  }

  /** Sends a PUBLISH with additional flags. */
  private static void send(RawClient client, int level, int flags, String topic, int qos, int packetId, String payload) {
    byte[] packet = RawClient.publishing(level, topic, qos, packetId, payload);
    packet[0] |= (byte) flags;
    client.send(packet);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  @Tag("MQTT-4.8.2-6")
  void aMessageThatAMemberRefusesGoesToNoOther(int qos) {
    String topic = id();
    try (RawClient refusing = connected(broker, id());
        RawClient other = connected(broker, id());
        RawClient publisher = connected(broker, id())) {
      refusing.subscribe("$share/g/" + topic, qos);
      publisher.publish(topic, qos, 1, "refused");
      publisher.expect(qos == 1 ? PUBACK : PUBREC);
      Message refused = refusing.message();
      other.subscribe("$share/g/" + topic, qos);
      refusing.send(qos == 1 ? PUBACK : PUBREC, u16(refused.packetId()), 0x83);
      refusing.send(DISCONNECT);
      refusing.expectClosed();

      publisher.publish(topic, 1, 2, "end");
      assertThat(other.before("end")).isEmpty();
    }
  }

  @Test
  @Tag("MQTT-4.8.2-3")
  void eachMemberOfAGroupGetsMessagesWithTheQosItWasGranted() {
    String topic = id();
    try (RawClient publisher = connected(broker, id())) {
      for (int granted = 0; granted <= 2; granted++) {
        try (RawClient member = connected(broker, id())) {
          member.subscribe("$share/g/" + topic, granted);
          for (int qos = 0; qos <= 2; qos++) {
            publisher.publish(topic, qos, 9, "x");
            if (qos > 0) publisher.expect(qos == 1 ? PUBACK : PUBREC);
            if (qos == 2) {
              publisher.send(PUBREL, u16(9));
              publisher.expect(PUBCOMP);
            }
            assertThat(member.take().qos()).isEqualTo(Math.min(qos, granted));
          }
          member.send(RawClient.UNSUBSCRIBE, u16(1), noProperties(), "$share/g/" + topic);
          while (member.read().type() != RawClient.UNSUBACK) {} // the last acknowledgement may come before it
        }
      }
    }
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private RawClient client(int level, boolean durable, String clientId) {
    RawClient client = new RawClient(broker.port());
    client.connect(connect(level, !durable, 0, clientId, properties(sessionExpiry(durable ? 60 : 0))));
    return client;
  }

  private static String id() {
    return UUID.randomUUID().toString();
  }
}
