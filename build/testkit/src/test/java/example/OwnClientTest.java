package example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.hivemq.client.mqtt.mqtt5.Mqtt5BlockingClient;
import dunlin.testkit.DunlinTest;
import dunlin.testkit.OnNode;
import org.junit.jupiter.api.Test;

@DunlinTest
class OwnClientTest {
  @Test
  void isConnected(@OnNode(0) Mqtt5BlockingClient client) {
    assertTrue(client.getState().isConnected());
  }
}
