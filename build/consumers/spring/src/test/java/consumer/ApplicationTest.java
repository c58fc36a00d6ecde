package consumer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5Client;
import dunlin.Dunlin;
import dunlin.Message;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;

/** Spring's web server, Dunlin and an MQTT client in one process, on one Netty. */
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
class ApplicationTest {
  @Autowired private Dunlin broker;

  @Value("${local.server.port}")
  private int webPort;

  @Test
  void whatIsPostedGoesToTheDevice() throws Exception {
    assertEquals("false", post("lamp", "on"), "no device has subscribed yet");
    var device = Mqtt5Client.builder().serverHost("127.0.0.1").serverPort(broker.tcpPort()).buildBlocking();
    device.connect();
    try (var published = device.publishes(MqttGlobalPublishFilter.ALL)) {
      device.subscribeWith().topicFilter("devices/lamp").qos(MqttQos.AT_LEAST_ONCE).send();
      assertEquals("true", post("lamp", "off"));
      var got = published.receive(60, TimeUnit.SECONDS).orElseThrow();
      assertArrayEquals("off".getBytes(StandardCharsets.UTF_8), got.getPayloadAsBytes());
    }

    var states = new LinkedBlockingQueue<Message>();
    try (var _ = broker.subscribe("states/+", states::add)) {
      device.publishWith().topic("states/lamp").qos(MqttQos.AT_LEAST_ONCE).send();
      assertEquals("states/lamp", states.poll(60, TimeUnit.SECONDS).topic());
    }
    device.disconnect();
  }

  private String post(String device, String command) throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + webPort + "/devices/" + device))
            .POST(HttpRequest.BodyPublishers.ofString(command))
            .build();
    try (var http = HttpClient.newHttpClient()) {
      return http.send(request, BodyHandlers.ofString()).body();
    }
  }
}
