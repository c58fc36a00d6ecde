package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.AnswerProperties;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/** Every violation gives one count, one event and the reason code that MQTT defines for it, whichever part detects it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ViolationsIT {
  private static final byte[] NONE = RawClient.noProperties();
  private static final byte[] ID = RawClient.u16(1);

  private final TestBroker broker;
  private final HttpClient http = HttpClient.newHttpClient();

  ViolationsIT(@TempDir Path data) {
    broker =
        TestBroker.on(
            data,
            Map.ofEntries(
                Map.entry("dunlin.admin.port", "0"),
                Map.entry("dunlin.mqtt.packet-max", "4KiB"),
                Map.entry("dunlin.mqtt.connect-packet-max", "2KiB"),
                Map.entry("dunlin.mqtt.receive-maximum", "2"),
                Map.entry("dunlin.mqtt.topic-alias-maximum", "5"),
                Map.entry("dunlin.mqtt.topic-length-max", "100"),
                Map.entry("dunlin.mqtt.topic-levels-max", "4"),
                Map.entry("dunlin.mqtt.user-properties-max", "2"),
                Map.entry("dunlin.mqtt.filters-max", "3"),
                Map.entry("dunlin.mqtt.client-id-max", "30"),
                Map.entry("dunlin.mqtt.will-payload-max", "10"),
                Map.entry("dunlin.mqtt.in-flight-max", "3"),
                Map.entry("dunlin.session.subscriptions-max", "2"),
                Map.entry("dunlin.session.sessions-max", "3"),
                Map.entry("dunlin.store.fsync", "false")));
  }

  @AfterAll
  void closes() {
    http.close();
    broker.close();
  }

  private Map<String, Double> counts() {
    Map<String, Double> counts = new HashMap<>();
    Pattern line = Pattern.compile("dunlin_(frontend_protocol_errors|limits_hit)_total\\{.*(?:reason|limit)=\"([a-z-]+)\".*} (.*)");
    try {
      URI metrics = URI.create("http://127.0.0.1:" + broker.node().adminPort() + "/metrics");
      String text = http.send(HttpRequest.newBuilder(metrics).build(), HttpResponse.BodyHandlers.ofString()).body();
      text.lines()
          .map(line::matcher)
          .filter(Matcher::matches)
          .forEach(found -> counts.merge(found.group(1) + ' ' + found.group(2), Double.valueOf(found.group(3)), Double::sum));
      return counts;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** A violation by a connected client, and how it is answered. */
  record Wrong(String what, int reason, String label, @Nullable String limit, Consumer<RawClient> deed) {
    @Override
    public String toString() {
      return what;
    }
  }

  private static Wrong ends(String what, int reason, String label, @Nullable String limit, byte[]... packets) {
    return new Wrong(
        what, reason, label, limit,
        client -> {
          client.send(RawClient.bytes((Object[]) packets));
          Packet packet = client.read();
          while (packet.type() != RawClient.DISCONNECT) packet = client.read();
          assertThat(packet.reason()).isEqualTo(reason);
          assertThat(AnswerProperties.of(packet).reasonString()).contains(limit == null ? "" : "limit ").isNotBlank();
          client.expectClosed();
        });
  }

  /** A violation that is answered in a SUBACK or UNSUBACK, with the error as the last code. */
  private static Wrong answered(String what, int reason, String label, @Nullable String limit, byte[]... packets) {
    return new Wrong(
        what, reason, label, limit,
        client -> {
          client.send(RawClient.bytes((Object[]) packets));
          Packet packet = client.read();
          assertThat(packet.at(packet.body().length - 1)).isEqualTo(reason);
          assertThat(AnswerProperties.of(packet).reasonString()).contains(limit == null ? "" : "limit ").isNotBlank();
          client.ping();
        });
  }

  private static byte[] subscribe(String... filters) {
    List<Object> parts = new ArrayList<>(List.of(ID, NONE));
    for (String filter : filters) parts.addAll(List.of(filter, 0));
    return RawClient.packet(RawClient.SUBSCRIBE, parts.toArray());
  }

  private static byte[] qos2(int packetId) {
    return RawClient.packet(RawClient.PUBLISH | 4, "t", RawClient.u16(packetId), NONE);
  }

  static Stream<Wrong> wrongs() {
    byte[] user = RawClient.bytes(RawClient.USER_PROPERTY, "k", "v");
    String tooLong = "a".repeat(101);
    return Stream.of(
        ends("a second CONNECT", 0x82, "protocol-error", null, RawClient.connect(5, true, 0, "c", NONE)),
        ends("malformed", 0x81, "malformed-packet", null, RawClient.packet(0x36, "t", ID, NONE)),
        ends("AUTH out of place", 0x82, "protocol-error", null,
            RawClient.packet(0xF0, 0x18, RawClient.properties(RawClient.bytes(0x15, "m")))),
        ends("DISCONNECT with an expiry", 0x82, "protocol-error", null,
            RawClient.packet(0xE0, 0, RawClient.properties(RawClient.sessionExpiry(9)))),
        ends("DISCONNECT with a server's reason", 0x82, "protocol-error", null, RawClient.packet(0xE0, 0x8B)),
        ends("more publishes than Receive Maximum", 0x93, "receive-maximum-exceeded", "receive-maximum", qos2(1), qos2(2), qos2(3)),
        ends("packet too large", 0x95, "packet-too-large", "packet", RawClient.bytes(0x30, RawClient.varint(5_000))),
        ends("topic name too long", 0x90, "topic-name-invalid", "topic-length", RawClient.packet(0x30, tooLong, NONE)),
        ends("topic name too deep", 0x90, "topic-name-invalid", "topic-levels", RawClient.packet(0x30, "a/b/c/d/e", NONE)),
        ends("too many user properties", 0x97, "quota-exceeded", "user-properties",
            RawClient.packet(0x30, "t", RawClient.properties(user, user, user))),
        ends("topic alias too high", 0x94, "topic-alias-invalid", "topic-aliases",
            RawClient.packet(0x30, "t", RawClient.properties(RawClient.topicAlias(6)))),
        ends("topic alias 0", 0x94, "topic-alias-invalid", null,
            RawClient.packet(0x30, "t", RawClient.properties(RawClient.topicAlias(0)))),
        ends("too many filters in SUBSCRIBE", 0x97, "quota-exceeded", "filters", subscribe("a", "b", "c", "d")),
        answered("too many subscriptions", 0x97, "quota-exceeded", "subscriptions", subscribe("a", "b", "c")),
        answered("invalid filters", 0x8F, "topic-filter-invalid", null, subscribe("a", "a+", "b#")),
        answered("filter too deep", 0x8F, "topic-filter-invalid", "topic-levels", subscribe("a/b/c/d/#")),
        answered("filter too long", 0x8F, "topic-filter-invalid", "topic-length", subscribe(tooLong)),
        answered("invalid filter in UNSUBSCRIBE", 0x8F, "topic-filter-invalid", null,
            RawClient.packet(RawClient.UNSUBSCRIBE, ID, NONE, "a+")));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("wrongs")
  @Tag("MQTT-4.13.1-1")
  void aViolationIsCountedAndLoggedOnce(Wrong wrong) {
    assertCountedAndTold(
        wrong.label(), wrong.limit(), "violator",
        () -> {
          try (RawClient client = RawClient.connected(broker, "violator")) {
            wrong.deed().accept(client);
          }
        });
  }

  /** Runs a task that must count exactly one violation. */
  private void assertCountedAndTold(String label, @Nullable String limit, String clientId, Runnable deed) {
    Logger logger = (Logger) LoggerFactory.getLogger("dunlin.events");
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    Map<String, Double> expected = counts();
    expected.merge("frontend_protocol_errors " + label, 1.0, Double::sum);
    if (limit != null) expected.merge("limits_hit " + limit, 1.0, Double::sum);
    logger.addAppender(lines);
    try {
      deed.run();
    } finally {
      logger.detachAppender(lines);
    }
    assertThat(counts()).isEqualTo(expected);
    // At most five lines a second are logged for a reason, so a violation shortly after others may only be counted in a
    // later line.
    assertThat(lines.list.stream().map(ILoggingEvent::getFormattedMessage))
        .filteredOn(line -> line.contains(" client="))
        .hasSizeLessThanOrEqualTo(1)
        .allMatch(line -> line.contains("client=\"" + clientId + "\"") && line.contains("reason=" + label))
        .allMatch(line -> line.contains("limit=" + (limit == null ? "none" : limit)));
  }

  static Stream<Arguments> refusedConnects() {
    byte[] eleven = new byte[11];
    return Stream.of(
        Arguments.of(0x85, "client-identifier-not-valid", "client-id", RawClient.connect(5, true, 0, "c".repeat(31), NONE)),
        Arguments.of(
            0x95, "packet-too-large", "will-payload",
            RawClient.connect(5, 6, 0, NONE, "c", NONE, "t", RawClient.u16(11), eleven)),
        Arguments.of(0x90, "topic-name-invalid", "topic-levels", RawClient.connect(5, 6, 0, NONE, "c", NONE, "a/b/c/d/e", "")),
        Arguments.of(0x81, "malformed-packet", null, RawClient.connect(5, 3, 0, NONE, "c")),
        Arguments.of(0x82, "protocol-error", null, RawClient.connect(5, 2, 0, RawClient.properties(RawClient.receiveMaximum(0)), "c")));
  }

  @ParameterizedTest
  @MethodSource("refusedConnects")
  void aRefusedConnectIsCountedOnceAndAnsweredWithTheReason(
      int reason, String label, @Nullable String limit, byte[] connect) {
    assertCountedAndTold(
        label, limit, "",
        () -> {
          try (RawClient client = new RawClient(broker.port())) {
            client.send(connect);
            Packet connack = client.expect(RawClient.CONNACK);
            assertThat(connack.at(1)).isEqualTo(reason);
            assertThat(AnswerProperties.of(connack).reasonString()).isNotBlank();
            client.expectClosed();
          }
        });
  }

  @Test
  void aDurableSessionBeyondTheLimitIsRefusedAndCounted() {
    List<Connect> kept = IntStream.range(0, 3).mapToObj(i -> Connect.of("kept" + i)).toList();
    for (Connect each : kept) RawClient.connected(broker.port(), each).disconnect();
    assertCountedAndTold(
        "quota-exceeded", "sessions", "",
        () -> {
          try (RawClient more = new RawClient(broker.port())) {
            more.send(Connect.of("more").packet());
            Packet connack = more.expect(RawClient.CONNACK);
            assertThat(connack.at(1)).isEqualTo(0x97);
            assertThat(AnswerProperties.of(connack).reasonString()).contains("limit 3 (dunlin.session.sessions-max)");
            more.expectClosed();
          }
        });
    assertCountedAndTold(
        "quota-exceeded", "sessions", "",
        () -> {
          try (RawClient more = new RawClient(broker.port())) {
            more.send(RawClient.connect(4, false, 0, "more", NONE));
            assertThat(more.expect(RawClient.CONNACK).at(1)).as("server unavailable").isEqualTo(3);
            more.expectClosed();
          }
        });
    for (Connect each : kept) {
      try (RawClient again = RawClient.connected(broker.port(), each)) {
        assertThat(again.sessionPresent()).isTrue();
        again.disconnect(0);
      }
    }
    RawClient.connected(broker.port(), Connect.of("more")).disconnect(0);
  }

  @Test
  void aTakeOverAndASilentClientAreNoViolations() {
    Map<String, Double> before = counts();
    try (RawClient first = RawClient.connected(broker, "taken");
        RawClient second = RawClient.connected(broker, "taken");
        RawClient silent = new RawClient(broker.port())) {
      silent.connect(RawClient.connect(5, true, 1, "silent", NONE));
      first.expectDisconnect(0x8E);
      silent.expectDisconnect(0x8D);
      second.ping();
    }
    assertThat(counts()).isEqualTo(before);
  }

  @Test
  @Tag("MQTT-3.1.2-29")
  void aClientThatWantsNoProblemInformationGetsReasonStringsOnlyInConnackAndDisconnect() {
    try (RawClient client = RawClient.connected(broker, "terse", new byte[] {0x17, 0})) {
      client.send(subscribe("a+"));
      assertThat(client.expect(RawClient.SUBACK).body()).containsExactly(0, 1, 0, 0x8F);
      client.send(RawClient.UNSUBSCRIBE, ID, NONE, "a+");
      assertThat(client.expect(RawClient.UNSUBACK).body()).containsExactly(0, 1, 0, 0x8F);
      client.send(qos2(1));
      client.expect(RawClient.PUBREC);
      client.send(RawClient.PUBLISH | 2, "t", ID, NONE); // QoS 1 with an identifier that is in use
      assertThat(client.expect(RawClient.PUBACK).body()).containsExactly(0, 1, 0x91);
      client.send(RawClient.PINGREQ, 1);
      Packet disconnect = client.expect(RawClient.DISCONNECT);
      assertThat(AnswerProperties.of(disconnect).reasonString()).isNotBlank();
    }
  }

  @Test
  @Tag("MQTT-3.9.2-1")
  @Tag("MQTT-3.14.2-3")
  void aReasonStringThatDoesNotFitIsLeftOut() {
    try (RawClient client = RawClient.connected(broker, "small", RawClient.maximumPacketSize(30))) {
      client.send(subscribe("a+"));
      assertThat(client.expect(RawClient.SUBACK).body()).containsExactly(0, 1, 0, 0x8F);
      client.send(RawClient.PINGRESP);
      assertThat(client.expect(RawClient.DISCONNECT).body()).containsExactly(0x82);
    }
  }

  @Test
  @Tag("MQTT-3.1.2-24")
  void aClientWhoseMaximumIsBelowConnackIsClosed() {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(5, true, 0, "tiny", RawClient.properties(RawClient.maximumPacketSize(5))));
      client.expectClosed();
    }
  }

  @Test
  void aWillIsSentAfterAViolation() {
    try (RawClient watcher = RawClient.connected(broker, "watcher");
        RawClient client = new RawClient(broker.port())) {
      watcher.subscribe("last/words", 1);
      client.connect(RawClient.connect(5, 6, 0, NONE, "c", NONE, "last/words", "bye"));
      for (int i = 1; i <= 3; i++) client.send(qos2(i));
      assertThat(watcher.take().text()).isEqualTo("bye");
    }
  }

  @Test
  @Tag("MQTT-3.3.4-9")
  void theSettingLimitsMessagesInFlightToAClient() {
    for (int level : new int[] {4, 5}) {
      try (RawClient client = new RawClient(broker.port())) {
        client.connect(RawClient.connect(level, true, 0, "window", NONE));
        client.subscribe("window", 1);
        for (int i = 1; i <= 5; i++) {
          client.publish("window", 0, 0, "q0");
          client.publish("window", 1, i, "m" + i);
        }
        int unacknowledged = 0;
        int first = 0;
        client.send(RawClient.PINGREQ);
        for (Packet packet = client.read(); packet.type() != RawClient.PINGRESP; packet = client.read()) {
          if (packet.type() != RawClient.PUBLISH || (packet.first() & 6) == 0) continue;
          unacknowledged++;
          if (first == 0) first = packet.at(8) << 8 | packet.at(9);
        }
        assertThat(unacknowledged).isEqualTo(3);
        client.send(RawClient.PUBACK, RawClient.u16(first));
        assertThat(client.take().text()).isEqualTo("m4");
      }
    }
  }
}
