package dunlin.connecting;

import static dunlin.harness.RawWebSocket.BINARY;
import static dunlin.harness.RawWebSocket.CLOSE;
import static dunlin.harness.RawWebSocket.CONTINUATION;
import static dunlin.harness.RawWebSocket.FINAL;
import static dunlin.harness.RawWebSocket.PING;
import static dunlin.harness.RawWebSocket.PONG;
import static dunlin.harness.RawWebSocket.TEXT;
import static org.assertj.core.api.Assertions.assertThat;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttClientSslConfig;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import dunlin.TestBroker;
import dunlin.harness.Certificates;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import dunlin.harness.RawWebSocket;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.eclipse.paho.client.mqttv3.MqttMessage;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** MQTT over WebSocket, with correct and incorrect clients; MQTT 5, section 6, and RFC 6455. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WebSocketIT {
  private static final byte[] CONNECT = RawClient.connect(5, true, 0, "client", RawClient.noProperties());
  private static final byte[] PINGREQ = {(byte) 0xC0, 0};

  private final Certificates authority = new Certificates();
  private final TestBroker broker;
  private final int port;

  WebSocketIT(@TempDir Path directory) throws IOException {
    var server = authority.server();
    Path certificate = Files.writeString(directory.resolve("server.pem"), server.certificatePem());
    Path key = Files.writeString(directory.resolve("server.key"), server.keyPem());
    broker =
        TestBroker.on(
            directory.resolve("data"),
            Map.of(
                "dunlin.listeners.ws.type", "ws",
                "dunlin.listeners.ws.port", "0",
                "dunlin.mqtt.connect-timeout", "5s",
                "dunlin.listeners.wss.type", "wss",
                "dunlin.listeners.wss.port", "0",
                "dunlin.listeners.wss.path", "/other",
                "dunlin.listeners.wss.tls.certificate", certificate.toString(),
                "dunlin.listeners.wss.tls.key", key.toString()));
    port = broker.node().port("ws");
  }

  @AfterAll
  void close() {
    broker.close();
  }

  // ------------------------------------------------------------------------------------------------------------------- who behaves

  @ParameterizedTest
  @ValueSource(strings = {"ws", "wss"})
  void aClientLibraryWithMqtt5(String listener) throws InterruptedException {
    boolean secure = listener.equals("wss");
    var builder = MqttClient.builder().useMqttVersion5().serverHost("127.0.0.1").serverPort(broker.node().port(listener));
    if (secure) builder = builder.sslConfig(MqttClientSslConfig.builder().trustManagerFactory(authority.trust()).build());
    var client = builder.webSocketConfig().serverPath(secure ? "other" : "mqtt").applyWebSocketConfig().buildBlocking();
    client.connect();
    try (var messages = client.publishes(MqttGlobalPublishFilter.ALL)) {
      client.subscribeWith().topicFilter(listener).qos(Hive.qos(2)).send();
      byte[] payload = new byte[300_000];
      new Random(1).nextBytes(payload);
      for (int i = 0; i < 10; i++) {
        payload[0] = (byte) i;
        client.publishWith().topic(listener).qos(Hive.qos(i % 3)).payload(payload).send();
        var message = messages.receive(20, TimeUnit.SECONDS).orElseThrow();
        assertThat(message.getPayloadAsBytes()).isEqualTo(payload);
      }
    }
    client.disconnect();
  }

  @Test
  void aClientLibraryWithMqtt3() throws Exception {
    try (var client =
        new org.eclipse.paho.client.mqttv3.MqttClient(
            "ws://127.0.0.1:" + port + "/mqtt", UUID.randomUUID().toString(), new MemoryPersistence())) {
      client.connect();
      var arrived = new LinkedBlockingQueue<MqttMessage>();
      client.subscribe("paho", 1, (_, message) -> arrived.add(message));
      client.publish("paho", new MqttMessage(new byte[100_000]));
      var message = arrived.poll(60, TimeUnit.SECONDS);
      assertThat(message).isNotNull();
      assertThat(message.getPayload()).hasSize(100_000);
      client.disconnect();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "mqtt | mqtt",
        "mqttv3.1 | mqttv3.1",
        "mqttv3.1, mqtt | mqtt",
        "chat, mqtt | mqtt",
      })
  @Tag("MQTT-6.0.0-4")
  @Tag("MQTT3-6.0.0-4")
  @Tag("pitfall-77")
  void theAnswerNamesTheSubProtocol(String offered, String chosen) {
    try (var client = new RawWebSocket(port)) {
      client.sendText(RawWebSocket.request("/mqtt?token=1", offered));
      assertThat(client.readHead())
          .startsWith("HTTP/1.1 101 Switching Protocols\r\n")
          .contains("\r\nSec-WebSocket-Protocol: " + chosen + "\r\n")
          .contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") // the example of RFC 6455, section 1.3
          .doesNotContainIgnoringCase("extensions");
      client.sendFrame(FINAL | BINARY, CONNECT);
      client.expectPacket(RawClient.CONNACK);
    }
  }

  /** Packets may begin and end anywhere in frames, and frames anywhere in a read. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  @Tag("MQTT-6.0.0-2")
  @Tag("MQTT3-6.0.0-2")
  @Tag("pitfall-33")
  @Tag("pitfall-77")
  void framesAndPacketsMayBeginAndEndAnywhere(long seed) {
    var random = new Random(seed);
    int pings = 40;
    byte[] packets = CONNECT;
    for (int i = 0; i < pings; i++) {
      packets = RawClient.bytes(packets, RawClient.publishing(5, "t", 0, 0, "x".repeat(random.nextInt(300))), PINGREQ);
    }
    byte[] frames = new byte[0];
    boolean first = true;
    for (int at = 0; at < packets.length; ) {
      int length = Math.min(packets.length - at, random.nextBoolean() ? random.nextInt(4) : random.nextInt(2_000));
      at += length;
      boolean last = at == packets.length || random.nextInt(3) == 0;
      byte[] content = Arrays.copyOfRange(packets, at - length, at);
      frames = RawClient.bytes(frames, RawWebSocket.frame((last ? FINAL : 0) | (first ? BINARY : CONTINUATION), content));
      first = last;
      // Control frames may come between the parts of a message.
      if (random.nextInt(4) == 0) frames = RawClient.bytes(frames, RawWebSocket.frame(FINAL | PONG, new byte[random.nextInt(125)]));
    }
    try (var client = RawWebSocket.open(port)) {
      for (int at = 0; at < frames.length; ) {
        int length = Math.min(frames.length - at, 1 + random.nextInt(random.nextBoolean() ? 3 : 3_000));
        client.send(Arrays.copyOfRange(frames, at, at + length));
        at += length;
      }
      var answers = new ByteArrayOutputStream();
      do {
        var frame = client.read();
        assertThat(frame.first()).as("seed %d", seed).isEqualTo(FINAL | BINARY);
        answers.writeBytes(frame.content());
      } while (answers.size() < connackLength(answers.toByteArray()) + 2 * pings);
      assertThat(answers.size()).as("seed %d", seed).isEqualTo(connackLength(answers.toByteArray()) + 2 * pings);
    }
  }

  private static int connackLength(byte[] answers) {
    return 2 + answers[1];
  }

  @Test
  void aPingIsAnsweredAndACloseToo() {
    try (var client = RawWebSocket.open(port)) {
      byte[] content = "still there?".getBytes(StandardCharsets.US_ASCII);
      client.sendFrame(FINAL | PING, content);
      var pong = client.read();
      assertThat(pong.first()).isEqualTo(FINAL | PONG);
      assertThat(pong.content()).isEqualTo(content);
      client.sendFrame(FINAL | CLOSE, new byte[] {0x03, (byte) 0xE8, 'b', 'y', 'e'});
      client.expectClose(1_000);
    }
  }

  @Test
  void aPingFloodIsAnsweredByItsLastPingsOnly() {
    try (var client = RawWebSocket.open(port)) {
      client.sendFrame(FINAL | BINARY, CONNECT);
      client.expectPacket(RawClient.CONNACK);
      byte[] one = RawWebSocket.frame(FINAL | PING, new byte[125]);
      byte[] many = new byte[0];
      for (int i = 0; i < 100; i++) many = RawClient.bytes(many, one);
      for (int i = 0; i < 200; i++) client.send(many); // 2.6 MB, without reading in between
      byte[] last = {42};
      client.sendFrame(FINAL | PING, last);
      int pongs = 1;
      while (!Arrays.equals(client.read().content(), last)) pongs++;
      assertThat(pongs).isLessThan(10_000);
      client.sendFrame(FINAL | BINARY, PINGREQ);
      client.expectPacket(RawClient.PINGRESP);
    }
  }

  @Test
  void theBrokersCloseHasACloseFrame() {
    try (var client = RawWebSocket.open(port)) {
      client.sendFrame(FINAL | BINARY, CONNECT);
      client.expectPacket(RawClient.CONNACK);
      client.sendFrame(FINAL | BINARY, new byte[] {(byte) 0xF0, 0, 0x00, 0});
      assertThat(client.expectPacket(RawClient.DISCONNECT)[2] & 0xFF).isGreaterThanOrEqualTo(0x80);
      client.expectClose(1_000);
    }
  }

  // ------------------------------------------------------------------------------------------------------------------- who does not

  static List<Arguments> violations() {
    byte[] text = RawWebSocket.frame(FINAL | TEXT, "hello".getBytes(StandardCharsets.UTF_8));
    byte[] unmasked = RawClient.bytes(FINAL | BINARY, 1, 0xC0);
    return List.of(
        Arguments.of("a text frame", text, 1_003),
        Arguments.of("an empty text frame", RawWebSocket.frame(FINAL | TEXT, new byte[0]), 1_003),
        Arguments.of("a frame of 2^63 bytes", RawClient.bytes(FINAL | BINARY, 0xFF, RawClient.u32(0x8000_0000L), RawClient.u32(0), RawClient.u32(0)), 1_009),
        Arguments.of("a frame of 2^63-1 bytes", RawClient.bytes(FINAL | BINARY, 0xFF, RawClient.u32(0x7FFF_FFFFL), RawClient.u32(0xFFFF_FFFFL), RawClient.u32(0)), 1_009),
        Arguments.of("a frame of 4 GiB", RawClient.bytes(FINAL | BINARY, 0xFF, RawClient.u32(1), RawClient.u32(0), RawClient.u32(0)), 1_009),
        Arguments.of("a frame that is not masked", unmasked, 1_002),
        Arguments.of("a continuation of nothing", RawWebSocket.frame(FINAL | CONTINUATION, PINGREQ), 1_002),
        Arguments.of("a message within another", RawClient.bytes(RawWebSocket.frame(BINARY, PINGREQ), RawWebSocket.frame(BINARY, PINGREQ)), 1_002),
        Arguments.of("a reserved bit, as compression sets it", RawWebSocket.frame(FINAL | 0x40 | BINARY, PINGREQ), 1_002),
        Arguments.of("a reserved type", RawWebSocket.frame(FINAL | 3, PINGREQ), 1_002),
        Arguments.of("a reserved control type", RawWebSocket.frame(FINAL | 0x0B, PINGREQ), 1_002),
        Arguments.of("a ping in parts", RawWebSocket.frame(PING, PINGREQ), 1_002),
        Arguments.of("a ping of 126 bytes", RawWebSocket.frame(FINAL | PING, new byte[126]), 1_002),
        Arguments.of("a length in more bytes than it needs", RawClient.bytes(FINAL | BINARY, 0x80 | 126, RawClient.u16(2), new byte[6]), 1_002));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("violations")
  @Tag("MQTT-6.0.0-1")
  @Tag("MQTT3-6.0.0-1")
  @Tag("pitfall-77")
  void aViolationIsAnsweredWithItsCodeAndTheEnd(String what, byte[] bytes, int code) {
    try (var client = RawWebSocket.open(port)) {
      client.sendFrame(FINAL | BINARY, CONNECT);
      client.expectPacket(RawClient.CONNACK);
      client.send(RawClient.bytes(bytes, RawWebSocket.frame(FINAL | BINARY, PINGREQ))); // nothing after it counts
      client.expectClose(code);
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("violations")
  void aViolationBeforeConnectEndsTheConnectionToo(String what, byte[] bytes, int code) {
    try (var client = RawWebSocket.open(port)) {
      client.send(bytes);
      // Before CONNECT, the first part of two messages is an error of MQTT.
      client.expectClose(what.contains("within") ? 1_000 : code);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "no sub-protocol             | 400 | Sec-WebSocket-Protocol: mqtt     | X: x",
        "another sub-protocol        | 400 | Protocol: mqtt                   | Protocol: chat",
        "another case                | 400 | Protocol: mqtt                   | Protocol: MQTT",
        "another path                | 404 | GET /mqtt                        | GET /",
        "a path that only begins so  | 404 | GET /mqtt                        | GET /mqtt/x",
        "another method              | 405 | GET                              | HEAD",
        "no upgrade                  | 426 | Upgrade: websocket               | X: x",
        "another upgrade             | 426 | Upgrade: websocket               | Upgrade: h2c",
        "no connection header        | 426 | Connection: keep-alive, Upgrade  | Connection: keep-alive",
        "HTTP/1.0                    | 426 | HTTP/1.1                         | HTTP/1.0",
        "another version             | 426 | Version: 13                      | Version: 8",
        "no key                      | 400 | Sec-WebSocket-Key                | X",
        "a short key                 | 400 | dGhlIHNhbXBsZSBub25jZQ==         | dGhlIHNhbXBsZQ==",
        "no Base64                   | 400 | dGhlIHNhbXBsZSBub25jZQ==         | ????????????????????????",
        "a body                      | 400 | Host: localhost                  | Content-Length: 5",
        "a chunked body              | 400 | Host: localhost                  | Transfer-Encoding: chunked",
        "a header that is none       | 400 | Host: localhost                  | Ho st: localhost",
      })
  @Tag("MQTT-6.0.0-3")
  @Tag("MQTT3-6.0.0-3")
  void aRequestThatDoesNotBecomeAWebSocketGetsItsStatus(String what, int status, String right, String wrong) {
    try (var client = new RawWebSocket(port)) {
      client.sendText(RawWebSocket.request("/mqtt", "mqtt").replace(right, wrong));
      assertThat(client.readHead()).as(what).startsWith("HTTP/1.1 " + status + " ").contains("Connection: close");
      client.expectEnd();
    }
  }

  @ParameterizedTest
  @CsvSource({"http://localhost:3000,101", "http://evil.example.com,403", "null,403"})
  void aPageOfAnotherHostGetsNoWebSocket(String origin, int status) {
    try (var client = new RawWebSocket(port)) {
      String host = "Host: localhost\r\n";
      client.sendText(RawWebSocket.request("/mqtt", "mqtt").replace(host, host + "Origin: " + origin + "\r\n"));
      assertThat(client.readHead()).startsWith("HTTP/1.1 " + status + " ");
    }
  }

  @Test
  void anotherVersionIsAnsweredWithTheSupportedOne() {
    try (var client = new RawWebSocket(port)) {
      client.sendText(RawWebSocket.request("/mqtt", "mqtt").replace("Version: 13", "Version: 14"));
      assertThat(client.readHead()).contains("\r\nSec-WebSocket-Version: 13\r\n");
    }
  }

  @ParameterizedTest
  @CsvSource({"GET /,414", "X: ,431"})
  void aTooLongHeadIsRefused(String before, int status) {
    try (var client = new RawWebSocket(port)) {
      String filler = before + "x".repeat(9_000);
      client.sendText(before.startsWith("GET") ? filler : "GET /mqtt HTTP/1.1\r\n" + filler);
      assertThat(client.readHead()).startsWith("HTTP/1.1 " + status);
      client.expectEnd();
    }
  }

  @Test
  void plainMqttOnAWebSocketListenerGetsNoAnswerOfMqtt() {
    try (var client = new RawWebSocket(port)) {
      client.send(RawClient.bytes(CONNECT, "\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
      assertThat(client.readHead()).startsWith("HTTP/1.1 400");
      client.expectEnd();
    }
  }

  @Test
  @Tag("pitfall-77")
  void anUpgradeThatNeverEndsTimesOut() {
    try (var client = new RawWebSocket(port)) {
      byte[] head = RawWebSocket.request("/mqtt", "mqtt").getBytes(StandardCharsets.US_ASCII);
      for (int i = 0; i < head.length - 1; i++) client.send(new byte[] {head[i]});
      client.expectEnd();
    }
  }

  @Test
  void anUpgradeMayComeByteByByte() {
    try (var client = new RawWebSocket(port)) {
      for (byte b : RawWebSocket.request("/mqtt", "mqtt").getBytes(StandardCharsets.US_ASCII)) client.send(new byte[] {b});
      assertThat(client.readHead()).startsWith("HTTP/1.1 101");
    }
  }

  @Test
  void violationsAreCounted() {
    int before = refused("web-socket-frame");
    try (var client = RawWebSocket.open(port)) {
      client.sendFrame(FINAL | TEXT, new byte[1]);
      client.expectClose(1_003);
    }
    assertThat(refused("web-socket-frame")).isEqualTo(before + 1);
  }

  private int refused(String reason) {
    return ListenersIT.refused(broker, "ws", reason);
  }
}
