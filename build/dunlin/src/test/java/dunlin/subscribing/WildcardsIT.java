package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.mqtt5.message.subscribe.Mqtt5Subscribe;
import com.hivemq.client.mqtt.mqtt5.message.subscribe.Mqtt5Subscription;
import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.eclipse.paho.mqttv5.client.IMqttMessageListener;
import org.eclipse.paho.mqttv5.client.MqttAsyncClient;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttSubscription;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which messages a subscription gets, and with which options; every case with a durable session and with one that ends. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WildcardsIT {
  private static final List<String> TOPICS =
      List.of("a", "b", "a/b", "a/b/c", "/", "/a", "a/", "a//b", "//", "A", "$d", "$d/a", "$d/a/b", "a/$d", "\uFEFFa", "å/b");

  private static final int NO_LOCAL = 4;
  private static final int RETAIN_AS_PUBLISHED = 8;

  private final TestBroker broker;

  WildcardsIT(@TempDir Path data) {
    broker = TestBroker.on(data);
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  static Stream<Arguments> filters() {
    return Stream.of(
            Arguments.of("a", List.of("a")),
            Arguments.of("+", List.of("a", "b", "A", "\uFEFFa")),
            Arguments.of("#", TOPICS.stream().filter(topic -> !topic.startsWith("$")).toList()),
            Arguments.of("a/#", List.of("a", "a/b", "a/b/c", "a/", "a//b", "a/$d")),
            Arguments.of("a/+", List.of("a/b", "a/", "a/$d")),
            Arguments.of("+/b", List.of("a/b", "å/b")),
            Arguments.of("+/+", List.of("a/b", "/", "/a", "a/", "a/$d", "å/b")),
            Arguments.of("/+", List.of("/", "/a")),
            Arguments.of("+/", List.of("/", "a/")),
            Arguments.of("/", List.of("/")),
            Arguments.of("/#", List.of("/", "/a", "//")),
            Arguments.of("//#", List.of("/", "//")),
            Arguments.of("+/+/+", List.of("a/b/c", "a//b", "//")),
            Arguments.of("a/+/b", List.of("a//b")),
            Arguments.of("+/b/#", List.of("a/b", "a/b/c", "å/b")),
            Arguments.of("a/b/c/#", List.of("a/b/c")),
            Arguments.of("$d/#", List.of("$d", "$d/a", "$d/a/b")),
            Arguments.of("$d/+", List.of("$d/a")),
            Arguments.of("+/a", List.of("/a")),
            Arguments.of("A", List.of("A")))
        .flatMap(
            each ->
                Stream.of(false, true)
                    .map(durable -> Arguments.of(each.get()[0], each.get()[1], durable)));
  }

  @ParameterizedTest(name = "{0}, durable session {2}")
  @Tag("pitfall-59")
  @Tag("pitfall-60")
  @MethodSource("filters")
  @Tag("MQTT-3.3.2-3")
  @Tag("MQTT-4.7.2-1")
  @Tag("MQTT-4.7.3-4")
  void aFilterGetsOnlyMatchingMessages(String filter, List<String> expected, boolean durable) {
    String end = UUID.randomUUID().toString();
    try (Hive subscriber = Hive.connected(broker, durable);
        Hive publisher = Hive.connected(broker, false)) {
      subscriber.subscribe(end, 1).subscribe(filter, 1);

      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (String topic : TOPICS) sent.add(publisher.publish(topic, 1, topic));
      sent.add(publisher.publish(end, 1, end));
      sent.forEach(CompletableFuture::join);

      List<String> topics = subscriber.before(end).stream().map(message -> message.getTopic().toString()).toList();
      assertThat(topics).containsExactlyInAnyOrderElementsOf(expected);
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-65")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.3.4-2")
  @Tag("MQTT-3.3.4-3")
  @Tag("MQTT-3.3.4-4")
  void overlappingFiltersBringOneCopyWithTheHighestQosAndAllIdentifiers(boolean durable) {
    String root = UUID.randomUUID().toString();
    try (RawClient subscriber = client(durable);
        Hive publisher = Hive.connected(broker, false)) {
      subscriber.subscribe(root + "/#", 0, RawClient.subscriptionIdentifier(7));
      subscriber.subscribe(root + "/+", 2, RawClient.subscriptionIdentifier(268_435_455));
      subscriber.subscribe(root + "/x", 1, RawClient.subscriptionIdentifier(9));
      subscriber.subscribe(root + "/x/#", 0);

      publisher.publish(root + "/x", 2, "three and one without").join();
      publisher.publish(root + "/y", 1, "two").join();
      publisher.publish(root, 2, "one").join();
      publisher.publish(root + "/x", 1, "end").join();

      List<Message> messages = subscriber.before("end");
      assertThat(messages).extracting(Message::text).containsExactlyInAnyOrder("three and one without", "two", "one");
      Message three = message(messages, "three and one without");
      assertThat(three.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactlyInAnyOrder(7L, 9L, 268_435_455L);
      assertThat(three.qos()).isEqualTo(2);
      Message two = message(messages, "two");
      assertThat(two.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactlyInAnyOrder(7L, 268_435_455L);
      assertThat(two.qos()).isEqualTo(1);
      Message one = message(messages, "one");
      assertThat(one.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactly(7L);
      assertThat(one.qos()).isZero();
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-64")
  @Tag("pitfall-68")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-2.2.1-6")
  @Tag("MQTT-2.2.2-1")
  @Tag("MQTT-3.10.4-1")
  @Tag("MQTT-3.10.4-2")
  @Tag("MQTT-3.10.4-4")
  @Tag("MQTT-3.10.4-5")
  @Tag("MQTT-3.10.4-6")
  @Tag("MQTT-3.11.3-1")
  @Tag("MQTT-3.11.3-2")
  void unsubscribingRemovesExactlyThatFilter(boolean durable) {
    String root = UUID.randomUUID().toString();
    try (RawClient subscriber = client(durable);
        Hive publisher = Hive.connected(broker, false)) {
      subscriber.subscribe(root + "/#", 1);
      subscriber.subscribe(root + "/+", 1);
      subscriber.subscribe(root + "/x", 1);

      subscriber.send(
          RawClient.UNSUBSCRIBE, RawClient.u16(9), RawClient.noProperties(), root + "/+", root + "/none", root + "/x");
      byte[] answer = subscriber.expect(RawClient.UNSUBACK).body();
      assertThat(answer).containsExactly(0, 9, 0, 0, 0x11, 0);

      publisher.publish(root + "/x", 1, "still by the first").join();
      assertThat(subscriber.before("still by the first")).isEmpty();
      subscriber.send(RawClient.UNSUBSCRIBE, RawClient.u16(10), RawClient.noProperties(), root + "/#");
      assertThat(subscriber.expect(RawClient.UNSUBACK).body()).containsExactly(0, 10, 0, 0);

      publisher.publish(root + "/x", 1, "nobody's").join();
      subscriber.subscribe(root + "/y", 1);
      publisher.publish(root + "/y", 1, "end").join();
      assertThat(subscriber.before("end")).isEmpty();
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-61")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.8.4-3")
  @Tag("MQTT-3.8.4-4")
  void subscribingAgainReplacesTheOptionsWithoutAGap(boolean durable) {
    String topic = UUID.randomUUID().toString();
    int messages = 2_000;
    try (RawClient subscriber = client(durable);
        Hive publisher = Hive.connected(broker, false)) {
      subscriber.subscribe(topic, 1, RawClient.subscriptionIdentifier(1));
      List<CompletableFuture<?>> sent = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        sent.add(publisher.publish(topic, 2, Integer.toString(i)));
        if (i % 500 != 250) continue;
        int identifier = 2 + i / 500;
        subscriber.send(
            RawClient.SUBSCRIBE, RawClient.u16(identifier),
            RawClient.properties(RawClient.subscriptionIdentifier(identifier)), topic, identifier == 5 ? 2 : 1);
      }
      List<Message> arrived = new ArrayList<>();
      int answers = 0;
      while (arrived.size() < messages || answers < 4) {
        if (!subscriber.nextIsMessage()) {
          assertThat(subscriber.expect(RawClient.SUBACK).at(3)).isLessThanOrEqualTo(2);
          answers++;
        } else {
          arrived.add(subscriber.take());
        }
      }
      sent.forEach(CompletableFuture::join);
      publisher.publish(topic, 2, "end").join();
      Message end = subscriber.take();

      assertThat(arrived).extracting(Message::text).doesNotHaveDuplicates().hasSize(messages);
      assertThat(arrived).allSatisfy(message -> assertThat(message.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).hasSize(1));
      assertThat(end.text()).isEqualTo("end");
      assertThat(end.qos()).isEqualTo(2);
      assertThat(end.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactly(5L);
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-62")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.8.3-3")
  void noLocalExcludesOnlyTheClientsOwnMessages(boolean durable) {
    String root = UUID.randomUUID().toString();
    try (Hive subscriber = Hive.connected(broker, durable);
        Hive other = Hive.connected(broker, false)) {
      subscriber.subscribe(
          Mqtt5Subscribe.builder()
              .addSubscription(Mqtt5Subscription.builder().topicFilter(root + "/local").qos(Hive.qos(1)).noLocal(true).build())
              .addSubscription(Mqtt5Subscription.builder().topicFilter(root + "/end").qos(Hive.qos(1)).build())
              .build());

      subscriber.publish(root + "/local", 1, "own").join();
      subscriber.publish(root + "/local", 0, "own too").join();
      other.publish(root + "/local", 1, "other's").join();
      subscriber.publish(root + "/end", 1, "end").join();

      assertThat(subscriber.before("end")).extracting(Hive::text).containsExactly("other's");
    }
  }

  /** A subscription that No Local excludes must not affect the copy of another one, neither by its identifier nor by its QoS. */
  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.8.3-3")
  void noLocalOfOneFilterDoesNotAffectTheCopyOfAnother(boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (RawClient subscriber = client(durable)) {
      subscriber.subscribe(topic, 1, RawClient.subscriptionIdentifier(1));
      subscriber.subscribe(topic + "/#", 2 | NO_LOCAL | RETAIN_AS_PUBLISHED, RawClient.subscriptionIdentifier(2));

      subscriber.send(RawClient.PUBLISH | 4 | 1, topic, RawClient.u16(1), RawClient.noProperties());

      Message own = subscriber.take();
      assertThat(own.qos()).isEqualTo(1);
      assertThat(own.retain()).isFalse();
      assertThat(own.numbers(RawClient.SUBSCRIPTION_IDENTIFIER)).containsExactly(1L);
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-63")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.3.1-12")
  @Tag("MQTT-3.3.1-13")
  void retainAsPublishedKeepsTheFlagOnLiveMessages(boolean durable) throws Exception {
    String root = UUID.randomUUID().toString();
    List<String> arrived = Collections.synchronizedList(new ArrayList<>());
    var client = new MqttAsyncClient(broker.uri(), UUID.randomUUID().toString(), new MemoryPersistence());
    try (Hive publisher = Hive.connected(broker, false)) {
      var options = new MqttConnectionOptions();
      options.setSessionExpiryInterval(durable ? 3_600L : 0L);
      client.connect(options).waitForCompletion();
      var kept = new MqttSubscription(root + "/kept", 1);
      kept.setRetainAsPublished(true);
      var cleared = new MqttSubscription(root + "/cleared", 1);
      IMqttMessageListener listener = (topic, message) -> arrived.add(topic.substring(root.length()) + message.isRetained());
      var properties = new MqttProperties();
      properties.setSubscriptionIdentifiers(List.of(1)); // without one, Paho itself fails
      // A message that comes live while retained messages are still read for its subscription may come a second time as a retained one.
      var read = new MqttSubscription(root + "/read", 1);
      publisher.publish(root + "/read", 1, "0", true).join();
      client.subscribe(new MqttSubscription[] {kept, cleared, read}, null, null, listener, properties).waitForCompletion();
      await().atMost(TestBroker.SOON).until(() -> arrived.remove("/readtrue"));

      publisher.publish(root + "/kept", 1, "1", true).join();
      publisher.publish(root + "/cleared", 1, "2", true).join();
      publisher.publish(root + "/kept", 1, "3", false).join();

      await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(arrived).hasSize(3));
      assertThat(arrived).containsExactlyInAnyOrder("/kepttrue", "/clearedfalse", "/keptfalse");
    } finally {
      client.disconnect().waitForCompletion();
      client.close();
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-59")
  @Tag("pitfall-64")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.8.4-1")
  @Tag("MQTT-3.8.4-5")
  @Tag("MQTT-3.8.4-6")
  @Tag("MQTT-3.8.4-7")
  @Tag("MQTT-3.9.3-1")
  @Tag("MQTT-3.9.3-2")
  @Tag("MQTT-4.7.1-1")
  @Tag("MQTT-4.7.1-2")
  @Tag("MQTT-4.8.2-1")
  @Tag("MQTT-4.8.2-2")
  void oneSubscribeWithGoodBadAndRepeatedFiltersIsAnsweredOneByOne(boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (RawClient subscriber = client(durable)) {
      subscriber.send(
          RawClient.SUBSCRIBE, RawClient.u16(3), RawClient.noProperties(), topic, 1, "a/#/b", 1, "a+", 0, topic, 2, "$share/g", 1,
          "$share/+/a", 1, "$share/g/" + topic, 0);

      byte[] codes = subscriber.expect(RawClient.SUBACK).body();
      assertThat(Arrays.copyOfRange(codes, codes.length - 7, codes.length))
          .containsExactly(1, (byte) 0x8F, (byte) 0x8F, 2, (byte) 0x8F, (byte) 0x8F, 0);
      subscriber.publish(topic, 2, 1, "x");
      List<Message> messages = List.of(subscriber.take(), subscriber.take());
      // The last of two equal filters counts, and the member of the group gets a separate copy.
      assertThat(messages).extracting(Message::qos).containsExactlyInAnyOrder(2, 0);
    }
  }

  /** A second SUBSCRIBE to the same filter must not be answered before the first one's route exists. */
  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-67")
  @ValueSource(booleans = {false, true})
  void messagesPublishedAfterAnySubackOfAFilterArrive(boolean durable) {
    for (int round = 0; round < 50; round++) {
      String topic = UUID.randomUUID().toString();
      try (RawClient subscriber = client(durable);
          RawClient publisher = client(false)) {
        byte[] twice =
            RawClient.bytes(
                RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), topic, 0),
                RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(2), RawClient.noProperties(), topic, 1));
        subscriber.send(twice);
        subscriber.expect(RawClient.SUBACK);
        publisher.publish(topic, 1, 1, "after a SUBACK");
        publisher.expect(RawClient.PUBACK);
        subscriber.publish(topic, 1, 1, "end");
        while (!subscriber.nextIsMessage()) subscriber.expect(RawClient.SUBACK);

        assertThat(subscriber.take().text()).as("round %d", round).isEqualTo("after a SUBACK");
      }
    }
  }

  private RawClient client(boolean durable) {
    String clientId = UUID.randomUUID().toString();
    return durable
        ? RawClient.connected(broker, clientId, RawClient.sessionExpiry(3_600))
        : RawClient.connected(broker, clientId);
  }

  private static Message message(List<Message> messages, String text) {
    return messages.stream().filter(message -> message.text().equals(text)).findFirst().orElseThrow();
  }
}
