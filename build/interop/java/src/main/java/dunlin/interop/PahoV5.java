package dunlin.interop;

import dunlin.interop.Message.Pair;
import dunlin.interop.Message.Properties;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttAsyncClient;
import org.eclipse.paho.mqttv5.client.MqttCallback;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.MqttSubscription;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;
import org.eclipse.paho.mqttv5.common.packet.UserProperty;

/** Eclipse Paho's client of MQTT 5. */
final class PahoV5 extends Client {
  private final MqttAsyncClient client;
  private final boolean sessionPresent;
  private final int topicAliasMaximum;

  PahoV5(Relay relay, String address, Options options) throws MqttException {
    super(relay);
    client = new MqttAsyncClient(address, options.clientId(), new MemoryPersistence());
    client.setCallback(
        new MqttCallback() {
          @Override
          public void disconnected(MqttDisconnectResponse response) {}

          @Override
          public void mqttErrorOccurred(MqttException failure) {}

          @Override
          public void messageArrived(String topic, MqttMessage message) {
            arrived(
                new Message(
                    topic, message.getPayload(), message.getQos(), message.isRetained(), properties(message.getProperties())));
          }

          @Override
          public void deliveryComplete(IMqttToken token) {}

          @Override
          public void connectComplete(boolean reconnect, String address) {}

          @Override
          public void authPacketArrived(int reason, MqttProperties properties) {}
        });
    MqttConnectionOptions how = new MqttConnectionOptions();
    how.setCleanStart(!options.durable());
    how.setSessionExpiryInterval(options.durable() ? 600L : 0L);
    if (!options.willTopic().isEmpty()) {
      how.setWill(
          options.willTopic(), new MqttMessage("gone".getBytes(StandardCharsets.UTF_8), 1, false, new MqttProperties()));
    }
    IMqttToken connected = client.connect(how);
    await(connected);
    sessionPresent = connected.getSessionPresent();
    topicAliasMaximum = Optional.ofNullable(connected.getResponseProperties().getTopicAliasMaximum()).orElse(0);
  }

  private static Properties properties(MqttProperties of) {
    return new Properties(
        of.getUserProperties().stream().map(pair -> new Pair(pair.getKey(), pair.getValue())).toList(),
        of.getContentType(),
        of.getResponseTopic(),
        of.getCorrelationData(),
        Optional.ofNullable(of.getMessageExpiryInterval()).orElse(0L),
        0,
        List.copyOf(of.getSubscriptionIdentifiers()));
  }

  private static MqttProperties properties(Properties of) {
    MqttProperties made = new MqttProperties();
    made.setUserProperties(of.user().stream().map(pair -> new UserProperty(pair.name(), pair.value())).toList());
    made.setContentType(of.contentType());
    made.setResponseTopic(of.responseTopic());
    made.setCorrelationData(of.correlationData());
    if (of.expirySeconds() > 0) made.setMessageExpiryInterval(of.expirySeconds());
    if (of.alias() > 0) made.setTopicAlias(of.alias());
    return made;
  }

  private static void await(IMqttToken token) throws MqttException {
    token.waitForCompletion(SECONDS_MAX * 1_000);
  }

  @Override
  boolean sessionPresent() {
    return sessionPresent;
  }

  @Override
  int topicAliasMaximum() {
    return topicAliasMaximum;
  }

  @Override
  void subscribe(String filter, int qos, int identifier) throws MqttException {
    MqttProperties properties = new MqttProperties();
    if (identifier > 0) properties.setSubscriptionIdentifier(identifier);
    IMqttToken token = client.subscribe(new MqttSubscription[] {new MqttSubscription(filter, qos)}, null, null, properties);
    await(token);
    Check.same(token.getReasonCodes(), new int[] {qos}, "SUBACK codes");
  }

  @Override
  void publish(Message message) throws MqttException {
    await(
        client.publish(
            message.topic(),
            new MqttMessage(message.payload(), message.qos(), message.retained(), properties(message.properties()))));
  }

  @Override
  void disconnect() throws MqttException {
    await(client.disconnect());
    client.close();
  }
}
