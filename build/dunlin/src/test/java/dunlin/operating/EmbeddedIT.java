package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.harness.RawClient;
import dunlin.harness.Restarts;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.openmbean.TabularData;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Nodes inside an application: independent of each other, and without a trace once closed. */
class EmbeddedIT {
  @TempDir Path directory;

  @Test
  void twoNodesShareNothing() {
    try (var one = TestBroker.on(directory.resolve("one"));
        var other = TestBroker.inMemory();
        var here = RawClient.connected(one.port(), Connect.of("client"));
        var there = RawClient.connected(other.port(), Connect.of("client"))) {
      assertThat(one.node().nodeId()).isNotEqualTo(other.node().nodeId());
      here.subscribe("#", 1);
      there.subscribe("#", 1);
      here.publishAndWait("topic", "here", true);
      assertThat(here.read().text()).isEqualTo("here");
      assertThat(there.untilPong()).as("crossed, also no takeover").isEmpty();
      there.publishAndWait("topic", "there");
      assertThat(there.read().text()).isEqualTo("there");
      assertThat(here.untilPong()).isEmpty();
      try (var late = RawClient.connected(other.port(), Connect.of("late"))) {
        late.subscribe("#", 1);
        assertThat(late.untilPong()).as("retained messages of the other node").isEmpty();
      }
    }
  }

  @Test
  void oneNodeServesWhileTheOtherCloses() throws Exception {
    try (var staying = TestBroker.on(directory.resolve("staying"))) {
      var leaving = TestBroker.on(directory.resolve("leaving"));
      int leavingPort = leaving.port();
      Set<ObjectName> leavingBeans = beans(leaving.node());
      Set<ObjectName> stayingBeans = beans(staying.node());
      assertThat(leavingBeans).hasSizeGreaterThan(10);
      assertThat(stayingBeans).hasSameSizeAs(leavingBeans);
      var lost = RawClient.connected(leavingPort, Connect.of("client"));

      AtomicInteger round = new AtomicInteger();
      CountDownLatch closed = new CountDownLatch(1);
      try (var client = RawClient.connected(staying.port(), Connect.of("client"))) {
        client.subscribe("topic", 2);
        Thread closing =
            Thread.ofPlatform()
                .start(
                    () -> {
                      await().until(() -> round.get() >= 20);
                      leaving.close();
                      closed.countDown();
                    });
        int more = 20;
        while (more > 0) {
          if (closed.getCount() == 0) more--;
          String payload = "" + round.incrementAndGet();
          client.publishAndWait("topic", payload);
          Packet packet = client.next(RawClient.PUBLISH);
          assertThat(packet.text()).isEqualTo(payload);
          client.puback(packet.packetId());
        }
        closing.join();
      }
      assertThat(lost.awaitClosed()).singleElement().extracting(Packet::reason).isEqualTo(0x8B);
      assertThatThrownBy(() -> new RawClient(leavingPort)).isInstanceOf(UncheckedIOException.class).hasCauseInstanceOf(ConnectException.class);
      assertThat(beans(leaving.node())).isEmpty();
      assertThat(beans(staying.node())).containsAll(stayingBeans);
    }
  }

