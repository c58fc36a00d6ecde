package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.Completion;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeDescriptor;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.time.Duration;
import java.util.ArrayList;
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

/** Appends numbers to a few rows, one after the other, and records which were acknowledged. */
final class LedgerWriter {
  private final TestCluster cluster;
  private final String prefix;
  private final int keys;
  private final Map<String, List<String>> surely = new TreeMap<>();
  private final Map<String, Set<String>> perhaps = new TreeMap<>();
  private final AtomicInteger acknowledged = new AtomicInteger();
  private volatile boolean stopped;
  private volatile long longestNanos;

  LedgerWriter(TestCluster cluster, String prefix) {
    this(cluster, prefix, 10);
  }

  LedgerWriter(TestCluster cluster, String prefix, int keys) {
    this.cluster = cluster;
    this.prefix = prefix;
    this.keys = keys;
  }

  CompletableFuture<Void> start() {
    return CompletableFuture.runAsync(this::write, task -> Thread.ofPlatform().daemon().name("writer-" + prefix).start(task));
  }

  private void write() {
    long last = System.nanoTime();
    for (int number = 0; !stopped; number++) {
      String key = prefix + number % keys;
      String text = Integer.toString(number);
      if (!write(key, text)) continue;
      long now = System.nanoTime();
      longestNanos = Math.max(longestNanos, now - last);
      last = now;
    }
  }

  /** Answers whether it is surely done. Called by one thread at a time. */
  boolean write(String key, String text) {
    boolean sure = append(key, text);
    if (sure) {
      surely.computeIfAbsent(key, _ -> new ArrayList<>()).add(text);
      acknowledged.incrementAndGet();
    } else {
      perhaps.computeIfAbsent(key, _ -> new HashSet<>()).add(text);
    }
    return sure;
  }

  /** Answers whether it is surely done; retries as long as it is surely not done. */
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
          break; // the node is being closed
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

  /** The longest pause between two acknowledgements since the last call. */
  Duration longestPause() {
    long longest = longestNanos;
    longestNanos = 0;
    return Duration.ofNanos(longest);
  }

  /** Checks the rows; called after the writer has stopped. */
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
