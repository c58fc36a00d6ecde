package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Nothing that a client or its proxy sends can forge a line of the log or move a cursor: all their texts are quoted. */
class ForgedLinesIT {
  private static final String FORGED = "\r\nevent=forged client=\"admin\"\u001b[2J";
  private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");

  private final Logger broker = (Logger) LoggerFactory.getLogger("dunlin");
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

  @TempDir Path directory;

  @BeforeEach
  void listens() {
    lines.list = new CopyOnWriteArrayList<>();
    lines.start();
    broker.setLevel(Level.DEBUG);
    broker.addAppender(lines);
    broker.setAdditive(false);
  }

  @AfterEach
  void listensNoMore() {
    broker.detachAppender(lines);
    broker.setLevel(null);
    broker.setAdditive(true);
  }

  private List<String> lines() {
    return lines.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  private void assertNothingForged(String... awaited) {
    await()
        .atMost(TestBroker.SOON)
        .untilAsserted(() -> assertThat(lines()).anySatisfy(line -> assertThat(line).contains(awaited)));
    assertThat(lines())
        .allSatisfy(
            line -> {
              assertThat(CONTROL.matcher(line).find()).as("control characters in %s", line).isFalse();
              assertThat(line.replaceAll("\"(?:[^\"\\\\]|\\\\.)*\"", "")).as("outside of quotes: %s", line).doesNotContain("forged");
            });
  }

  @Test
  void aUnixSocketNameInAProxyHeader() {
    var settings = Map.of("dunlin.listeners.more.port", "0", "dunlin.listeners.more.proxy-protocol", "required");
    byte[] name = Arrays.copyOf(FORGED.getBytes(StandardCharsets.US_ASCII), 108);
    byte[] prefix = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
    byte[] header = RawClient.bytes(prefix, 0x21, 0x31, RawClient.u16(216), name, new byte[108]);
    byte[] connect = RawClient.connect(5, true, 0, "client", RawClient.noProperties());
    try (var node = TestBroker.on(directory.resolve("data"), settings); var client = new RawClient(node.node().port("more"))) {
      client.sendBehind(header, connect, Integer.MAX_VALUE);
      client.expect(RawClient.CONNACK);
      client.send(connect); // a violation, whose event has the address
      client.expectDisconnect(0x82);

      assertNothingForged("event=protocol-error", "client=\"client\"", "address=\"", "\\\\u000d\\\\u000aevent=forged");
    }
  }

  @Test
  void aUnixSocketNameOfARefusedConnection() throws Exception {
    Path passwords = Files.createFile(directory.resolve("passwords"));
    var settings =
        Map.of(
            "dunlin.listeners.more.port", "0", "dunlin.listeners.more.proxy-protocol", "required",
            "dunlin.auth.password-file", passwords.toString());
    byte[] name = Arrays.copyOf(FORGED.getBytes(StandardCharsets.US_ASCII), 108);
    byte[] prefix = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
    byte[] header = RawClient.bytes(prefix, 0x21, 0x31, RawClient.u16(216), name, new byte[108]);
    try (var node = TestBroker.on(directory.resolve("data"), settings); var client = new RawClient(node.node().port("more"))) {
      client.sendBehind(header, RawClient.connect(5, true, 0, "client", RawClient.noProperties()), Integer.MAX_VALUE);
      assertThat(client.expect(RawClient.CONNACK).body()[1]).isEqualTo((byte) 0x87);

      assertNothingForged("event=authentication-refused", "address=\"", "\\\\u000d\\\\u000aevent=forged");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"\r\n event=forged", "\u001b[2J event=forged", "\" event=forged", "\u2028 event=forged", "\u202e event=forged"})
  void aClientIdentifierATopicAndAFilter(String text) {
    try (var node = TestBroker.on(directory.resolve("data"))) {
      try (var named = new RawClient(node.port())) {
        named.send(RawClient.connect(5, true, 0, text, RawClient.noProperties()));
        named.sendLeniently(RawClient.connect(5, true, 0, text, RawClient.noProperties()));
        named.awaitClosed();
      }
      try (var publisher = RawClient.connected(node.port(), RawClient.Connect.of("publisher"))) {
        publisher.publish("a/#" + text, 1, 1, "");
        publisher.awaitClosed();
      }
      try (var subscriber = RawClient.connected(node.port(), RawClient.Connect.of("subscriber"))) {
        subscriber.send(0x82, RawClient.u16(1), 0, "a/#b" + text, 0);
        subscriber.send(RawClient.connect(5, true, 0, "again", RawClient.noProperties()));
        subscriber.awaitClosed();
      }

      assertNothingForged("event=protocol-error");
      assertNothingForged("client=\"publisher\"");
      assertNothingForged("client=\"subscriber\"");
    }
  }
}
