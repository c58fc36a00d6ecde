package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.cluster.TestCluster.Node;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.StoreException;
import dunlin.store.disk.GroupStorage;
import dunlin.store.settings.StoreSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A node says whether its disk has room, and the leader of the meta group places accordingly: on real nodes. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class FullDiskTest {
  private static final long MIB = 1 << 20;
  private static final long LOW = 64 * MIB;
  private static final int ENTRY_BYTES = 64 << 10;
  private static final int ROWS = 100;
  private static final int ROW_CHARACTERS = 40_000;

  @TempDir Path directory;

  @Test
  void aNodeWhoseDiskIsNearlyFullLeadsNothingAndGetsNoLeadership() {
    var usual = OperationSettings.defaults();
    var balancing = new OperationSettings(usual.lagMax(), usual.unflushedMax(), usual.automaticMax(), 3, SplitSettings.never(), null, true);
    try (var cluster = TestCluster.of(directory, 3, balancing)) {
      start(cluster);
      var full = cluster.leader(TestCluster.LEDGER);
      var other = cluster.nodes.stream().filter(node -> node != full).findFirst().orElseThrow();

      full.diskFree = LOW / 2 + MIB;

      awaitDisk(cluster, full, Disk.LOW);
      await("another node leads").atMost(TestCluster.DEADLINE).until(() -> cluster.leader(TestCluster.LEDGER) != full);
      await("an operator sees it at another node").atMost(TestCluster.DEADLINE).until(() -> rows(other).stream().anyMatch(row -> row.id().equals(full.id().toString()) && row.disk().equals("LOW")));
      assertThat(rows(other)).flatExtracting(NodeRow::roles).noneMatch(role -> role.contains("disk"));
      assertThatThrownBy(() -> other.cluster().begin(new TransferLeadership(TestCluster.LEDGER, full.id())))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("UNSUITABLE_NODE, node " + full.id() + " cannot lead now, since its disk is nearly full");

      full.diskFree = Long.MAX_VALUE;

      awaitDisk(cluster, full, Disk.ENOUGH);
      TestCluster.begin(other, new TransferLeadership(TestCluster.LEDGER, full.id()));
      await("it leads again").atMost(TestCluster.DEADLINE).until(() -> cluster.leader(TestCluster.LEDGER) == full);
    }
  }

  @Test
  void aMoveToANodeWithoutRoomForTheRowsEndsAndTheNextOneIsRefused() {
    try (var cluster = TestCluster.of(directory, 3, TestCluster.operations(3, null))) {
      start(cluster);
      for (int i = 0; i < ROWS; i++) cluster.append(TestCluster.LEDGER, "k" + i, noise(i));
      await("no log begins with the first rows").atMost(TestCluster.DEADLINE).until(() -> cluster.nodes.stream().allMatch(node -> logBegin(node) > ROWS / 2));
      var tight = cluster.add();
      tight.storeSettings = FullDiskTest::small;
      tight.diskFree = LOW + MIB;
      tight.open().start();
      var from = cluster.leader(TestCluster.LEDGER);
      var before = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      var move = new MoveReplica(TestCluster.LEDGER, from.id(), tight.id());
      awaitDisk(cluster, tight, Disk.ENOUGH);

      TestCluster.begin(from, move);

      awaitDisk(cluster, tight, Disk.SHORT);
      await("it is given up").atMost(TestCluster.DEADLINE).untilAsserted(() -> assertThat(cluster.map().intents()).as(cluster.waiting()).isEmpty());
      assertThat(cluster.range(TestCluster.LEDGER).orElseThrow().range().peers()).containsExactlyInAnyOrderElementsOf(before.peers());
      await("what it had made is dropped").atMost(TestCluster.DEADLINE).until(() -> tight.store().stored().isEmpty());
      assertThatThrownBy(() -> from.cluster().begin(move)).hasMessageContaining("node " + tight.id() + " cannot take a replica now, since its disk has no room for the rows of a replica");

      tight.diskFree = Long.MAX_VALUE;

      awaitDisk(cluster, tight, Disk.ENOUGH);
      TestCluster.begin(from, move);
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.range(TestCluster.LEDGER).orElseThrow().range().has(tight.id()) && cluster.map().intents().isEmpty());
      await().atMost(TestCluster.DEADLINE).until(() -> tight.rows(TestCluster.LEDGER).size() == ROWS);
    }
  }

  private static void start(TestCluster cluster) {
    for (Node node : cluster.nodes) {
      node.storeSettings = FullDiskTest::small;
      node.open();
    }
    cluster.startAll(cluster.nodes);
    cluster.awaitSettled(3);
  }

  /** With marks for a small disk, and a short log. */
  private static StoreSettings small(StoreSettings usual) {
    return new StoreSettings(
        usual.fsync(), usual.cluster(), usual.memoryBytes(), new StoreSettings.Disk(LOW, LOW / 2), usual.queue(),
        new StoreSettings.Entries(usual.entries().inFlight(), usual.entries().commandsMax(), ENTRY_BYTES / 2, ENTRY_BYTES),
        new StoreSettings.Snapshots(10, 4 * ENTRY_BYTES, Duration.ofSeconds(1)), usual.reads(), usual.surroundings());
  }

  private static long logBegin(Node node) {
    return GroupStorage.logBegin(node.data.resolve("raft").resolve(TestCluster.LEDGER.toString()).resolve("current"));
  }

  private static void awaitDisk(TestCluster cluster, Node node, Disk disk) {
    await("the map says that the disk " + disk).atMost(TestCluster.DEADLINE).until(() -> cluster.map().disk(node.id()) == disk);
  }

  private static List<NodeRow> rows(Node node) {
    return node.cluster().bean(Map.of(), _ -> List.of()).getNodes();
  }

  /** A text that does not compress. */
  private static String noise(long seed) {
    var random = new Random(seed);
    var text = new StringBuilder();
    while (text.length() < ROW_CHARACTERS) text.append(Long.toString(random.nextLong(), 36));
    return text.toString();
  }
}
