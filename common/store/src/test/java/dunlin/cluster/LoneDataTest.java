package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.TestCluster.Node;
import dunlin.store.Completion;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** The data of a node that ran alone founds a cluster, however often the work is stopped between its steps. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class LoneDataTest {
  private static final UUID LEDGER = TestCluster.LEDGER;
  private static final Set<String> KINDS = Set.of(Ledger.KIND);
  private static final Set<RangeId> BEGINS = Set.of(RangeId.firstOf(Ledger.KIND));

  @TempDir Path directory;

  private static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stopped(String step) {
      super("stopped: " + step);
    }
  }

  private static void appendAlone(Path data, String... texts) {
    try (var store = RangeStore.open(StoreSettings.defaults(), data, new SimpleMeterRegistry())) {
      var range = store.range(RangeId.firstOf(Ledger.KIND), List.of(), Ledger.CODEC, new Ledger());
      store.start(TestCluster.DEADLINE);
      for (String text : texts) {
        var row = new CompletableFuture<String>();
        assertThat(range.propose(new Ledger.Entry("a", text), completing(row))).isTrue();
        row.join();
      }
    }
    awaitReleased(data);
  }

  private static void awaitReleased(Path data) {
    await("the data directory is unlocked").atMost(TestCluster.DEADLINE).until(() -> TestCluster.isReleased(data));
  }

  private static Completion<String> completing(CompletableFuture<String> row) {
    return new Completion<>() {
      @Override
      public void done(String result) {
        row.complete(result);
      }

      @Override
      public void failed(StoreException failure) {
        row.completeExceptionally(failure);
      }
    };
  }

  private static Path identity(Node node) {
    return node.data.resolve("cluster");
  }

  private static UUID toFounder(Node node) {
    awaitReleased(node.data);
    return LoneData.toFounder(node.data, BEGINS);
  }

  private static void stopped(Node node, String step) {
    assertThatThrownBy(() -> node.open().start()).as(step).hasStackTraceContaining("stopped: " + step);
    node.close();
  }

  @Test
  void aFoundingThatIsStoppedAfterEachStepLosesNothingAndRepeatsNothing() throws IOException {
    try (var cluster = TestCluster.of(directory, 1, TestCluster.operations(3, null))) {
      var node = cluster.nodes.getFirst();
      appendAlone(node.data, "1", "2");

      // The identity was being written.
      Files.createDirectories(identity(node));
      Files.writeString(identity(node).resolve("identity.new"), "half of it");
      appendAlone(node.data, "3"); // still a node that runs alone
      UUID founded = toFounder(node);
      assertThat(toFounder(node)).as("once more").isEqualTo(founded);

      // The notes of the ranges are on disk, and none of these has a descriptor.
      node.ledger =
          () -> {
            throw new Stopped("declared");
          };
      stopped(node, "declared");
      assertThat(toFounder(node)).as("in the middle").isEqualTo(founded);

      // The rows have got their descriptor in memory.
      node.ledger = () -> new Ledger(() -> {
        throw new Stopped("opened");
      });
      stopped(node, "opened");

      // The meta group knows the cluster and this node, and none of the ranges that were there.
      node.ledger = Ledger::new;
      node.founds = Set.of();
      node.open().start();
      assertThat(cluster.map().ranges()).doesNotContainKey(LEDGER);
      node.close();
      new ClusterIdentity(founded, true).write(identity(node));

      // The meta group knows all, and the identity does not say so yet.
      node.founds = KINDS;
      node.open().start();
      assertThat(cluster.append(LEDGER, "a", "4")).isEqualTo("1,2,3,4");
      node.close();
      new ClusterIdentity(founded, true).write(identity(node));

      node.open().start();
      assertThat(cluster.append(LEDGER, "a", "5")).isEqualTo("1,2,3,4,5");
      assertThat(cluster.map().cluster()).contains(founded);
      assertThat(ClusterIdentity.read(identity(node))).contains(new ClusterIdentity(founded, false));
      cluster.join();
      cluster.join();
      cluster.awaitSettled(3);
      node.close();
      assertThat(cluster.append(LEDGER, "a", "6")).isEqualTo("1,2,3,4,5,6");
      assertThatThrownBy(() -> toFounder(node)).hasMessageContaining("belongs to cluster " + founded + " already");
    }
  }

  @Test
  void otherDirectoriesAreRefusedAndNotMadeThoseOfAFounder() {
    Path data = directory.resolve("data");
    assertThatThrownBy(() -> LoneData.toFounder(data, BEGINS)).isInstanceOf(StoreException.class).hasMessageContaining("there is no directory");
    RangeStore.open(StoreSettings.defaults(), data, new SimpleMeterRegistry()).close();
    awaitReleased(data);
    assertThatThrownBy(() -> LoneData.toFounder(data, BEGINS)).isInstanceOf(StoreException.class).hasMessageContaining("has no data yet");
    appendAlone(data, "1");
    assertThatThrownBy(() -> LoneData.toFounder(data, Set.of(RangeId.firstOf("other")))).isInstanceOf(StoreException.class).hasMessageContaining("does not begin with");
    try (var _ = RangeStore.open(StoreSettings.defaults(), data, new SimpleMeterRegistry())) {
      assertThatThrownBy(() -> LoneData.toFounder(data, BEGINS)).isInstanceOf(StoreException.class).hasMessageContaining("in use");
    }
    awaitReleased(data);
    assertThat(data.resolve("cluster")).doesNotExist();
    appendAlone(data, "2");
  }
}
