package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.MBeanInfo;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A broker as its operator sees it: the log of its start and stop, its metrics, its probes and its beans. */
class OperatorsViewIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);


  /** Numbers that count and measure nothing: versions, places and codes. */
  private static final Set<String> PLAIN =
      Set.of("Version", "MapVersion", "Term", "CommittedIndex", "AppliedIndex", "version", "qos", "after", "sequence", "firstLine");

  @TempDir Path directory;

  private static HttpResponse<String> get(int port, String path) throws IOException, InterruptedException {
    try (var client = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  private TestBroker broker() {
    return TestBroker.on(
        directory.resolve("data"), Map.of("dunlin.admin.port", "0", "dunlin.health.port", "0", "dunlin.node.name", "seen"));
  }

  /** A client publishes to itself in every QoS, and then breaks the protocol. */
  private static void use(TestBroker broker) {
    try (var client = RawClient.connected(broker.port(), RawClient.Connect.of("client"))) {
      client.subscribe("topic", 2);
      for (int i = 0; i < 10; i++) client.publishAndWait("topic", "payload", false);
      assertThat(client.next(10, RawClient.PUBLISH)).hasSize(10);
      client.send(new byte[] {0x10, 0});
    }
  }

  @Test
  void everyMetricHasADescription() throws Exception {
    try (var broker = broker()) {
      use(broker);
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(get(broker.node().adminPort(), "/metrics").body()).contains("dunlin_frontend_protocol_errors_total"));

      var help = new HashMap<String, String>();
      var families = new ArrayList<String>();
      for (String line : get(broker.node().adminPort(), "/metrics").body().lines().toList()) {
        String[] words = line.split(" ", 4);
        if (line.startsWith("# HELP ")) help.put(words[2], words.length > 3 ? words[3].strip() : "");
        if (line.startsWith("# TYPE ")) families.add(words[2]);
      }

      assertThat(families).hasSizeGreaterThan(50).contains("dunlin_build_info", "dunlin_publish_acknowledge_seconds");
      assertThat(families).allSatisfy(family -> assertThat(help.getOrDefault(family, "")).as(family).hasSizeGreaterThan(10));
    }
  }

  @Test
  void publishesAreTimedUntilTheyAreAcknowledgedAndDelivered() throws Exception {
    try (var broker = broker()) {
      use(broker);

      await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThat(get(broker.node().adminPort(), "/metrics").body())
                      .contains(
                          "dunlin_publish_acknowledge_seconds_count{node=\"seen\"} 10\n",
                          "dunlin_publish_acknowledge_seconds_bucket{node=\"seen\",le=\"60.0\"} 10\n",
                          "dunlin_publish_delivery_seconds_count{node=\"seen\"} 10\n"));
    }
  }

  @Test
  void theHealthPortServesHealthOnly() throws Exception {
    try (var broker = broker()) {
      int port = broker.node().healthPort();

      assertThat(get(port, "/health").body()).isEqualTo("alive\n");
      assertThat(get(port, "/ready").body()).isEqualTo("ready\n");
      assertThat(get(port, "/metrics").statusCode()).isEqualTo(404);

      broker.node().drain("", 1);
      assertThat(get(port, "/ready")).satisfies(answer -> assertThat(answer.statusCode()).isEqualTo(503));
      assertThat(get(port, "/ready").body()).isEqualTo("draining\n");
    }
  }

  @Test
  void everyBeanHasADescription() throws Exception {
    var server = ManagementFactory.getPlatformMBeanServer();
    try (var _ = broker()) {
      var types = new ArrayList<String>();
      for (ObjectName name : server.queryNames(new ObjectName("dunlin:node=seen,*"), null)) {
        types.add(name.getKeyProperty("type"));
        assertThat(undescribed(server.getMBeanInfo(name))).as("%s", name).isEmpty();
      }
      assertThat(types).contains("Frontend", "Listener", "Range", "Settings", "Latency", "Metrics", "Ledger", "AllSessions");
    }
  }

  /** As the descriptors of attributes and parameters have it, where JMX tools look for it. */
  @Test
  void everyNumberOfABeanHasAUnit() throws Exception {
    var server = ManagementFactory.getPlatformMBeanServer();
    try (var _ = broker()) {
      for (ObjectName name : server.queryNames(new ObjectName("dunlin:node=seen,*"), null)) {
        if (name.getKeyProperty("type").equals("Metrics")) continue; // a meter may count what has no unit
        assertThat(withoutUnit(server.getMBeanInfo(name))).as("%s", name).isEmpty();
      }
      var held = new ObjectName("dunlin:type=Metrics,node=seen,name=dunlin.push.waiting.bytes");
      assertThat(server.getMBeanInfo(held).getDescription()).isEqualTo("Bytes of the messages pushed by the session tier that wait for event loops");
      for (var attribute : server.getMBeanInfo(held).getAttributes()) assertThat(attribute.getDescriptor().getFieldValue("units")).isEqualTo("bytes");
    }
  }

  private static List<String> withoutUnit(MBeanInfo info) {
    var bad = new ArrayList<String>();
    for (var attribute : info.getAttributes()) {
      if (isNumber(attribute.getType()) && !PLAIN.contains(attribute.getName()) && attribute.getDescriptor().getFieldValue("units") == null) bad.add(attribute.getName());
    }
    for (var operation : info.getOperations()) {
      for (var parameter : operation.getSignature()) {
        boolean needed = isNumber(parameter.getType()) && !PLAIN.contains(parameter.getName());
        if (needed && parameter.getDescriptor().getFieldValue("units") == null) bad.add(operation.getName() + "(" + parameter.getName() + ")");
      }
    }
    return bad;
  }

  private static boolean isNumber(String type) {
    return Set.of("int", "long", "double").contains(type);
  }

  /** Attributes, operations and parameters without a description of our own. */
  private static List<String> undescribed(MBeanInfo info) {
    var bad = new ArrayList<String>();
    for (var attribute : info.getAttributes()) if (attribute.getDescription().equals(attribute.getName())) bad.add(attribute.getName());
    for (var operation : info.getOperations()) {
      if (operation.getDescription().equals(operation.getName())) bad.add(operation.getName());
      for (var parameter : operation.getSignature()) {
        if (parameter.getName().matches("p\\d+") || parameter.getDescription().isEmpty() || parameter.getDescription().equals(parameter.getName()))
          bad.add(operation.getName() + "(" + parameter.getName() + ")");
      }
    }
    return bad;
  }

  @Test
  void aProcessLogsItsVersionAndItsStop() throws Exception {
    Path data = directory.resolve("data");
    try (var broker = BrokerProcess.start(data, "dunlin.admin.port=0")) {
      assertThat(broker.out())
          .anySatisfy(line -> assertThat(line).contains("Dunlin 0.", "process " + broker.pid(), "data directory " + data, "dunlin.conf"));
      assertThat(broker.out()).anySatisfy(line -> assertThat(line).contains("WARN", "No authentication is configured"));
      assertThat(get(broker.adminPort(), "/metrics").body()).contains("jvm_memory_used_bytes", "process_cpu_usage", "process_files_open_files");

      broker.terminate();

      assertThat(broker.awaitExit(LIMIT)).isEqualTo(143);
      assertThat(broker.out().subList(broker.out().size() - 2, broker.out().size()))
          .satisfiesExactly(line -> assertThat(line).endsWith(" is stopping"), line -> assertThat(line).endsWith(" has stopped"));
    }
  }
}
