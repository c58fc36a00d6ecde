package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import dunlin.TestBroker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Promise D8: a client that subscribes while a topic's retained message changes ends with the newest one. */
class RetainedOrderIT {
  private static final int VALUES = 3_000;
  private static final int SUBSCRIBERS = 60;

  @ParameterizedTest
  @ValueSource(ints = {0, 3_600})
  void everySubscriberEndsWithTheLastValueAndStartsWithNoneOlderThanAcknowledged(int sessionExpirySeconds, @TempDir Path data) {
    try (TestBroker broker = TestBroker.on(data)) {
      Mqtt5AsyncClient publisher = connected(broker, "publisher", 0);
      AtomicInteger acknowledged = new AtomicInteger(-1);
      CompletableFuture<Void> published = CompletableFuture.runAsync(() -> publishAll(publisher, acknowledged));

      List<Seen> all = new ArrayList<>();
      for (int i = 0; i < SUBSCRIBERS; i++) {
        Seen seen = new Seen(acknowledged.get());
        all.add(seen);
        Mqtt5AsyncClient subscriber = connected(broker, "subscriber-" + i, sessionExpirySeconds);
        subscriber
            .subscribeWith()
            .topicFilter("counter/#")
            .qos(MqttQos.AT_LEAST_ONCE)
            .callback(message -> seen.value(Integer.parseInt(text(message.getPayloadAsBytes()))))
            .send()
            .join();
      }
      published.join();

      for (Seen seen : all) {
        await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(seen.last()).isEqualTo(VALUES - 1));
        assertThat(seen.first()).as("older than what was acknowledged before").isGreaterThanOrEqualTo(seen.before);
      }
    }
  }

  private static void publishAll(Mqtt5AsyncClient publisher, AtomicInteger acknowledged) {
    List<CompletableFuture<?>> sent = new ArrayList<>();
    for (int i = 0; i < VALUES; i++) {
      int value = i;
      sent.add(
          publisher
              .publishWith()
              .topic("counter/a")
              .qos(MqttQos.AT_LEAST_ONCE)
              .retain(true)
              .payload(Integer.toString(i).getBytes(StandardCharsets.UTF_8))
              .send()
              .thenAccept(_ -> acknowledged.accumulateAndGet(value, Math::max)));
      if (i % 50 == 49) sent.forEach(CompletableFuture::join);
    }
    sent.forEach(CompletableFuture::join);
  }

  private static String text(byte[] payload) {
    return new String(payload, StandardCharsets.UTF_8);
  }

  private static Mqtt5AsyncClient connected(TestBroker broker, String id, int sessionExpirySeconds) {
    Mqtt5AsyncClient client =
        MqttClient.builder()
            .useMqttVersion5()
            .identifier(id)
            .serverHost("127.0.0.1")
            .serverPort(broker.port())
            .buildAsync();
    client.connectWith().sessionExpiryInterval(sessionExpirySeconds).send().join();
    return client;
  }

  /** The values of the counter that one subscriber has seen. */
  private static final class Seen {
    /** The last value acknowledged to the publisher before the subscriber subscribed. */
    final int before;

    private int first = -1;
    private int last = -1;

    Seen(int before) {
      this.before = before;
    }

    synchronized void value(int value) {
      if (first < 0) first = value;
      last = value;
    }

    synchronized int first() {
      return first;
    }

    synchronized int last() {
      return last;
    }
  }
}
