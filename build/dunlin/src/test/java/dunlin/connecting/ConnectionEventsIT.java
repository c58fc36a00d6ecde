package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.TestBroker;
import dunlin.harness.Certificates;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Connections in the log: each one if an operator wants it, and always those refused before MQTT. */
class ConnectionEventsIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final Pattern UNTOLD = Pattern.compile("untold=(\\d+)");

  private final Logger connections = (Logger) LoggerFactory.getLogger("dunlin.connections");
  private final Logger events = (Logger) LoggerFactory.getLogger("dunlin.events");
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

  @TempDir Path directory;

  @BeforeEach
  void listens() {
    lines.list = new CopyOnWriteArrayList<>();
    lines.start();
    connections.addAppender(lines);
    connections.setLevel(Level.DEBUG);
    connections.setAdditive(false);
    events.addAppender(lines);
    events.setAdditive(false);
  }

  @AfterEach
  void listensNoMore() {
    connections.detachAppender(lines);
    connections.setLevel(null);
    connections.setAdditive(true);
    events.detachAppender(lines);
    events.setAdditive(true);
  }

  private List<String> lines() {
    return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  private void awaitLine(String... parts) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(lines()).anySatisfy(line -> assertThat(line).contains(parts)));
  }

  @Test
  void eachConnectDisconnectAndTakeoverIsOneLine() {
    String name = "c\" event=forged \u202E";
    try (var broker = TestBroker.on(directory.resolve("data"))) {
      try (var _ = RawClient.connected(broker.port(), RawClient.Connect.of(name));
          var second = RawClient.connected(broker.port(), RawClient.Connect.of(name))) {
        String client = "client=\"c\\\" event=forged \\u202e\"";
        awaitLine("event=connect connection=", client, "address=\"/127.0.0.1:", "listener=tcp", "session-present=false durable=true");
        awaitLine("event=connect connection=", client, "session-present=true");
        awaitLine("event=takeover connection=", client, "from-connection=");
        awaitLine("event=disconnect connection=", client, "reason=session-taken-over");
        second.disconnect();
        awaitLine("event=disconnect connection=", client, "reason=disconnect");
      }
    }
    assertThat(lines()).hasSize(5);
  }

  @Test
  void connectionsAreLoggedOnlyIfEnabled() {
    connections.setLevel(null);
    try (var broker = TestBroker.on(directory.resolve("data"));
        var client = RawClient.connected(broker.port(), RawClient.Connect.of("client"))) {
      client.disconnect();
    }
    assertThat(lines()).isEmpty();
  }

  @Test
  void refusedHandshakesAndUpgradesAreCountedAndLoggedAtALimitedRate() throws IOException {
    var server = new Certificates().server();
    var settings =
        Map.of(
            "dunlin.listeners.secure.type", "tls", "dunlin.listeners.secure.port", "0",
            "dunlin.listeners.secure.tls.certificate", file("server.pem", server.certificatePem()),
            "dunlin.listeners.secure.tls.key", file("server.key", server.keyPem()),
            "dunlin.listeners.web.type", "ws", "dunlin.listeners.web.port", "0");
    try (var broker = TestBroker.on(directory.resolve("data"), settings)) {
      for (int i = 0; i < 50; i++) say(broker.node().port("secure"), "this is no TLS at all\r\n\r\n");
      say(broker.node().port("web"), "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n");

      awaitLine("event=connection-refused listener=secure reason=tls-handshake address=\"/127.0.0.1:", "explanation=\"not an SSL/TLS record");
      awaitLine("event=connection-refused listener=web reason=http-request", "explanation=\"HTTP 404 Not Found\"");
      await().atMost(LIMIT).untilAsserted(() -> assertThat(told("listener=secure")).isEqualTo(50));
      assertThat(lines()).allSatisfy(line -> assertThat(line).doesNotContain("\n"));
    }
  }

  /** How many refusals the lines report, singly or as a number. */
  private long told(String of) {
    long told = 0;
    for (String line : lines()) {
      if (!line.contains(of)) continue;
      if (line.contains("reason=")) told++;
      var untold = UNTOLD.matcher(line);
      if (untold.find()) told += Long.parseLong(untold.group(1));
    }
    return told;
  }

  private String file(String name, String content) throws IOException {
    return Files.writeString(directory.resolve(name), content).toString();
  }

  /** Sends a wrong text and waits until the broker has closed. */
  private static void say(int port, String text) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
      socket.getInputStream().readAllBytes();
    } catch (SocketException reset) {
      assertThat(reset).hasMessageContaining("reset");
    }
  }
}
