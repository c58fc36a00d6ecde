package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.placement.ClusterNode.State;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.store.StoreException;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Real nodes: replicas and leaderships move as operators ask for it, whichever node crashes. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class ReplicaMovesTest {
  private static final UUID LEDGER = TestCluster.LEDGER;

  @TempDir Path directory;

  @Test
  void aMoveContinuesWhicheverNodeCrashes() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      for (int i = 0; i < 200; i++) cluster.append(LEDGER, "k" + i, "1");
      var from = cluster.leader(LEDGER);
      var fresh = cluster.join();
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().up(fresh.id()));

      var left = from.id();
      TestCluster.begin(from, new MoveReplica(LEDGER, left, fresh.id()));
      var leading = cluster.leader(MetaRange.ID.uuid());
      leading.close();
      leading.open().start();

      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () -> {
                assertThat(cluster.map().intents()).as(cluster.waiting()).isEmpty();
                var range = cluster.range(LEDGER).orElseThrow().range();
                assertThat(range.peers()).contains(fresh.id()).doesNotContain(left).hasSize(3);
              });
      assertThat(cluster.append(LEDGER, "k7", "2")).isEqualTo("1,2");
      await().atMost(TestCluster.DEADLINE).until(() -> fresh.rows(LEDGER).size() == 200 && "1,2".equals(fresh.rows(LEDGER).get("k7")));
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.node(left).store().stored().stream().noneMatch(LEDGER::equals));
    }
  }

  @Test
  void aLeaveThatWouldLoseReplicasIsRefusedAndOneThatWouldNotDrainsTheNode() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      var leaving = cluster.leader(LEDGER);
      await("while the meta range may have no leader")
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () ->
                  assertThatThrownBy(() -> leaving.cluster().begin(new LeaveNode(leaving.id())))
                      .isInstanceOf(StoreException.class)
                      .hasMessageContaining("LOSES_QUORUM"));
      cluster.append(LEDGER, "a", "1");
      var fresh = cluster.join();
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().up(fresh.id()));

      var id = leaving.id();
      TestCluster.begin(fresh, new LeaveNode(id));

      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () ->
                  assertThat(cluster.map().nodes().values())
                      .as(cluster.waiting())
                      .anyMatch(node -> node.id().equals(id) && node.state() == State.LEFT));
      assertThat(cluster.map().rangesOn(id)).isEmpty();
      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
    }
  }

  @Test
  void aDrainedNodeHasNoReplicasAndIsStillAMember() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      var drained = cluster.leader(MetaRange.ID.uuid());
      cluster.append(LEDGER, "a", "1");
      var fresh = cluster.join();
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().up(fresh.id()));

      TestCluster.begin(drained, new DrainNode(drained.id()));

      await()
          .atMost(TestCluster.DEADLINE)
          .until(() -> cluster.map().rangesOn(drained.id()).isEmpty() && cluster.map().intents().isEmpty());
      await().atMost(TestCluster.DEADLINE).until(() -> drained.store().stored().isEmpty());
      assertThat(cluster.map().nodes().values()).noneMatch(node -> node.state() == State.LEFT);
      await().atMost(TestCluster.DEADLINE).until(() -> drained.cluster().connected());
      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
    }
  }

  @Test
  void aLeadershipIsTransferredToTheRequestedNode() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      var leader = cluster.leader(LEDGER);
      var other = cluster.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();

      TestCluster.begin(leader, new TransferLeadership(LEDGER, other.id()));

      await().atMost(TestCluster.DEADLINE).until(() -> cluster.leader(LEDGER) == other);
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().intents().isEmpty());
    }
  }
}
