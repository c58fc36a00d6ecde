package dunlin.harness;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5PubAckException;
import com.hivemq.client.mqtt.mqtt5.exceptions.Mqtt5PubRecException;
import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5Connect;
import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5ConnectBuilder;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5PublishResult;
import com.hivemq.client.mqtt.mqtt5.message.subscribe.Mqtt5Subscribe;
import dunlin.TestBroker;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** HiveMQ's client of MQTT 5, which keeps all messages in the order of arrival. */
public final class Hive implements AutoCloseable {
  private final Mqtt5AsyncClient client;
  private final LinkedBlockingQueue<Mqtt5Publish> arrived = new LinkedBlockingQueue<>();

  private Hive(TestBroker broker, String clientId) {
    client =
        MqttClient.builder()
            .useMqttVersion5()
            .identifier(clientId)
            .serverHost("127.0.0.1")
            .serverPort(broker.port())
            .buildAsync();
    client.publishes(MqttGlobalPublishFilter.ALL, arrived::add);
  }

  /** Connects with a session of one hour, or one that ends with its connection. */
  public static Hive connected(TestBroker broker, boolean durable) {
    return connected(broker, UUID.randomUUID().toString(), with -> with.sessionExpiryInterval(durable ? 3_600 : 0));
  }

  public static Hive connected(TestBroker broker, String clientId, UnaryOperator<Mqtt5ConnectBuilder> with) {
    Hive hive = new Hive(broker, clientId);
    hive.client.connect(with.apply(Mqtt5Connect.builder()).build()).join();
    return hive;
  }

  public static MqttQos qos(int code) {
    return Objects.requireNonNull(MqttQos.fromCode(code));
  }

  public Hive subscribe(String filter, int qos) {
    return subscribe(Mqtt5Subscribe.builder().topicFilter(filter).qos(qos(qos)).build());
  }

  public Hive subscribe(Mqtt5Subscribe subscribe) {
    client.subscribe(subscribe).join();
    return this;
  }

  public void unsubscribe(String filter) {
    client.unsubscribeWith().topicFilter(filter).send().join();
  }

  public CompletableFuture<Mqtt5PublishResult> publish(String topic, int qos, String payload) {
    return publish(topic, qos, payload, false);
  }

  public CompletableFuture<Mqtt5PublishResult> publish(String topic, int qos, String payload, boolean retain) {
    return publish(
        Mqtt5Publish.builder()
            .topic(topic)
            .qos(qos(qos))
            .retain(retain)
            .payload(payload.getBytes(StandardCharsets.UTF_8))
            .build());
  }

  public CompletableFuture<Mqtt5PublishResult> publish(Mqtt5Publish message) {
    return client.publish(message);
  }

  /** Publishes and returns the reason code of the PUBACK or PUBREC. */
  public CompletableFuture<Integer> reason(String topic, int qos, String payload) {
    return publish(topic, qos, payload)
        .handle(
            (result, failure) -> {
              Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
              if (cause instanceof Mqtt5PubAckException refused) return refused.getMqttMessage().getReasonCode().getCode();
              if (cause instanceof Mqtt5PubRecException refused) return refused.getMqttMessage().getReasonCode().getCode();
              return switch (result) {
                case Mqtt5PublishResult.Mqtt5Qos1Result one -> one.getPubAck().getReasonCode().getCode();
                case Mqtt5PublishResult.Mqtt5Qos2Result two -> two.getPubRec().getReasonCode().getCode();
                default -> throw new AssertionError("no answer to a publish: " + result, failure);
              };
            });
  }

  /** Messages that have arrived and were not taken yet. */
  public LinkedBlockingQueue<Mqtt5Publish> arrived() {
    return arrived;
  }

  public Mqtt5Publish next() {
    try {
      Mqtt5Publish message = arrived.poll(TestBroker.SOON.toSeconds(), TimeUnit.SECONDS);
      if (message == null) throw new AssertionError("no message came");
      return message;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** Takes messages until one has this payload; returns those before it. */
  public List<Mqtt5Publish> before(String payload) {
    List<Mqtt5Publish> messages = new ArrayList<>();
    while (true) {
      Mqtt5Publish message = next();
      if (text(message).equals(payload)) return messages;
      messages.add(message);
    }
  }

  public static String text(Mqtt5Publish message) {
    return new String(message.getPayloadAsBytes(), StandardCharsets.UTF_8);
  }

  /** Disconnects and ends the session. */
  public void end() {
    client.disconnectWith().sessionExpiryInterval(0).send().join();
  }

  public Mqtt5AsyncClient client() {
    return client;
  }

  @Override
  public void close() {
    if (client.getState().isConnected()) client.disconnect().join();
  }
}
