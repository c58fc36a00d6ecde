package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ClientKind.Client;
import dunlin.harness.ClientKind.Message;
import dunlin.harness.ClientKind.Options;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.ClientKind;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Durable sessions that are resumed; MQTT 5, sections 3.1.2.4, 3.1.2.11, 4.1 and 4.4. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SessionResumeIT {
  private static final int NO_MATCHING_SUBSCRIBERS = 0x10;
  private static final int PROTOCOL_ERROR = 0x82;
  private static final int PACKET_IDENTIFIER_NOT_FOUND = 0x92;

  private TestBroker broker;

  SessionResumeIT(@TempDir Path data) {
    broker = TestBroker.on(data);
  }

  @BeforeAll
  void listens() {
    assertThat(broker.port()).isPositive();
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @ParameterizedTest
  @EnumSource
  @Tag("MQTT-3.1.2-5")
  @Tag("MQTT-3.1.2-6")
  @Tag("MQTT-3.2.2-3")
  @Tag("MQTT-4.5.0-1")
  @Tag("MQTT3-3.1.2-4")
  @Tag("MQTT3-3.1.2-5")
  @Tag("MQTT3-3.2.2-2")
  @Tag("MQTT3-3.2.2-3")
  @Tag("MQTT3-4.5.0-1")
  void messagesOfTheAbsenceArriveInOrderAndOnce(ClientKind kind) throws Exception {
    Options options = Options.of(name());
    String topic = "away/" + options.clientId();
    Client before = kind.connect(broker.port(), options, _ -> {});
    assertThat(before.sessionPresent()).isFalse();
    before.subscribe(topic + "/#", 2);
    before.disconnect();

    List<Message> arrived = Collections.synchronizedList(new ArrayList<>());
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      for (int i = 0; i < 100; i++) {
        for (int qos = 0; qos < 3; qos++) publisher.publish(topic + "/" + qos, "" + i, qos, 1 + 3 * i + qos, false);
      }
      for (int i = 0; i < 100; i++) {
        publisher.next(RawClient.PUBACK);
        publisher.next(RawClient.PUBREC);
      }
      Client after = kind.connect(broker.port(), options, arrived::add);
      assertThat(after.sessionPresent()).isTrue();
      publisher.publishAndWait(topic + "/1", "the subscription lives");
      await().atMost(TestBroker.SOON).until(() -> arrived.size() >= 201);
      after.disconnect();
    }

    List<Message> expected = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      expected.add(new Message(topic + "/1", Integer.toString(i), 1));
      expected.add(new Message(topic + "/2", Integer.toString(i), 2));
    }
    expected.add(new Message(topic + "/1", "the subscription lives", 1));
    // One publisher's messages of different QoS may overtake each other: Paho delivers QoS 2 at PUBREL.
    for (int qos = 0; qos < 3; qos++) {
      int wanted = qos;
      assertThat(arrived.stream().filter(each -> each.qos() == wanted))
          .containsExactlyElementsOf(expected.stream().filter(each -> each.qos() == wanted).toList());
    }
  }

  static Stream<Arguments> windows() {
    return Stream.of(ClientKind.PAHO_5, ClientKind.HIVEMQ_5)
        .flatMap(kind -> Stream.of(10, 100).map(receiveMaximum -> Arguments.of(kind, receiveMaximum)));
  }

  @ParameterizedTest
  @MethodSource("windows")
  @Tag("MQTT-3.3.4-9")
  void aLongInboxComesThroughASmallWindow(ClientKind kind, int receiveMaximum) throws Exception {
    Options options = Options.of(name()).receiveMaximum(receiveMaximum);
    Client before = kind.connect(broker.port(), options, _ -> {});
    before.subscribe(options.clientId() + "/1", 1);
    before.subscribe(options.clientId() + "/2", 2);
    before.disconnect();

    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      for (int sent = 0; sent < 3_000; sent += 500) {
        for (int i = sent; i < sent + 500; i++) {
          publisher.publish(options.clientId() + "/" + (1 + i % 2), Integer.toString(i), 1, 1 + i, false);
        }
        publisher.next(500, RawClient.PUBACK);
      }
    }
    List<Message> arrived = Collections.synchronizedList(new ArrayList<>());
    Client after = kind.connect(broker.port(), options, arrived::add);
    await().atMost(TestBroker.SOON).until(() -> arrived.size() >= 3_000);
    after.disconnect();

    assertThat(arrived).extracting(Message::payload).containsExactlyInAnyOrderElementsOf(numbers(0, 3_000));
    for (String topic : List.of("/1", "/2")) {
      assertThat(arrived.stream().filter(each -> each.topic().endsWith(topic)).map(each -> Integer.valueOf(each.payload())))
          .isSorted();
    }
  }

  @ParameterizedTest
  @Tag("pitfall-23")
  @EnumSource
  @Tag("MQTT-3.1.2-4")
  @Tag("MQTT-3.1.4-4")
  @Tag("MQTT-3.2.2-2")
  @Tag("MQTT3-3.1.2-6")
  @Tag("MQTT3-3.1.4-3")
  @Tag("MQTT3-3.2.2-1")
  void cleanStartDropsTheSessionAndItsMessages(ClientKind kind) throws Exception {
    Options options = Options.of(name());
    Client before = kind.connect(broker.port(), options, _ -> {});
    before.subscribe(options.clientId(), 1);
    before.disconnect();
    Client publisher = kind.connect(broker.port(), Options.of(name()).clean(), _ -> {});
    publisher.publish(options.clientId(), "dropped", 1);

    List<Message> arrived = Collections.synchronizedList(new ArrayList<>());
    Client clean = kind.connect(broker.port(), options.clean(), arrived::add);
    assertThat(clean.sessionPresent()).isFalse();
    publisher.publish(options.clientId(), "no subscription", 1);
    clean.subscribe(options.clientId(), 1);
    publisher.publish(options.clientId(), "subscribed again", 1);
    await().atMost(TestBroker.SOON).until(() -> !arrived.isEmpty());
    clean.disconnect();
    publisher.disconnect();

    assertThat(arrived).extracting(Message::payload).containsExactly("subscribed again");
  }

  @Test
  @Tag("pitfall-21")
  @Tag("MQTT-3.1.2-23")
  @Tag("MQTT-4.1.0-2")
  void aSessionEndsWhenItsExpiryHasPassedAndNotBefore() {
    Connect connect = Connect.of(name());
    long begun = System.nanoTime();
    try (var client = RawClient.connected(broker.port(), connect.expiry(1))) {
      client.subscribe(connect.clientId(), 1);
    }
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      await()
          .atMost(TestBroker.SOON)
          .until(() -> publisher.publishAndWait(connect.clientId(), "x") == NO_MATCHING_SUBSCRIBERS);
    }
    // Sessions end by the wall clock, which may be a little faster.
    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(950));
    try (var client = RawClient.connected(broker.port(), connect)) {
      assertThat(client.sessionPresent()).isFalse();
      assertThat(client.untilPong()).isEmpty();
    }
  }

  @Test
  void anExpiredSessionIsNotResumedEvenBeforeItIsRemoved() {
    Connect connect = Connect.of(name());
    RawClient.connected(broker.port(), connect.expiry(1)).disconnect();
    // The session tier removes it a while later; a client that comes earlier must not find it.
    await().pollDelay(Duration.ofMillis(1_050)).until(() -> true);
    try (var client = RawClient.connected(broker.port(), connect)) {
      assertThat(client.sessionPresent()).isFalse();
    }
  }

  @ParameterizedTest(name = "connected with {0} s, disconnected with {1} s, there after 1.2 s: {2}")
  @Tag("pitfall-22")
  @CsvSource({"3600, 0, false", "3600, 1, false", "1, 3600, true"})
  void disconnectChangesTheExpiry(long atConnect, long atDisconnect, boolean present) {
    Connect connect = Connect.of(name());
    var client = RawClient.connected(broker.port(), connect.expiry(atConnect));
    client.disconnect(atDisconnect);

    await().pollDelay(Duration.ofMillis(1_200)).until(() -> true);
    try (var again = RawClient.connected(broker.port(), connect)) {
      assertThat(again.sessionPresent()).isEqualTo(present);
    }
  }

  @Test
  @Tag("pitfall-22")
  void disconnectMayNotGiveAnExpiryToASessionThatHadNone() {
    Connect connect = Connect.of(name());
    var client = RawClient.connected(broker.port(), connect.expiry(0));
    client.sendDisconnect(100);
    assertThat(client.awaitClosed())
        .singleElement()
        .satisfies(
            last -> {
              assertThat(last.type()).isEqualTo(RawClient.DISCONNECT);
              assertThat(last.reason()).isEqualTo(PROTOCOL_ERROR);
            });
    try (var again = RawClient.connected(broker.port(), connect)) {
      assertThat(again.sessionPresent()).isFalse();
    }
  }

  @Test
  @Tag("pitfall-55")
  @Tag("MQTT-3.3.4-9")
  void noMoreThanReceiveMaximumIsUnacknowledged() {
    Connect connect = Connect.of(name()).receiveMaximum(5);
    RawClient.connected(broker.port(), connect.clean()).disconnectAfter(each -> each.subscribe(connect.clientId(), 2));
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      for (int i = 0; i < 10; i++) assertThat(publisher.publishAndWait(connect.clientId(), "one " + i)).isZero();
      for (int i = 1; i <= 10; i++) publisher.publish(connect.clientId(), "two " + i, 2, 1_000 + i, false);
      publisher.next(10, RawClient.PUBREC);
    }

    try (var client = RawClient.connected(broker.port(), connect)) {
      List<Packet> first = client.next(5, RawClient.PUBLISH);
      assertThat(client.untilPong()).as("a sixth").isEmpty();
      // In another order than sent: each makes room for one more.
      for (int i = 4; i >= 0; i--) {
        client.puback(first.get(i).packetId());
        Packet next = client.read();
        assertThat(next.text()).isEqualTo("one " + (9 - i));
        assertThat(client.untilPong()).isEmpty();
        first.set(i, next);
      }
      first.forEach(each -> client.puback(each.packetId()));
      List<Packet> second = client.next(5, RawClient.PUBLISH);
      assertThat(second).extracting(Packet::qos).containsOnly(2);
      Packet one = second.getFirst();
      client.pubrec(one.packetId());
      assertThat(client.next(RawClient.PUBREL).packetId()).isEqualTo(one.packetId());
      assertThat(client.untilPong()).as("PUBREC frees no place").isEmpty();
      client.pubcomp(one.packetId());
      assertThat(client.read().text()).isEqualTo("two 6");
      assertThat(client.untilPong()).isEmpty();
    }
  }

  @Test
  @Tag("pitfall-43")
  @Tag("pitfall-52")
  @Tag("MQTT-3.3.1-1")
  @Tag("MQTT-4.3.2-3")
  @Tag("MQTT-4.3.3-3")
  @Tag("MQTT-4.4.0-1")
  void unacknowledgedMessagesAreResentWithDupAndTheSameIdentifiers() {
    Connect connect = Connect.of(name());
    List<Packet> sent;
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0));
        var client = RawClient.connected(broker.port(), connect)) {
      client.subscribe(connect.clientId() + "/#", 2);
      for (int i = 1; i <= 50; i++) publisher.publish(connect.clientId() + "/" + i % 3, "" + i, 1 + i % 2, i, false);
      sent = client.next(50, RawClient.PUBLISH);
      assertThat(sent).noneMatch(Packet::duplicate);
      for (int i = 10; i < 50; i += 10) {
        Packet done = sent.get(i);
        assertThat(done.qos()).isEqualTo(2);
        client.pubrec(done.packetId());
        client.next(RawClient.PUBREL);
        client.pubcomp(done.packetId());
      }
      client.disconnect(); // the broker has seen DISCONNECT, and sends nothing more here
    }
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      publisher.publishAndWait(connect.clientId() + "/0", "never sent before");
    }
    List<Packet> left = new ArrayList<>();
    for (int i = 0; i < 50; i++) if (i == 0 || i % 10 != 0) left.add(asDuplicate(sent.get(i)));

    for (int round = 0; round < 3; round++) {
      try (var client = RawClient.connected(broker.port(), connect)) {
        assertThat(client.sessionPresent()).isTrue();
        assertThat(client.next(left.size(), RawClient.PUBLISH))
            .as("round %d", round)
            .usingRecursiveFieldByFieldElementComparator()
            .isEqualTo(left);
        Packet last = client.read();
        assertThat(last.text()).isEqualTo("never sent before");
        assertThat(last.duplicate()).isEqualTo(round > 0);
      }
    }
  }

  private static Packet asDuplicate(Packet sent) {
    return new Packet(sent.level(), sent.first() | 8, sent.body());
  }

  @ParameterizedTest
  @Tag("pitfall-49")
  @ValueSource(booleans = {true, false})
  @Tag("MQTT-4.3.3-5")
  @Tag("MQTT-4.3.3-6")
  @Tag("MQTT-4.4.0-1")
  void aReceivedMessageIsReleasedAndNeverPublishedAgain(boolean pubrelSeen) {
    Connect connect = Connect.of(name());
    Packet first;
    Packet second;
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0));
        var client = RawClient.connected(broker.port(), connect)) {
      client.subscribe(connect.clientId(), 2);
      publisher.publish(connect.clientId(), "received", 2, 1, false);
      publisher.publish(connect.clientId(), "not received", 2, 2, false);
      first = client.read();
      second = client.read();
      client.pubrec(first.packetId());
      if (pubrelSeen) client.next(RawClient.PUBREL);
      else client.untilPong(); // the server has read it, whether it has answered or not
    }
    // The server has recorded PUBREC, so it must send PUBREL and never PUBLISH again.
    for (int round = 0; round < 2; round++) {
      try (var client = RawClient.connected(broker.port(), connect)) {
        Packet pubrel = client.read();
        assertThat(pubrel.type()).isEqualTo(RawClient.PUBREL);
        assertThat(pubrel.packetId()).isEqualTo(first.packetId());
        assertThat(client.read()).usingRecursiveComparison().isEqualTo(asDuplicate(second));
        assertThat(client.untilPong()).isEmpty();
      }
    }
    try (var client = RawClient.connected(broker.port(), connect)) {
      client.pubcomp(client.next(RawClient.PUBREL).packetId());
      Packet publish = client.read();
      client.pubrec(publish.packetId());
      client.next(RawClient.PUBREL);
      client.pubcomp(publish.packetId());
      client.disconnect();
    }
    try (var client = RawClient.connected(broker.port(), connect)) {
      assertThat(client.untilPong()).isEmpty();
    }
  }

  /** A client that delivers QoS 2 messages at PUBREL gets them in order only in this way. */
  @Test
  void pubrelsAreInTheOrderOfPubrecs() {
    Connect connect = Connect.of(name());
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0));
        var client = RawClient.connected(broker.port(), connect)) {
      client.subscribe(connect.clientId(), 2);
      for (int round = 0; round < 20; round++) {
        for (int i = 1; i <= 500; i++) publisher.publish(connect.clientId(), "" + i, 2, i, false);
        publisher.next(500, RawClient.PUBREC);
        for (int i = 1; i <= 500; i++) publisher.pubrel(i);
        publisher.next(500, RawClient.PUBCOMP);
        List<Integer> sent = client.next(500, RawClient.PUBLISH).stream().map(Packet::packetId).toList();
        sent.forEach(client::pubrec);
        assertThat(client.next(500, RawClient.PUBREL)).extracting(Packet::packetId).isEqualTo(sent);
        sent.forEach(client::pubcomp);
      }
    }
  }

  @Test
  @Tag("pitfall-47")
  @Tag("pitfall-51")
  @Tag("MQTT-4.3.3-10")
  @Tag("MQTT-4.3.3-11")
  @Tag("MQTT-4.3.3-12")
  void aPublishersExchangeIsResumed() {
    Connect connect = Connect.of(name());
    try (var subscriber = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      subscriber.subscribe(connect.clientId(), 0);
      try (var publisher = RawClient.connected(broker.port(), connect)) {
        publisher.publish(connect.clientId(), "first", 2, 7, false);
        publisher.next(RawClient.PUBREC);
      }
      try (var publisher = RawClient.connected(broker.port(), connect)) {
        assertThat(publisher.sessionPresent()).isTrue();
        publisher.publish(connect.clientId(), "first", 2, 7, true);
        publisher.next(RawClient.PUBREC);
        publisher.pubrel(7);
        assertThat(publisher.next(RawClient.PUBCOMP).reason()).isZero();
        publisher.publish(connect.clientId(), "second", 2, 7, false);
        publisher.next(RawClient.PUBREC);
      }
      try (var publisher = RawClient.connected(broker.port(), connect)) {
        publisher.pubrel(7);
        assertThat(publisher.next(RawClient.PUBCOMP).reason()).isZero();
        publisher.pubrel(7);
        assertThat(publisher.next(RawClient.PUBCOMP).reason()).isEqualTo(PACKET_IDENTIFIER_NOT_FOUND);
      }
      assertThat(subscriber.next(2, RawClient.PUBLISH)).extracting(Packet::text).containsExactly("first", "second");
      assertThat(subscriber.untilPong()).isEmpty();
    }
  }

  @Test
  void aSessionResumedWithoutExpiryHasItsInboxAndEndsWithTheConnection() {
    Connect connect = Connect.of(name());
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      RawClient.connected(broker.port(), connect).disconnectAfter(each -> each.subscribe(connect.clientId(), 1));
      publisher.publishAndWait(connect.clientId(), "waited");
      try (var client = RawClient.connected(broker.port(), connect.expiry(0))) {
        assertThat(client.sessionPresent()).isTrue();
        assertThat(client.read().text()).isEqualTo("waited");
        publisher.publishAndWait(connect.clientId(), "live");
        assertThat(client.read().text()).isEqualTo("live");
      }
      await()
          .atMost(TestBroker.SOON)
          .until(() -> publisher.publishAndWait(connect.clientId(), "too late") == NO_MATCHING_SUBSCRIBERS);
      try (var client = RawClient.connected(broker.port(), connect)) {
        assertThat(client.sessionPresent()).isFalse();
        assertThat(client.untilPong()).isEmpty();
      }
    }
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }

  private static List<String> numbers(int from, int to) {
    return IntStream.range(from, to).mapToObj(Integer::toString).toList();
  }
}
