package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.TestBroker;
import dunlin.broker.listen.ListenerMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Listeners that are closed and opened while the node runs. */
class ListenersApiIT {
  @TempDir Path directory;

  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() {
    Path data = directory.resolve("data");
    broker =
        TestBroker.on(
            data,
            Map.of(
                "dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.listeners.local.type", "unix", "dunlin.listeners.local.path",
                directory.resolve("mqtt.sock").toString()));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private ListenerMXBean bean(String name) {
    return broker.bean("Listener,name=" + name, ListenerMXBean.class);
  }

  @Test
  void aClosedListenerKeepsItsClientsAndOpensAgainAtTheSamePort() throws Exception {
    int port = broker.port();
    try (var client = RawClient.connected(port, Connect.of("stays"))) {
      assertThat(api.post("/listeners/tcp/close", "").status()).isEqualTo(200);
      assertThat(api.post("/listeners/tcp/close", "").status()).as("closed already").isEqualTo(200);

      assertThatThrownBy(() -> new RawClient(port)).isInstanceOf(UncheckedIOException.class);
      client.publishAndWait("a", "b");
      assertThat(bean("tcp").isAccepting()).isFalse();
      assertThat(bean("tcp").getAddress()).endsWith(":" + port);
      assertThat(api.get("/listeners").members("accepting")).containsExactly("true", "false");
      assertThat(api.get("/listeners").members("connections")).containsExactly("0", "1");

      assertThat(api.post("/listeners/tcp/open", "").status()).isEqualTo(200);
      assertThat(api.post("/listeners/tcp/open", "").status()).as("open already").isEqualTo(200);
      try (var other = RawClient.connected(port, Connect.of("comes"))) {
        other.publishAndWait("a", "b");
        assertThat(bean("tcp").getConnections()).isEqualTo(2);
      }
    }
    bean("tcp").close();
    assertThatThrownBy(() -> new RawClient(port)).isInstanceOf(UncheckedIOException.class);
    bean("tcp").open();
    RawClient.connected(port, Connect.of("comes")).close();
  }

  @Test
  void aPortThatAnotherProcessHasTakenIsRefusedWithTheReason() throws Exception {
    int port = broker.port();
    assertThat(api.post("/listeners/tcp/close", "").status()).isEqualTo(200);
    try (ServerSocket taken = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      assertThat(taken.isBound()).isTrue();
      var refused = api.post("/listeners/tcp/open", "");
      assertThat(refused.status()).isEqualTo(409);
      assertThat(refused.member("detail")).contains("annot listen on").contains("dunlin.listeners.tcp.port");
    }
    assertThat(api.post("/listeners/tcp/open", "").status()).isEqualTo(200);
    RawClient.connected(port, Connect.of("comes")).close();
  }

  @Test
  void theFileOfAUnixDomainSocketGoesAndComes() {
    Path file = directory.resolve("mqtt.sock");
    assertThat(file).exists();
    assertThat(api.post("/listeners/local/close", "").status()).isEqualTo(200);
    assertThat(Files.exists(file)).isFalse();
    assertThat(api.post("/listeners/local/open", "").status()).isEqualTo(200);
    assertThat(file).exists();
  }

  @Test
  void aListenerThatIsNotThereIsNotFound() {
    assertThat(api.post("/listeners/none/close", "").status()).isEqualTo(404);
    assertThat(api.post("/listeners/none/open", "").status()).isEqualTo(404);
    assertThat(api.get("/listeners/tcp/open").status()).isEqualTo(405);
  }
}
