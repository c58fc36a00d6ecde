package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.TestCluster.Node;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.RangeDescriptor;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A range is split while both halves are written to: on three real nodes, one of which is restarted in between. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class SplitTest {
  private static final byte[] CUT = Ledger.bytes("m");

  @TempDir Path directory;

  @Test
  void noRowIsLostOrDoubledWhenARangeIsSplitUnderWrites() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      var lower = new LedgerWriter(cluster, "a");
      var upper = new LedgerWriter(cluster, "x");
      var writing = List.of(lower.start(), upper.start());
      awaitMore(200, lower, upper);

      var parent = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      var leader = cluster.leader(TestCluster.LEDGER);
      TestCluster.begin(leader, SplitChoice.at(parent, CUT));
      var restarted = cluster.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
      restarted.close();
      restarted.open().start();
      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(() -> assertThat(ledgers(cluster)).as(cluster.waiting()).hasSize(2));
      awaitMore(200, lower, upper);
      lower.stop();
      upper.stop();
      CompletableFuture.allOf(writing.toArray(CompletableFuture<?>[]::new)).join();

      await().atMost(TestCluster.DEADLINE).until(() -> cluster.map().intents().isEmpty());
      var child = ledgers(cluster).stream().filter(range -> range.origin().isPresent()).findFirst().orElseThrow();
      assertThat(cluster.range(TestCluster.LEDGER).orElseThrow().range().keys()).isEqualTo(parent.keys().below(CUT));
      assertThat(child.keys()).isEqualTo(parent.keys().from(CUT));
      assertThat(child.peers()).hasSize(3);
      for (var node : cluster.nodes) {
        await().atMost(TestCluster.DEADLINE).untilAsserted(() -> lower.check(node.rows(TestCluster.LEDGER)));
        await().atMost(TestCluster.DEADLINE).untilAsserted(() -> upper.check(node.rows(child.id())));
      }
      assertThat(cluster.leader(child.id()).rows(child.id())).doesNotContainKey("a0");
      assertThat(cluster.leader(TestCluster.LEDGER).rows(TestCluster.LEDGER)).doesNotContainKey("x0");
      System.out.printf(
          "Split under writes with a restart: %d + %d rows, longest pause of the lower half %d ms, of the upper half %d ms%n",
          lower.acknowledged(), upper.acknowledged(), lower.longestPause().toMillis(), upper.longestPause().toMillis());
    }
  }

  @Test
  void aChildIsSplitAgain() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      var lower = new LedgerWriter(cluster, "a");
      var upper = new LedgerWriter(cluster, "x");
      var writing = List.of(lower.start(), upper.start());

      for (var cut : List.of("m", "p", "u", "w")) {
        awaitMore(100, lower, upper);
        int ranges = ledgers(cluster).size();
        var of = ledgers(cluster).stream().filter(range -> range.keys().splitsAt(Ledger.bytes(cut))).findFirst().orElseThrow();
        var _ = List.of(lower.longestPause(), upper.longestPause());
        TestCluster.begin(cluster.nodes.getFirst(), SplitChoice.at(of, Ledger.bytes(cut)));
        await().atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() > ranges && cluster.map().intents().isEmpty());
        awaitMore(50, lower, upper);
        System.out.printf(
            "Split at %s: longest pause of the lower half %d ms, of the upper half %d ms%n", cut,
            lower.longestPause().toMillis(), upper.longestPause().toMillis());
      }
      List.of(lower, upper).forEach(LedgerWriter::stop);
      writing.forEach(CompletableFuture::join);

      var last = ledgers(cluster).stream().filter(range -> range.keys().contains(Ledger.bytes("x"))).findFirst().orElseThrow();
      assertThat(last.epoch()).isEqualTo(5);
      for (var node : cluster.nodes) {
        await().atMost(TestCluster.DEADLINE).untilAsserted(() -> lower.check(node.rows(TestCluster.LEDGER)));
        await().atMost(TestCluster.DEADLINE).untilAsserted(() -> upper.check(node.rows(last.id())));
      }
    }
  }

  @Test
  void bothHalvesAreThereAfterARestartOfAllNodes() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      for (int i = 0; i < 50; i++) {
        cluster.append(TestCluster.LEDGER, "a" + i, "1");
        cluster.append(TestCluster.LEDGER, "x" + i, "1");
      }
      var parent = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      TestCluster.begin(cluster.nodes.getFirst(), SplitChoice.at(parent, CUT));
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() == 2);
      var child = ledgers(cluster).stream().filter(range -> range.origin().isPresent()).findFirst().orElseThrow();

      cluster.nodes.forEach(Node::close);
      cluster.nodes.forEach(Node::open);
      cluster.startAll(cluster.nodes);

      cluster.leader(child.id());
      for (var node : cluster.nodes) {
        await().atMost(TestCluster.DEADLINE).until(() -> node.rows(TestCluster.LEDGER).size() == 50);
        await().atMost(TestCluster.DEADLINE).until(() -> node.rows(child.id()).size() == 50);
      }
    }
  }

  /** Such a replica must neither be forgotten, nor count as lost and be made anew. */
  @Test
  void aReplicaThatWasSplitOffIsStartedAgainUntilItCanBe() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      cluster.append(TestCluster.LEDGER, "x", "1");
      var parent = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      var leader = cluster.leader(TestCluster.LEDGER);
      var failing = cluster.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
      var full = new AtomicBoolean(true);
      var attempts = new AtomicInteger();
      failing.ledger =
          () ->
              new Ledger(
                  () -> {
                    attempts.incrementAndGet();
                    if (full.get()) throw new IllegalStateException("too many open files");
                  });

      TestCluster.begin(leader, SplitChoice.at(parent, CUT));
      await("the others serve the child").atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() == 2 && cluster.map().intents().isEmpty());
      var child = ledgers(cluster).stream().filter(range -> range.origin().isPresent()).findFirst().orElseThrow();
      int before = attempts.get();
      long configuration = cluster.range(child.id()).orElseThrow().configuration();
      await("its start is tried again").atMost(TestCluster.DEADLINE).until(() -> attempts.get() > before + 1);
      full.set(false);

      await("it runs").atMost(TestCluster.DEADLINE).until(() -> failing.replicas.containsKey(child.id()));
      failing.awaitRows(child.id(), "{x=1}");
      assertThat(cluster.range(child.id()).orElseThrow().configuration()).as("no replica was made anew").isEqualTo(configuration);
      assertThat(cluster.map().intents()).isEmpty();
    }
  }

  @Test
  void aReplicaThatCannotBeStartedCanBeMovedAway() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.join();
      cluster.awaitSettled(3);
      cluster.append(TestCluster.LEDGER, "x", "1");
      var parent = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      var leader = cluster.leader(TestCluster.LEDGER);
      var failing = parent.peers().stream().map(cluster::node).filter(node -> node != leader).findFirst().orElseThrow();
      var free = cluster.nodes.stream().filter(node -> !parent.has(node.id())).findFirst().orElseThrow();
      failing.ledger =
          () ->
              new Ledger(
                  () -> {
                    throw new IllegalStateException("too many open files");
                  });
      TestCluster.begin(leader, SplitChoice.at(parent, CUT));
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() == 2 && cluster.map().intents().isEmpty());
      var child = ledgers(cluster).stream().filter(range -> range.origin().isPresent()).findFirst().orElseThrow();

      TestCluster.begin(leader, new MoveReplica(child.id(), failing.id(), free.id()));

      await().atMost(TestCluster.DEADLINE).untilAsserted(() -> assertThat(cluster.map().intents()).as(cluster.waiting()).isEmpty());
      assertThat(cluster.range(child.id()).orElseThrow().range().peers()).contains(free.id()).doesNotContain(failing.id());
      free.awaitRows(child.id(), "{x=1}");
      assertThat(failing.store().stored()).doesNotContain(child.id());
      assertThat(failing.store().unstarted()).isEmpty();
    }
  }

  private static List<RangeDescriptor> ledgers(TestCluster cluster) {
    return cluster.map().ranges().values().stream()
        .map(placed -> placed.range())
        .filter(range -> range.kind().equals(Ledger.KIND))
        .toList();
  }

  private static void awaitMore(int writes, LedgerWriter... writers) {
    var from = Arrays.stream(writers).map(LedgerWriter::acknowledged).toList();
    for (int i = 0; i < writers.length; i++) {
      var writer = writers[i];
      int until = from.get(i) + writes;
      await().atMost(TestCluster.DEADLINE).until(() -> writer.acknowledged() >= until);
    }
  }
}