  @Test
  void aNodeInMemoryLeavesNothingBehind() throws Exception {
    Set<Thread> before = threads();
    Path data;
    try (var broker = TestBroker.inMemory()) {
      data = Path.of(setting(broker.node(), "dunlin.data-dir"));
      assertThat(data.resolve("dunlin.node")).exists();
      try (var client = RawClient.connected(broker.port(), Connect.of("client"))) {
        client.subscribe("topic", 1);
        client.publishAndWait("topic", "x", true);
      }
    }
    await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(data).doesNotExist());
    awaitNoMoreThan(before);
  }

  @Test
  void aClosedNodeRefusesCalls() {
    var node = Dunlin.builder().inMemory().tcpPort(0).build();
    node.close();
    node.close();

    for (ThrowingCallable call :
        List.<ThrowingCallable>of(
            node::tcpPort, () -> node.port("tcp"), node::adminPort, node::healthPort, () -> node.drain("", 1), node::stopDrain)) {
      assertThatThrownBy(call).isInstanceOf(IllegalStateException.class).hasMessage("this node has been closed");
    }
  }

  /** Micrometer warns when meters are registered before the registries that export them. */
  @Test
  void metersAreRegisteredAfterTheirRegistries() {
    var lines = new ListAppender<ILoggingEvent>();
    lines.start();
    var logger = (Logger) LoggerFactory.getLogger("io.micrometer");
    logger.addAppender(lines);
    int service = FreePort.any();
    var store =
        Dunlin.builder()
            .dataDirectory(directory.resolve("store"))
            .set("dunlin.roles", "store")
            .set("dunlin.admin.port", "0")
            .set("dunlin.cluster.port", Integer.toString(FreePort.any()))
            .set("dunlin.cluster.service-port", Integer.toString(service))
            .set("dunlin.cluster.seeds", "127.0.0.1:" + service)
            .set("dunlin.cluster.bootstrap-expect", "1");
    try (var broker = TestBroker.on(directory.resolve("broker"));
        var node = store.build()) {
      RawClient.connected(broker.port(), Connect.of("client")).disconnect();
      assertThat(node.adminPort()).isPositive();
    } finally {
      logger.detachAppender(lines);
    }
    Restarts.awaitReleased(directory.resolve("store"));
    assertThat(lines.list).isEmpty();
  }

  @Test
  void aDataDirectoryInUseIsRefused() {
    try (var broker = TestBroker.on(directory)) {
      Set<Thread> before = threads();
      Set<ObjectName> beans = beans(broker.node());
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> TestBroker.on(directory))
            .hasMessage("data directory " + directory + " is in use by another Dunlin node (in this process)");
      }
      // The running broker starts reader threads on demand.
      String readers = "dunlin-" + broker.node().nodeId().substring(0, 8) + "-\\w+-reader-\\d+";
      awaitNoMoreThan(before, readers);
      assertThat(beans(broker.node())).isEqualTo(beans);
      RawClient.connected(broker.port(), Connect.of("still served")).disconnect();
    }
  }

  @Test
  void aNodeThatCannotListenLeavesNothingRunning() throws IOException {
    Set<Thread> before = threads();
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = Integer.toString(taken.getLocalPort());
      for (String key : List.of("dunlin.listeners.tcp.port", "dunlin.admin.port")) {
        assertThatThrownBy(() -> TestBroker.on(directory, Map.of(key, port)))
            .hasMessageContaining(key)
            .hasMessageContaining(port);
        assertThat(allBeans()).isEmpty();
        awaitNoMoreThan(before);
      }
    }
    TestBroker.on(directory).close();
  }

  @Test
  void aWrongSettingIsRefusedBeforeAnythingIsCreated() {
    Path data = directory.resolve("data");
    assertThatThrownBy(() -> TestBroker.on(data, Map.of("dunlin.lane", "2")))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("dunlin.lanes");
    assertThat(data).doesNotExist();
  }

  @Test
  void aNodeIsBuiltAgainOnItsDataDirectory() {
    Set<Thread> before = threads();
    String id = "";
    for (int life = 0; life < 3; life++) {
      try (var broker = TestBroker.on(directory);
          var client = RawClient.connected(broker.port(), Connect.of("client"))) {
        assertThat(client.sessionPresent()).isEqualTo(life > 0);
        if (life == 0) client.subscribe("topic", 1);
        else assertThat(broker.node().nodeId()).isEqualTo(id);
        id = broker.node().nodeId();
        client.publishAndWait("topic", "life " + life);
        for (int waiting = 0; waiting <= life; waiting++) {
          assertThat(client.read().text()).isEqualTo("life " + waiting);
        }
      }
    }
    awaitNoMoreThan(before);
  }

  @Test
  void closingTwiceIsClosingOnce() {
    var node = Dunlin.builder().dataDirectory(directory).tcpPort(0).build();
    node.close();
    node.close();
    Restarts.awaitReleased(directory);
    TestBroker.on(directory).close();

    var inMemory = Dunlin.builder().inMemory().tcpPort(0).build();
    inMemory.close();
    inMemory.close();
  }

  @Test
  void metricsAndReadinessAreServedWhenAskedFor() throws Exception {
    int port;
    try (var without = TestBroker.inMemory();
        var broker = TestBroker.on(directory, Map.of("dunlin.admin.port", "0", "dunlin.node.name", "embedded"));
        var client = RawClient.connected(broker.port(), Connect.of("client"))) {
      assertThat(without.node().adminPort()).isEqualTo(-1);
      client.subscribe("topic", 1);
      client.publishAndWait("topic", "x");
      client.read();
      port = broker.node().adminPort();
      assertThat(get(port, "/ready").statusCode()).isEqualTo(200);
      assertThat(get(port, "/health").statusCode()).isEqualTo(200);
      String metrics = get(port, "/metrics").body();
      assertThat(metrics).contains("dunlin_connections{node=\"embedded\"} 1.0");
      assertThat(metrics.lines().filter(line -> line.startsWith("dunlin_")))
          .hasSizeGreaterThan(30)
          .allMatch(line -> line.contains("node=\"embedded\""));
      assertThat(metrics).containsPattern("dunlin_messages_received_total\\{hop=\"publish\",node=\"embedded\"} 1\\.0");
    }
    assertThatThrownBy(() -> get(port, "/health")).isInstanceOf(IOException.class);
  }

  private static HttpResponse<String> get(int port, String path) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
    try (var client = HttpClient.newHttpClient()) {
      return client.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  private static Set<ObjectName> beans(Dunlin node) {
    String name = node.nodeId().substring(0, 8);
    return allBeans().stream().filter(bean -> bean.toString().contains(name)).collect(Collectors.toSet());
  }

  private static Set<ObjectName> allBeans() {
    try {
      return ManagementFactory.getPlatformMBeanServer().queryNames(new ObjectName("dunlin:*"), null);
    } catch (MalformedObjectNameException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String setting(Dunlin node, String key) throws JMException {
    var name = new ObjectName("dunlin:type=Settings,node=" + node.nodeId().substring(0, 8));
    var server = ManagementFactory.getPlatformMBeanServer();
    var effective = (TabularData) server.getAttribute(name, "Effective");
    return String.valueOf(effective.get(new Object[] {key}).get("value"));
  }

  private static Set<Thread> threads() {
    return new HashSet<>(Thread.getAllStackTraces().keySet());
  }

  /** Waits until no new non-daemon thread but the caller's, and none of our own threads, is left. */
  private static void awaitNoMoreThan(Set<Thread> before) {
    awaitNoMoreThan(before, "");
  }

  private static void awaitNoMoreThan(Set<Thread> before, String others) {
    await()
        .atMost(TestBroker.SOON)
        .untilAsserted(
            () -> {
              Set<Thread> after = threads();
              after.removeAll(before);
              after.remove(Thread.currentThread());
              after.removeIf(thread -> thread.getName().matches(others));
              after.removeIf(thread -> thread.isDaemon() && !thread.getName().startsWith("dunlin"));
              assertThat(after).extracting(Thread::getName).isEmpty();
            });
  }
}
