package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.ClusterMXBean.RangeRow;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The cluster's MXBean, as an operator uses it. */
class ClusterBeanTest {
  @TempDir Path directory;

  @Test
  void anOperatorSeesTheClusterAndMovesAReplica() throws JMException {
    try (var cluster = TestCluster.start(directory, 2, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().nodes().values().stream().allMatch(node -> node.state().up()));
      var name = new ObjectName("dunlin.test:type=Cluster,id=" + UUID.randomUUID());
      var server = ManagementFactory.getPlatformMBeanServer();
      var from = cluster.leader(TestCluster.LEDGER);
      var to = cluster.nodes.stream().filter(node -> node != from).findFirst().orElseThrow();
      server.registerMBean(from.cluster().bean(Map.of(), _ -> List.of()), name);
      try {
        var bean = JMX.newMXBeanProxy(server, name, ClusterMXBean.class);
        await().atMost(TestCluster.DEADLINE).until(() -> bean.getNodes().size() == 2 && bean.isConnected());
        assertThat(bean.getNode()).isEqualTo(from.id().toString());
        assertThat(bean.getCluster()).isEqualTo(cluster.map().cluster().orElseThrow().toString());
        assertThat(bean.getRanges()).extracting(RangeRow::kind).containsExactlyInAnyOrder("meta", Ledger.KIND);

        String range = TestCluster.LEDGER.toString();
        String operation = bean.moveReplica(range, from.id().toString(), to.id().toString());

        assertThat(UUID.fromString(operation)).isNotNull();
        await()
            .atMost(TestCluster.DEADLINE)
            .until(
                () ->
                    bean.getOperations().isEmpty()
                        && bean.getRanges().stream()
                            .anyMatch(row -> row.id().equals(range) && row.voters().equals(List.of(to.id().toString()))));
      } finally {
        server.unregisterMBean(name);
      }
    }
  }

  @Test
  void aRangeIsSplitWhereItsLeaderFindsTheMiddleOrAtATopic() {
    try (var cluster = TestCluster.start(directory, 2, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      var leader = cluster.leader(TestCluster.LEDGER);
      var other = cluster.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
      var bean = other.cluster().bean(Map.of(Ledger.KIND, (tenant, topic) -> Ledger.bytes(tenant + topic)), _ -> List.of());
      var writer = new LedgerWriter(cluster, "k", 1_000);
      var writing = writer.start();
      String range = TestCluster.LEDGER.toString();

      await("the leader has rows, and this node knows it").atMost(TestCluster.DEADLINE).ignoreExceptions().until(() -> !bean.split(range, " ").isEmpty());
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(bean).size() == 2 && bean.getOperations().isEmpty());
      writer.stop();
      writing.join();
      assertThat(cluster.range(TestCluster.LEDGER).orElseThrow().range().keys().end()).satisfies(cut -> assertThat(Ledger.text(cut)).isBetween("k", "l"));
      assertThatThrownBy(() -> bean.splitAtTopic(range, "t", "a\0")).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("U+0000");
      String upper = ledgers(bean).stream().map(RangeRow::id).filter(id -> !id.equals(range)).findFirst().orElseThrow();
      await().atMost(TestCluster.DEADLINE).ignoreExceptions().until(() -> !bean.splitAtTopic(upper, "t", "opic").isEmpty());
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(bean).size() == 3 && bean.getOperations().isEmpty());
      assertThat(cluster.map().ranges().values()).anySatisfy(placed -> assertThat(placed.range().keys().start()).isEqualTo(Ledger.bytes("topic")));
    }
  }

  private static List<RangeRow> ledgers(ClusterMXBean bean) {
    return bean.getRanges().stream().filter(row -> row.kind().equals(Ledger.KIND)).toList();
  }

  @Test
  void wrongInputIsRefusedWithAReason() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null))) {
      cluster.awaitSettled(1);
      var bean = cluster.nodes.getFirst().cluster().bean(Map.of(), _ -> List.of());
      String range = TestCluster.LEDGER.toString();
      String node = cluster.nodes.getFirst().id().toString();

      assertThatThrownBy(() -> bean.addReplica("zz", node)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'zz' names no range");
      assertThatThrownBy(() -> bean.addReplica(range, "abc")).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("names no node");
      assertThatThrownBy(() -> bean.addReplica(range, UUID.randomUUID().toString()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("there is no node");
      await("the leader is known").atMost(TestCluster.DEADLINE).until(() -> cluster.nodes.getFirst().cluster().leader(TestCluster.LEDGER).isPresent());
      assertThatThrownBy(() -> bean.split(range, "")).isInstanceOf(IllegalStateException.class).hasMessageContaining("has too few rows");
      assertThatThrownBy(() -> bean.splitAtTopic(range, "t", "a")).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("stand for no topics");
      assertThatThrownBy(() -> bean.split(range, "6z")).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("hexadecimal");
      assertThatThrownBy(() -> bean.cancel(UUID.randomUUID().toString()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("there is no operation");
      assertThatThrownBy(() -> bean.addReplica(range, node)).isInstanceOf(IllegalStateException.class).hasMessageContaining("UNSUITABLE_NODE");
      assertThatThrownBy(() -> bean.leaveNode(node)).isInstanceOf(IllegalStateException.class).hasMessageContaining("LOSES_QUORUM");
      assertThatThrownBy(() -> bean.forgetNode(node)).isInstanceOf(IllegalStateException.class).hasMessageContaining("has not left");
      assertThat(bean.getOperations()).isEmpty();
    }
  }
}
