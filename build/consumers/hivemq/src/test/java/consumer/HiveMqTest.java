package consumer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5Client;
import dunlin.Dunlin;
import dunlin.Message;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Dunlin and HiveMQ's client in one process, on one Netty. */
class HiveMqTest {
  private static final byte[] PAYLOAD = {1, 2, 3};

  @Test
  void clientAndNodeTalkInOneProcess() throws Exception {
    try (var node = Dunlin.builder().inMemory().tcpPort(0).build()) {
      var client = Mqtt5Client.builder().serverHost("127.0.0.1").serverPort(node.tcpPort()).buildBlocking();
      client.connect();
      try (var published = client.publishes(MqttGlobalPublishFilter.ALL)) {
        client.subscribeWith().topicFilter("to/client").qos(MqttQos.EXACTLY_ONCE).send();
        assertTrue(node.publish(Message.of("to/client", PAYLOAD, 2)).get(60, TimeUnit.SECONDS));
        assertArrayEquals(PAYLOAD, published.receive(60, TimeUnit.SECONDS).orElseThrow().getPayloadAsBytes());

        var came = new LinkedBlockingQueue<Message>();
        var _ = node.subscribe("to/+", came::add);
        client.publishWith().topic("to/node").qos(MqttQos.AT_LEAST_ONCE).payload(PAYLOAD).send();
        assertEquals("to/node", came.poll(60, TimeUnit.SECONDS).topic());
      }
      client.disconnect();
    }
  }
}
