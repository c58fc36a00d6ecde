package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import dunlin.TestBroker;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.cluster.ClusterMXBean.RangeRow;
import dunlin.cluster.ClusterMXBean;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Shipped store nodes, each a process of its own: they found a cluster, are operated by JMX, and survive the loss of one. They keep replicas of the tiers' ranges, too. */
class StoreClusterIT {
  private static final Duration LONG = Duration.ofMinutes(6);
  private static final String META = "meta";

  /** What a store in a cluster of stores answers when it is ready. */
  private static final String READY = "200 ready\nno node of the cluster has the role frontend: no client can connect";

  @TempDir Path directory;
  private final List<StoreNode> nodes = new ArrayList<>();

  /** A node that keeps its directory and ports over restarts. */
  private final class StoreNode {
    private final Path data = directory.resolve("node-" + nodes.size());
    private final int raft = FreePort.any();
    private final int service = FreePort.any();
    private @Nullable BrokerProcess process;
    private @Nullable JMXConnector jmx;

    void launch(String seeds, int expect, String... more) {
      var settings =
          new ArrayList<>(
              List.of(
                  "dunlin.roles=store",
                  "dunlin.cluster.port=" + raft,
                  "dunlin.cluster.service-port=" + service,
                  "dunlin.cluster.seeds=" + seeds,
                  "dunlin.cluster.bootstrap-expect=" + expect,
                  "dunlin.cluster.heartbeat=200ms",
                  "dunlin.cluster.lease=5s",
                  "dunlin.cluster.down-after=10s",
                  "dunlin.cluster.election-timeout=2s",
                  "java.rmi.server.hostname=127.0.0.1"));
      settings.addAll(List.of(more));
      process = BrokerProcess.launch(data, settings.toArray(new String[0]));
    }

    String address() {
      return "127.0.0.1:" + service;
    }

    BrokerProcess process() {
      if (process == null) throw new AssertionError("not launched");
      return process;
    }

    /** Waits until it is a member, and connects to its JMX. */
    @SuppressWarnings("BanJNDI") // the address is the one that this JVM's own agent has just given for a process started here
    void awaitStarted() throws IOException, AttachNotSupportedException {
      var machine = VirtualMachine.attach(Long.toString(process().awaitStarted(LONG).pid()));
      try {
        jmx = JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
      } finally {
        machine.detach();
      }
    }

    /** The one bean of this type. */
    private ObjectName bean(String type) throws IOException, JMException {
      var found = connected().getMBeanServerConnection().queryNames(new ObjectName("dunlin:type=" + type + ",*"), null);
      assertThat(found).as("beans of type %s; %s", type, process()).hasSize(1);
      return found.iterator().next();
    }

    private JMXConnector connected() {
      if (jmx == null) throw new AssertionError("not connected");
      return jmx;
    }

    ClusterMXBean cluster() throws IOException, JMException {
      return JMX.newMXBeanProxy(connected().getMBeanServerConnection(), bean("Cluster"), ClusterMXBean.class);
    }

    String id() throws IOException, JMException {
      return cluster().getNode();
    }

    /** The role of its replica of the meta group. */
    String role() throws IOException, JMException {
      var found = connected().getMBeanServerConnection().queryNames(new ObjectName("dunlin:type=Range,range=" + META + ",*"), null);
      assertThat(found).as("replicas of the meta group; %s", process()).hasSize(1);
      return String.valueOf(connected().getMBeanServerConnection().getAttribute(found.iterator().next(), "Role"));
    }

    /** The sum of its meters with this name, which each range has. */
    long count(String meter) throws IOException, JMException {
      long sum = 0;
      for (var found : connected().getMBeanServerConnection().queryNames(new ObjectName("dunlin:type=Metrics,name=" + meter + ",*"), null))
        sum += ((Number) connected().getMBeanServerConnection().getAttribute(found, "Count")).longValue();
      return sum;
    }

    void kill() {
      process().kill();
      disconnect();
    }

    /** Stops it and returns the exit code. */
    int stop() {
      process().terminate();
      int code = process().awaitExit(LONG);
      disconnect();
      return code;
    }

    void close() {
      disconnect();
      if (process != null) process.close();
    }

    private void disconnect() {
      var connection = jmx;
      jmx = null;
      if (connection == null) return;
      try {
        connection.close();
      } catch (IOException _) {
        // The process has ended already.
      }
    }
  }

  private StoreNode node() {
    var node = new StoreNode();
    nodes.add(node);
    return node;
  }

  @AfterEach
  void endAll() {
    nodes.forEach(StoreNode::close);
  }

  @Test
  void threeProcessesFoundAClusterMoveAReplicaAndSurviveAKill() throws Exception {
    for (int i = 0; i < 3; i++) node();
    String seeds = nodes.stream().map(StoreNode::address).collect(Collectors.joining(","));
    for (var node : nodes) node.launch(seeds, 3);
    for (var node : nodes) node.awaitStarted();
    var first = nodes.get(0);
    var second = nodes.get(1);
    var third = nodes.get(2);
    for (var node : nodes) awaitVoters(node, Set.of(first.id(), second.id(), third.id()));
    String cluster = first.cluster().getCluster();
    assertThat(cluster).isNotEmpty();
    for (var node : nodes) assertThat(node.cluster().getCluster()).isEqualTo(cluster);
    for (var node : nodes) assertThat(node.role()).isIn("leader", "follower");

    // A fourth node joins and replaces the first.
    var fourth = node();
    fourth.launch(seeds, 3);
    fourth.awaitStarted();
    for (var node : nodes) awaitStates(node, "JOINED", Set.of(first.id(), second.id(), third.id(), fourth.id()));
    // When the leader is lost while it is asked, it is unknown whether the operation has begun.
    await("the move begins, or is done")
        .atMost(LONG)
        .ignoreExceptions()
        .until(() -> meta(second).voters().contains(fourth.id()) || !second.cluster().moveReplica(meta(second).id(), first.id(), fourth.id()).isEmpty());
    for (var node : nodes) awaitVoters(node, Set.of(second.id(), third.id(), fourth.id()));
    await().atMost(LONG).untilAsserted(() -> assertThat(fourth.role()).isIn("leader", "follower"));

    // The two remaining voters mark it in the meta group's log, and the node without a replica learns of it.
    String killed = third.id();
    third.kill();
    for (var node : List.of(first, second, fourth)) {
      awaitStates(node, "DOWN", Set.of(killed));
      await().atMost(LONG).untilAsserted(() -> assertThat(node.cluster().isConnected()).isTrue());
    }

    third.launch(seeds, 3);
    third.awaitStarted();
    assertThat(third.id()).isEqualTo(killed);
    for (var node : nodes) awaitStates(node, "JOINED", Set.of(first.id(), second.id(), third.id(), fourth.id()));
  }

