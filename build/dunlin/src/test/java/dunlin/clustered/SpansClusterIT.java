package dunlin.clustered;

import static dunlin.harness.PacketBytes.bytes;
import static dunlin.harness.PacketBytes.properties;
import static dunlin.harness.PacketBytes.u16;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ClusterClients;
import dunlin.harness.PacketBytes;
import dunlin.harness.ProcessCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SpanCollector;
import dunlin.harness.SpanCollector.Span;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The spans of one message through the hops of several nodes, as a collector takes them from each. */
class SpansClusterIT {
  private static final int NODES = 3;
  private static final int FAILURES = 0x80;
  private static final String PARENT = "00f067aa0ba902b7";
  private static final Duration LONG = Duration.ofMinutes(3);

  @TempDir Path directory;

  /** Publishes until a message is taken, which it may not be while leaders move; answers its trace. */
  private static String published(RawClient client) {
    for (int i = 1; ; i++) {
      String trace = "4bf92f3577b34da6a3ce929d0e0e%04x".formatted(i);
      byte[] property = bytes(PacketBytes.USER_PROPERTY, "traceparent", "00-" + trace + "-" + PARENT + "-01");
      client.send(RawClient.PUBLISH | 2, "plant/7", u16(i), properties(property), "on".getBytes(StandardCharsets.UTF_8));
      if (client.next(RawClient.PUBACK).reason() < FAILURES) return trace;
    }
  }

  @Test
  void oneTraceHasTheStepsOfAllNodes() {
    try (var collector = new SpanCollector();
        var cluster = ProcessCluster.start(directory, NODES, "dunlin.tracing.otlp-url=" + collector.url());
        var connected = ClusterClients.connected(cluster.port(2), Connect.of("connected").clean().expiry(0));
        var durable = ClusterClients.connected(cluster.port(1), Connect.of("durable"));
        var publisher = ClusterClients.connected(cluster.port(0), Connect.of("van-7").clean().expiry(0))) {
      connected.subscribe("plant/+", 1);
      durable.subscribe("plant/#", 1);
      List<String> ids = cluster.ids();

      String trace = published(publisher);
      for (RawClient each : List.of(connected, durable)) assertThat(each.take().topic()).isEqualTo("plant/7");

      await().atMost(LONG).untilAsserted(
          () -> {
            List<Span> spans = collector.of(trace);
            assertThat(spans).extracting(Span::name).contains("publish plant/7", "publish received", "routes forwarded", "inbox stored", "session sent");
            assertThat(spans).filteredOn(span -> span.name().equals("session sent")).extracting(Span::node).contains(ids.get(1), ids.get(2));
          });
      List<Span> spans = collector.of(trace);
      Span whole = spans.stream().filter(span -> span.name().equals("publish plant/7")).findFirst().orElseThrow();
      assertThat(whole.node()).as("that of the publisher").isEqualTo(ids.getFirst());
      assertThat(whole.parentId()).isEqualTo(PARENT);
      assertThat(spans).filteredOn(span -> !span.name().equals("publish plant/7")).extracting(Span::parentId).containsOnly(whole.spanId());
      assertThat(spans).extracting(Span::spanId).doesNotHaveDuplicates();
    }
  }
}
