package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Topic aliases that the broker uses towards its clients. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TopicAliasIT {
  private static final int SETTING = 10;

  private final TestBroker broker;
  private final String root = "root/" + UUID.randomUUID();

  TopicAliasIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  private static byte[] aliasMaximum(int maximum) {
    return RawClient.bytes(0x22, RawClient.u16(maximum));
  }

  /** A client's table of topic aliases. */
  private static final class Names {
    private final Map<Long, String> known = new HashMap<>();
    private final List<Long> used = new ArrayList<>();

    String topic(Message message) {
      List<Long> aliases = message.numbers(RawClient.TOPIC_ALIAS);
      assertThat(aliases).hasSizeLessThan(2);
      if (aliases.isEmpty()) return message.topic();
      long alias = aliases.getFirst();
      used.add(alias);
      if (!message.topic().isEmpty()) known.put(alias, message.topic());
      return String.valueOf(known.get(alias));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  @Tag("MQTT-3.1.2-26")
  void aTopicIsSentOnceAndThenReplacedByItsAlias(int qos) {
    String topic = root + "/named-once/" + qos;
    try (RawClient subscriber = RawClient.connected(broker, "s", aliasMaximum(5));
        RawClient publisher = RawClient.connected(broker, "p")) {
      subscriber.subscribe(topic, qos);
      List<String> names = new ArrayList<>();
      for (int i = 1; i <= 3; i++) {
        publisher.publish(topic, qos, i, "x");
        Message message = subscriber.take();
        names.add(message.topic());
        assertThat(message.numbers(RawClient.TOPIC_ALIAS)).containsExactly(1L);
      }
      assertThat(names).containsExactly(topic, "", "");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 10, 200})
  @Tag("MQTT-3.1.2-26")
  @Tag("MQTT-3.3.2-11")
  void aliasesStayWithinTheClientsMaximumAndTheSetting(int clientMaximum) {
    int topics = 3 * Math.min(clientMaximum, SETTING);
    try (RawClient subscriber = RawClient.connected(broker, "s", aliasMaximum(clientMaximum));
        RawClient publisher = RawClient.connected(broker, "p")) {
      subscriber.subscribe(root + "/many/#", 1);
      Names names = new Names();
      for (int i = 0; i < 200; i++) {
        String topic = root + "/many/" + (i % 2 == 0 ? 0 : i % topics);
        publisher.publish(topic, 1, 1, "" + i);
        Message message = subscriber.take();
        assertThat(message.text()).isEqualTo("" + i);
        assertThat(names.topic(message)).isEqualTo(topic);
      }
      assertThat(names.used).hasSizeGreaterThan(50).allMatch(alias -> alias >= 1 && alias <= Math.min(clientMaximum, SETTING));
    }
  }

  @Test
  @Tag("MQTT-3.1.2-27")
  void aClientThatAnnouncesNoneGetsNone() {
    for (byte[][] announced : new byte[][][] {{}, {aliasMaximum(0)}}) {
      try (RawClient subscriber = RawClient.connected(broker, "s", announced);
          RawClient publisher = RawClient.connected(broker, "p")) {
        subscriber.subscribe(root + "/none", 0);
        for (int i = 0; i < 3; i++) {
          publisher.publish(root + "/none", 0, 0, "x");
          Message message = subscriber.take();
          assertThat(message.topic()).isEqualTo(root + "/none");
          assertThat(message.properties()).isEmpty();
        }
      }
    }
  }

  @Test
  @Tag("MQTT-3.3.2-7")
  void aMessageResentOnAnotherConnectionHasItsTopicAgain() {
    String topic = root + "/again";
    byte[] durable = RawClient.sessionExpiry(60);
    try (RawClient publisher = RawClient.connected(broker, "p")) {
      try (RawClient subscriber = RawClient.connected(broker, "durable", durable, aliasMaximum(5))) {
        subscriber.subscribe(topic, 1);
        publisher.publish(topic, 1, 1, "first");
        publisher.publish(topic, 1, 2, "second");
        assertThat(subscriber.message().topic()).isEqualTo(topic);
        assertThat(subscriber.message().topic()).isEmpty();
      }
      try (RawClient again = new RawClient(broker.port())) {
        again.connect(RawClient.connect(5, false, 0, "durable", RawClient.properties(durable, aliasMaximum(5))));
        Names names = new Names();
        for (String text : List.of("first", "second")) {
          Message message = again.message();
          assertThat(message.duplicate()).isTrue();
          assertThat(message.text()).isEqualTo(text);
          assertThat(names.topic(message)).isEqualTo(topic);
          again.send(RawClient.PUBACK, RawClient.u16(message.packetId()));
        }
      }
    }
  }

  @Test
  @Tag("MQTT-3.1.2-25")
  void aMessageThatWasTooLargeDefinesNoAlias() {
    String topic = root + "/large";
    int withoutAlias = 2 + 2 + topic.length() + 1;
    byte[] size = RawClient.maximumPacketSize(withoutAlias + 20);
    try (RawClient subscriber = RawClient.connected(broker, "s", aliasMaximum(5), size);
        RawClient publisher = RawClient.connected(broker, "p")) {
      subscriber.subscribe(topic, 0);
      publisher.publish(topic, 0, 0, "x".repeat(21)); // fits in no form
      publisher.publish(topic, 0, 0, "y".repeat(20)); // fits only without the alias
      publisher.publish(topic, 0, 0, "z");
      publisher.publish(topic, 0, 0, "v".repeat(25)); // fits only with the alias in its name's place
      for (String expected : List.of(topic, topic, "")) {
        Message message = subscriber.take();
        assertThat(message.topic()).as(message.text()).isEqualTo(expected);
      }
      subscriber.ping();
    }
  }
}