  @Test
  void aNewReplicaInstallsASnapshotFromTheOtherProcess() throws Exception {
    var first = node();
    first.launch(first.address(), 1);
    first.awaitStarted();

    var second = node();
    second.launch(first.address(), 1);
    second.awaitStarted();

    for (var node : nodes) awaitVoters(node, Set.of(first.id(), second.id()));
    assertThat(second.count("dunlin.store.install.bytes")).isPositive();
  }

  @Test
  void aStoppedNodeEndsInOrderAndComesBackWithItsIdentity() throws Exception {
    var node = node();
    node.launch(node.address(), 1);
    node.awaitStarted();
    String id = node.id();
    String cluster = node.cluster().getCluster();

    assertThat(node.stop()).isEqualTo(143);
    assertThat(node.process().out()).noneMatch(line -> line.contains(" ERROR ") || line.contains("still has calls or actions"));

    node.launch(node.address(), 1);
    node.awaitStarted();
    assertThat(node.id()).isEqualTo(id);
    assertThat(node.cluster().getCluster()).isEqualTo(cluster);
    awaitVoters(node, Set.of(id));
  }

  @Test
  void aBrokersDataDirectoryIsRefusedByAStoreNode() throws Exception {
    var node = node();
    TestBroker.on(node.data).close();

    node.launch(node.address(), 1);

    assertThat(node.process().awaitExit(LONG)).isEqualTo(1);
    assertThat(node.process().err()).singleElement().asString().startsWith("dunlin: ").contains("has the data of a broker that ran alone");
    assertThat(node.data.resolve("cluster").resolve("identity")).doesNotExist();
    TestBroker.on(node.data).close();
  }

  @Test
  void aNodeHasStartedWithThreeVotersAndIsNotReadyWithoutAQuorum() throws Exception {
    for (int i = 0; i < 3; i++) node();
    String seeds = nodes.stream().map(StoreNode::address).collect(Collectors.joining(","));
    for (var node : nodes) node.launch(seeds, 3, "dunlin.admin.port=0");
    for (var node : nodes) {
      node.awaitStarted();
      assertThat(meta(node).voters()).as("when it says that it has started").hasSize(3);
      await().atMost(LONG).untilAsserted(() -> assertThat(ready(node)).startsWith(READY));
    }

    var left = new ArrayList<>(nodes);
    var founder =
        nodes.stream()
            .filter(node -> node.process().out().stream().anyMatch(line -> line.contains("has founded cluster")))
            .findFirst()
            .orElseThrow();
    founder.kill();
    left.remove(founder);
    await().atMost(LONG).until(() -> left.getFirst().role().equals("leader") || left.getLast().role().equals("leader"));
    for (var node : left)
      await().atMost(LONG).untilAsserted(() -> assertThat(ready(node)).as("%s", left.stream().map(StoreNode::process).toList()).startsWith(READY));

    var last = left.getLast();
    left.getFirst().kill();
    await().atMost(LONG).untilAsserted(() -> assertThat(ready(last)).startsWith("503 ").contains("majority"));

    founder.launch(seeds, 3);
    founder.awaitStarted();
    await().atMost(LONG).untilAsserted(() -> assertThat(ready(last)).startsWith(READY));
  }

  private static String ready(StoreNode node) throws IOException, InterruptedException {
    try (var client = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.process().adminPort() + "/ready")).build();
      var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
      return answer.statusCode() + " " + answer.body().strip();
    }
  }

  private static RangeRow meta(StoreNode node) throws IOException, JMException {
    var ranges = node.cluster().getRanges();
    assertThat(ranges).extracting(RangeRow::kind).containsExactlyInAnyOrder(META, "routes", "retain", "sessions");
    return ranges.stream().filter(range -> range.kind().equals(META)).findFirst().orElseThrow();
  }

  /** Waits until this node knows that the range has these replicas and no operation is in progress. */
  private static void awaitVoters(StoreNode node, Set<String> voters) {
    await()
        .atMost(LONG)
        .untilAsserted(
            () -> {
              var range = meta(node);
              assertThat(range.voters()).as(range + ", " + node.cluster().getOperations()).containsExactlyInAnyOrderElementsOf(voters);
              assertThat(node.cluster().getOperations()).isEmpty();
            });
  }

  /** Waits until exactly these nodes are in this state, as far as this node knows. */
  private static void awaitStates(StoreNode node, String state, Set<String> expected) {
    await()
        .atMost(LONG)
        .untilAsserted(
            () ->
                assertThat(node.cluster().getNodes().stream().filter(row -> row.state().equals(state)).map(NodeRow::id))
                    .containsExactlyInAnyOrderElementsOf(expected));
  }
}
