package dunlin.operating;

import static dunlin.harness.PacketBytes.bytes;
import static dunlin.harness.PacketBytes.properties;
import static dunlin.harness.PacketBytes.u16;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.Counted;
import dunlin.harness.PacketBytes;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SpanCollector;
import dunlin.harness.SpanCollector.Span;
import dunlin.runtime.SettingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Spans of messages, as a collector takes them from a broker that runs alone. */
class SpansIT {
  private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
  private static final String PARENT = "00f067aa0ba902b7";

  @TempDir Path directory;

  private final SpanCollector collector = new SpanCollector();

  @AfterEach
  void stop() {
    collector.close();
  }

  private TestBroker broker(String... more) {
    Map<String, String> settings =
        new HashMap<>(Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.tracing.otlp-url", collector.url()));
    for (int i = 0; i < more.length; i += 2) settings.put(more[i], more[i + 1]);
    return TestBroker.on(directory.resolve("data"), settings);
  }

  private static void publish(RawClient client, int packetId, String topic, String trace, String flags) {
    byte[] property = bytes(PacketBytes.USER_PROPERTY, "traceparent", "00-" + trace + "-" + PARENT + "-" + flags);
    client.send(RawClient.PUBLISH | 2, topic, u16(packetId), properties(property), "on".getBytes(StandardCharsets.UTF_8));
    assertThat(client.next(RawClient.PUBACK).reason()).isLessThan(0x80);
  }

  private Span named(String trace, String name) {
    List<Span> found = collector.of(trace).stream().filter(span -> span.name().equals(name)).toList();
    assertThat(found).as("%s in %s", name, collector.of(trace)).hasSize(1);
    return found.getFirst();
  }

  @Test
  void aMessageContinuesTheTraceOfItsPublisher() throws Exception {
    Path secret = Files.writeString(directory.resolve("secret"), "Bearer of-the-test\n");
    try (TestBroker broker = broker("dunlin.tracing.otlp-authorization", "file:" + secret);
        var subscriber = RawClient.connected(broker.port(), Connect.of("meter-1"));
        var publisher = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      subscriber.subscribe("plant/#", 1);
      publisher.publishAndWait("plant/0", "without a trace");
      publish(publisher, 101, "plant/1", TRACE.replace('4', '5'), "00");
      publish(publisher, 102, "plant/7", TRACE, "01");
      for (int i = 0; i < 3; i++) subscriber.take();

      await().atMost(TestBroker.SOON).untilAsserted(
          () -> {
            named(TRACE, "session delivered");
            named(TRACE, "publish plant/7");
          });
      Span whole = named(TRACE, "publish plant/7");
      assertThat(whole.parentId()).isEqualTo(PARENT);
      assertThat(whole.node()).isEqualTo(broker.node().nodeId());
      assertThat(whole.attributes())
          .containsEntry("messaging.system", "mqtt")
          .containsEntry("messaging.destination.name", "plant/7")
          .containsEntry("messaging.message.body.size", "2")
          .containsEntry("dunlin.publisher", "van-7")
          .containsEntry("dunlin.reason", "success");
      assertThat(whole.failed()).isFalse();
      for (String step : List.of("publish received", "publish handed-on", "routes forwarded", "inbox stored", "session received", "session sent", "session delivered")) {
        Span child = named(TRACE, step);
        assertThat(child.parentId()).as(step).isEqualTo(whole.spanId());
        assertThat(child.spanId()).as(step).isNotEqualTo(whole.spanId());
        assertThat(child.endNanos()).isGreaterThanOrEqualTo(child.beginNanos());
      }
      assertThat(named(TRACE, "session sent").attributes()).containsEntry("messaging.client.id", "meter-1");
      assertThat(collector.all()).as("of no other message").extracting(Span::traceId).containsOnly(TRACE);
      assertThat(collector.authorization()).isEqualTo("Bearer of-the-test");
    }
  }

  @Test
  void messagesWithoutATraceAreSampledAndThoseThatAreDroppedSaySo() {
    try (TestBroker broker = broker("dunlin.tracing.sample-one-in", "1");
        var publisher = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      RawClient.connected(broker.port(), Connect.of("absent")).disconnectAfter(absent -> absent.subscribe("zero", 0));
      publisher.publishAndWait("a", "first");
      publisher.publishAndWait("a", "second");
      publisher.publishAndWait("zero", "dropped");

      await().atMost(TestBroker.SOON).until(() -> collector.all().stream().filter(span -> span.name().equals("publish a")).count() == 2);
      List<Span> whole = collector.all().stream().filter(span -> span.name().equals("publish a")).toList();
      assertThat(whole).hasSize(2).extracting(Span::traceId).doesNotHaveDuplicates();
      assertThat(whole).extracting(Span::parentId).containsOnly("");
      assertThat(whole).extracting(span -> span.attributes().get("dunlin.reason")).containsOnly("no-matching-subscribers");
      await().atMost(TestBroker.SOON).untilAsserted(
          () -> assertThat(collector.all()).filteredOn(span -> span.name().equals("inbox dropped")).singleElement().satisfies(
              span -> {
                assertThat(span.failed()).isTrue();
                assertThat(span.attributes()).containsEntry("dunlin.reason", "offline").containsEntry("messaging.client.id", "absent");
              }));
    }
  }

  @Test
  void aCollectorThatDoesNotTakeThemHoldsUpNothing() {
    collector.refuse(true);
    try (TestBroker broker = broker("dunlin.tracing.sample-one-in", "1");
        ApiCalls api = ApiCalls.of(directory.resolve("data"));
        var publisher = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      publisher.publishAndWait("lost", "x");
      await().atMost(TestBroker.SOON).until(() -> Counted.of(api, "dunlin_tracing_spans_total", List.of("outcome=\"failed\"")) > 0);
      assertThat(collector.requests()).isPositive();

      collector.refuse(false);
      await().atMost(TestBroker.SOON).until(
          () -> {
            publisher.publishAndWait("kept", "x");
            return collector.all().stream().anyMatch(span -> span.name().equals("publish kept"));
          });
      assertThat(Counted.of(api, "dunlin_tracing_spans_total", List.of("outcome=\"sent\""))).isPositive();
    }
  }

  @Test
  void aBoundLeavesOutTheRest() {
    try (TestBroker broker = broker("dunlin.tracing.sample-one-in", "1", "dunlin.tracing.spans-per-second", "1");
        ApiCalls api = ApiCalls.of(directory.resolve("data"));
        var publisher = RawClient.connected(broker.port(), Connect.of("van-7").expiry(0))) {
      for (int i = 0; i < 20; i++) publisher.publishAndWait("a", "x");
      await().atMost(TestBroker.SOON).until(() -> Counted.of(api, "dunlin_tracing_spans_total", List.of("outcome=\"left-out\"")) > 0);
      await().atMost(TestBroker.SOON).until(() -> !collector.all().isEmpty());
    }
  }

  @Test
  void anAddressThatOthersCouldReadIsRefused() {
    assertThatThrownBy(() -> broker("dunlin.tracing.otlp-url", "http://collector.example:4318/v1/traces").close())
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("dunlin.tracing.otlp-url: must begin with https://");
  }
}
