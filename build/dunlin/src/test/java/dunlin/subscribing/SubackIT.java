package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5PublishResult;
import com.hivemq.client.mqtt.mqtt5.message.publish.puback.Mqtt5PubAckReasonCode;
import dunlin.TestBroker;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Promise D2: a message published after a SUBACK reaches that subscription, whichever connections and event loops are involved. */
class SubackIT {
  private static final int ROUNDS = 150;

  @ParameterizedTest(name = "session expiry {0} s, in front of the filter: {1}")
  @Tag("pitfall-67")
  @CsvSource({"0,''", "600,''", "0,$share/group/", "600,$share/group/"})
  void aMessageThatIsPublishedRightAfterSubackArrives(int expirySeconds, String prefix, @TempDir Path data) {
    try (TestBroker broker = TestBroker.on(data)) {
      Mqtt5AsyncClient[] publishers =
          IntStream.range(0, 4).mapToObj(i -> connected(broker, "publisher" + i, 0)).toArray(Mqtt5AsyncClient[]::new);
      Mqtt5AsyncClient[] subscribers =
          IntStream.range(0, 4)
              .mapToObj(i -> connected(broker, "subscriber" + i, expirySeconds))
              .toArray(Mqtt5AsyncClient[]::new);
      Set<String> arrived = ConcurrentHashMap.newKeySet();

      for (int round = 0; round < ROUNDS; round++) {
        String topic = "suback/" + round;
        subscribers[round % 4]
            .subscribeWith()
            .topicFilter(prefix + topic + "/+")
            .qos(MqttQos.AT_LEAST_ONCE)
            .callback(message -> arrived.add(message.getTopic().toString()))
            .send()
            .join();
        Mqtt5PublishResult result =
            publishers[round / 4 % 4].publishWith().topic(topic + "/x").qos(MqttQos.AT_LEAST_ONCE).send().join();
        assertThat(result).isInstanceOf(Mqtt5PublishResult.Mqtt5Qos1Result.class);
        assertThat(((Mqtt5PublishResult.Mqtt5Qos1Result) result).getPubAck().getReasonCode())
            .as("round %d", round)
            .isEqualTo(Mqtt5PubAckReasonCode.SUCCESS);
      }

      await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(arrived).hasSize(ROUNDS));
    }
  }

  private static Mqtt5AsyncClient connected(TestBroker broker, String id, int expirySeconds) {
    Mqtt5AsyncClient client =
        MqttClient.builder()
            .useMqttVersion5()
            .identifier(id)
            .serverHost("127.0.0.1")
            .serverPort(broker.port())
            .buildAsync();
    client.connectWith().sessionExpiryInterval(expirySeconds).send().join();
    return client;
  }
}
