package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.Completion;
import dunlin.store.StoreException;
import dunlin.store.remote.Caller.Entry;
import dunlin.store.serve.RangeLocation;
import dunlin.store.settings.RangeClientSettings;
import dunlin.store.settings.RangeServiceSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The client against real services on loopback. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RemoteRangeTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final Duration STALL = Duration.ofMillis(300);

  static LongStream seeds() {
    return LongStream.range(0, 6);
  }

  @Test
  void aHintLeadsToTheLeaderWithoutAPause() throws Exception {
    try (var cluster = LedgerCluster.start(3);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      caller.propose(range, Entry.of(1));
      assertThat(caller.await(1).position()).isEqualTo(1);
      cluster.moveLeader(ledger, cluster.node(2), true, new Random(1));
      caller.propose(range, Entry.of(2));

      assertThat(caller.await(2).position()).isEqualTo(2);
      assertThat(caller.count("dunlin.store.client.retries", "reason", "not-leader")).isEqualTo(1);
      caller.propose(range, Entry.of(3));
      assertThat(caller.await(3).position()).isEqualTo(3);
      assertThat(caller.count("dunlin.store.client.retries", "reason", "not-leader")).as("the new leader is known").isEqualTo(1);
    }
  }

  @Test
  void anUnnamedLeaderIsFoundByAsking() throws Exception {
    try (var cluster = LedgerCluster.start(3);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(2));
      cluster.change(ledger, some -> some.tellsLeader = false);
      caller.propose(caller.range(cluster.location(ledger)), Entry.of(1));

      assertThat(caller.await(1).position()).isEqualTo(1);
    }
  }

  @Test
  void aLeaderThatIsNotInTheMapMakesItReload() throws Exception {
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(1));
      var now = cluster.location(ledger);
      var before = new RangeLocation(now.range(), now.epoch(), now.from(), now.to(), now.peers().subList(0, 1), null);
      caller.propose(caller.range(before), Entry.of(1));
      await().atMost(LONG).until(() -> caller.doubted.contains(ledger.range));
      caller.known.put(now.range(), now);

      assertThat(caller.await(1).failure()).isNull();
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void noAcknowledgedCommandIsLostOrAppliedTwiceWhileLeadersMove(long seed) throws Exception {
    leadersMove(seed, false);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void commandsInOrderStayInOrderWhileLeadersMove(long seed) throws Exception {
    leadersMove(seed, true);
  }

  private static void leadersMove(long seed, boolean ordered) throws Exception {
    var random = new Random(seed);
    try (var cluster = LedgerCluster.start(3);
        var caller = new Caller()) {
      var ledgers = List.of(cluster.ledger(1, cluster.node(0)), cluster.ledger(2, cluster.node(1)));
      var ranges =
          ledgers.stream()
              .map(ledger -> ordered ? caller.orderedRange(cluster.location(ledger)) : caller.range(cluster.location(ledger)))
              .toList();
      int count = 20_000;
      for (int i = 0; i < count; i++) {
        while (!caller.propose(ranges.get(i % 2), Entry.of(i))) Thread.onSpinWait();
        if (random.nextInt(500) == 0) {
          var leader = random.nextInt(4) == 0 ? null : cluster.node(random.nextInt(3));
          cluster.moveLeader(ledgers.get(i % 2), leader, random.nextBoolean(), random);
        }
        if (random.nextInt(1000) == 0) cluster.node(random.nextInt(3)).hold();
        if (random.nextInt(500) == 0) for (int k = 0; k < 3; k++) cluster.node(k).release();
      }
      for (int k = 0; k < 3; k++) cluster.node(k).release();
      for (var ledger : ledgers) cluster.moveLeader(ledger, cluster.node(2), true, random);
      await().atMost(LONG).until(() -> caller.ends.size() >= count);

      for (int k = 0; k < 2; k++) check(seed, cluster.applied(ledgers.get(k)), caller, k, ordered);
      assertThat(caller.ends).as("seed %d: one end for each", seed).hasSize(count);
    }
  }

  private static void check(long seed, List<Long> applied, Caller caller, int parity, boolean ordered) {
    var times = new HashMap<Long, Integer>();
    for (long id : applied) times.merge(id, 1, Integer::sum);
    var acknowledged = new ArrayList<Long>();
    caller.ends.forEach(
        (id, end) -> {
          if (id % 2 != parity) return;
          int found = times.getOrDefault(id, 0);
          if (end.failure() == null) {
            assertThat(found).as("seed %d: acknowledged command %d", seed, id).isEqualTo(1);
            assertThat(applied.get(end.position() - 1)).as("seed %d: place of command %d", seed, id).isEqualTo(id);
            acknowledged.add(id);
          } else if (!end.unknown()) {
            assertThat(found).as("seed %d: refused command %d: %s", seed, id, end.failure()).isZero();
          } else {
            assertThat(found).as("seed %d: command %d with unknown outcome", seed, id).isLessThanOrEqualTo(1);
          }
        });
    assertThat(acknowledged).as("seed %d: acknowledged commands", seed).hasSizeGreaterThan(1000);
    if (!ordered) return;
    // A command that ended with an unknown outcome may be applied late: a node that was cut off has it in a queue, and the commands after it were sent to another node.
    var sure = applied.stream().filter(id -> Objects.requireNonNull(caller.ends.get(id)).failure() == null).toList();
    assertThat(sure).as("seed %d: the order of the ledger", seed).isSorted();
  }

  @Test
  void aWrongEpochBringsTheNewLocationAndTheCommandSucceeds() throws Exception {
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      cluster.change(ledger, some -> some.epoch = 5);
      caller.propose(range, Entry.of(1));

      assertThat(caller.await(1).position()).isEqualTo(1);
      assertThat(caller.knownNow(ledger.range).epoch()).isEqualTo(5);
      assertThat(caller.count("dunlin.store.client.refusals", "reason", "wrong-epoch")).isEqualTo(1);
    }
  }

  @Test
  void aNodeThatIsBehindTheMapIsRetried() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var known = cluster.location(ledger);
      var range = caller.range(new RangeLocation(known.range(), 2, known.from(), known.to(), known.peers(), known.leader()));
      caller.propose(range, Entry.of(1));
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.refusals", "reason", "wrong-epoch") > 1);
      assertThat(caller.knownNow(ledger.range).epoch()).as("older news are none").isEqualTo(2);
      cluster.change(ledger, some -> some.epoch = 2);

      assertThat(caller.await(1).position()).isEqualTo(1);
    }
  }

  @Test
  void aCommandWhoseKeysHaveMovedFails() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      var ordered = caller.orderedRange(cluster.location(ledger));
      cluster.change(
          ledger,
          some -> {
            some.epoch = 2;
            some.to = Caller.key(100);
          });
      for (int i = 0; i < 4; i++) {
        caller.propose(range, Entry.of(98 + i));
        caller.propose(ordered, Entry.of(i % 2 == 0 ? 198 + i : 40 + i));
      }

      for (long id : List.of(98L, 99L, 41L, 43L)) assertThat(caller.await(id).failure()).isNull();
      for (long id : List.of(100L, 101L, 198L, 200L)) assertThat(caller.await(id).unknown()).isFalse();
      assertThat(cluster.applied(ledger)).allMatch(id -> id < 100);
    }
  }

  @Test
  void deadlinesFollowTheGivenClock() throws Exception {
    var clock = new AtomicLong(1_000_000);
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller(Caller.withTimeout(Duration.ofSeconds(10)), null, clock::get)) {
      var leaderless = cluster.ledger(1, cluster.node(0));
      var held = cluster.ledger(2, cluster.node(1));
      var range = caller.range(cluster.location(leaderless));
      var other = caller.range(cluster.location(held));
      cluster.moveLeader(leaderless, null, false, new Random(1));
      cluster.node(1).hold();
      caller.propose(range, Entry.of(1));
      caller.propose(other, Entry.of(2));
      other.propose(Entry.of(3), Duration.ofSeconds(11), caller.ending(3));
      await().atMost(LONG).until(() -> cluster.node(1).waiting() == 2);
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.refusals", "reason", "not-leader") == 1);
      caller.known.remove(leaderless.range); // so that nothing of it is in flight at its deadline
      clock.addAndGet(Duration.ofMillis(9_999).toNanos());
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.refusals", "reason", "no-route") == 1);
      await().during(Duration.ofMillis(200)).atMost(LONG).until(() -> caller.ends.isEmpty());
      clock.addAndGet(Duration.ofMillis(1).toNanos());

      assertThat(caller.await(1).unknown()).as("it was refused each time").isFalse();
      assertThat(caller.await(2).unknown()).as("it was in flight").isTrue();
      assertThat(caller.ends).doesNotContainKey(3L);
      cluster.node(1).release();
      assertThat(caller.await(3).failure()).isNull();
    }
  }

  @Test
  void anOverloadedRangeIsRetried() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var ranges = List.of(caller.range(cluster.location(ledger)), caller.orderedRange(cluster.location(ledger)));
      cluster.change(ledger, some -> some.refuseOverloaded = 3);
      for (int i = 0; i < 10; i++) caller.propose(ranges.get(i % 2), Entry.of(i));

      for (int i = 0; i < 10; i++) assertThat(caller.await(i).failure()).isNull();
      assertThat(cluster.applied(ledger)).containsExactlyInAnyOrder(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
      assertThat(cluster.applied(ledger)).filteredOn(id -> id % 2 == 1).isSorted();
      assertThat(caller.count("dunlin.store.client.retries", "reason", "overloaded")).isGreaterThanOrEqualTo(3);
    }
  }

  @Test
  void aStuckNodeDoesNotBlockOthersAndItsQueueIsBounded() throws Exception {
    var some = Caller.settings();
    var settings =
        some.with(new RangeClientSettings.Bounds(100_000, some.bounds().rangeBytesMax(), 20_000, some.bounds().commandBytesMax()));
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller(settings, null, System::nanoTime)) {
      var stuck = cluster.ledger(1, cluster.node(0));
      var fine = cluster.ledger(2, cluster.node(1));
      var stuckRange = caller.range(cluster.location(stuck));
      var fineRange = caller.range(cluster.location(fine));
      caller.propose(stuckRange, Entry.of(0));
      caller.await(0);
      cluster.node(0).hold();
      int taken = 0;
      // In steps: the client's thread must see them before the node's bound counts.
      while (caller.propose(stuckRange, new Entry(1_000_000 + taken, 0, false))) if (++taken % 1000 == 0) caller.catchUp();
      assertThat(taken).isBetween(20_000, 21_000);
      assertThat(caller.count("dunlin.store.client.overflows")).isEqualTo(1);
      for (int i = 1; i <= 1000; i++) assertThat(caller.propose(fineRange, Entry.of(i))).isTrue();

      for (int i = 1; i <= 1000; i++) assertThat(caller.await(i).failure()).isNull();
      assertThat(caller.ends).as("nothing of the stuck node").hasSize(1001);
      cluster.node(0).release();
      int all = taken;
      await().atMost(LONG).until(() -> caller.ends.size() == 1001 + all);
      assertThat(cluster.applied(stuck)).hasSize(1 + all).doesNotHaveDuplicates();
    }
  }

  @Test
  void pendingRequestsOfARangeAreBounded() throws Exception {
    var some = Caller.settings();
    var bounds = some.bounds();
    var settings =
        some.with(new RangeClientSettings.Bounds(10, bounds.rangeBytesMax(), bounds.nodeRequestsMax(), bounds.commandBytesMax()));
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller(settings, null, System::nanoTime)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      cluster.node(0).hold();
      for (int i = 0; i < 10; i++) assertThat(caller.propose(range, Entry.of(i))).isTrue();

      assertThat(caller.propose(range, Entry.of(10))).isFalse();
      cluster.node(0).release();
      for (int i = 0; i < 10; i++) caller.await(i);
      assertThat(caller.propose(range, Entry.of(11))).isTrue();
      assertThat(caller.await(11).failure()).isNull();
      assertThat(caller.ends).doesNotContainKey(10L);
    }
  }

  @Test
  void aSilentLeaderIsAvoidedAndIdempotentCommandsAreSentElsewhere() throws Exception {
    var clock = new AtomicLong(1_000_000);
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller(stallingSoon(LONG), null, clock::get)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      cluster.node(0).hold();
      caller.propose(range, new Entry(1, 0, true));
      caller.propose(range, new Entry(2, 0, false));
      await().atMost(LONG).until(() -> cluster.node(0).waiting() == 2);
      cluster.change(ledger, now -> now.leader = cluster.node(1)); // and the old one has not noticed
      clock.addAndGet(STALL.toNanos() + 1);
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.retries", "reason", "stalled") == 1);
      clock.addAndGet(Caller.settings().retries().backoffMost().toNanos()); // the pause before the retry

      assertThat(caller.await(1).failure()).isNull();
      caller.propose(range, new Entry(3, 0, false));
      assertThat(caller.await(3).failure()).isNull();
      assertThat(caller.ends).as("it may still be applied where it was sent").doesNotContainKey(2L);
      cluster.node(0).release();
      assertThat(caller.await(2).failure()).isNull();
      assertThat(cluster.applied(ledger)).containsExactlyInAnyOrder(1L, 3L, 1L, 2L);
    }
  }

  /** A connection does not end when a network drops everything, and a deadline may be far away. */
  @Test
  void aNodeThatAnswersNoPingLeavesOutcomesUnknown() throws Exception {
    try (var cluster = LedgerCluster.start(2);
        var link = new CutLink(cluster.node(0).service().port());
        var caller = new Caller(stallingSoon(Duration.ofSeconds(5)), null, System::nanoTime)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var direct = cluster.location(ledger);
      var peers = new ArrayList<>(direct.peers());
      peers.replaceAll(peer -> peer.node().equals(direct.leader()) ? new RangeLocation.Peer(peer.node(), peer.host(), link.port()) : peer);
      var range = caller.range(new RangeLocation(direct.range(), direct.epoch(), direct.from(), direct.to(), peers, direct.leader()));
      caller.propose(range, new Entry(1, 0, false));
      assertThat(caller.await(1).failure()).isNull();

      link.cut();
      caller.propose(range, new Entry(2, 0, false));
      assertThat(caller.await(2).unknown()).isTrue();
      cluster.change(ledger, now -> now.leader = cluster.node(1));
      caller.propose(range, new Entry(3, 0, false));
      assertThat(caller.await(3).failure()).isNull();
      assertThat(cluster.applied(ledger)).containsExactly(1L, 3L);
    }
  }

  @Test
  void aSlowNodeThatAnswersPingsIsWaitedFor() throws Exception {
    var clock = new AtomicLong(1_000_000);
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller(stallingSoon(LONG), null, clock::get)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      cluster.node(0).hold();
      caller.propose(range, new Entry(1, 0, false));
      await().atMost(LONG).until(() -> cluster.node(0).waiting() == 1);
      for (int signs = 1; signs <= 3; signs++) {
        int many = signs;
        clock.addAndGet(STALL.toNanos() + 1);
        await().atMost(LONG).until(() -> caller.count("dunlin.store.client.pings", "answered", "yes") == many);
      }
      assertThat(caller.ends).isEmpty();
      assertThat(caller.count("dunlin.store.client.streams.broken")).isZero();

      cluster.node(0).release();
      assertThat(caller.await(1).failure()).isNull();
    }
  }

  private static RangeClientSettings stallingSoon(Duration keepAlive) {
    var some = Caller.settings();
    return some.with(new RangeClientSettings.Silence(some.silence().connectTimeout(), STALL, keepAlive));
  }

  @Test
  void aCrashLeavesOutcomesUnknown() throws Exception {
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      cluster.node(0).hold();
      caller.propose(range, new Entry(1, 0, false));
      caller.propose(range, new Entry(2, 0, true));
      await().atMost(LONG).until(() -> cluster.node(0).waiting() == 2);
      cluster.change(ledger, now -> now.leader = cluster.node(1));
      cluster.node(0).service().abort();

      assertThat(caller.await(1).unknown()).isTrue();
      assertThat(caller.await(2).failure()).isNull();
      caller.propose(range, new Entry(3, 0, false));
      assertThat(caller.await(3).failure()).isNull();
    }
  }

  @Test
  void aNodeThatIsAwayIsRetriedUntilItIsBack() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      cluster.node(0).service().close();
      caller.propose(range, Entry.of(1));
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.streams.broken") > 2);
      assertThat(caller.ends).isEmpty();
      cluster.restart(cluster.node(0));

      assertThat(caller.await(1).failure()).isNull();
    }
  }

  @Test
  void closingDistinguishesSentFromUnsentCommands() throws Exception {
    try (var cluster = LedgerCluster.start(2);
        var caller = new Caller()) {
      var held = cluster.ledger(1, cluster.node(0));
      var lost = cluster.ledger(2, cluster.node(1));
      cluster.node(0).hold();
      var range = caller.range(cluster.location(held));
      var other = caller.range(cluster.location(lost));
      caller.known.remove(lost.range);
      caller.propose(range, Entry.of(1));
      caller.propose(other, Entry.of(2));
      await().atMost(LONG).until(() -> cluster.node(0).waiting() == 1);
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.refusals", "reason", "no-route") > 0);
      caller.client.close();
      caller.propose(range, Entry.of(3));

      assertThat(caller.await(1).unknown()).isTrue();
      assertThat(caller.await(2).unknown()).isFalse();
      assertThat(caller.await(3).unknown()).isFalse();
    }
  }

  @Test
  void onlyTooLargeCommandsAreRefused() throws Exception {
    var small = new RangeServiceSettings(10, 100, 64 * 1024, 64 * 1024, 64 * 1024, Duration.ofSeconds(5));
    try (var cluster = LedgerCluster.start(1, small, null);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      caller.propose(range, new Entry(1, 8 * 1024 * 1024, false));
      caller.propose(range, new Entry(2, 64 * 1024, false));
      caller.propose(range, new Entry(3, 60 * 1024, false));

      assertThat(caller.await(1).failure()).hasMessageContaining("exceeds the limit");
      assertThat(caller.await(1).unknown()).isFalse();
      assertThat(caller.await(2).failure()).hasMessageContaining("accepts no command of");
      assertThat(caller.await(2).unknown()).isFalse();
      assertThat(caller.await(3).failure()).isNull();
      assertThat(cluster.applied(ledger)).containsExactly(3L);
    }
  }

  @Test
  void anUnknownRangeIsWaitedFor() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var location = cluster.location(ledger);
      var range = caller.range(location);
      caller.known.clear();
      caller.propose(range, Entry.of(1));
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.refusals", "reason", "no-route") > 1);
      caller.known.put(location.range(), location);

      assertThat(caller.await(1).failure()).isNull();
    }
  }

  @Test
  void aBarrierNamesTheNodeThatHasCaughtUp() throws Exception {
    try (var cluster = LedgerCluster.start(3);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(1));
      var range = caller.range(cluster.location(ledger));
      var node = new CompletableFuture<UUID>();
      var taken =
          range.barrier(
              LONG,
              new Completion<>() {
                @Override
                public void done(UUID result) {
                  node.complete(result);
                }

                @Override
                public void failed(StoreException failure) {
                  node.completeExceptionally(failure);
                }
              });

      assertThat(taken).isTrue();
      assertThat(node.get(120, TimeUnit.SECONDS)).isEqualTo(cluster.node(1).id);
    }
  }

  @Test
  void manyRequestsShareFewFrames() throws Exception {
    try (var cluster = LedgerCluster.start(1);
        var caller = new Caller()) {
      var ledger = cluster.ledger(1, cluster.node(0));
      var range = caller.range(cluster.location(ledger));
      caller.propose(range, Entry.of(0));
      caller.await(0);
      int count = 10_000;
      for (int i = 1; i <= count; i++) assertThat(caller.propose(range, new Entry(i, 200, false))).isTrue();
      await().atMost(LONG).until(() -> caller.ends.size() == count + 1);

      var meters = cluster.node(0).meters;
      assertThat(meters.counter("dunlin.store.service.requests").count()).isEqualTo(count + 1);
      assertThat(meters.counter("dunlin.store.service.frames").count()).isLessThan(count / 4.0);
      assertThat(cluster.applied(ledger)).hasSize(count + 1).doesNotHaveDuplicates();
    }
  }
}
