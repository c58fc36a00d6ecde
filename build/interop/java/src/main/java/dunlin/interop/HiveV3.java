package dunlin.interop;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt3.Mqtt3AsyncClient;
import com.hivemq.client.mqtt.mqtt3.Mqtt3ClientBuilder;
import com.hivemq.client.mqtt.mqtt3.message.publish.Mqtt3Publish;
import com.hivemq.client.mqtt.mqtt3.message.subscribe.Mqtt3Subscribe;
import com.hivemq.client.mqtt.mqtt3.message.subscribe.suback.Mqtt3SubAck;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** HiveMQ's client of MQTT 3.1.1. */
final class HiveV3 extends Client {
  private final Mqtt3AsyncClient client;
  private final boolean sessionPresent;

  HiveV3(Relay relay, boolean webSocket, Options options) throws Exception {
    super(relay);
    Mqtt3ClientBuilder builder =
        MqttClient.builder()
            .useMqttVersion3()
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
    client.publishes(
        MqttGlobalPublishFilter.ALL,
        publish ->
            arrived(
                new Message(
                    publish.getTopic().toString(),
                    publish.getPayloadAsBytes(),
                    publish.getQos().getCode(),
                    publish.isRetain(),
                    Message.Properties.NONE)));
    sessionPresent =
        client
            .connectWith()
            .cleanSession(!options.durable())
            .send()
            .get(SECONDS_MAX, TimeUnit.SECONDS)
            .isSessionPresent();
  }

  @Override
  boolean sessionPresent() {
    return sessionPresent;
  }

  @Override
  int topicAliasMaximum() {
    return 0;
  }

  @Override
  void subscribe(String filter, int qos, int identifier) throws Exception {
    Mqtt3SubAck suback =
        client
            .subscribe(Mqtt3Subscribe.builder().topicFilter(filter).qos(HiveV5.qos(qos)).build())
            .get(SECONDS_MAX, TimeUnit.SECONDS);
    Check.same(suback.getReturnCodes().stream().map(code -> code.getCode()).toList(), List.of(qos), "SUBACK codes");
  }

  @Override
  void publish(Message message) throws Exception {
    client
        .publish(
            Mqtt3Publish.builder()
                .topic(message.topic())
                .payload(message.payload())
                .qos(HiveV5.qos(message.qos()))
                .retain(message.retained())
                .build())
        .get(SECONDS_MAX, TimeUnit.SECONDS);
  }

  @Override
  void disconnect() throws Exception {
    client.disconnect().get(SECONDS_MAX, TimeUnit.SECONDS);
  }
}
