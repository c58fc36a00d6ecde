package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.TestCluster.Node;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.store.KeyInterval;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A cluster that was founded without a kind of ranges gets the first range of it, once. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class LateRangesTest {
  private static final Set<String> KINDS = Set.of(Ledger.KIND);
  private static final byte[] CUT = {'h'};
  private static final UUID UPPER = RangeId.numbered(Ledger.KIND, 1).uuid();

  @TempDir Path directory;

  /** A cluster without a ledger, whose nodes know the kind. */
  private TestCluster without(int nodes) {
    var cluster = TestCluster.of(directory, nodes, TestCluster.operations(nodes, null));
    for (Node each : cluster.nodes) {
      each.founds = Set.of();
      each.open();
    }
    cluster.startAll(cluster.nodes);
    cluster.awaitSettled(nodes);
    assertThat(cluster.map().ranges()).doesNotContainKey(TestCluster.LEDGER);
    return cluster;
  }

  private static void restart(Node node, Set<String> founds) {
    node.close();
    node.founds = founds;
    node.open().start();
  }

  private static void assertTwoLedgers(TestCluster cluster) {
    await("the second ledger is placed after the first one").atMost(TestCluster.DEADLINE).until(() -> cluster.range(UPPER).isPresent());
    cluster.awaitSettled(3);
    var lower = cluster.range(TestCluster.LEDGER).orElseThrow().range();
    var upper = cluster.range(UPPER).orElseThrow().range();
    assertThat(lower.keys()).isEqualTo(KeyInterval.between(new byte[0], CUT));
    assertThat(upper.keys()).isEqualTo(KeyInterval.between(CUT, null));
    assertThat(cluster.append(TestCluster.LEDGER, "a", "1")).isEqualTo("1");
    assertThat(cluster.append(UPPER, "n", "2")).isEqualTo("2");
  }

  @Test
  void aClusterBeginsWithAllRangesOfAKind() {
    try (var cluster = TestCluster.of(directory, 3, TestCluster.operations(3, null))) {
      for (Node each : cluster.nodes) {
        each.cuts = List.of(CUT);
        each.open();
      }
      cluster.startAll(cluster.nodes);

      assertTwoLedgers(cluster);
    }
  }

  @Test
  void aClusterGetsAllRangesOfAKindLater() {
    try (var cluster = without(3)) {
      for (Node each : cluster.nodes) each.cuts = List.of(CUT);
      for (Node each : cluster.nodes) restart(each, KINDS);

      assertTwoLedgers(cluster);
    }
  }

  @Test
  void theFirstNodeThatWantsTheRangeBeginsItAndTheOthersGetReplicas() {
    try (var cluster = without(3)) {
      // One that does not lead the meta group: the others still know nothing of it.
      var first = cluster.nodes.stream().filter(node -> node != cluster.leader(MetaRange.ID.uuid())).findFirst().orElseThrow();
      restart(first, KINDS);
      assertThat(cluster.append(TestCluster.LEDGER, "a", "1")).isEqualTo("1");
      for (Node each : cluster.nodes) if (each != first) restart(each, KINDS);

      cluster.awaitSettled(3);
      assertThat(cluster.append(TestCluster.LEDGER, "a", "2")).isEqualTo("1,2");
      first.close();
      assertThat(cluster.append(TestCluster.LEDGER, "a", "3")).isEqualTo("1,2,3");
      first.open().start();
      await().atMost(TestCluster.DEADLINE).until(() -> first.rows(TestCluster.LEDGER).containsValue("1,2,3"));
    }
  }

  /** As after a crash of the node that the meta group has chosen, before it had a replica. */
  @Test
  void onlyTheNodeThatTheMapNamesBeginsTheRange() {
    try (var cluster = without(2)) {
      var chosen = cluster.nodes.getFirst();
      var other = cluster.nodes.getLast();
      var placing = new PlaceRange(LateRanges.first(Ledger.KIND, chosen.id()));
      await("while the meta range may have no leader")
          .atMost(TestCluster.DEADLINE)
          .ignoreExceptionsInstanceOf(StoreException.class)
          .until(
              () -> {
                if (!cluster.map().ranges().containsKey(TestCluster.LEDGER)) chosen.cluster().propose("place", placing);
                return true;
              });
      restart(other, KINDS);
      await().atMost(TestCluster.DEADLINE).until(() -> other.cluster().connected() && other.cluster().map().ranges().containsKey(TestCluster.LEDGER));
      assertThat(other.replicas).doesNotContainKey(TestCluster.LEDGER);

      restart(chosen, KINDS);
      cluster.awaitSettled(2);
      assertThat(cluster.append(TestCluster.LEDGER, "a", "1")).isEqualTo("1");
    }
  }

  @Test
  void aNodeFromWhichTheRangeHasMovedDoesNotBeginItAgain() {
    try (var cluster = without(1)) {
      var first = cluster.nodes.getFirst();
      restart(first, KINDS);
      assertThat(cluster.append(TestCluster.LEDGER, "a", "1")).isEqualTo("1");
      var second = cluster.add();
      second.founds = KINDS;
      second.open().start();
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().takes(second.id(), Ledger.KIND));
      TestCluster.begin(first, new MoveReplica(TestCluster.LEDGER, first.id(), second.id()));
      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () -> {
                assertThat(cluster.range(TestCluster.LEDGER).orElseThrow().range().peers()).isEqualTo(List.of(second.id()));
                assertThat(cluster.map().intents()).isEmpty();
              });

      restart(first, KINDS);
      await().atMost(TestCluster.DEADLINE).until(() -> first.cluster().connected());
      assertThat(cluster.append(TestCluster.LEDGER, "a", "2")).isEqualTo("1,2");
      assertThat(first.replicas).doesNotContainKey(TestCluster.LEDGER);
    }
  }
}
