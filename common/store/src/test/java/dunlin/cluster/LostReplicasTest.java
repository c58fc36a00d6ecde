package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.ReplicaRole;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Real nodes: replicas that are lost with a node, or with their files, are replaced. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class LostReplicasTest {
  private static final UUID LEDGER = TestCluster.LEDGER;

  @TempDir Path directory;

  @Test
  void replicasOfADeadNodeAreReplacedAfterTheConfiguredTime() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, Duration.ofSeconds(10)))) {
      cluster.awaitSettled(3);
      cluster.append(LEDGER, "a", "1");
      var fresh = cluster.join();
      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().up(fresh.id()));

      var dead = cluster.leader(LEDGER);
      var id = dead.id();
      dead.close();

      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().rangesOn(id).isEmpty());
      cluster.awaitSettled(3);
      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
      fresh.awaitRows(LEDGER, "{a=1,2}");
    }
  }

  @Test
  void aReplicaWithDamagedFilesIsReplacedOnTheSameNode() throws IOException {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      cluster.append(LEDGER, "a", "1");
      var leader = cluster.leader(LEDGER);
      var damaged = cluster.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
      var id = damaged.id();
      damaged.close();
      Path log = damaged.data.resolve("raft").resolve(LEDGER.toString());
      await().atMost(TestCluster.DEADLINE).until(damaged::released);
      try (var files = Files.walk(log)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(file);
      }
      long before = cluster.range(LEDGER).orElseThrow().configuration();

      damaged.open().start();

      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () -> {
                assertThat(cluster.map().intents()).as(cluster.waiting()).isEmpty();
                assertThat(cluster.range(LEDGER).orElseThrow().configuration()).isGreaterThan(before);
                assertThat(cluster.range(LEDGER).orElseThrow().range().peers()).contains(id).hasSize(3);
                assertThat(damaged.store().status())
                    .anyMatch(status -> status.range().uuid().equals(LEDGER) && status.role() == ReplicaRole.FOLLOWER);
              });
      assertThat(cluster.append(LEDGER, "a", "2")).isEqualTo("1,2");
      damaged.awaitRows(LEDGER, "{a=1,2}");
    }
  }
}
