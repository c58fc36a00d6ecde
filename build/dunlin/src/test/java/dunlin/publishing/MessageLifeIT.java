package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.AnswerProperties;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Properties of messages and subscriptions while a message waits: in an inbox, as a will, as retained. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MessageLifeIT {
  private static final byte[] NONE = RawClient.noProperties();
  private static final int RETAINED = RawClient.PUBLISH | 3;

  private final TestBroker broker;
  private final String root = UUID.randomUUID().toString();

  MessageLifeIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  private static byte[] expiry(long seconds) {
    return RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(seconds));
  }

  private static void pass(long millis) {
    await().pollDelay(Duration.ofMillis(millis)).atMost(TestBroker.SOON).until(() -> true);
  }

  private RawClient resumed(String clientId) {
    RawClient client = new RawClient(broker.port());
    client.connect(RawClient.connect(5, false, 0, clientId, RawClient.properties(RawClient.sessionExpiry(60))));
    return client;
  }

  @Test
  @Tag("MQTT-3.3.2-5")
  @Tag("MQTT-3.3.2-6")
  @Tag("pitfall-45")
  void messagesInAnInboxHaveTheRemainingExpiryOrAreDropped() {
    String topic = root + "/inbox";
    try (RawClient subscriber = resumed("inbox")) {
      subscriber.subscribe(topic, 1);
    }
    try (RawClient publisher = RawClient.connected(broker, "p")) {
      for (long seconds : new long[] {100, 1, 0xFFFF_FFFFL}) {
        publisher.send(RawClient.PUBLISH | 2, topic, RawClient.u16(1), RawClient.properties(expiry(seconds)), new byte[] {'x'});
        assertThat(publisher.expect(RawClient.PUBACK).reason()).isZero();
      }
      publisher.publish(topic, 1, 1, "end");
      publisher.expect(RawClient.PUBACK);
    }
    pass(1_100);
    try (RawClient subscriber = resumed("inbox")) {
      List<Message> messages = subscriber.before("end");
      assertThat(messages).hasSize(2);
      assertThat(messages.getFirst().numbers(RawClient.MESSAGE_EXPIRY).getFirst()).isBetween(60L, 99L);
      long left = messages.getLast().numbers(RawClient.MESSAGE_EXPIRY).getFirst() & 0xFFFF_FFFFL;
      assertThat(left).isBetween(0xFFFF_FFFFL - 40, 0xFFFF_FFFFL - 1);
    }
  }

  /** Its expiry counts from when it is published, not from CONNECT. */
  @Test
  void aWillsExpiryBeginsWhenItIsSent() {
    String topic = root + "/will";
    byte[] willProperties = RawClient.properties(RawClient.bytes(0x18, RawClient.u32(1)), expiry(100));
    try (RawClient subscriber = RawClient.connected(broker, "w")) {
      subscriber.subscribe(topic, 1);
      try (RawClient client = new RawClient(broker.port())) {
        byte[] durable = RawClient.properties(RawClient.sessionExpiry(60));
        client.connect(RawClient.connect(5, 6, 0, durable, "dying", willProperties, topic, "bye"));
        pass(1_100);
      }
      Message will = subscriber.take();
      assertThat(will.text()).isEqualTo("bye");
      assertThat(will.numbers(RawClient.MESSAGE_EXPIRY)).containsExactly(100L);
    }
  }

  /** Our choice: with No Local, clients can still read their own retained messages, as with other servers. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noLocalAppliesToLiveMessagesOnly(boolean durable) {
    String own = root + "/local/" + durable + "/own";
    String others = root + "/local/" + durable + "/others";
    try (RawClient other = RawClient.connected(broker, "other");
        RawClient client = durable ? resumed("no-local") : RawClient.connected(broker, "no-local")) {
      other.send(RETAINED, others, RawClient.u16(1), NONE, new byte[] {'x'});
      other.expect(RawClient.PUBACK);
      client.send(RETAINED, own, RawClient.u16(1), NONE, new byte[] {'x'});
      client.expect(RawClient.PUBACK);
      client.subscribe(root + "/local/" + durable + "/#", 1 | 4);
      assertThat(List.of(client.take().topic(), client.take().topic())).containsExactlyInAnyOrder(own, others);
      other.publish(others, 1, 1, "end");
      assertThat(client.before("end")).isEmpty();
    }
  }

  @Test
  @Tag("MQTT-3.3.4-3")
  @Tag("pitfall-65")
  @Tag("pitfall-66")
  void subscriptionIdentifiersSurviveReconnectsAndComeWithRetainedMessages() {
    String topic = root + "/identified";
    try (RawClient publisher = RawClient.connected(broker, "p")) {
      publisher.send(RETAINED, topic, RawClient.u16(1), NONE, new byte[] {'r'});
      publisher.expect(RawClient.PUBACK);
      try (RawClient subscriber = resumed("identified")) {
        subscriber.subscribe(topic, 2, RawClient.subscriptionIdentifier(268_435_455));
        Message retained = subscriber.take();
        assertThat(retained.retain()).isTrue();
        assertThat(retained.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactly(268_435_455L);
        subscriber.subscribe(root + "/+", 1 | 0x20, RawClient.subscriptionIdentifier(7));
      }
      publisher.publish(topic, 1, 1, "while away");
      publisher.expect(RawClient.PUBACK);
    }
    try (RawClient subscriber = resumed("identified")) {
      Message message = subscriber.take();
      assertThat(message.text()).isEqualTo("while away");
      assertThat(message.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactlyInAnyOrder(7L, 268_435_455L);
    }
  }

  @ParameterizedTest(name = "at most {0} s, connected with {1} s, told {2} s, disconnected with {3} s: there after {4} ms: {5}")
  @CsvSource({
    "60, 4294967295, 60, 4294967295, 200, true",
    "2, 4294967295, 2, 4294967295, 3500, false",
    "60, 1, , 3600, 1200, true",
    "60, 2, , 0, 0, false"
  })
  @Tag("MQTT-3.1.2-23")
  void anExpiryIsCappedAtConnectAndAtDisconnect(
      long most, long asked, @Nullable Long told, long atDisconnect, long millis, boolean present, @TempDir Path data) {
    Map<String, String> settings = Map.of("dunlin.session.expiry-max", Long.toString(most), "dunlin.store.fsync", "false");
    byte[] connect = RawClient.connect(5, false, 0, "capped", RawClient.properties(RawClient.sessionExpiry(asked)));
    try (TestBroker capping = TestBroker.on(data, settings)) {
      try (RawClient client = new RawClient(capping.port())) {
        assertThat(AnswerProperties.of(client.connect(connect)).all().get(0x11)).isEqualTo(told);
        client.send(RawClient.DISCONNECT, 0, RawClient.properties(RawClient.sessionExpiry(atDisconnect)));
        client.expectClosed();
      }
      pass(millis);
      try (RawClient client = new RawClient(capping.port())) {
        assertThat(client.connect(connect).at(0)).isEqualTo(present ? 1 : 0);
      }
    }
  }

  /** MQTT 3 has no expiry, so the session of a client that never comes back would stay for ever. */
  @ParameterizedTest(name = "expires after {0} s: there after {1} ms: {2}")
  @CsvSource({"3600, 1500, true", "1, 3000, false"})
  void aSessionOfMqtt3ExpiresAfterTheConfiguredTime(long expiry, long millis, boolean present, @TempDir Path data) {
    Map<String, String> settings = Map.of("dunlin.session.mqtt3-expiry", Long.toString(expiry), "dunlin.store.fsync", "false");
    byte[] connect = RawClient.connect(4, false, 0, "mqtt3", NONE);
    try (TestBroker expiring = TestBroker.on(data, settings)) {
      try (RawClient client = new RawClient(expiring.port())) {
        client.connect(connect);
        client.send(RawClient.DISCONNECT);
        client.expectClosed();
      }
      pass(millis);
      try (RawClient client = new RawClient(expiring.port())) {
        assertThat(client.connect(connect).at(0)).isEqualTo(present ? 1 : 0);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 64800", "65535, 64800", "64800, ", "10, "})
  void aTooLongKeepAliveIsReplacedByTheMaximum(int asked, @Nullable Long granted) {
    try (RawClient client = new RawClient(broker.port())) {
      assertThat(AnswerProperties.of(client.connect(RawClient.connect(5, true, asked, "k", NONE))).all().get(0x13))
          .isEqualTo(granted);
    }
  }
}
