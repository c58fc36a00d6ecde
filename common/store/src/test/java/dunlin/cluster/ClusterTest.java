package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.cluster.TestCluster.Node;
import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterCall;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.RefusalLog;
import dunlin.placement.ClusterNode;
import dunlin.placement.NodeReport;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.plan.OperationSettings;
import dunlin.store.StoreException;
import dunlin.store.grpc.Caller;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.slf4j.LoggerFactory;

/** Real nodes that found a cluster, keep their ranges on three of them, and refuse what does not belong to it. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class ClusterTest {
  private static final UUID LEDGER = TestCluster.LEDGER;

  @TempDir Path directory;

  @Test
  void threeNodesFoundOneClusterAndKeepEachRangeOnAllOfThem() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);

      assertThat(cluster.nodes).allMatch(node -> node.cluster().cluster().equals(cluster.map().cluster()));
      assertThat(cluster.append(LEDGER, "a", "1")).isEqualTo("1");
      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
      for (var node : cluster.nodes) node.awaitRows(LEDGER, "{a=1,2}");
    }
  }

  @Test
  void leadershipsMoveToTheNodeThatReachesAllOthers() {
    try (var cluster = TestCluster.start(directory, 3, OperationSettings.defaults())) {
      cluster.awaitSettled(3);
      var one = cluster.leader(LEDGER);
      var other = cluster.nodes.stream().filter(node -> node != one).findFirst().orElseThrow();
      var between = cluster.nodes.stream().filter(node -> node != one && node != other).findFirst().orElseThrow();

      cluster.cut(one, other);

      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () -> {
                assertThat(cluster.leader(LEDGER)).isSameAs(between);
                assertThat(cluster.leader(MetaRange.ID.uuid())).isSameAs(between);
                assertThat(one.cluster().unreached()).containsExactly(other.id());
                assertThat(other.cluster().unreached()).containsExactly(one.id());
                assertThat(between.cluster().unreached()).isEmpty();
              });
      assertThat(cluster.append(LEDGER, "a", "1")).isEqualTo("1");
    }
  }

  @Test
  void noClusterIsFoundedBeforeAllExpectedNodesAreThere() {
    try (var cluster = TestCluster.of(directory, 2, TestCluster.operations(1, null))) {
      var first = cluster.nodes.getFirst().open();
      assertThatThrownBy(() -> first.cluster().start(Duration.ofSeconds(1)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("does not answer");
      first.close();

      cluster.nodes.forEach(Node::open);
      cluster.startAll(cluster.nodes);

      assertThat(cluster.nodes.getFirst().cluster().cluster()).isPresent();
      assertThat(cluster.nodes.getFirst().cluster().cluster()).isEqualTo(cluster.nodes.getLast().cluster().cluster());
    }
  }

  @Test
  void aFounderThatHasCrashedContinuesWithTheSameCluster() {
    try (var cluster = TestCluster.of(directory, 1, TestCluster.operations(1, null))) {
      var node = cluster.nodes.getFirst().open();
      node.close();
      var decided = new ClusterIdentity(UUID.randomUUID(), true);
      decided.write(node.data.resolve("cluster"));

      node.open().start();
      cluster.awaitSettled(1);
      assertThat(node.cluster().cluster()).contains(decided.cluster());
      assertThat(ClusterIdentity.read(node.data.resolve("cluster"))).contains(new ClusterIdentity(decided.cluster(), false));
      cluster.append(LEDGER, "a", "1");
      node.close();

      node.open().start();
      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
      assertThat(cluster.map().cluster()).contains(decided.cluster());
    }
  }

  @Test
  void rangesServeWhileTheMetaGroupIsAway() {
    try (var cluster = TestCluster.start(directory, 2, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      var meta = cluster.leader(MetaRange.ID.uuid());
      var other = cluster.nodes.stream().filter(node -> node != meta).findFirst().orElseThrow();
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().up(other.id()));
      TestCluster.begin(meta, new MoveReplica(LEDGER, meta.id(), other.id()));
      await().atMost(TestCluster.DEADLINE).until(() -> onlyOn(cluster, other));
      cluster.append(LEDGER, "a", "1");

      meta.close();
      await().atMost(TestCluster.DEADLINE).until(() -> !other.cluster().connected());

      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
      assertThat(other.cluster().map().ranges()).containsKey(LEDGER);
      assertThatThrownBy(() -> other.cluster().begin(new DrainNode(other.id()))).isInstanceOf(StoreException.class);

      other.close();
      other.open().start(); // by its own directory, while the meta group has no leader
      assertThat(cluster.append(LEDGER, "a", "3")).isEqualTo("1,2,3");

      meta.open().start();
      await().atMost(TestCluster.DEADLINE).until(() -> other.cluster().connected());
    }
  }

  @Test
  void closingANodeLeavesNoThreadOfItsCluster() {
    try (var cluster = TestCluster.start(directory, 2, TestCluster.operations(2, null))) {
      cluster.awaitSettled(2);
      for (var node : cluster.nodes) {
        String own = "dunlin-" + node.id().toString().substring(0, 8) + "-";
        String[] threads = {own + "heartbeat", own + "placement", own + "loads"};
        await().atMost(TestCluster.DEADLINE).untilAsserted(() -> assertThat(running()).contains(threads));

        node.cluster().close();

        await().atMost(TestCluster.DEADLINE).untilAsserted(() -> assertThat(running()).doesNotContain(threads));
        assertThat(ClusterWire.answer(node.cluster().answer(new byte[0], (_, _) -> true))).isInstanceOf(ClusterAnswer.Refused.class);
        node.cluster().close(); // a second close does nothing
      }
    }
  }

  private static List<String> running() {
    return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).toList();
  }

  @Test
  void unreadableCallsAndCallsOfAnotherClusterAreRefused() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      var node = cluster.nodes.getFirst().cluster();
      var stranger = new ClusterWire.Sent(UUID.randomUUID(), new ClusterCall.Watch(0));
      var nobody = new ClusterWire.Sent(null, new ClusterCall.Watch(0));

      for (byte[] bad : new byte[][] {{}, {9, 9, 9}, ClusterWire.bytes(stranger), ClusterWire.bytes(nobody)})
        assertThat(ClusterWire.answer(node.answer(bad, (_, _) -> true))).isInstanceOf(ClusterAnswer.Refused.class);

      assertThat(cluster.append(LEDGER, "a", "1")).isEqualTo("1");
    }
  }

  /** A node of a later version is refused with a sentence on both sides, and others are answered as before. */
  @Test
  void callsOfAnotherVersionAreLoggedAndOthersAreServed() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null)); var log = new Refusals()) {
      cluster.awaitSettled(1);
      var node = cluster.nodes.getFirst();
      byte[] later = ClusterWire.bytes(new ClusterWire.Sent(node.cluster().cluster().orElseThrow(), new ClusterCall.Watch(0)));
      later[0]++;

      assertThat(ClusterWire.answer(node.cluster().answer(later, (_, _) -> true)))
          .isInstanceOfSatisfying(ClusterAnswer.Refused.class, refused -> assertThat(refused.sentence()).contains("cannot be read", "format " + later[0]));
      assertThat(log.lines()).singleElement().asString().contains(node.id().toString(), "format " + later[0], "of a node of another version");

      assertThat(ask(node, new ClusterCall.Watch(0), (_, _) -> true)).isInstanceOf(ClusterAnswer.Changed.class);
      assertThat(cluster.append(LEDGER, "a", "1")).isEqualTo("1");
    }
  }

  /** A node of another cluster learns the answer itself; an operator of this one sees that it has asked. */
  @Test
  void aNodeOfAnotherClusterThatSaysHelloIsLogged() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null)); var log = new Refusals()) {
      cluster.awaitSettled(1);
      var node = cluster.nodes.getFirst();
      var own = node.cluster().cluster().orElseThrow();
      var other = UUID.randomUUID();
      var hello = new ClusterAnswer.HelloIs(node.id(), own);

      for (UUID harmless : new UUID[] {null, own})
        assertThat(ClusterWire.answer(node.cluster().answer(ClusterWire.bytes(new ClusterWire.Sent(harmless, new ClusterCall.Hello())), (_, _) -> true))).isEqualTo(hello);
      assertThat(log.lines()).isEmpty();

      assertThat(ClusterWire.answer(node.cluster().answer(ClusterWire.bytes(new ClusterWire.Sent(other, new ClusterCall.Hello())), (_, _) -> true))).isEqualTo(hello);
      assertThat(log.lines()).singleElement().asString().contains("belongs to cluster " + own, "was called by a node of cluster " + other);
    }
  }

  /** What a node tells its operator about other nodes that it has refused. */
  private static final class Refusals implements AutoCloseable {
    private final Logger logger = (Logger) LoggerFactory.getLogger(RefusalLog.class);
    private final ListAppender<ILoggingEvent> seen = new ListAppender<>();

    Refusals() {
      seen.start();
      logger.addAppender(seen);
    }

    List<String> lines() {
      return seen.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void close() {
      logger.detachAppender(seen);
    }
  }

  /** Otherwise a node could register another one's name with its own host, and have its Raft calls accepted. */
  @Test
  void aNodeIsAcceptedOnlyUnderTheNameInItsCertificate() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      var node = cluster.nodes.getFirst();
      var row = Objects.requireNonNull(cluster.map().nodes().get(node.id()));
      var moved =
          new ClusterNode(row.id(), "elsewhere.example", row.ports(), row.roles(), row.region(), row.zone(), row.state());
      var newcomer = ClusterNode.joining(UUID.randomUUID(), "elsewhere.example", row.ports(), row.roles(), "", "");
      Caller elsewhere = (_, host) -> host.equals("elsewhere.example");
      Caller both = (_, host) -> elsewhere.belongsTo(row.id(), host) || host.equals(row.host());

      assertThat(ask(node, new ClusterCall.Propose(new RegisterNode(moved)), elsewhere)).isEqualTo(forged(row));
      assertThat(ask(node, new ClusterCall.Report(new NodeReport(row.id(), 0, 1, 1, List.of(), List.of()), 0), elsewhere)).isEqualTo(forged(row));
      assertThat(ask(node, new ClusterCall.Propose(new RegisterNode(newcomer)), (_, host) -> host.equals(row.host())))
          .isEqualTo(forged(newcomer));
      assertThat(cluster.map().nodes().get(row.id())).isEqualTo(row);
      assertThat(ask(node, new ClusterCall.Propose(new RegisterNode(newcomer)), elsewhere)).isInstanceOf(ClusterAnswer.Proposed.class);
      assertThat(ask(node, new ClusterCall.Propose(new RegisterNode(moved)), both)).isInstanceOf(ClusterAnswer.Proposed.class);
    }
  }

  /** It registers itself, and reports; it gets no replicas, moves none and removes no node. */
  @Test
  void aFrontendsCertificateChangesNothingOfTheCluster() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      var node = cluster.nodes.getFirst();
      var row = Objects.requireNonNull(cluster.map().nodes().get(node.id()));
      var frontend =
          new Caller() {
            @Override
            public boolean belongsTo(UUID named, String host) {
              return true;
            }

            @Override
            public boolean isFrontend() {
              return true;
            }
          };
      var id = UUID.randomUUID();
      var refused = new ClusterAnswer.Refused("the caller's certificate is that of a frontend, which may only register and report itself");
      assertThat(ask(node, new ClusterCall.Propose(new RegisterNode(ClusterNode.joining(id, "frontend.example", row.ports(), row.roles(), "", ""))), frontend)).isEqualTo(refused);
      assertThat(ask(node, new ClusterCall.Propose(new PlacementCommand.Begin(UUID.randomUUID(), new LeaveNode(node.id()))), frontend)).isEqualTo(refused);
      assertThat(cluster.map().nodes()).containsOnlyKeys(node.id());

      assertThat(ask(node, new ClusterCall.Propose(new RegisterNode(ClusterNode.joining(id, "frontend.example", row.ports(), Set.of("frontend"), "", ""))), frontend))
          .isInstanceOf(ClusterAnswer.Proposed.class);
      assertThat(ask(node, new ClusterCall.Watch(0), frontend)).isNotInstanceOf(ClusterAnswer.Refused.class);
    }
  }

  private static ClusterAnswer ask(Node node, ClusterCall call, Caller caller) {
    var sent = new ClusterWire.Sent(node.cluster().cluster().orElseThrow(), call);
    return ClusterWire.answer(node.cluster().answer(ClusterWire.bytes(sent), caller));
  }

  private static ClusterAnswer forged(ClusterNode claimed) {
    return new ClusterAnswer.Refused("the caller's certificate names neither node " + claimed.id() + " nor its host, " + claimed.host());
  }

  private static boolean onlyOn(TestCluster cluster, Node node) {
    var range = cluster.range(LEDGER).orElseThrow().range();
    return range.peers().equals(List.of(node.id())) && cluster.map().intents().isEmpty();
  }
}
