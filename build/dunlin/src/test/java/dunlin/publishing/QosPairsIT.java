package dunlin.publishing;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import dunlin.TestBroker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.paho.client.mqttv3.IMqttMessageListener;
import org.eclipse.paho.client.mqttv3.MqttConnectOptions;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every QoS of a publisher with every QoS of a subscriber, with third-party clients. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class QosPairsIT {
  private static final int MESSAGES = 200;

  private TestBroker broker;

  QosPairsIT(@TempDir Path data) {
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

  static Stream<Arguments> pairs() {
    return IntStream.range(0, 9)
        .boxed()
        .flatMap(pair -> Stream.of(false, true).map(durable -> Arguments.of(pair / 3, pair % 3, durable)));
  }

  @ParameterizedTest(name = "published with {0}, subscribed with {1}, durable session {2}")
  @Tag("pitfall-54")
  @Tag("pitfall-57")
  @MethodSource("pairs")
  @Tag("MQTT3-3.8.4-6")
  @Tag("MQTT3-4.6.0-5")
  @Tag("MQTT3-4.6.0-6")
  @Tag("MQTT3-7.0.0-2")
  void pahoGetsEachMessageOnceInOrder(int published, int subscribed, boolean durable) throws Exception {
    String topic = "paho/" + UUID.randomUUID();
    List<String> arrived = Collections.synchronizedList(new ArrayList<>());
    List<Integer> qos = Collections.synchronizedList(new ArrayList<>());
    try (var subscriber = paho(durable);
        var publisher = paho(durable)) {
      IMqttMessageListener listener =
          (_, message) -> {
            arrived.add(new String(message.getPayload(), StandardCharsets.UTF_8));
            qos.add(message.getQos());
          };
      subscriber.subscribe(topic, subscribed, listener);
      for (int i = 0; i < MESSAGES; i++) {
        publisher.publish(topic, Integer.toString(i).getBytes(StandardCharsets.UTF_8), published, false);
      }
      await().atMost(TestBroker.SOON).until(() -> arrived.size() >= MESSAGES);
      subscriber.disconnect();
      publisher.disconnect();
    }
    assertThat(arrived).containsExactlyElementsOf(numbers());
    assertThat(qos).containsOnly(Math.min(published, subscribed));
  }

  @ParameterizedTest(name = "published with {0}, subscribed with {1}, durable session {2}")
  @Tag("pitfall-54")
  @Tag("pitfall-57")
  @MethodSource("pairs")
  @Tag("MQTT-3.8.4-8")
  @Tag("MQTT-4.6.0-5")
  @Tag("MQTT-4.6.0-6")
  void hivemqGetsEachMessageOnceInOrder(int published, int subscribed, boolean durable) {
    String topic = "hivemq/" + UUID.randomUUID();
    List<String> arrived = Collections.synchronizedList(new ArrayList<>());
    List<Integer> qos = Collections.synchronizedList(new ArrayList<>());
    Mqtt5AsyncClient subscriber = hivemq(durable);
    Mqtt5AsyncClient publisher = hivemq(durable);
    subscriber
        .subscribeWith()
        .topicFilter(topic)
        .qos(requireNonNull(MqttQos.fromCode(subscribed)))
        .callback(
            message -> {
              arrived.add(new String(message.getPayloadAsBytes(), StandardCharsets.UTF_8));
              qos.add(message.getQos().getCode());
            })
        .send()
        .join();
    List<CompletableFuture<?>> sent = new ArrayList<>();
    for (int i = 0; i < MESSAGES; i++) {
      sent.add(
          publisher
              .publishWith()
              .topic(topic)
              .qos(requireNonNull(MqttQos.fromCode(published)))
              .payload(Integer.toString(i).getBytes(StandardCharsets.UTF_8))
              .send());
    }
    sent.forEach(CompletableFuture::join);
    await().atMost(TestBroker.SOON).until(() -> arrived.size() >= MESSAGES);
    subscriber.disconnect().join();
    publisher.disconnect().join();

    assertThat(arrived).containsExactlyElementsOf(numbers());
    assertThat(qos).containsOnly(Math.min(published, subscribed));
  }

  private static List<String> numbers() {
    return IntStream.range(0, MESSAGES).mapToObj(Integer::toString).toList();
  }

  private org.eclipse.paho.client.mqttv3.MqttClient paho(boolean durable) throws Exception {
    var client =
        new org.eclipse.paho.client.mqttv3.MqttClient(
            broker.uri(), UUID.randomUUID().toString(), new MemoryPersistence());
    var options = new MqttConnectOptions();
    options.setCleanSession(!durable);
    options.setMaxInflight(MESSAGES); // the client frees a place only a while after publish() has returned
    options.setMqttVersion(MqttConnectOptions.MQTT_VERSION_3_1_1);
    client.connect(options);
    return client;
  }

  private Mqtt5AsyncClient hivemq(boolean durable) {
    Mqtt5AsyncClient client =
        MqttClient.builder()
            .useMqttVersion5()
            .identifier(UUID.randomUUID().toString())
            .serverHost("127.0.0.1")
            .serverPort(broker.port())
            .buildAsync();
    client.connectWith().cleanStart(true).sessionExpiryInterval(durable ? 3600 : 0).send().join();
    return client;
  }
}
