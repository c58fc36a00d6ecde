package dunlin.interop;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.datatypes.MqttUtf8String;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.Mqtt5ClientBuilder;
import com.hivemq.client.mqtt.mqtt5.datatypes.Mqtt5UserProperties;
import com.hivemq.client.mqtt.mqtt5.datatypes.Mqtt5UserProperty;
import com.hivemq.client.mqtt.mqtt5.message.connect.connack.Mqtt5ConnAck;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5PublishBuilder;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5PublishResult;
import com.hivemq.client.mqtt.mqtt5.message.subscribe.Mqtt5Subscribe;
import com.hivemq.client.mqtt.mqtt5.message.subscribe.suback.Mqtt5SubAck;
import dunlin.interop.Message.Pair;
import dunlin.interop.Message.Properties;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** HiveMQ's client of MQTT 5. It gives topics aliases by itself, and keeps subscription identifiers to itself. */
final class HiveV5 extends Client {
  private final Mqtt5AsyncClient client;
  private final Mqtt5ConnAck connack;

  HiveV5(Relay relay, boolean webSocket, Options options) throws Exception {
    super(relay);
    Mqtt5ClientBuilder builder =
        MqttClient.builder()
            .useMqttVersion5()
            .identifier(options.clientId())
            .serverHost("127.0.0.1")
            .serverPort(relay.port());
    if (webSocket) builder = builder.webSocketConfig().serverPath("mqtt").applyWebSocketConfig();
    if (!options.willTopic().isEmpty()) {
      builder =
          builder
              .willPublish()
              .topic(options.willTopic())
              .qos(MqttQos.AT_LEAST_ONCE)
              .payload("gone".getBytes(StandardCharsets.UTF_8))
              .applyWillPublish();
    }
    client = builder.buildAsync();
    client.publishes(MqttGlobalPublishFilter.ALL, publish -> arrived(message(publish)));
    connack =
        client
            .connectWith()
            .cleanStart(!options.durable())
            .sessionExpiryInterval(options.durable() ? 600 : 0)
            .send()
            .get(SECONDS_MAX, TimeUnit.SECONDS);
  }

  static MqttQos qos(int code) {
    return Objects.requireNonNull(MqttQos.fromCode(code));
  }

  private static Message message(Mqtt5Publish publish) {
    Properties properties =
        new Properties(
            publish.getUserProperties().asList().stream()
                .map(pair -> new Pair(pair.getName().toString(), pair.getValue().toString()))
                .toList(),
            publish.getContentType().map(MqttUtf8String::toString).orElse(null),
            publish.getResponseTopic().map(Object::toString).orElse(null),
            publish.getCorrelationData().map(HiveV5::bytes).orElse(null),
            publish.getMessageExpiryInterval().orElse(0),
            0,
            List.of());
    return new Message(
        publish.getTopic().toString(), publish.getPayloadAsBytes(), publish.getQos().getCode(), publish.isRetain(), properties);
  }

  private static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  @Override
  boolean sessionPresent() {
    return connack.isSessionPresent();
  }

  @Override
  int topicAliasMaximum() {
    return connack.getRestrictions().getTopicAliasMaximum();
  }

  @Override
  void subscribe(String filter, int qos, int identifier) throws Exception {
    Mqtt5SubAck suback =
        client
            .subscribe(Mqtt5Subscribe.builder().topicFilter(filter).qos(qos(qos)).build())
            .get(SECONDS_MAX, TimeUnit.SECONDS);
    Check.same(suback.getReasonCodes().stream().map(code -> code.getCode()).toList(), List.of(qos), "SUBACK codes");
  }

  @Override
  void publish(Message message) throws Exception {
    Properties properties = message.properties();
    Mqtt5PublishBuilder.Complete publish =
        Mqtt5Publish.builder()
            .topic(message.topic())
            .payload(message.payload())
            .qos(qos(message.qos()))
            .retain(message.retained())
            .contentType(properties.contentType())
            .responseTopic(properties.responseTopic())
            .correlationData(properties.correlationData())
            .userProperties(
                Mqtt5UserProperties.of(
                    properties.user().stream().map(pair -> Mqtt5UserProperty.of(pair.name(), pair.value())).toList()));
    if (properties.expirySeconds() > 0) publish = publish.messageExpiryInterval(properties.expirySeconds());
    Mqtt5PublishResult result = client.publish(publish.build()).get(SECONDS_MAX, TimeUnit.SECONDS);
    if (result.getError().isPresent()) throw new IllegalStateException(result.getError().get());
  }

  @Override
  void disconnect() throws Exception {
    client.disconnect().get(SECONDS_MAX, TimeUnit.SECONDS);
  }
}
