package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.datatypes.MqttTopic;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.eclipse.paho.client.mqttv3.MqttClient;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Retained messages, as subscribers receive them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RetainedIT {
  private static final int MANY = 20_000;
  private static final String END = "$end";
  private static final String PADDING = "x".repeat(1_000);

  private final TestBroker broker;

  RetainedIT(@TempDir Path data) {
    // Many retained messages, which need not be durable.
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @BeforeAll
  void retainsMany() {
    try (Hive publisher = Hive.connected(broker, false)) {
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < MANY; i++) sent.add(publisher.publish("many/" + i, 1, i + PADDING, true));
      sent.add(publisher.publish(END, 1, "end", true));
      sent.forEach(CompletableFuture::join);
    }
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @Test
  @Tag("pitfall-73")
  @Tag("pitfall-75")
  @Tag("MQTT-3.3.1-5")
  @Tag("MQTT-3.3.1-6")
  @Tag("MQTT-3.3.1-7")
  @Tag("MQTT-3.3.1-8")
  @Tag("MQTT3-3.3.1-10")
  @Tag("MQTT3-3.3.1-11")
  @Tag("MQTT3-3.3.1-12")
  void theLastMessageReplacesThePreviousUntilAnEmptyOneClearsIt() throws Exception {
    String topic = UUID.randomUUID().toString();
    try (var publisher = new MqttClient(broker.uri(), UUID.randomUUID().toString(), new MemoryPersistence());
        Hive live = Hive.connected(broker, false)) {
      publisher.connect();
      live.subscribe(topic, 2);
      assertThat(retainedOn(topic)).isEmpty();

      publisher.publish(topic, "first".getBytes(StandardCharsets.UTF_8), 1, true);
      assertThat(retainedOn(topic)).containsExactly("first");
      publisher.publish(topic, "passing by".getBytes(StandardCharsets.UTF_8), 1, false);
      assertThat(retainedOn(topic)).containsExactly("first");
      publisher.publish(topic, "second".getBytes(StandardCharsets.UTF_8), 2, true);
      assertThat(retainedOn(topic)).containsExactly("second");
      publisher.publish(topic, new byte[0], 1, true);
      assertThat(retainedOn(topic)).isEmpty();
      publisher.publish(topic, "third".getBytes(StandardCharsets.UTF_8), 0, true);
      await().atMost(TestBroker.SOON).until(() -> retainedOn(topic).equals(List.of("third")));

      // The empty one is passed on like any other; without Retain As Published no live message has the flag.
      List<Mqtt5Publish> passed = new ArrayList<>(live.before("third"));
      assertThat(passed).extracting(Hive::text).containsExactly("first", "passing by", "second", "");
      assertThat(passed).noneMatch(Mqtt5Publish::isRetain);
      publisher.disconnect();
    }
  }

  @ParameterizedTest(name = "retain handling {0}, durable session {1}")
  @Tag("pitfall-61")
  @CsvSource({"0, false", "0, true", "1, false", "1, true", "2, false", "2, true"})
  @Tag("MQTT-3.3.1-9")
  @Tag("MQTT-3.3.1-10")
  @Tag("MQTT-3.3.1-11")
  @Tag("MQTT-3.8.4-4")
  void retainHandlingSaysWhichSubscribeBringsRetainedMessages(int handling, boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (Hive publisher = Hive.connected(broker, false);
        RawClient subscriber = client(durable)) {
      publisher.publish(topic, 1, "kept", true).join();

      List<Message> first = subscribe(subscriber, topic, 1 | handling << 4);
      List<Message> again = subscribe(subscriber, topic, 1 | handling << 4);
      publisher.publish(topic, 1, "live").join();
      List<Message> later = subscriber.before("live");

      assertThat(first).extracting(Message::text).isEqualTo(handling == 2 ? List.of() : List.of("kept"));
      assertThat(again).extracting(Message::text).isEqualTo(handling == 0 ? List.of("kept") : List.of());
      assertThat(later).isEmpty();
      assertThat(first).allMatch(Message::retain);
    }
  }

  @ParameterizedTest(name = "QoS {0}, durable session {1}")
  @CsvSource({"0, false", "1, false", "1, true", "2, true"})
  @Tag("MQTT-3.3.1-9")
  void aWildcardBringsAllOfManyRetainedMessagesOnce(int qos, boolean durable) {
    try (Hive subscriber = Hive.connected(broker, durable)) {
      subscriber.subscribe("many/#", qos);

      boolean[] arrived = new boolean[MANY];
      for (int i = 0; i < MANY; i++) {
        Mqtt5Publish message = subscriber.next();
        int number = numberOf(message.getTopic());
        assertThat(arrived[number]).as("second copy of %d", number).isFalse();
        arrived[number] = true;
        assertThat(message.isRetain()).isTrue();
        assertThat(message.getQos().getCode()).isEqualTo(Math.min(qos, 1));
      }
      subscriber.publish("many/end", 1, "end").join();
      assertThat(subscriber.before("end")).isEmpty();
    }
  }

  /** They are sent as fast as they are read: nothing is dropped, and the broker does not buffer unread ones. */
  @ParameterizedTest(name = "QoS {0}, durable session {1}")
  @CsvSource({"0, false", "1, false", "1, true"})
  void aSubscriberThatDoesNotReadIsSentNoMoreRetainedMessages(int qos, boolean durable) {
    try (RawClient subscriber = new RawClient(broker.port(), 4_096)) {
      subscriber.connect(
          RawClient.connect(
              5, true, 0, UUID.randomUUID().toString(), RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0))));
      long before = copies();
      subscriber.subscribe("many/#", qos);
      long held = awaitStandstill() - before;
      assertThat(held).as("messages that went out to a client that does not read").isBetween(1L, MANY * 3 / 4L);

      boolean[] arrived = new boolean[MANY];
      for (int i = 0; i < MANY; i++) {
        Message message = subscriber.take();
        int number = numberOf(message.topic());
        assertThat(arrived[number]).as("second copy of %d", number).isFalse();
        arrived[number] = true;
      }
    }
  }

  @Test
  @Tag("pitfall-45")
  @Tag("MQTT-3.3.2-5")
  @Tag("MQTT-3.3.2-6")
  void theRemainingExpiryIsSentAndExpiredMessagesAreNot() {
    String root = UUID.randomUUID().toString();
    try (Hive publisher = Hive.connected(broker, false)) {
      publisher.publish(expiring(root + "/long", 100)).join();
      publisher.publish(expiring(root + "/short", 1)).join();
      publisher.publish(root + "/never", 1, "never", true).join();

      await()
          .atMost(TestBroker.SOON)
          .pollInterval(Duration.ofMillis(200))
          .untilAsserted(
              () -> {
                List<Message> left = subscribed(root + "/#");
                assertThat(left).extracting(Message::text).containsExactlyInAnyOrder("long", "never");
                Message message = left.stream().filter(each -> each.text().equals("long")).findFirst().orElseThrow();
                assertThat(message.numbers(RawClient.MESSAGE_EXPIRY)).hasSize(1);
                assertThat(message.numbers(RawClient.MESSAGE_EXPIRY).getFirst()).isBetween(60L, 98L);
              });
    }
  }

  @Test
  @Tag("pitfall-44")
  void propertiesComeBackAsTheyWereSet() {
    String topic = UUID.randomUUID().toString();
    try (RawClient publisher = client(false)) {
      byte[] properties =
          RawClient.properties(
              RawClient.bytes(RawClient.USER_PROPERTY, "b", "1"),
              RawClient.bytes(RawClient.CONTENT_TYPE, "text"),
              RawClient.bytes(RawClient.USER_PROPERTY, "a", ""),
              RawClient.bytes(RawClient.USER_PROPERTY, "b", "1"));
      publisher.send(RawClient.PUBLISH | 3, topic, RawClient.u16(1), properties, new byte[] {'p'});
      publisher.expect(RawClient.PUBACK);

      Message message = subscribed(topic).getFirst();
      assertThat(message.texts(RawClient.USER_PROPERTY)).containsExactly("b=1", "a=", "b=1");
      assertThat(message.texts(RawClient.CONTENT_TYPE)).containsExactly("text");
    }
  }

  @Test
  @Tag("MQTT-4.7.2-1")
  void aLeadingWildcardDoesNotMatchDollarTopics() {
    String root = UUID.randomUUID().toString();
    try (Hive publisher = Hive.connected(broker, false)) {
      publisher.publish("$" + root + "/x", 1, "dollar", true).join();
      publisher.publish(root + "/x", 1, "plain", true).join();

      assertThat(retainedOn("+/x")).contains("plain").doesNotContain("dollar");
      assertThat(retainedOn("$" + root + "/#")).containsExactly("dollar");
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-70")
  @ValueSource(booleans = {false, true})
  void aSharedSubscriptionBringsNoRetainedMessages(boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (Hive publisher = Hive.connected(broker, false);
        Hive subscriber = Hive.connected(broker, durable)) {
      publisher.publish(topic, 1, "kept", true).join();

      subscriber.subscribe("$share/g/" + topic, 1);
      publisher.publish(topic, 1, "live").join();

      assertThat(subscriber.before("live")).isEmpty();
    }
  }

  @Test
  @Tag("pitfall-24")
  void resumingASessionBringsNoRetainedMessages() {
    String topic = UUID.randomUUID().toString();
    String clientId = UUID.randomUUID().toString();
    try (Hive publisher = Hive.connected(broker, false)) {
      try (Hive subscriber = Hive.connected(broker, clientId, with -> with.sessionExpiryInterval(60))) {
        subscriber.subscribe(topic, 1);
        publisher.publish(topic, 1, "kept", true).join();
        assertThat(subscriber.before("kept")).isEmpty();
      }
      try (Hive subscriber = Hive.connected(broker, clientId, with -> with.cleanStart(false).sessionExpiryInterval(60))) {
        publisher.publish(topic, 1, "end").join();
        assertThat(subscriber.before("end")).isEmpty();
      }
    }
  }

  /** Waiting messages are sent first, also when all of them have expired. */
  @Test
  void retainedMessagesAreSentAfterAnInboxOfExpiredOnes() {
    String root = UUID.randomUUID().toString();
    String clientId = UUID.randomUUID().toString();
    try (Hive publisher = Hive.connected(broker, false)) {
      try (Hive subscriber = Hive.connected(broker, clientId, with -> with.sessionExpiryInterval(60))) {
        subscriber.subscribe(root + "/expiring", 1);
      }
      publisher.publish(root + "/kept", 1, "kept", true).join();
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < 3_000; i++) sent.add(publisher.publish(expiring(root + "/expiring", 1)));
      sent.forEach(CompletableFuture::join);
      publisher.publish(expiring(root + "/clock", 1)).join();
      await().atMost(TestBroker.SOON).until(() -> retainedOn(root + "/clock").isEmpty());

      try (RawClient subscriber = new RawClient(broker.port())) {
        subscriber.send(
            RawClient.bytes(
                RawClient.connect(5, false, 0, clientId, RawClient.properties(RawClient.sessionExpiry(60))),
                RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), root + "/kept", 1)));
        subscriber.expect(RawClient.CONNACK);
        while (!subscriber.nextIsMessage()) subscriber.expect(RawClient.SUBACK);
        assertThat(subscriber.take().text()).isEqualTo("kept");
      }
    }
  }

  @Test
  @Tag("pitfall-74")
  void retainedMessagesOutliveARestart(@TempDir Path data) {
    try (TestBroker first = TestBroker.on(data);
        Hive publisher = Hive.connected(first, false)) {
      for (int i = 0; i < 300; i++) publisher.publish("t/" + i, 1, Integer.toString(i), true).join();
      publisher.publish("t/7", 2, "replaced", true).join();
      publisher.publish("t/8", 1, "", true).join();
    }
    try (TestBroker second = TestBroker.on(data);
        Hive subscriber = Hive.connected(second, false)) {
      subscriber.subscribe("t/#", 1);
      List<String> texts = new ArrayList<>();
      for (int i = 0; i < 299; i++) texts.add(Hive.text(subscriber.next()));
      subscriber.publish("t/end", 1, "end").join();
      assertThat(subscriber.before("end")).isEmpty();
      assertThat(texts).doesNotHaveDuplicates().contains("replaced", "0", "299").doesNotContain("7", "8", "");
    }
  }

  private static Mqtt5Publish expiring(String topic, int seconds) {
    String payload = topic.substring(topic.indexOf('/') + 1);
    return Mqtt5Publish.builder()
        .topic(topic)
        .qos(Hive.qos(1))
        .retain(true)
        .messageExpiryInterval(seconds)
        .payload(payload.getBytes(StandardCharsets.UTF_8))
        .build();
  }

  private List<String> retainedOn(String filter) {
    return subscribed(filter).stream().map(Message::text).toList();
  }

  /** The retained messages of a new subscription. */
  private List<Message> subscribed(String filter) {
    try (RawClient subscriber = client(false)) {
      return subscribe(subscriber, filter, 0);
    }
  }

  /** The retained messages of a subscription, up to that of a second subscription. */
  private static List<Message> subscribe(RawClient subscriber, String filter, int options) {
    subscriber.subscribe(filter, options);
    subscriber.send(RawClient.SUBSCRIBE, RawClient.u16(2), RawClient.noProperties(), END, options & 3);
    List<Message> messages = new ArrayList<>();
    while (true) {
      if (!subscriber.nextIsMessage()) {
        subscriber.expect(RawClient.SUBACK);
        continue;
      }
      Message message = subscriber.take();
      if (message.topic().equals(END)) return messages;
      messages.add(message);
    }
  }

  private RawClient client(boolean durable) {
    String clientId = UUID.randomUUID().toString();
    return durable
        ? RawClient.connected(broker, clientId, RawClient.sessionExpiry(60))
        : RawClient.connected(broker, clientId);
  }

  private static int numberOf(MqttTopic topic) {
    return numberOf(topic.toString());
  }

  private static int numberOf(String topic) {
    return Integer.parseInt(topic.substring("many/".length()));
  }

  private long copies() {
    return broker.frontend().copies().received();
  }

  /** Waits until no more messages are sent to sessions; returns how many were sent. */
  private long awaitStandstill() {
    long[] last = {-1};
    await()
        .atMost(TestBroker.SOON)
        .pollInterval(Duration.ofMillis(400))
        .until(
            () -> {
              long now = copies();
              boolean still = now == last[0];
              last[0] = now;
              return still;
            });
    return last[0];
  }
}
