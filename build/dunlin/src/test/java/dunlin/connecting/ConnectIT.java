package dunlin.connecting;

import static dunlin.harness.RawClient.CONNACK;
import static dunlin.harness.RawClient.DISCONNECT;
import static dunlin.harness.RawClient.noProperties;
import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBCOMP;
import static dunlin.harness.RawClient.PUBREC;
import static dunlin.harness.RawClient.PUBREL;
import static dunlin.harness.RawClient.SUBACK;
import static dunlin.harness.RawClient.SUBSCRIBE;
import static dunlin.harness.RawClient.UNSUBACK;
import static dunlin.harness.RawClient.UNSUBSCRIBE;
import static dunlin.harness.RawClient.bytes;
import static dunlin.harness.RawClient.connect;
import static dunlin.harness.RawClient.connected;
import static dunlin.harness.RawClient.packet;
import static dunlin.harness.RawClient.properties;
import static dunlin.harness.RawClient.publishing;
import static dunlin.harness.RawClient.sessionExpiry;
import static dunlin.harness.RawClient.u16;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
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
 * CONNECT, CONNACK, PINGREQ and DISCONNECT; MQTT 5, sections 3.1, 3.2, 3.12 and 3.14.
 *
 * <p>The class is long: a table of conversations with one shared broker, each for a group of statements.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConnectIT {
  private static final int CLEAN = 0x02;
  private static final int WILL = 0x04;
  private static final int RETAIN = 0x20;
  private static final String ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

  private final TestBroker broker;

  ConnectIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  /** Also when a resumed session has many waiting messages. */
  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {4, 5})
  @Tag("MQTT-3.1.4-5")
  @Tag("MQTT-3.2.0-1")
  @Tag("MQTT-3.2.0-2")
  @Tag("MQTT-3.2.2-1")
  @Tag("MQTT3-3.1.4-4")
  @Tag("MQTT3-3.2.0-1")
  void aConnackOfSuccessComesFirstAndOnce(int level) {
    String clientId = id();
    try (RawClient before = durable(level, clientId)) {
      before.subscribe(clientId, 1);
      before.send(DISCONNECT);
      before.expectClosed();
    }
    try (RawClient publisher = connected(broker, id());
        RawClient after = new RawClient(broker.port())) {
      for (int i = 1; i <= 100; i++) {
        publisher.publish(clientId, 1, i, Integer.toString(i));
        publisher.expect(PUBACK);
      }
      after.connect(durableConnect(level, clientId)); // fails when another packet comes first, or another code
      for (int i = 1; i <= 100; i++) assertThat(after.take().text()).isEqualTo(Integer.toString(i));
      after.ping();
    }
    try (RawClient client = new RawClient(broker.port())) {
      Packet connack = client.connect(durableConnect(level, clientId));
      assertThat(connack.first()).isEqualTo(CONNACK);
      assertThat(connack.at(0)).as("flags").isEqualTo(1);
    }
  }

  @Test
  @Tag("MQTT-3.1.4-1")
  @Tag("MQTT-3.2.2-6")
  @Tag("MQTT-3.2.2-7")
  @Tag("MQTT-3.2.2-8")
  @Tag("MQTT3-3.1.4-1")
  @Tag("MQTT3-3.2.2-6")
  void aConnectOfTheWrongFormEndsTheConnection() {
    // There is a session, which no refusal may mention.
    String clientId = id();
    durable(5, clientId).close();
    byte[] cut = {0, 5, 't'};
    List<byte[]> wrong =
        List.of(
            connect(5, CLEAN | 1, 0, noProperties(), clientId),
            connect(5, WILL | 0x18, 0, noProperties(), clientId, noProperties(), "t", ""),
            connect(5, RETAIN, 0, noProperties(), clientId),
            connect(5, WILL, 0, noProperties(), clientId, noProperties(), cut),
            connect(5, 0x80, 0, noProperties(), clientId),
            connect(5, 0, 0, noProperties(), clientId, "a user that no flag announces"),
            connect(5, 0, 0, new byte[] {9}, clientId));
    for (byte[] packet : wrong) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(packet);
        Packet connack = client.expect(CONNACK);
        assertThat(connack.at(0)).as("Session Present").isZero();
        assertThat(connack.at(1)).isEqualTo(0x81);
        client.expectClosed();
      }
    }
    for (int flags : new int[] {CLEAN | 1, CLEAN | WILL | 0x18, CLEAN | RETAIN, CLEAN | 0x80, CLEAN | 0x40}) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(connect(4, flags, 0, noProperties(), clientId));
        client.expectClosed();
      }
    }
  }

  @Test
  @Tag("MQTT-3.1.4-2")
  @Tag("MQTT-3.1.4-6")
  @Tag("MQTT-3.2.2-7")
  void packetsAfterARefusedConnectHaveNoEffect() {
    String topic = id();
    try (RawClient watcher = connected(broker, id());
        RawClient refused = new RawClient(broker.port())) {
      watcher.subscribe(topic, 1);
      refused.send(
          bytes(
              connect(5, true, 0, id(), properties(bytes(0x15, "no method of ours"))),
              publishing(5, topic, 0, 0, "must not arrive"),
              publishing(5, topic, 1, 1, "must not arrive either"),
              packet(SUBSCRIBE, u16(2), noProperties(), topic, 1)));
      assertThat(refused.expect(CONNACK).at(1)).isEqualTo(0x8C);
      refused.expectClosed();

      watcher.publish(topic, 1, 1, "end");
      assertThat(watcher.before("end")).isEmpty();
    }
  }

  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {3, 4, 5})
  @Tag("MQTT-3.1.3-5")
  @Tag("MQTT3-3.1.3-5")
  void identifiersOfUpTo23DigitsAndLettersAreAccepted(int level) {
    for (int length : new int[] {1, 8, 22, 23}) {
      for (int at = 0; at < ALPHABET.length(); at += length) {
        String clientId = ALPHABET.substring(at, Math.min(ALPHABET.length(), at + length));
        try (RawClient client = new RawClient(broker.port())) {
          client.connect(connect(level, true, 0, clientId, noProperties()));
          client.ping();
        }
      }
    }
  }

  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {4, 5})
  @Tag("MQTT-3.1.3-2")
  @Tag("MQTT3-3.1.3-2")
  void aSessionIsFoundByItsClientIdentifierAndNothingElse(int level) {
    String root = id();
    List<String> names = List.of(root, root.toUpperCase(Locale.ROOT), root + " ", root + "\u00e4", root + "a\u0308");
    for (String name : names) {
      try (RawClient client = durable(level, name)) {
        client.subscribe(root + "/" + name, 1);
      }
    }
    try (RawClient publisher = connected(broker, id())) {
      for (String name : names) {
        publisher.publish(root + "/" + name, 1, 1, name);
        publisher.expect(PUBACK);
      }
    }
    for (String name : names) {
      try (RawClient client = new RawClient(broker.port())) {
        assertThat(client.connect(durableConnect(level, name)).at(0)).as("Session Present").isEqualTo(1);
        assertThat(client.take().text()).isEqualTo(name);
        client.ping();
      }
    }
  }

  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {3, 4, 5})
  @Tag("MQTT-3.12.4-1")
  @Tag("MQTT3-3.12.4-1")
  void everyPingreqIsAnswered(int level) {
    try (RawClient client = new RawClient(broker.port())) {
      client.connect(connect(level, true, 0, "pings", noProperties()));
      client.send(bytes(packet(RawClient.PINGREQ), packet(RawClient.PINGREQ)));
      for (int i = 0; i < 2; i++) {
        Packet pingresp = client.expect(RawClient.PINGRESP);
        assertThat(pingresp.first()).isEqualTo(0xD0);
        assertThat(pingresp.body()).isEmpty();
      }
    }
  }

  /** Neither the time of its expiry nor the end of another session affects a connected session. */
  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {4, 5})
  @Tag("MQTT-4.1.0-1")
  @Tag("MQTT3-4.1.0-1")
  @Tag("MQTT3-4.1.0-2")
  void sessionStateLastsAsLongAsItsConnection(int level) {
    for (int expiry = 0; expiry < 2; expiry++) {
      String clientId = id();
      try (RawClient client = new RawClient(broker.port());
          RawClient publisher = connected(broker, id())) {
        client.connect(connect(level, true, 0, clientId, properties(sessionExpiry(expiry))));
        client.subscribe(clientId, 2);
        client.publish("nobody's", 2, 7, "begun");
        client.expect(PUBREC);
        publisher.publish(clientId, 1, 1, "unacknowledged");
        publisher.expect(PUBACK);
        Message unacknowledged = client.message();
        await().pollDelay(Duration.ofMillis(1_500)).until(() -> true);

        client.send(PUBREL, u16(7));
        assertThat(client.expect(PUBCOMP).reason()).isZero();
        client.send(PUBACK, u16(unacknowledged.packetId()));
        publisher.publish(clientId, 2, 2, "still subscribed");
        assertThat(client.take().text()).isEqualTo("still subscribed");
      }
    }
  }

  /** A client that asks for no problem information gets no reason strings in acknowledgements. */
  @Test
  @Tag("MQTT-3.1.2-29")
  void problemInformationIsLeftOutWhereTheClientDoesNotWantIt() {
    try (RawClient client = connected(broker, id(), bytes(0x17, 0))) {
      client.send(SUBSCRIBE, u16(1), noProperties(), "a+", 0, "$share/g", 1);
      assertThat(client.expect(SUBACK).body()).containsExactly(0, 1, 0, 0x8F, 0x8F);
      client.send(UNSUBSCRIBE, u16(2), noProperties(), "a+", "none");
      assertThat(client.expect(UNSUBACK).body()).containsExactly(0, 2, 0, 0x8F, 0x11);
      client.publish(id(), 1, 3, "nobody's");
      assertThat(client.expect(PUBACK).body()).containsExactly(0, 3, 0x10);
      client.publish(id(), 2, 4, "nobody's");
      assertThat(client.expect(PUBREC).body()).containsExactly(0, 4, 0x10);
      client.send(PUBREL, u16(5));
      assertThat(client.expect(PUBCOMP).body()).containsExactly(0, 5, 0x92);
      client.send(PUBREC, u16(6));
      assertThat(client.expect(PUBREL).body()).containsExactly(0, 6, 0x92);
    }
  }

  @Test
  @Tag("MQTT-3.14.2-2")
  void theServersDisconnectHasNoSessionExpiry() {
    String clientId = id();
    try (RawClient old = durable(5, clientId);
        RawClient next = durable(5, clientId)) {
      assertNoExpiry(old.expect(DISCONNECT), 0x8E);
      next.send(RawClient.PUBLISH, "t/#", noProperties());
      assertNoExpiry(next.expect(DISCONNECT), 0x90);
    }
    try (RawClient client = durable(5, clientId)) {
      client.send(SUBSCRIBE, u16(0), noProperties(), "t", 0);
      assertNoExpiry(client.expect(DISCONNECT), 0x82);
    }
    try (RawClient client = connected(broker, clientId)) {
      client.send(DISCONNECT, 0, properties(sessionExpiry(60)));
      assertNoExpiry(client.expect(DISCONNECT), 0x82);
    }
  }

  private static void assertNoExpiry(Packet disconnect, int reason) {
    assertThat(disconnect.reason()).isEqualTo(reason);
    byte[] body = disconnect.body();
    int at = 2;
    if (body.length > 1) assertThat(disconnect.at(1)).as("length of the properties").isEqualTo(body.length - at);
    while (at < body.length) {
      assertThat(body[at]).as("the one property, a reason string").isEqualTo((byte) 0x1F);
      at += 3 + (disconnect.at(at + 1) << 8 | disconnect.at(at + 2));
    }
  }

  @ParameterizedTest(name = "will {0}, retained {1}")
  @CsvSource({"true, false", "true, true", "false, false"})
  @Tag("MQTT3-3.1.2-12")
  @Tag("MQTT3-3.1.2-16")
  @Tag("MQTT3-3.1.2-17")
  void aWillOfMqtt3IsSentAsItsFlagsSay(boolean will, boolean retained) {
    String topic = id();
    try (RawClient watcher = connected(broker, id());
        RawClient client = new RawClient(broker.port())) {
      watcher.subscribe(topic, 1 | 8); // keeps the flag as published
      if (will) client.connect(connect(4, CLEAN | WILL | (retained ? RETAIN : 0), 0, noProperties(), id(), topic, "will"));
      else client.connect(connect(4, CLEAN, 0, noProperties(), id()));
      client.reset();

      if (will) {
        Message sent = watcher.take();
        assertThat(sent.text()).isEqualTo("will");
        assertThat(sent.retain()).isEqualTo(retained);
      }
      // Two more disconnect: when the second one's will has arrived, the first one's would have, too.
      for (String text : List.of("another's", "a third one's")) {
        try (RawClient other = new RawClient(broker.port())) {
          other.connect(connect(4, CLEAN | WILL, 0, noProperties(), id(), topic, text));
        }
        assertThat(watcher.take().text()).isEqualTo(text);
      }
      try (RawClient later = RawClient.connected3(broker, id())) {
        later.subscribe(topic, 0);
        if (retained) assertThat(later.take().text()).isEqualTo("will");
        later.publish(topic, 0, 0, "end");
        assertThat(later.before("end")).isEmpty();
      }
    }
  }

  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {4, 5})
  @Tag("MQTT-3.14.4-1")
  @Tag("MQTT3-3.14.4-2")
  void nothingBehindDisconnectIsRead(int level) {
    String topic = id();
    try (RawClient watcher = connected(broker, id());
        RawClient client = new RawClient(broker.port())) {
      watcher.subscribe(topic, 1);
      client.connect(connect(level, true, 0, id(), noProperties()));
      client.send(bytes(packet(DISCONNECT), publishing(level, topic, 0, 0, "must not arrive")));
      client.expectClosed();

      watcher.publish(topic, 1, 1, "end");
      assertThat(watcher.before("end")).isEmpty();
    }
  }

  private RawClient durable(int level, String clientId) {
    RawClient client = new RawClient(broker.port());
    client.connect(durableConnect(level, clientId));
    return client;
  }

  private static byte[] durableConnect(int level, String clientId) {
    return connect(level, false, 0, clientId, properties(sessionExpiry(60)));
  }

  private static String id() {
    return UUID.randomUUID().toString();
  }
}
