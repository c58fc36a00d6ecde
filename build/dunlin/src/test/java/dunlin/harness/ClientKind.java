package dunlin.harness;

import static java.util.Objects.requireNonNull;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.eclipse.paho.client.mqttv3.IMqttDeliveryToken;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;
import org.jspecify.annotations.Nullable;

/** Third-party client libraries behind the few calls that tests of sessions make. */
public enum ClientKind {
  PAHO_3 {
    @Override
    public Client connect(int port, Options options, Consumer<Message> listener) throws Exception {
      return new Paho3(port, options, listener);
    }
  },
  PAHO_5 {
    @Override
    public Client connect(int port, Options options, Consumer<Message> listener) throws Exception {
      return new Paho5(port, options, listener);
    }
  },
  HIVEMQ_5 {
    @Override
    public Client connect(int port, Options options, Consumer<Message> listener) {
      return new HiveMq(port, options, listener);
    }
  };

  /** Paho logs much about each packet. Referenced here, since the log manager holds loggers only weakly. */
  private static final Logger PAHO_LOG = Logger.getLogger("org.eclipse.paho");

  static {
    PAHO_LOG.setLevel(Level.WARNING);
  }

  /** Connects; the listener receives all messages, also those that come before any subscription. */
  public abstract Client connect(int port, Options options, Consumer<Message> listener) throws Exception;

  public record Message(String topic, String payload, int qos) {}

  /**
   * @param expirySeconds 0 for a session that ends with its connection; in MQTT 3 any other value means a durable one
   * @param receiveMaximum with MQTT 5 only
   */
  public record Options(String clientId, boolean cleanStart, long expirySeconds, int receiveMaximum) {
    public static Options of(String clientId) {
      return new Options(clientId, false, 3_600, 65_535);
    }

    public Options clean() {
      return new Options(clientId, true, expirySeconds, receiveMaximum);
    }

    public Options receiveMaximum(int messages) {
      return new Options(clientId, cleanStart, expirySeconds, messages);
    }
  }

  /** A connected client. Its calls return when the server has answered. */
  public interface Client {
    boolean sessionPresent();

    void subscribe(String filter, int qos) throws Exception;

    void publish(String topic, String payload, int qos) throws Exception;

    void disconnect() throws Exception;

    boolean connected();
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  private static final class Paho3 implements Client {
    private final org.eclipse.paho.client.mqttv3.MqttClient client;
    private final boolean sessionPresent;

    Paho3(int port, Options options, Consumer<Message> listener) throws Exception {
      client =
          new org.eclipse.paho.client.mqttv3.MqttClient(
              "tcp://127.0.0.1:" + port,
              options.clientId(),
              new org.eclipse.paho.client.mqttv3.persist.MemoryPersistence());
      client.setCallback(
          new org.eclipse.paho.client.mqttv3.MqttCallback() {
            @Override
            public void connectionLost(Throwable cause) {}

            @Override
            public void messageArrived(String topic, org.eclipse.paho.client.mqttv3.MqttMessage message) {
              listener.accept(new Message(topic, text(message.getPayload()), message.getQos()));
            }

            @Override
            public void deliveryComplete(IMqttDeliveryToken token) {}
          });
      var connect = new org.eclipse.paho.client.mqttv3.MqttConnectOptions();
      connect.setMqttVersion(org.eclipse.paho.client.mqttv3.MqttConnectOptions.MQTT_VERSION_3_1_1);
      connect.setCleanSession(options.cleanStart() || options.expirySeconds() == 0);
      sessionPresent = client.connectWithResult(connect).getSessionPresent();
    }

    @Override
    public boolean sessionPresent() {
      return sessionPresent;
    }

    @Override
    public void subscribe(String filter, int qos) throws Exception {
      client.subscribe(filter, qos);
    }

    @Override
    public void publish(String topic, String payload, int qos) throws Exception {
      client.publish(topic, utf8(payload), qos, false);
    }

    @Override
    public void disconnect() throws Exception {
      client.disconnect();
      client.close();
    }

    @Override
    public boolean connected() {
      return client.isConnected();
    }
  }

