package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.AnswerProperties;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that is drained sends its clients to another server; MQTT 5, section 4.11. */
class DrainIT {
  @TempDir private Path data;

  private static int ready(TestBroker broker) {
    try (HttpClient http = HttpClient.newHttpClient()) {
      URI uri = URI.create("http://127.0.0.1:" + broker.node().adminPort() + "/ready");
      return http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.discarding()).statusCode();
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  @Test
  void clientsAreSentToTheOtherServerAndNewOnesAreRefused() {
    Map<String, String> settings = Map.of("dunlin.admin.port", "0", "dunlin.store.fsync", "false");
    try (TestBroker broker = TestBroker.on(data, settings);
        RawClient five = RawClient.connected(broker, "five");
        RawClient three = RawClient.connected3(broker, "three")) {
      assertThat(ready(broker)).isEqualTo(200);

      broker.node().drain("other.example.com:1883", 100);

      Packet disconnect = five.expect(RawClient.DISCONNECT);
      assertThat(disconnect.reason()).isEqualTo(0x9C);
      assertThat(AnswerProperties.of(disconnect).serverReference()).isEqualTo("other.example.com:1883");
      assertThat(AnswerProperties.of(disconnect).reasonString()).isNotBlank();
      five.expectClosed();
      three.expectClosed();
      assertThat(ready(broker)).isEqualTo(503);
      try (RawClient late = new RawClient(broker.port())) {
        late.send(RawClient.connect(5, true, 0, "late", RawClient.noProperties()));
        Packet connack = late.expect(RawClient.CONNACK);
        assertThat(connack.at(1)).isEqualTo(0x9C);
        assertThat(AnswerProperties.of(connack).serverReference()).isEqualTo("other.example.com:1883");
        late.expectClosed();
      }
      try (RawClient late = new RawClient(broker.port())) {
        late.send(RawClient.connect(4, true, 0, "late", RawClient.noProperties()));
        assertThat(late.expect(RawClient.CONNACK).body()).containsExactly(0, 3);
        late.expectClosed();
      }

      broker.node().stopDrain();

      assertThat(ready(broker)).isEqualTo(200);
      try (RawClient welcome = RawClient.connected(broker, "five")) {
        welcome.ping();
      }
    }
  }

  @Test
  void operatorsDrainByJmxAtAChosenRate() throws Exception {
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.lanes", "3", "dunlin.store.fsync", "false"))) {
      var beans = ManagementFactory.getPlatformMBeanServer();
      String name = broker.node().nodeId().substring(0, 8);
      ObjectName frontend = new ObjectName("dunlin:type=Frontend,node=" + name);
      List<RawClient> clients = new ArrayList<>();
      for (int i = 0; i < 20; i++) clients.add(RawClient.connected(broker, "c" + i));
      assertThat(beans.getAttribute(frontend, "Connections")).isEqualTo(20);

      long begun = System.nanoTime();
      Object[] arguments = {"", 20};
      String[] signature = {String.class.getName(), int.class.getName()};
      beans.invoke(frontend, "drain", arguments, signature);
      assertThat(beans.getAttribute(frontend, "Draining")).isEqualTo(true);

      for (RawClient client : clients) {
        Packet disconnect = client.expect(RawClient.DISCONNECT);
        assertThat(disconnect.reason()).isEqualTo(0x9C);
        assertThat(AnswerProperties.of(disconnect).serverReference()).isNull();
        client.expectClosed();
        client.close();
      }
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(Duration.ofMillis(700));
      await().atMost(TestBroker.SOON).until(() -> beans.getAttribute(frontend, "Connections").equals(0));
      beans.invoke(frontend, "stopDrain", new Object[0], new String[0]);
      assertThat(beans.getAttribute(frontend, "Draining")).isEqualTo(false);
    }
  }

  @Test
  void aStoppingNodeSendsItsClientsToTheConfiguredServer() {
    RawClient client;
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.drain.server-reference", "b.example.com"))) {
      client = RawClient.connected(broker, "c");
    }
    Packet disconnect = client.expect(RawClient.DISCONNECT);
    assertThat(disconnect.reason()).isEqualTo(0x9C);
    assertThat(AnswerProperties.of(disconnect).serverReference()).isEqualTo("b.example.com");
    client.expectClosed();
    client.close();
  }

  @Test
  void aProcessThatReceivesSigtermSendsItsClientsAwayOverTheGivenTime() {
    int clients = 20;
    Duration time = Duration.ofSeconds(4);
    List<RawClient> connected = new ArrayList<>();
    try (var broker = BrokerProcess.start(data, "dunlin.drain.time=" + time.toSeconds() + "s", "dunlin.drain.server-reference=b.example.com", "dunlin.lanes=3")) {
      for (int i = 0; i < clients; i++) connected.add(RawClient.connected(broker.port(), RawClient.Connect.of("c" + i).clean()));

      long begun = System.nanoTime();
      broker.terminate();

      await().atMost(TestBroker.SOON).until(() -> isRefused(broker.port()));
      for (RawClient client : connected) {
        Packet disconnect = client.expect(RawClient.DISCONNECT);
        assertThat(disconnect.reason()).isEqualTo(0x9C);
        assertThat(AnswerProperties.of(disconnect).serverReference()).isEqualTo("b.example.com");
        client.expectClosed();
      }
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(time.dividedBy(2));
      assertThat(broker.awaitExit(TestBroker.SOON)).isEqualTo(143);
    } finally {
      connected.forEach(RawClient::close);
    }
  }

  private static boolean isRefused(int port) {
    try (RawClient late = new RawClient(port)) {
      late.send(RawClient.connect(5, true, 0, "late", RawClient.noProperties()));
      return late.expect(RawClient.CONNACK).at(1) == 0x9C;
    }
  }

  @Test
  void aClientThatNeverLeavesDoesNotKeepAProcessFromStopping() throws IOException {
    try (var broker = BrokerProcess.start(data, "dunlin.drain.time=1s");
        var silent = new Socket(InetAddress.getLoopbackAddress(), broker.port())) { // no CONNECT, so a drain does not reach it
      broker.terminate();
      assertThat(broker.awaitExit(TestBroker.SOON)).isEqualTo(143);
      assertThat(silent.getInputStream().read()).isEqualTo(-1);
    }
  }

  @Test
  void aProcessWithoutClientsDoesNotWait() {
    try (var broker = BrokerProcess.start(data, "dunlin.drain.time=1h")) {
      broker.terminate();
      assertThat(broker.awaitExit(TestBroker.SOON)).isEqualTo(143);
    }
  }

  @Test
  void withoutAnotherServerClientsAreToldOfTheShutdown() {
    RawClient client;
    try (TestBroker broker = TestBroker.on(data)) {
      client = RawClient.connected(broker, "c");
    }
    Packet disconnect = client.expect(RawClient.DISCONNECT);
    assertThat(disconnect.reason()).isEqualTo(0x8B);
    assertThat(AnswerProperties.of(disconnect).serverReference()).isNull();
    client.close();
  }

  @Test
  void anInvalidDrainIsRefused() {
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
        RawClient client = RawClient.connected(broker, "c")) {
      assertThatThrownBy(() -> broker.node().drain("x", 0)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> broker.node().drain("a\nb", 1)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> broker.node().drain("x".repeat(1_025), 1)).isInstanceOf(IllegalArgumentException.class);
      client.ping();
    }
  }
}
