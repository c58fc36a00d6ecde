package dunlin.interop;

import java.nio.charset.StandardCharsets;
import org.eclipse.paho.client.mqttv3.IMqttDeliveryToken;
import org.eclipse.paho.client.mqttv3.IMqttToken;
import org.eclipse.paho.client.mqttv3.MqttAsyncClient;
import org.eclipse.paho.client.mqttv3.MqttCallback;
import org.eclipse.paho.client.mqttv3.MqttConnectOptions;
import org.eclipse.paho.client.mqttv3.MqttException;
import org.eclipse.paho.client.mqttv3.MqttMessage;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;

/** Eclipse Paho's client of MQTT 3.1 and 3.1.1. */
final class PahoV3 extends Client {
  /**
   * More than a step publishes. It counts a message as in flight until its callback thread has had a turn, which may be after it has said that the message is
   * delivered: with its default of 10 a busy machine refuses the next one. See its issue 551.
   */
  private static final int IN_FLIGHT_MAX = 100;

  private final MqttAsyncClient client;
  private final boolean sessionPresent;

  PahoV3(Relay relay, String address, String version, Options options) throws MqttException {
    super(relay);
    client = new MqttAsyncClient(address, options.clientId(), new MemoryPersistence());
    client.setCallback(
        new MqttCallback() {
          @Override
          public void connectionLost(Throwable cause) {}

          @Override
          public void messageArrived(String topic, MqttMessage message) {
            arrived(new Message(topic, message.getPayload(), message.getQos(), message.isRetained(), Message.Properties.NONE));
          }

          @Override
          public void deliveryComplete(IMqttDeliveryToken token) {}
        });
    MqttConnectOptions how = new MqttConnectOptions();
    how.setMqttVersion(
        version.equals("3.1") ? MqttConnectOptions.MQTT_VERSION_3_1 : MqttConnectOptions.MQTT_VERSION_3_1_1);
    how.setCleanSession(!options.durable());
    how.setMaxInflight(IN_FLIGHT_MAX);
    if (!options.willTopic().isEmpty()) how.setWill(options.willTopic(), "gone".getBytes(StandardCharsets.UTF_8), 1, false);
    IMqttToken connected = client.connect(how);
    await(connected);
    sessionPresent = connected.getSessionPresent();
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
    return 0;
  }

  /** Its check of UTF-8 takes the halves of a surrogate pair for two characters, which may not be. */
  @Override
  boolean takesAllCharacters() {
    return false;
  }

  @Override
  void subscribe(String filter, int qos, int identifier) throws MqttException {
    IMqttToken token = client.subscribe(filter, qos);
    await(token);
    Check.same(token.getGrantedQos(), new int[] {qos}, "granted QoS");
  }

  @Override
  void publish(Message message) throws MqttException {
    await(client.publish(message.topic(), message.payload(), message.qos(), message.retained()));
  }

  @Override
  void disconnect() throws MqttException {
    await(client.disconnect());
    client.close();
  }
}
