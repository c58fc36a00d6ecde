package consumer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dunlin.Dunlin;
import dunlin.Message;
import dunlin.testkit.BrokerEvents;
import dunlin.testkit.DunlinTest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.junit.jupiter.api.Test;

/** The test kit with the dependencies that a user names, and no others. */
@DunlinTest
class TestKitTest {
  private static final byte[] PAYLOAD = {1, 2, 3};

  @Test
  void aClientTalksToTheBroker(Dunlin broker, MqttClient client, BrokerEvents events) throws Exception {
    var came = new LinkedBlockingQueue<Message>();
    var subscription = broker.subscribe("to/+", came::add);
    client.publish("to/broker", PAYLOAD, 1, false);
    assertArrayEquals(PAYLOAD, came.poll(60, TimeUnit.SECONDS).payload());
    subscription.close();

    client.disconnect();
    events.await(event -> event.toString().contains("Disconnected"), Duration.ofMinutes(1));
    assertTrue(events.connections().size() >= 2);
    assertEquals(List.of(), events.lines(), "lines of logs, without Logback");
  }
}
