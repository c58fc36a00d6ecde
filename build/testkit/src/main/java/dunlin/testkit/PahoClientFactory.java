package dunlin.testkit;

import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.jspecify.annotations.Nullable;

/**
 * Clients of Eclipse Paho for MQTT 5, if that library is there. They have a session that ends with its connection, and keep nothing on disk. A broker of a cluster that
 * refuses a client with 0x88 (Server unavailable), as it does in the moment in which a leadership moves, is asked again for half a minute.
 */
public final class PahoClientFactory implements ClientFactory<MqttClient> {
  private static final int SECONDS_MAX = 30;
  private static final int UNAVAILABLE = 0x88;

  @Override
  public Class<MqttClient> type() {
    return MqttClient.class;
  }

  @Override
  public MqttClient connect(URI broker, String clientId) throws MqttException {
    var client = new MqttClient(broker.toString(), clientId, new MemoryPersistence());
    client.setTimeToWait(SECONDS_MAX * 1_000L);
    var options = new MqttConnectionOptions();
    options.setConnectionTimeout(SECONDS_MAX);
    options.setCleanStart(true);
    options.setSessionExpiryInterval(0L);
    long begin = System.nanoTime();
    while (true) {
      try {
        client.connect(options);
        return client;
      } catch (MqttException e) {
        if (e.getReasonCode() == UNAVAILABLE && System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(SECONDS_MAX)) continue;
        client.close(true);
        throw e;
      }
    }
  }

  /** Sends DISCONNECT first, if that is possible within half a minute. Paho's disconnectForcibly() would wait all of that time for an answer, which DISCONNECT has not. */
  @Override
  public void close(MqttClient client) throws MqttException {
    try {
      var disconnected = new CompletableFuture<@Nullable Void>();
      Thread.ofVirtual().start(() -> disconnect(client, disconnected));
      var _ = disconnected.completeOnTimeout(null, SECONDS_MAX, TimeUnit.SECONDS).join();
      if (client.isConnected()) client.disconnectForcibly(0, 1, false);
    } finally {
      client.close(true);
    }
  }

  private static void disconnect(MqttClient client, CompletableFuture<@Nullable Void> disconnected) {
    try {
      client.disconnect(0);
    } catch (MqttException _) {
      // Not connected any more, or it is closed in the other way.
    } finally {
      disconnected.complete(null);
    }
  }
}
