package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.listen.ListenerException;
import dunlin.harness.RawClient;
import dunlin.harness.RawWebSocket;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Several listeners of one node: their limits, versions, proxies, Unix domain sockets, and their view for operators. */
class ListenersIT {
  private static final String ANYBODY = "dunlin.auth.anonymous";
  private static final byte[] CONNECT = RawClient.connect(5, true, 0, "client", RawClient.noProperties());
  private static final String MORE = "dunlin.listeners.more.";

  @TempDir Path directory;

  @Test
  void eachListenerHasItsOwnPort() {
    try (var broker = broker(Map.of(MORE + "port", "0"))) {
      assertThat(broker.node().port("more")).isPositive().isNotEqualTo(broker.port());
      for (String name : List.of("tcp", "more")) connected(broker, name).close();
      assertThatThrownBy(() -> broker.node().port("none")).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aListenerCanBeSwitchedOffButNotTheLastOne() {
    try (var broker = broker(Map.of("dunlin.listeners.tcp.enabled", "false", MORE + "port", "0"))) {
      assertThatThrownBy(() -> broker.node().tcpPort()).isInstanceOf(IllegalArgumentException.class);
      connected(broker, "more").close();
    }
    refused(Map.of("dunlin.listeners.tcp.enabled", "false"), "dunlin.listeners.<name>.enabled");
  }

  @ParameterizedTest
  @CsvSource({"5.0,3,1", "5.0,4,1", "3.1.1,5,132", "'3.1,5.0',4,1"})
  @Tag("MQTT-3.1.2-2")
  void versionsThatAListenerDoesNotServeAreRefused(String versions, int level, int code) {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "versions", versions))) {
      try (var client = new RawClient(broker.node().port("more"))) {
        client.send(RawClient.connect(level, true, 0, "client", RawClient.noProperties()));
        assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(code);
        client.expectClosed();
      }
      try (var client = new RawClient(broker.port())) {
        client.connect(RawClient.connect(level, true, 0, "client", RawClient.noProperties()));
      }
    }
  }

  @Test
  void aListenerMayTakeSmallerPacketsThanOthers() {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "packet-max", "2KiB"))) {
      try (var client = new RawClient(broker.node().port("more"))) {
        byte[] connack = client.connect(CONNECT).body();
        assertThat(connack).containsSequence(RawClient.bytes(0x27, RawClient.u32(2_048)));
        client.publish("t", 0, 0, "x".repeat(2_048));
        client.expectDisconnect(0x95);
      }
      try (var client = new RawClient(broker.port())) {
        client.connect(CONNECT);
        client.publish("t", 1, 1, "x".repeat(2_048));
        client.expect(RawClient.PUBACK);
      }
    }
  }

  // ------------------------------------------------------------------------------------------------------------------------- limits

  @Test
  void connectionsBeyondTheMaximumAreClosedUntilThereIsRoom() {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "connections-max", "2"))) {
      var first = connected(broker, "more");
      var second = connected(broker, "more");
      try (var third = new RawClient(broker.node().port("more"))) {
        third.expectClosed();
      }
      assertThat(refused(broker, "more", "connections")).isEqualTo(1);
      connected(broker, "tcp").close();

      first.close();
      await().atMost(TestBroker.SOON).until(() -> attribute(broker, "more", "Connections").equals(1));
      connected(broker, "more").close();
      second.close();
      await().atMost(TestBroker.SOON).until(() -> attribute(broker, "more", "Connections").equals(0));
    }
  }

  @Test
  void theConnectionsOfAnAddressAreBounded() throws IOException {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "connections-per-address-max", "1"))) {
      var first = connected(broker, "more");
      try (var second = new RawClient(broker.node().port("more"))) {
        second.expectClosed();
      }
      assertThat(refused(broker, "more", "address")).isEqualTo(1);
      // All of 127.0.0.0/8 is loopback.
      try (var socket = new Socket()) {
        socket.bind(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 2}), 0));
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), broker.node().port("more")));
        new RawClient(socket).connect(CONNECT);
      }
      first.close();
      await()
          .atMost(TestBroker.SOON)
          .ignoreExceptionsInstanceOf(AssertionError.class)
          .ignoreExceptionsInstanceOf(UncheckedIOException.class)
          .until(() -> {
            connected(broker, "more").close();
            return true;
          });
    }
  }

  @Test
  void connectionsAboveTheRateAreClosed() {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "connect-rate", "1", MORE + "connect-burst", "3"))) {
      List<RawClient> clients = new ArrayList<>();
      for (int i = 0; i < 10; i++) clients.add(new RawClient(broker.node().port("more")));
      await().atMost(TestBroker.SOON).until(() -> refused(broker, "more", "rate") >= 5);
      assertThat(attribute(broker, "more", "Connections")).isIn(3, 4, 5);
      clients.forEach(RawClient::close);
    }
  }

  @Test
  void aClientThatHalfClosesIsClosed() throws IOException {
    try (var broker = broker(Map.of()); var socket = new Socket(InetAddress.getLoopbackAddress(), broker.port())) {
      var client = new RawClient(socket);
      client.connect(CONNECT);
      socket.shutdownOutput();
      client.expectClosed();
      await().atMost(TestBroker.SOON).until(() -> attribute(broker, "tcp", "Connections").equals(0));
    }
  }

  // ------------------------------------------------------------------------------------------------------------------------ proxies

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PROXY TCP4 203.0.113.7 127.0.0.1 5555 1883\r\n",
        "PROXY TCP6 2001:db8::7 ::1 5555 1883\r\n",
        "PROXY UNKNOWN\r\n",
        "v2 local", "v2 tcp4", "v2 tcp6", "v2 unix",
      })
  void aProxyHeaderComesFirst(String header) {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", ANYBODY, "true"));
        var client = new RawClient(broker.node().port("more"))) {
      client.sendBehind(header(header), CONNECT, Integer.MAX_VALUE);
      client.expect(RawClient.CONNACK);
      client.ping();
    }
  }

  @Test
  void aProxyHeaderMayComeByteByByte() {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", ANYBODY, "true"));
        var client = new RawClient(broker.node().port("more"))) {
      client.sendBehind(header("v2 tcp4"), CONNECT, 1);
      client.expect(RawClient.CONNACK);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "PROXY TCP4 203.0.113.777 127.0.0.1 5555 1883\r\n",
        "PROXY TCP4 203.0.113.7 127.0.0.1 99999 1883\r\n",
        "PROXY TCP5 203.0.113.7 127.0.0.1 5555 1883\r\n",
        "v2 udp4", "v2 bad version", "v2 short", "v2 huge", "long", "mqtt",
      })
  void aWrongProxyHeaderEndsTheConnectionAndIsCounted(String header) {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", "dunlin.mqtt.connect-timeout", "1s"));
        var client = new RawClient(broker.node().port("more"))) {
      client.send(header.equals("mqtt") ? RawClient.bytes(CONNECT, CONNECT, CONNECT, CONNECT, CONNECT, CONNECT) : header(header));
      client.expectClosed();
      await().atMost(TestBroker.SOON).until(() -> refused(broker, "more", "proxy-header") == 1);
    }
  }

  @Test
  void aMissingProxyHeaderIsWaitedForNoLongerThanConnect() {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", "dunlin.mqtt.connect-timeout", "1s"));
        var client = new RawClient(broker.node().port("more"))) {
      client.send("PROXY TC".getBytes(StandardCharsets.US_ASCII));
      client.expectClosed();
    }
  }

  @Test
  void aProxyHeaderFromAnUntrustedAddressIsRefused() {
    var settings = Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", MORE + "proxy-protocol-from", "10.0.0.0/8,::2");
    try (var broker = broker(settings); var client = new RawClient(broker.node().port("more"))) {
      client.expectClosed();
      assertThat(refused(broker, "more", "proxy-address")).isEqualTo(1);
    }
  }

  @Test
  void limitsUseTheAddressInTheProxyHeader() {
    var settings =
        Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", MORE + "connections-per-address-max", "1", ANYBODY, "true");
    try (var broker = broker(settings)) {
      int port = broker.node().port("more");
      try (var one = new RawClient(port); var same = new RawClient(port); var other = new RawClient(port)) {
        one.sendBehind(header("PROXY TCP6 2001:db8::7 ::1 1 2\r\n"), CONNECT, Integer.MAX_VALUE);
        one.expect(RawClient.CONNACK);
        same.sendBehind(header("PROXY TCP6 2001:db8::8 ::1 1 2\r\n"), CONNECT, Integer.MAX_VALUE); // of the same /64
        same.expectClosed();
        other.sendBehind(header("PROXY TCP6 2001:db8:0:1::7 ::1 1 2\r\n"), CONNECT, Integer.MAX_VALUE);
        other.expect(RawClient.CONNACK);
        assertThat(refused(broker, "more", "address")).isEqualTo(1);
      }
    }
  }

  @Test
  void aProxyHeaderWorksWithWebSockets() {
    var settings = Map.of(MORE + "type", "ws", MORE + "port", "0", MORE + "proxy-protocol", "required", ANYBODY, "true");
    try (var broker = broker(settings); var client = new RawWebSocket(broker.node().port("more"))) {
      client.send(RawClient.bytes(header("v2 tcp4"), RawWebSocket.request("/mqtt", "mqtt").getBytes(StandardCharsets.US_ASCII)));
      assertThat(client.readHead()).startsWith("HTTP/1.1 101");
      client.sendFrame(RawWebSocket.FINAL | RawWebSocket.BINARY, CONNECT);
      client.expectPacket(RawClient.CONNACK);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PROXY TCP4 203.0.113.7 127.0.0.1 5555 1883, 0x87",
    "PROXY TCP6 2001:db8::7 ::1 5555 1883, 0x87",
    "PROXY UNKNOWN, 0x87",
    "v2 unknown, 0x87",
    "v2 tcp4, 0x87",
    "v2 local, 0",
    "v2 unix, 0",
    "PROXY TCP4 127.0.0.9 127.0.0.1 5555 1883, 0",
    "PROXY TCP6 ::1 ::1 5555 1883, 0",
  })
  void behindAProxyWithoutAuthenticationOnlyLocalClientsAreServed(String header, int reason) {
    try (var broker = broker(Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required"));
        var client = new RawClient(broker.node().port("more"))) {
      client.sendBehind(header(header.startsWith("PROXY") ? header + "\r\n" : header), CONNECT, Integer.MAX_VALUE);
      assertThat(client.expect(RawClient.CONNACK).body()[1]).isEqualTo((byte) reason);
    }
  }

  private static byte[] header(String header) {
    byte[] prefix = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
    byte[] tcp4 = RawClient.bytes(203, 0, 113, 7, 127, 0, 0, 1, RawClient.u16(5_555), RawClient.u16(1_883));
    return switch (header) {
      case "v2 local" -> RawClient.bytes(prefix, 0x20, 0x00, RawClient.u16(0));
      case "v2 unknown" -> RawClient.bytes(prefix, 0x21, 0x00, RawClient.u16(0));
      case "v2 tcp4" -> RawClient.bytes(prefix, 0x21, 0x11, RawClient.u16(12 + 4), tcp4, 0x04, RawClient.u16(1), 0);
      case "v2 tcp6" -> RawClient.bytes(prefix, 0x21, 0x21, RawClient.u16(36), new byte[36]);
      case "v2 unix" -> RawClient.bytes(prefix, 0x21, 0x31, RawClient.u16(216), "/run/x".getBytes(StandardCharsets.US_ASCII), new byte[210]);
      case "v2 udp4" -> RawClient.bytes(prefix, 0x21, 0x12, RawClient.u16(12), tcp4);
      case "v2 bad version" -> RawClient.bytes(prefix, 0x31, 0x11, RawClient.u16(12), tcp4);
      case "v2 short" -> RawClient.bytes(prefix, 0x21, 0x11, RawClient.u16(4), tcp4);
      case "v2 huge" -> RawClient.bytes(prefix, 0x21, 0x11, RawClient.u16(65_535), new byte[70_000]);
      case "long" -> ("PROXY TCP4 " + "1".repeat(200)).getBytes(StandardCharsets.US_ASCII);
      default -> header.getBytes(StandardCharsets.US_ASCII);
    };
  }

  // ------------------------------------------------------------------------------------------------------------ sockets in the file system

  @ParameterizedTest
  @ValueSource(strings = {"epoll", "nio"})
  void aUnixDomainSocketServesAndIsRemoved(String transport) throws IOException {
    Path file = directory.resolve("s");
    // A broker that was killed leaves its file behind.
    try (var dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      dead.bind(UnixDomainSocketAddress.of(file));
    }
    assertThat(file).exists();
    var settings = Map.of(MORE + "type", "unix", MORE + "path", file.toString(), "dunlin.io.transport", transport);
    try (var broker = broker(settings); var client = SocketChannel.open(UnixDomainSocketAddress.of(file))) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-rw----");
      client.write(ByteBuffer.wrap(CONNECT));
      ByteBuffer connack = ByteBuffer.allocate(200);
      client.read(connack);
      assertThat(connack.get(0)).isEqualTo((byte) RawClient.CONNACK);
      assertThat(connack.get(3)).isZero();
      assertThat(attribute(broker, "more", "Address")).isEqualTo(file.toString());
      assertThat(attribute(broker, "more", "Connections")).isEqualTo(1);
      assertThatThrownBy(() -> broker.node().port("more")).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(
              () -> TestBroker.on(directory.resolve("second"), Map.of(MORE + "type", "unix", MORE + "path", file.toString())))
          .isInstanceOf(ListenerException.class)
          .hasMessageContaining("another process listens");
      connected(broker, "tcp").close();
    }
    assertThat(file).doesNotExist();
  }

  @Test
  void aFileThatIsNoSocketIsNotDeleted() throws IOException {
    Path file = Files.writeString(directory.resolve("thesis"), "content");
    refused(Map.of(MORE + "type", "unix", MORE + "path", file.toString()), "dunlin.listeners.more.path");
    assertThat(file).hasContent("content");
    refused(Map.of(MORE + "type", "unix"), "dunlin.listeners.more.path");
    refused(Map.of(MORE + "type", "unix", MORE + "path", directory.resolve("x".repeat(200)).toString()), "dunlin.listeners.more.path");
  }

  // ------------------------------------------------------------------------------------------------------------------- what is refused

  @Test
  void invalidListenersAreRefusedBeforeTheStoresAreOpened() throws IOException {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      refused(Map.of(MORE + "port", "" + taken.getLocalPort()), "dunlin.listeners.more.port");
    }
    refused(Map.of(MORE + "host", "no.such.host.invalid"), "dunlin.listeners.more.host");
    refused(Map.of(MORE + "host", "0.0.0.0"), "dunlin.auth.anonymous=true");
    refused(Map.of(MORE + "type", "ws", MORE + "path", "mqtt"), "dunlin.listeners.more.path");
    refused(Map.of(MORE + "type", "ws", MORE + "port", "0", MORE + "origins", "https://a.example.com/x"), "dunlin.listeners.more.origins");
    refused(
        Map.of(MORE + "port", "0", MORE + "proxy-protocol", "required", MORE + "proxy-protocol-from", "10.0.0.0/33"),
        "dunlin.listeners.more.proxy-protocol-from");
    assertThat(directory.resolve("data")).as("stores were opened").doesNotExist();
  }

  private void refused(Map<String, String> settings, String named) {
    assertThatThrownBy(() -> broker(settings).close()).isInstanceOf(ListenerException.class).hasMessageContaining(named);
  }

  // ----------------------------------------------------------------------------------------------------------------------- operators

  @Test
  void operatorsSeeEachListener() {
    try (var broker = broker(Map.of(MORE + "type", "ws", MORE + "port", "0"));
        var client = connected(broker, "tcp")) {
      client.ping();
      assertThat(attribute(broker, "tcp", "Connections")).isEqualTo(1);
      assertThat(attribute(broker, "tcp", "Type")).isEqualTo("tcp");
      assertThat(attribute(broker, "tcp", "Address")).isEqualTo("127.0.0.1:" + broker.port());
      assertThat(attribute(broker, "more", "Type")).isEqualTo("ws");
      assertThat(attribute(broker, "more", "Connections")).isEqualTo(0);
      assertThat(refused(broker, "more", "rate")).isZero();
    }
  }

  static Object attribute(TestBroker broker, String listener, String attribute) {
    String node = broker.node().nodeId().substring(0, 8);
    try {
      var name = new ObjectName("dunlin:type=Listener,node=" + node + ",name=" + listener);
      return ManagementFactory.getPlatformMBeanServer().getAttribute(name, attribute);
    } catch (JMException e) {
      throw new AssertionError(e);
    }
  }

  static int refused(TestBroker broker, String listener, String reason) {
    TabularData refused = (TabularData) attribute(broker, listener, "Refused");
    return ((Long) refused.get(new Object[] {reason}).get("value")).intValue();
  }

  private static RawClient connected(TestBroker broker, String listener) {
    var client = new RawClient(broker.node().port(listener));
    client.connect(RawClient.connect(5, true, 0, "of " + listener + System.nanoTime(), RawClient.noProperties()));
    return client;
  }

  private TestBroker broker(Map<String, String> settings) {
    return TestBroker.on(directory.resolve("data"), new HashMap<>(settings));
  }
}