  private static final class Paho5 implements Client {
    private final org.eclipse.paho.mqttv5.client.MqttClient client;
    private final boolean sessionPresent;

    Paho5(int port, Options options, Consumer<Message> listener) throws Exception {
      client =
          new org.eclipse.paho.mqttv5.client.MqttClient(
              "tcp://127.0.0.1:" + port,
              options.clientId(),
              new org.eclipse.paho.mqttv5.client.persist.MemoryPersistence());
      client.setCallback(
          new org.eclipse.paho.mqttv5.client.MqttCallback() {
            @Override
            public void disconnected(MqttDisconnectResponse response) {}

            @Override
            public void mqttErrorOccurred(MqttException exception) {}

            @Override
            public void messageArrived(String topic, MqttMessage message) {
              listener.accept(new Message(topic, text(message.getPayload()), message.getQos()));
            }

            @Override
            public void deliveryComplete(IMqttToken token) {}

            @Override
            public void connectComplete(boolean reconnect, String uri) {}

            @Override
            public void authPacketArrived(int reason, MqttProperties properties) {}
          });
      var connect = new MqttConnectionOptions();
      connect.setCleanStart(options.cleanStart());
      connect.setSessionExpiryInterval(options.expirySeconds());
      connect.setReceiveMaximum(options.receiveMaximum());
      sessionPresent = client.connectWithResult(connect).getSessionPresent();
    }

    @Override
    public boolean sessionPresent() {
      return sessionPresent;
    }

    @Override
    public void subscribe(String filter, int qos) throws Exception {
      client.subscribe(filter, qos);
    }

    @Override
    public void publish(String topic, String payload, int qos) throws Exception {
      client.publish(topic, utf8(payload), qos, false);
    }

    @Override
    public void disconnect() throws Exception {
      client.disconnect();
      client.close();
    }

    @Override
    public boolean connected() {
      return client.isConnected();
    }
  }

  private static final class HiveMq implements Client {
    private final Mqtt5AsyncClient client;
    private final boolean sessionPresent;

    HiveMq(int port, Options options, Consumer<Message> listener) {
      client =
          MqttClient.builder()
              .useMqttVersion5()
              .identifier(options.clientId())
              .serverHost("127.0.0.1")
              .serverPort(port)
              .buildAsync();
      client.publishes(
          MqttGlobalPublishFilter.ALL,
          message ->
              listener.accept(
                  new Message(
                      message.getTopic().toString(), text(message.getPayloadAsBytes()), message.getQos().getCode())));
      sessionPresent =
          client
              .connectWith()
              .cleanStart(options.cleanStart())
              .sessionExpiryInterval(options.expirySeconds())
              .restrictions()
              .receiveMaximum(options.receiveMaximum())
              .applyRestrictions()
              .send()
              .join()
              .isSessionPresent();
    }

    @Override
    public boolean sessionPresent() {
      return sessionPresent;
    }

    @Override
    public void subscribe(String filter, int qos) throws Exception {
      client.subscribeWith().topicFilter(filter).qos(qos(qos)).send().get(60, TimeUnit.SECONDS);
    }

    @Override
    public void publish(String topic, String payload, int qos) throws Exception {
      client.publishWith().topic(topic).payload(utf8(payload)).qos(qos(qos)).send().get(60, TimeUnit.SECONDS);
    }

    @Override
    public void disconnect() throws Exception {
      client.disconnect().get(60, TimeUnit.SECONDS);
    }

    @Override
    public boolean connected() {
      return client.getState().isConnected();
    }

    private static MqttQos qos(int code) {
      @Nullable MqttQos qos = MqttQos.fromCode(code);
      return requireNonNull(qos);
    }
  }
}
