package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import dunlin.harness.ServerRules.Property;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
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

/** Which parts of a PUBLISH reach a subscriber, and when none does; MQTT 5, section 3.3. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PublishingIT {
  private final TestBroker broker;

  PublishingIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @ParameterizedTest(name = "level {0}, durable subscriber {1}")
  @CsvSource({"3, false", "4, false", "4, true", "5, false", "5, true"})
  @Tag("pitfall-43")
  @Tag("pitfall-48")
  @Tag("MQTT-3.3.1-1")
  @Tag("MQTT-3.3.1-3")
  @Tag("MQTT3-3.3.1-3")
  void dupOfThePublisherIsNotPassedOn(int level, boolean durable) {
    String topic = name();
    try (var subscriber = RawClient.connected(broker.port(), Connect.of(name()).expiry(durable ? 60 : 0));
        var publisher = RawClient.connected(broker.port(), RawClient.connect(level, true, 0, shortId(), RawClient.noProperties()))) {
      subscriber.subscribe(topic, 2);
      for (int qos = 1; qos <= 2; qos++) {
        publisher.publish(topic, "never seen " + qos, qos, 10 + qos, true);
        Message message = subscriber.take();
        assertThat(message.text()).isEqualTo("never seen " + qos);
        assertThat(message.duplicate()).isFalse();
      }
    }
  }

  /** Live, from an inbox, and as a retained message. */
  @Test
  @Tag("pitfall-44")
  @Tag("MQTT-3.3.2-4")
  @Tag("MQTT-3.3.2-15")
  @Tag("MQTT-3.3.2-16")
  @Tag("MQTT-3.3.2-17")
  @Tag("MQTT-3.3.2-18")
  @Tag("MQTT-3.3.2-20")
  void propertiesPassUnchangedAndInOrder() {
    String topic = name();
    Connect away = Connect.of(name());
    RawClient.connected(broker.port(), away).disconnectAfter(each -> each.subscribe(topic, 2));
    byte[] properties =
        RawClient.properties(
            RawClient.bytes(RawClient.USER_PROPERTY, "b", "2"),
            RawClient.bytes(RawClient.CORRELATION_DATA, RawClient.u16(3), new byte[] {0, 1, 2}),
            RawClient.bytes(RawClient.USER_PROPERTY, "a", "1"),
            RawClient.bytes(RawClient.PAYLOAD_FORMAT, 1),
            RawClient.bytes(RawClient.USER_PROPERTY, "b", "2"),
            RawClient.bytes(RawClient.RESPONSE_TOPIC, "answer/\uFEFFhere"),
            RawClient.topicAlias(1),
            RawClient.bytes(RawClient.CONTENT_TYPE, "text/plain"),
            RawClient.bytes(RawClient.USER_PROPERTY, "", ""));
    try (var publisher = RawClient.connected(broker, name());
        var live = RawClient.connected(broker, name())) {
      live.subscribe(topic, 2);
      publisher.send(RawClient.PUBLISH | 3, topic, RawClient.u16(1), properties, new byte[] {'p'});
      publisher.expect(RawClient.PUBACK);

      try (var back = RawClient.connected(broker.port(), away);
          var late = RawClient.connected(broker, name())) {
        late.subscribe(topic, 2);
        for (RawClient client : List.of(live, back, late)) {
          Message message = client.message();
          assertThat(message.text()).isEqualTo("p");
          assertThat(message.texts(RawClient.USER_PROPERTY)).containsExactly("b=2", "a=1", "b=2", "=");
          assertThat(message.propertyList())
              .contains(
                  new Property(RawClient.CORRELATION_DATA, 0, "\0\1\2"), new Property(RawClient.PAYLOAD_FORMAT, 1, ""),
                  new Property(RawClient.RESPONSE_TOPIC, 0, "answer/\uFEFFhere"),
                  new Property(RawClient.CONTENT_TYPE, 0, "text/plain"))
              .hasSize(8);
        }
      }
    }
  }

  @Test
  @Tag("pitfall-45")
  @Tag("MQTT-3.3.2-5")
  @Tag("MQTT-3.3.2-6")
  void theExpiryOfAMessageCountsDownWhileItWaits() {
    String topic = name();
    Connect away = Connect.of(name());
    RawClient.connected(broker.port(), away).disconnectAfter(each -> each.subscribe(topic, 2));
    // One session that ends with its connection cannot send more than one message at a time.
    try (var publisher = RawClient.connected(broker, name());
        var busy = RawClient.connected(broker, name(), RawClient.receiveMaximum(1))) {
      busy.subscribe(topic, 2);
      publisher.publishAndWait(topic, "first");
      for (long expiry : new long[] {1, 100}) {
        for (int qos = 1; qos <= 2; qos++) {
          byte[] properties = RawClient.properties(RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(expiry)));
          publisher.send(RawClient.PUBLISH | qos << 1, topic, RawClient.u16(10 * (int) expiry + qos), properties, new byte[] {'x'});
          publisher.expect(qos == 1 ? RawClient.PUBACK : RawClient.PUBREC);
        }
      }
      publisher.publishAndWait(topic, "end");
      await().pollDelay(Duration.ofMillis(1_100)).until(() -> true);

      try (var back = RawClient.connected(broker.port(), away)) {
        for (RawClient client : List.of(back, busy)) {
          List<Message> messages = client.before("end");
          assertThat(messages).extracting(Message::text).containsExactly("first", "x", "x");
          for (Message message : messages.subList(1, 3)) {
            assertThat(message.numbers(RawClient.MESSAGE_EXPIRY)).hasSize(1);
            assertThat(message.numbers(RawClient.MESSAGE_EXPIRY).getFirst()).isBetween(80L, 99L);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  @Tag("pitfall-75")
  @Tag("MQTT-3.3.1-8")
  void withoutTheRetainFlagNothingIsKeptOrRemoved(int qos) {
    String topic = name();
    try (var publisher = RawClient.connected(broker, name());
        var later = RawClient.connected(broker, name())) {
      publisher.publishAndWait(topic, "kept", true);
      for (String payload : List.of("passes by", "")) {
        publisher.publish(topic, qos, 9, payload);
        if (qos > 0) publisher.expect(qos == 1 ? RawClient.PUBACK : RawClient.PUBREC);
        if (qos > 1) publisher.pubrel(9);
        if (qos > 1) publisher.expect(RawClient.PUBCOMP);
      }
      publisher.publishAndWait(topic + "/end", "end", true);
      later.subscribe(topic + "/#", 0);
      assertThat(List.of(later.message().text(), later.message().text())).containsExactlyInAnyOrder("kept", "end");
    }
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }

  private static String shortId() {
    return name().substring(0, 18);
  }
}
