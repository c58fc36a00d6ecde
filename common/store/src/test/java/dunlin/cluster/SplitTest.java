package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.TestCluster.Node;
import dunlin.placement.SplitChoice;
import dunlin.store.Completion;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeDescriptor;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A range is split while both halves are written to: on three real nodes, one of which is restarted meanwhile. */
@Isolated // whole nodes, whose leases run out when too much else is busy
class SplitTest {
  private static final byte[] CUT = Ledger.bytes("m");

  @TempDir Path directory;

  @Test
  void noRowIsLostOrDoubledWhenARangeIsSplitUnderWrites() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      var lower = new Writer(cluster, "a");
      var upper = new Writer(cluster, "x");
      var writing = List.of(lower.start(), upper.start());
      awaitMore(200, lower, upper);

      var parent = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      var leader = cluster.leader(TestCluster.LEDGER);
      leader.cluster().begin(SplitChoice.at(parent, CUT));
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
      assertThat(child.voters()).hasSize(3);
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
  void bothHalvesAreThereAfterARestartOfAllNodes() {
    try (var cluster = TestCluster.start(directory, 3, TestCluster.operations(3, null))) {
      cluster.awaitSettled(3);
      for (int i = 0; i < 50; i++) {
        cluster.append(TestCluster.LEDGER, "a" + i, "1");
        cluster.append(TestCluster.LEDGER, "x" + i, "1");
      }
      var parent = cluster.range(TestCluster.LEDGER).orElseThrow().range();
      cluster.nodes.getFirst().cluster().begin(SplitChoice.at(parent, CUT));
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

  private static List<RangeDescriptor> ledgers(TestCluster cluster) {
    return cluster.map().ranges().values().stream()
        .map(placed -> placed.range())
        .filter(range -> range.kind().equals(Ledger.KIND))
        .toList();
  }

  private static void awaitMore(int writes, Writer... writers) {
    var from = Arrays.stream(writers).map(Writer::acknowledged).toList();
    for (int i = 0; i < writers.length; i++) {
      var writer = writers[i];
      int until = from.get(i) + writes;
      await().atMost(TestCluster.DEADLINE).until(() -> writer.acknowledged() >= until);
    }
  }

  /** Appends numbers to ten rows, one after the other, and knows which are surely there. */
  private static final class Writer {
    private static final int KEYS = 10;

    private final TestCluster cluster;
    private final String prefix;
    private final Map<String, List<String>> surely = new TreeMap<>();
    private final Map<String, Set<String>> perhaps = new TreeMap<>();
    private final AtomicInteger acknowledged = new AtomicInteger();
    private volatile boolean stopped;
    private volatile long longestNanos;

    Writer(TestCluster cluster, String prefix) {
      this.cluster = cluster;
      this.prefix = prefix;
    }

    CompletableFuture<Void> start() {
      return CompletableFuture.runAsync(this::write, task -> Thread.ofPlatform().daemon().name("writer-" + prefix).start(task));
    }

    private void write() {
      long last = System.nanoTime();
      for (int number = 0; !stopped; number++) {
        String key = prefix + number % KEYS;
        String text = Integer.toString(number);
        boolean sure = append(key, text);
        if (sure) {
          surely.computeIfAbsent(key, _ -> new ArrayList<>()).add(text);
          acknowledged.incrementAndGet();
          long now = System.nanoTime();
          longestNanos = Math.max(longestNanos, now - last);
          last = now;
        } else {
          perhaps.computeIfAbsent(key, _ -> new HashSet<>()).add(text);
        }
      }
    }

    /** Answers whether it is surely done; tries again as long as it is surely not. */
    private boolean append(String key, String text) {
      long until = System.nanoTime() + TestCluster.DEADLINE.toNanos();
      while (System.nanoTime() < until) {
        var at = leading(key);
        if (at == null) {
          LockSupport.parkNanos(2_000_000);
          continue;
        }
        var result = new CompletableFuture<String>();
        long epoch = at.descriptor().map(RangeDescriptor::epoch).orElse(1L);
        boolean taken =
            at.propose(
                epoch,
                new Ledger.Entry(key, text),
                new Completion<>() {
                  @Override
                  public void done(String row) {
                    result.complete(row);
                  }

                  @Override
                  public void failed(StoreException failure) {
                    result.completeExceptionally(failure);
                  }
                });
        if (!taken) continue;
        try {
          assertThat(result.get(TestCluster.DEADLINE.toSeconds(), TimeUnit.SECONDS)).endsWith(text);
          return true;
        } catch (ExecutionException e) {
          switch (e.getCause()) {
            case OutcomeUnknownException _ -> {
              return false;
            }
            case NotLeaderException _, WrongEpochException _ -> {}
            case null, default -> {
              if (cluster.running().stream().noneMatch(node -> node.replicas.containsValue(at))) continue; // its node was closed
              throw new AssertionError(key, e);
            }
          }
        } catch (InterruptedException | TimeoutException e) {
          throw new AssertionError(key, e);
        }
      }
      throw new AssertionError("nobody takes " + key);
    }

    private @Nullable Replica<Ledger.Entry, String> leading(String key) {
      for (var node : cluster.running()) {
        for (var replica : node.replicas.values()) {
          try {
            var keys = replica.descriptor().map(RangeDescriptor::keys);
            UUID id = node.id();
            if (keys.isPresent() && keys.get().contains(Ledger.bytes(key)) && replica.status().leader().filter(id::equals).isPresent())
              return replica;
          } catch (IllegalStateException | StoreException e) {
            break; // the node is just being closed
          }
        }
      }
      return null;
    }

    void stop() {
      stopped = true;
    }

    int acknowledged() {
      return acknowledged.get();
    }

    Duration longestPause() {
      return Duration.ofNanos(longestNanos);
    }

    /** Once it has stopped. */
    void check(Map<String, String> rows) {
      assertThat(rows.keySet()).isEqualTo(surely.keySet());
      rows.forEach(
          (key, row) -> {
            var found = List.of(row.split(","));
            assertThat(found).as("row %s", key).doesNotHaveDuplicates();
            var sure = new ArrayList<>(found);
            sure.removeAll(perhaps.getOrDefault(key, Set.of()));
            assertThat(sure).as("row %s", key).isEqualTo(surely.get(key));
          });
    }
  }
}
