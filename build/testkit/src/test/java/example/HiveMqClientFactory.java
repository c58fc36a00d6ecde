package example;

import com.hivemq.client.mqtt.mqtt5.Mqtt5BlockingClient;
import com.hivemq.client.mqtt.mqtt5.Mqtt5Client;
import dunlin.testkit.ClientFactory;
import java.net.URI;

public class HiveMqClientFactory implements ClientFactory<Mqtt5BlockingClient> {
  @Override
  public Class<Mqtt5BlockingClient> type() {
    return Mqtt5BlockingClient.class;
  }

  @Override
  public Mqtt5BlockingClient connect(URI broker, String clientId) {
    var client = Mqtt5Client.builder().serverHost(broker.getHost()).serverPort(broker.getPort()).identifier(clientId).buildBlocking();
    client.connect();
    return client;
  }

  @Override
  public void close(Mqtt5BlockingClient client) {
    if (client.getState().isConnected()) client.disconnect();
  }
}
