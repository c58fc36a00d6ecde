package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.MemberSettings.Roles;
import dunlin.cluster.TestCluster.Node;
import dunlin.placement.ClusterNode;
import dunlin.placement.plan.OperationSettings;
import dunlin.store.StoreException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Real nodes with different roles: some found the cluster, some only have replicas, some have no store. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class ClusterRolesTest {
  @TempDir Path directory;

  private static Node without(Node node) {
    node.stores = false;
    node.founds = Set.of();
    node.roles = new Roles(false, Set.of(), Set.of("frontend"));
    return node;
  }

  @Test
  void aNodeWithoutAStoreKnowsTheClusterAndItsLeadersAndHoldsALease() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null))) {
      var founder = cluster.nodes.getFirst();
      var member = without(cluster.add()).open().start();

      await().atMost(TestCluster.DEADLINE).until(() -> member.cluster().leader(TestCluster.LEDGER).isPresent());
      assertThat(member.cluster().leader(TestCluster.LEDGER)).contains(founder.id());
      await().atMost(TestCluster.DEADLINE).until(() -> member.cluster().leased());
      var row = Objects.requireNonNull(cluster.map().nodes().get(member.id()));
      assertThat(row.roles()).containsExactly("frontend");
      assertThat(row.ports()).containsOnlyKeys("service");
      assertThat(member.data.resolve("raft")).doesNotExist();
      assertThat(member.data.resolve("ranges")).doesNotExist();

      long lost = member.cluster().lostLeases();
      founder.close();
      await().atMost(TestCluster.DEADLINE).until(() -> !member.cluster().leased());
      founder.open().start();
      await().atMost(TestCluster.DEADLINE).until(() -> member.cluster().leased());
      assertThat(member.cluster().lostLeases()).isGreaterThan(lost);
    }
  }

  @Test
  void aNodeThatFoundsNoClusterSaysSoAsASeedAndWaits() {
    try (var cluster = TestCluster.of(directory, 1, TestCluster.operations(1, null))) {
      var only = without(cluster.nodes.getFirst()).open();

      assertThatThrownBy(() -> only.cluster().start(Duration.ofSeconds(1)))
          .isInstanceOf(StoreException.class)
          .hasMessageContainingAll("no cluster in time", "node " + only.id(), "does not have the role store");
      assertThat(Files.exists(only.data.resolve("cluster/identity"))).isFalse();
    }
  }

  /** Preferred nodes that join later get the replicas and the leadership of their ranges; those that hold them go on with the rest. */
  @Test
  void rangesMoveToTheNodesThatPreferThem() {
    var balanced = OperationSettings.defaults();
    try (var cluster = TestCluster.start(directory, 3, balanced)) {
      cluster.awaitSettled(3);
      cluster.append(TestCluster.LEDGER, "a", "1");
      var preferred = List.of(preferring(cluster.add()), preferring(cluster.add()));

      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () -> {
                var peers = cluster.range(TestCluster.LEDGER).orElseThrow().range().peers();
                assertThat(peers).hasSize(3).contains(preferred.getFirst().id(), preferred.getLast().id());
                assertThat(preferred).contains(cluster.leader(TestCluster.LEDGER));
              });
      assertThat(cluster.range(MetaRange.ID.uuid()).orElseThrow().range().peers()).doesNotContain(preferred.getFirst().id(), preferred.getLast().id());
      assertThat(cluster.append(TestCluster.LEDGER, "a", "2")).isEqualTo("1,2");
    }
  }

  private static Node preferring(Node node) {
    node.founds = Set.of();
    node.roles = new Roles(false, Set.of(), Set.of(ClusterNode.preferring(Ledger.KIND)));
    return node.open().start();
  }
}
