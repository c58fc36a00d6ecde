package dunlin.testkit;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttCallback;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;
import org.jspecify.annotations.Nullable;

/** A client of Paho that resumes its session, and notes what it receives. */
final class PahoSession implements AutoCloseable, MqttCallback {
  private static final int SECONDS = 60;

  /** The reason code in CONNACK of a broker that cannot serve the client now. */
  private static final int UNAVAILABLE = 0x88;

  private final MqttClient client;
  private final MqttConnectionOptions options = new MqttConnectionOptions();
  private final boolean sessionPresent;
  private final BlockingQueue<String> received = new LinkedBlockingQueue<>();
  private final CompletableFuture<OptionalInt> disconnected = new CompletableFuture<>();

  PahoSession(URI broker, String clientId, long expirySeconds) throws MqttException {
    this(broker, clientId, expirySeconds, null, 0);
  }

  /** @param willTopic of a will that says the client's identifier; null for none */
  PahoSession(URI broker, String clientId, long expirySeconds, @Nullable String willTopic, long willDelaySeconds) throws MqttException {
    client = new MqttClient(broker.toString(), clientId, new MemoryPersistence());
    client.setTimeToWait(SECONDS * 1_000L);
    client.setCallback(this);
    options.setConnectionTimeout(SECONDS);
    options.setCleanStart(false);
    options.setSessionExpiryInterval(expirySeconds);
    if (willTopic != null) {
      var delay = new MqttProperties();
      delay.setWillDelayInterval(willDelaySeconds);
      options.setWillMessageProperties(delay);
      options.setWill(willTopic, new MqttMessage(clientId.getBytes(StandardCharsets.UTF_8), 1, false, null));
    }
    sessionPresent = connectOnceServed();
  }

  /** Connects again while the broker says that it is unavailable, as in the moment in which the leadership of the sessions moves. */
  private boolean connectOnceServed() throws MqttException {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (true) {
      try {
        return client.connectWithResult(options).getSessionPresent();
      } catch (MqttException e) {
        if (e.getReasonCode() != UNAVAILABLE || System.nanoTime() > until) throw e;
      }
    }
  }

  boolean sessionPresent() {
    return sessionPresent;
  }

  void subscribe(String filter) throws MqttException {
    client.subscribe(filter, 1);
  }

  /** Connects again before it, if the broker has ended the connection, as one does that was too busy to keep its lease. */
  void publish(String topic, String payload) throws MqttException {
    reconnect();
    client.publish(topic, payload.getBytes(StandardCharsets.UTF_8), 1, false);
  }

  /** Publishes over the present connection. Returns when that is acknowledged, with QoS 1. */
  void publishHere(String topic, String payload, int qos, boolean retain) throws MqttException {
    client.publish(topic, payload.getBytes(StandardCharsets.UTF_8), qos, retain);
  }

  /** Connects again if the broker has ended the connection. */
  String receive() throws InterruptedException {
    for (int i = 0; i < SECONDS; i++) {
      String next = received.poll(1, TimeUnit.SECONDS);
      if (next != null) return next;
      try {
        reconnect();
      } catch (MqttException _) {
        // It is tried again in a second.
      }
    }
    throw new AssertionError("nothing received");
  }

  private void reconnect() throws MqttException {
    if (!client.isConnected()) client.connect(options);
  }

  /** Waits for the end of the connection. Answers the reason code of DISCONNECT; empty when there was none. */
  OptionalInt disconnection() throws Exception {
    return disconnected.get(SECONDS, TimeUnit.SECONDS);
  }

  /** Ends the connection without DISCONNECT. */
  void lose() throws MqttException {
    client.disconnectForcibly(0, SECONDS * 1_000L, false);
  }

  @Override
  public void disconnected(MqttDisconnectResponse response) {
    boolean packet = response.getException() == null || response.getException().getCause() == null;
    disconnected.complete(packet ? OptionalInt.of(response.getReturnCode()) : OptionalInt.empty());
  }

  @Override
  public void messageArrived(String topic, MqttMessage message) {
    received.add(new String(message.getPayload(), StandardCharsets.UTF_8));
  }

  @Override
  public void close() throws MqttException {
    if (client.isConnected()) client.disconnect();
    client.close(true);
  }

  @Override
  public void mqttErrorOccurred(MqttException exception) {}

  @Override
  public void deliveryComplete(IMqttToken token) {}

  @Override
  public void connectComplete(boolean reconnect, String serverURI) {}

  @Override
  public void authPacketArrived(int reasonCode, MqttProperties properties) {}
}
