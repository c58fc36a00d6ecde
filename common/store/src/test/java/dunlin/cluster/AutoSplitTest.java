package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.placement.plan.SplitChoice;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Automatic splits, by size and by load, on three real nodes. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class AutoSplitTest {
  private static final SplitSettings BUSY = new SplitSettings(0, 20, 0, 1, 64);

  @TempDir Path directory;

  @Test
  void aRangeThatGrowsIsSplitByItselfAndItsHalvesAreNotUntilTheyGrow() {
    var limits = new SplitSettings(300_000, 0, 100_000, 2, 64);
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null, limits))) {
      cluster.awaitSettled(3);
      var writer = new LedgerWriter(cluster, "");
      var random = new Random(1);
      int rows = append(writer, random, 0, 170); // of 2 kB
      flush(cluster);
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() > 1);
      cluster.awaitSettled(3);

      var halves = ledgers(cluster);
      assertThat(halves).hasSize(2);
      assertThat(halves.getFirst().keys().meets(halves.getLast().keys())).isTrue();
      for (var node : cluster.nodes) {
        int count = rows;
        await()
            .atMost(TestCluster.DEADLINE)
            .until(() -> node.replicas.size() == 2 && halves.stream().mapToInt(half -> node.rows(half.id()).size()).sum() == count);
        for (var half : halves) assertThat(node.rows(half.id()).size()).isGreaterThan(count / 8);
      }

      rows += append(writer, random, rows, 400);
      flush(cluster);
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() > 2);
      cluster.awaitSettled(3);
      int all = rows;
      // Counted again each time: a range may be split once more.
      await()
          .atMost(TestCluster.DEADLINE)
          .untilAsserted(
              () ->
                  assertThat(ledgers(cluster).stream().mapToInt(range -> cluster.leader(range.id()).rows(range.id()).size()).sum())
                      .isEqualTo(all));
    }
  }

  @Test
  void aBusyRangeIsSplitWhereItIsBusy() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null, BUSY))) {
      cluster.awaitSettled(3);
      var lower = new LedgerWriter(cluster, "a");
      var upper = new LedgerWriter(cluster, "x");
      var writing = List.of(lower.start(), upper.start());
      await().atMost(TestCluster.DEADLINE).until(() -> ledgers(cluster).size() > 1);
      List.of(lower, upper).forEach(LedgerWriter::stop);
      writing.forEach(CompletableFuture::join);
      cluster.awaitSettled(3);

      // Perhaps not the only cut, but one must be between the keys of the two writers, give or take one's lead over the
      // other.
      assertThat(ledgers(cluster))
          .extracting(range -> Ledger.text(range.keys().start()))
          .anySatisfy(cut -> assertThat(cut).isBetween("a5", "x5"));
      var rows = new TreeMap<String, String>();
      for (var range : ledgers(cluster)) rows.putAll(cluster.leader(range.id()).rows(range.id()));
      lower.check(new TreeMap<>(rows.headMap("m")));
      upper.check(new TreeMap<>(rows.tailMap("m")));
    }
  }

  @Test
  void oneHotKeyIsReportedAndSplitsNothing() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null, BUSY))) {
      cluster.awaitSettled(3);
      var hot = new LedgerWriter(cluster, "a", 1);
      var writing = hot.start();

      await()
          .atMost(TestCluster.DEADLINE)
          .until(() -> cluster.running().stream().anyMatch(node -> node.cluster().indivisible().contains(TestCluster.LEDGER)));
      hot.stop();
      writing.join();

      cluster.awaitSettled(3);
      assertThat(ledgers(cluster)).hasSize(1);
    }
  }

  @Test
  void theMetaRangeIsNeverSplit() {
    try (var cluster = TestCluster.start(directory, 1, TestCluster.operations(1, null, new SplitSettings(1, 0, 0, 9, 64)))) {
      cluster.awaitSettled(1);
      var node = cluster.nodes.getFirst();
      var meta = cluster.range(MetaRange.ID.uuid()).orElseThrow().range();

      assertThatThrownBy(() -> node.cluster().begin(SplitChoice.at(meta, new byte[] {'n'})))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("of kind 'meta' cannot be split");
      await().atMost(TestCluster.DEADLINE).until(() -> node.cluster().indivisible().contains(meta.id()));
      assertThat(cluster.range(meta.id()).orElseThrow().range().keys()).isEqualTo(KeyInterval.all());
    }
  }

  /** Writes rows of 2 kB in random order of keys, by one writer. */
  private static int append(LedgerWriter writer, Random random, int from, int rows) {
    for (int i = from; i < from + rows; i++) {
      var text = new StringBuilder();
      while (text.length() < 2000) text.append((char) ('0' + random.nextInt(75)));
      writer.write(String.format("%08x-%d", random.nextInt(), i), text.toString());
    }
    return rows;
  }

  /** Flushes, since sizes in memory are rough: so few rows could be measured at half their size. */
  private static void flush(TestCluster cluster) {
    for (var node : cluster.nodes) node.replicas.values().forEach(Replica::flush);
  }

  private static List<RangeDescriptor> ledgers(TestCluster cluster) {
    return cluster.map().ranges().values().stream()
        .map(placed -> placed.range())
        .filter(range -> range.kind().equals(Ledger.KIND))
        .sorted(Comparator.comparing(RangeDescriptor::keys, KeyInterval::compareStart))
        .toList();
  }
}
