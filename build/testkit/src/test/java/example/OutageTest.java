package example;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import dunlin.testkit.DunlinCluster;
import dunlin.testkit.DunlinTest;
import dunlin.testkit.OnNode;
import java.net.URI;
import java.time.Duration;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.junit.jupiter.api.Test;

@DunlinTest(nodes = 3)
class OutageTest {
  @Test
  void findsAnotherBroker(DunlinCluster cluster, @OnNode(0) MqttClient device) throws Exception {
    cluster.kill(0);
    while (device.isConnected()) Thread.onSpinWait();

    var anyBroker = new MqttConnectionOptions();
    anyBroker.setServerURIs(cluster.uris().stream().map(URI::toString).toArray(String[]::new));
    // Refused while the cluster replaces a leader that it has lost.
    await().atMost(Duration.ofMinutes(1)).ignoreExceptions().untilAsserted(() -> device.connect(anyBroker));
    device.publish("device/state", "here again".getBytes(UTF_8), 1, false);

    cluster.start(0);
    cluster.awaitReady(Duration.ofMinutes(1));
  }
}
