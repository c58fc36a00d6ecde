package example;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dunlin.Dunlin;
import dunlin.Message;
import dunlin.testkit.BrokerEvents;
import dunlin.testkit.DunlinTest;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.junit.jupiter.api.Test;

@DunlinTest(settings = "dunlin.session.queue-messages-max=100")
class ThermostatTest {
  @Test
  void publishesItsState(Dunlin broker, MqttClient client) throws Exception {
    var states = new LinkedBlockingQueue<Message>();
    var subscription = broker.subscribe("thermostat/+/state", states::add);
    client.publish("thermostat/7/state", "21.5".getBytes(UTF_8), 1, false);
    assertEquals("thermostat/7/state", states.poll(10, TimeUnit.SECONDS).topic());
    subscription.close();
  }

  @Test
  void saysGoodbye(MqttClient client, BrokerEvents events) throws Exception {
    client.disconnect();
    var end = events.await(event -> event.toString().contains("Disconnected"), Duration.ofSeconds(10));
    assertTrue(end.toString().contains(client.getClientId()));
  }
}
