package dunlin.store.raft;

import static dunlin.store.raft.Command.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeStatus;
import dunlin.store.RangeWriter;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Command.Delete;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.Command.Rows;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import org.apache.ratis.proto.RaftProtos.GroupListRequestProto;
import org.apache.ratis.proto.grpc.AdminProtocolServiceGrpc;
import org.apache.ratis.thirdparty.io.grpc.StatusRuntimeException;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyChannelBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RangeStoreTest {
  @TempDir Path directory;

  @Test
  void appliesCommandsAndShowsTheirRowsToReaders() {
    try (var one = OneRange.start(directory)) {
      assertThat(one.apply(new Put("a", "1"))).isEqualTo("put");
      one.apply(new Put("c", "3"));
      one.apply(new Put("b", "2"));
      one.apply(new Delete("c"));

      assertThat(one.rows()).containsExactly("a=1", "b=2");
      assertThat(one.value("b")).isEqualTo("2");
      assertThat(one.value("c")).isEqualTo("none");
      assertThat(one.meters.get("dunlin.store.operations").tag("range", "routes").counter().count()).isEqualTo(4);
      var commits = one.meters.get("dunlin.store.commit").tag("range", "routes").timer();
      assertThat(commits.count()).isEqualTo(4);
      var buckets = commits.takeSnapshot().histogramCounts();
      assertThat(buckets).hasSize(14);
      assertThat(buckets[13].count()).isEqualTo(4);
    }
  }

  @Test
  void aSingleNodeReportsThatItLeads() {
    try (var one = OneRange.start(directory)) {
      one.apply(new Put("a", "1"));

      var status = one.range.status();
      assertThat(status.role()).isEqualTo(ReplicaRole.LEADER);
      assertThat(status.leaderOrNull()).isEqualTo(one.store.member().node());
      assertThat(status.peers()).extracting(RangeStatus.Peer::member).containsExactly(one.store.member());
      assertThat(status.committed()).isEqualTo(status.applied()).isPositive();
    }
  }

  @Test
  void readersSeeOnlyTheRequestedInterval() {
    try (var one = OneRange.start(directory)) {
      for (String key : List.of("a", "b", "b1", "c")) one.apply(new Put(key, ""));

      var seen = new ArrayList<String>();
      one.read(
          reader -> {
            reader.scan(bytes("b"), bytes("c"), (key, _) -> seen.add(Command.text(key)));
            reader.scan(bytes("b"), null, (key, _) -> !seen.add(Command.text(key)));
            reader.scan(bytes("c"), bytes("b"), (key, _) -> seen.add("never"));
            return true;
          });

      assertThat(seen).containsExactly("b", "b1", "b");
    }
  }

  @Test
  void appliesTheCommandsOfOneCallerInTheOrderOfItsCalls() {
    try (var one = OneRange.start(directory)) {
      var expected = new StringBuilder();
      var results = new ArrayList<CompletableFuture<String>>();
      for (int i = 0; i < 3000; i++) {
        expected.append((char) ('a' + i % 26));
        results.add(one.propose(new Append(i % 2 == 0 ? "even" : "odd", String.valueOf((char) ('a' + i % 26)))));
      }
      CompletableFuture.allOf(results.toArray(CompletableFuture<?>[]::new)).join();

      assertThat(results.get(2998).join()).isEqualTo(every(2, 0, expected));
      assertThat(results.get(2999).join()).isEqualTo(every(2, 1, expected));
      double entries = one.meters.get("dunlin.store.entries").counter().count();
      assertThat(entries).as("3000 commands share entries").isBetween(12.0, 2000.0);
    }
  }

  @Test
  void commandsProposedTogetherShareAnEntry() {
    try (var one = OneRange.start(directory)) {
      // The thread that takes them may be awake for another reason, and then takes some of them alone.
      await().atMost(OneRange.DEADLINE).until(() -> entriesOfTogether(one) == 1);

      assertThat(one.value("all")).startsWith("x".repeat(100));
    }
  }

  private static int entriesOfTogether(OneRange one) {
    var entries = one.meters.get("dunlin.store.entries").counter();
    double before = entries.count();
    var results = new ArrayList<CompletableFuture<String>>();
    one.range.together(
        () -> {
          for (int i = 0; i < 100; i++) results.add(one.propose(new Append("all", "x")));
        });
    CompletableFuture.allOf(results.toArray(CompletableFuture<?>[]::new)).join();
    return (int) (entries.count() - before);
  }

  @Test
  void aTaskThatFailsLeavesWhatItHasProposed() {
    try (var one = OneRange.start(directory)) {
      var results = new ArrayList<CompletableFuture<String>>();
      Runnable failing =
          () -> {
            results.add(one.propose(new Put("a", "1")));
            throw new IllegalStateException("the test wants it to fail");
          };

      assertThatThrownBy(() -> one.range.together(failing)).hasMessage("the test wants it to fail");

      assertThat(results.getFirst()).succeedsWithin(OneRange.DEADLINE).isEqualTo("put");
    }
  }

  @Test
  void aCommandSeesTheChangesOfEarlierOnesInTheSameEntry() {
    try (var one = OneRange.start(directory)) {
      one.apply(new Put("b", "durable"));
      var _ = one.propose(new Put("a", "1"));
      var _ = one.propose(new Delete("b"));
      var _ = one.propose(new Put("d", "4"));
      var _ = one.propose(new Put("c", "3"));
      var seen = one.propose(new Rows("a", "d"));

      assertThat(seen).succeedsWithin(OneRange.DEADLINE).isEqualTo("[a=1, c=3]");
    }
  }

  @Test
  void keepsRowsAndIdentityAcrossARestart() {
    String nodeId;
    try (var one = OneRange.start(directory)) {
      nodeId = one.store.nodeId();
      assertThat(one.store.incarnation()).isEqualTo(1);
      assertThat(one.logic.opened).isEqualTo(1);
      for (int i = 0; i < 100; i++) one.apply(new Put("key" + i, "value" + i));
    }

    try (var one = OneRange.start(directory)) {
      assertThat(one.store.nodeId()).isEqualTo(nodeId);
      assertThat(one.store.incarnation()).isEqualTo(2);
      assertThat(one.logic.rowsAtOpen).hasSize(100);
      assertThat(one.logic.applied).as("nothing to replay after a clean stop").isZero();
      assertThat(one.rows()).hasSize(100).contains("key42=value42");
    }
  }

  @Test
  void replaysTheLogWhenRowsWereNotFlushed() throws Exception {
    Path crashed = directory.resolve("crashed");
    try (var one = OneRange.start(directory.resolve("running"))) {
      for (int i = 0; i < 100; i++) one.apply(new Append("row" + i % 10, "+" + i));
      OneRange.copy(directory.resolve("running"), crashed);
    }

    try (var one = OneRange.start(crashed)) {
      assertThat(one.logic.rowsAtOpen).as("the memtable is gone").isEmpty();
      assertThat(one.logic.applied).isEqualTo(100);
      assertThat(one.rows()).hasSize(10).contains("row7=+7+17+27+37+47+57+67+77+87+97");
    }
  }

  @Test
  void answersFalseAndCountsWhenTheQueueIsFull() throws Exception {
    var settings = settings(4, 1, 1);
    var release = new CountDownLatch(1);
    try (var store = RangeStore.open(settings, directory, new SimpleMeterRegistry())) {
      var range = store.range("routes", Command.CODEC, new Waiting(release));
      store.start(OneRange.DEADLINE);
      var accepted = new ArrayList<CompletableFuture<String>>();
      var refused = new CompletableFuture<String>();

      for (int i = 0; i < 1000; i++) {
        var result = new CompletableFuture<String>();
        if (!range.propose(new Put("a", ""), OneRange.completing(result))) {
          refused = result;
          break;
        }
        accepted.add(result);
      }
      assertThat(accepted).as("four wait, one is in flight, one more between").hasSizeBetween(4, 6);
      release.countDown();

      assertThat(accepted).allSatisfy(result -> assertThat(result).succeedsWithin(OneRange.DEADLINE));
      assertThat(refused).as("its completion is never called").isNotDone();
      OneRange.close(store);
    }
  }

  /** Two entries go at once. With four commands in each of two full ones, two small ones may follow while none of them is applied. */
  @Test
  void smallEntriesGoOnWhileEarlierOnesAreUnderWay() throws Exception {
    var d = StoreSettings.defaults();
    var settings =
        new StoreSettings(
            true, ClusterSettings.NONE, d.memoryBytes(), new StoreSettings.Disk(0, 0), d.queue(), new StoreSettings.Entries(2, 4, 1024, 64 * 1024), d.snapshots(), d.reads());
    var release = new CountDownLatch(1);
    var meters = new SimpleMeterRegistry();
    try (var store = RangeStore.open(settings, directory, meters)) {
      var range = store.range("routes", Command.CODEC, new Waiting(release));
      store.start(OneRange.DEADLINE);
      var results = new ArrayList<CompletableFuture<String>>();
      for (int i = 0; i < 4; i++) {
        var result = new CompletableFuture<String>();
        assertThat(range.propose(new Append("a", "x"), OneRange.completing(result))).isTrue();
        results.add(result);
        await().atMost(OneRange.DEADLINE).until(() -> meters.get("dunlin.store.queued").gauge().value() == 0);
      }
      for (int i = 0; i < 3; i++) {
        var result = new CompletableFuture<String>();
        assertThat(range.propose(new Append("b", "x"), OneRange.completing(result))).isTrue();
        results.add(result);
      }
      assertThat(results).as("nothing is applied").noneMatch(CompletableFuture::isDone);
      assertThat(meters.get("dunlin.store.queued").gauge().value()).as("four entries are in flight").isEqualTo(3);
      release.countDown();

      assertThat(results).allSatisfy(result -> assertThat(result).succeedsWithin(OneRange.DEADLINE));
      OneRange.close(store);
    }
  }

  @Test
  void keepsAQuarterOfTheQueueFromFlowsAndNotifiesThemWhenHalfIsFree() throws Exception {
    var release = new CountDownLatch(1);
    try (var store = RangeStore.open(settings(16, 1, 1), directory, new SimpleMeterRegistry())) {
      var range = store.range("routes", Command.CODEC, new Waiting(release));
      store.start(OneRange.DEADLINE);
      var told = new CompletableFuture<Thread>();
      int flow = 0;
      while (range.propose(new Append("a", "x"), OneRange.completing(new CompletableFuture<>()))) flow++;

      assertThat(range.whenRoom(() -> told.complete(Thread.currentThread()))).isTrue();
      var calls = new ArrayList<CompletableFuture<String>>();
      for (int i = 0; i < 4; i++) {
        var call = new CompletableFuture<String>();
        assertThat(range.propose(new Put("call" + i, ""), OneRange.completing(call))).as("call %s", i).isTrue();
        calls.add(call);
      }
      assertThat(flow).as("twelve wait, one is in flight, one more between").isBetween(12, 14);
      assertThat(told).as("fourteen at least still wait").isNotDone();
      release.countDown();

      assertThat(told).succeedsWithin(OneRange.DEADLINE);
      assertThat(told.join().getName()).endsWith("proposer");
      assertThat(calls).allSatisfy(call -> assertThat(call).succeedsWithin(OneRange.DEADLINE));
      OneRange.close(store);
    }
  }

  @Test
  void notifiesAtOnceWhenThereIsRoomAndWhenTheRangeIsClosed() throws Exception {
    var before = new CompletableFuture<Void>();
    var after = new CompletableFuture<Void>();
    try (var one = OneRange.start(directory)) {
      assertThat(one.range.whenRoom(() -> before.complete(null))).isTrue();
      assertThat(before).succeedsWithin(OneRange.DEADLINE);
      OneRange.close(one.store);
      assertThat(one.range.whenRoom(() -> after.complete(null))).isTrue();
    }
    assertThat(after).isDone();
  }

  @Test
  void boundsTheQueuedBytes() {
    var release = new CountDownLatch(1);
    var meters = new SimpleMeterRegistry();
    var settings = settings(1 << 16, 256, 1);
    try (var store = RangeStore.open(settings, directory, meters)) {
      var range = store.range("routes", Command.CODEC, new Waiting(release));
      store.start(OneRange.DEADLINE);
      int accepted = 0;
      while (range.propose(new Put("a", "x".repeat(1000)), OneRange.completing(new CompletableFuture<>()))) accepted++;

      assertThat(accepted).isLessThan(400);
      assertThat(meters.get("dunlin.store.rejected").counter().count()).isEqualTo(1);
      assertThat(meters.get("dunlin.store.queued.bytes").gauge().value()).isBetween(260_000.0, 262_144.0);
      release.countDown();
      OneRange.close(store);
    }
  }

  @Test
  void failsACommandThatNoEntryCanHold() {
    var settings = StoreSettings.defaults();
    try (var one = OneRange.start(directory, settings)) {
      var tooLarge = one.propose(new Put("a", "x".repeat(settings.entries().bytesMax())));
      assertThat(tooLarge).isCompletedExceptionally();
      assertThatThrownBy(tooLarge::join)
          .hasCauseInstanceOf(StoreException.class)
          .hasMessageContaining("range 'routes': a command of 4194314 bytes exceeds the limit of 4194295");

      int most = settings.entries().bytesMax() - 9 - 10;
      assertThat(one.apply(new Put("a", "x".repeat(most)))).as("the largest there can be").isEqualTo("put");
      assertThat(one.value("a")).hasSize(most);
    }
  }

  @Test
  void severalStoresInOneProcessDoNotTouchEachOther() {
    try (var left = OneRange.start(directory.resolve("left"))) {
      var right = OneRange.start(directory.resolve("right"));
      left.apply(new Put("a", "left"));
      right.apply(new Put("a", "right"));
      assertThat(left.store.nodeId()).isNotEqualTo(right.store.nodeId());
      right.close();

      left.apply(new Put("b", "left"));

      assertThat(left.rows()).containsExactly("a=left", "b=left");
      try (var again = OneRange.start(directory.resolve("right"))) {
        assertThat(again.rows()).containsExactly("a=right");
        assertThat(left.apply(new Append("b", "!"))).isEqualTo("left!");
      }
    }
  }

  @Test
  void rangesOfOneStoreAreApart() {
    var meters = new SimpleMeterRegistry();
    try (var store = RangeStore.open(StoreSettings.defaults(), directory, meters)) {
      var ranges = List.of("routes", "retain", "inbox");
      var byKind = ranges.stream().map(kind -> store.range(kind, Command.CODEC, new Command.Logic())).toList();
      assertThatThrownBy(() -> store.range("inbox", Command.CODEC, new Command.Logic()))
          .isInstanceOf(IllegalArgumentException.class);
      store.start(OneRange.DEADLINE);
      assertThatThrownBy(() -> store.range("late", Command.CODEC, new Command.Logic()))
          .isInstanceOf(IllegalStateException.class);

      for (int i = 0; i < 3; i++) {
        var result = new CompletableFuture<String>();
        byKind.get(i).propose(new Append("a", ranges.get(i)), OneRange.completing(result));
        assertThat(result).succeedsWithin(OneRange.DEADLINE).isEqualTo(ranges.get(i));
      }
      OneRange.close(store);
    }
    assertThat(meters.getMeters()).as("a closed store leaves no meters").isEmpty();
  }

  @Test
  void proposalsDuringCloseAreAnsweredOnce() throws Exception {
    var one = OneRange.start(directory);
    var results = new ArrayList<CompletableFuture<String>>();
    var proposing =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; i < 20_000; i++) {
                    var result = new CompletableFuture<String>();
                    if (one.range.propose(new Put("key" + i, ""), OneRange.completing(result))) results.add(result);
                  }
                });
    await().atMost(OneRange.DEADLINE).until(() -> one.meters.get("dunlin.store.operations").counter().count() > 100);

    one.close();
    proposing.join();

    assertThat(results).allSatisfy(result -> assertThat(result).isDone());
    assertThat(one.propose(new Put("late", ""))).isCompletedExceptionally();
    long done = results.stream().filter(result -> !result.isCompletedExceptionally()).count();
    try (var again = OneRange.start(directory)) {
      assertThat(again.rows()).hasSizeGreaterThanOrEqualTo((int) done);
    }
  }

  @Test
  void closingTwiceIsAllowedAndLeavesNoThread() {
    var one = OneRange.start(directory);
    one.apply(new Put("a", "1"));
    one.store.close();
    one.store.close();

    one.close();
    await().atMost(OneRange.DEADLINE).untilAsserted(() -> assertThat(threadsOf(one.store)).isEmpty());
  }

  @Test
  void aReadTooManyIsRefusedAndCounted() {
    var release = new CountDownLatch(1);
    try (var one = OneRange.start(directory)) {
      Runnable read = () -> Waiting.pause(release);
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 2000; i++) one.range.readers().execute(read);
              })
          .isInstanceOf(RejectedExecutionException.class)
          .hasMessageContaining("routes");
      release.countDown();
      assertThat(one.meters.get("dunlin.store.reads.rejected").counter().count()).isEqualTo(1);
    }
  }

  @Test
  void aTakenClusterPortFailsTheStartAndNotTheProcess() throws Exception {
    try (var taken = new ServerSocket()) {
      taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      assertThatThrownBy(() -> OneRange.start(directory, withPort(taken.getLocalPort())))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("cluster port " + taken.getLocalPort() + " cannot be used");
    }
  }

  @Test
  void theClusterPortServesNoClientsOfRatis() throws Exception {
    int port;
    try (var free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    try (var one = OneRange.start(directory, withPort(port))) {
      assertThat(one.apply(new Put("a", "1"))).isEqualTo("put");
      var channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
      try {
        var admin = AdminProtocolServiceGrpc.newBlockingStub(channel);
        assertThatThrownBy(() -> admin.groupList(GroupListRequestProto.getDefaultInstance()))
            .isInstanceOf(StatusRuntimeException.class)
            .hasMessageContaining("PERMISSION_DENIED: only Raft's own calls are served here");
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  void withoutFsyncWritesSurviveTheProcess() {
    var d = StoreSettings.defaults();
    var settings =
        new StoreSettings(
            false,
            ClusterSettings.NONE,
            d.memoryBytes(),
            new StoreSettings.Disk(0, 0),
            new StoreSettings.Queue(16, d.queue().bytesMax()),
            new StoreSettings.Entries(4, 16, d.entries().fullAt(), d.entries().bytesMax()),
            d.snapshots(),
            new StoreSettings.Reads(1, 1));
    try (var one = OneRange.start(directory, settings)) {
      one.apply(new Put("a", "1"));
    }
    try (var one = OneRange.start(directory, settings)) {
      assertThat(one.rows()).containsExactly("a=1");
    }
  }

  private static StoreSettings withPort(int port) {
    var d = StoreSettings.defaults();
    return new StoreSettings(
        true,
        ClusterSettings.loopback(port),
        d.memoryBytes(),
        new StoreSettings.Disk(0, 0),
        new StoreSettings.Queue(16, d.queue().bytesMax()),
        new StoreSettings.Entries(1, 1, d.entries().fullAt(), d.entries().bytesMax()),
        d.snapshots(),
        new StoreSettings.Reads(1, 1));
  }

  static List<String> threadsOf(RangeStore store) {
    String nodeId = store.nodeId();
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.contains(nodeId) || name.contains(nodeId.substring(0, 8)))
        .toList();
  }

  private static String every(int step, int from, CharSequence text) {
    var chosen = new StringBuilder();
    for (int i = from; i < text.length(); i += step) chosen.append(text.charAt(i));
    return chosen.toString();
  }

  private static StoreSettings settings(int queuedCommands, int queuedKib, int inFlight) {
    var d = StoreSettings.defaults();
    return new StoreSettings(
        true,
        ClusterSettings.NONE,
        d.memoryBytes(),
        new StoreSettings.Disk(0, 0),
        new StoreSettings.Queue(queuedCommands, Math.max(256, queuedKib) * 1024L),
        new StoreSettings.Entries(inFlight, 1, 1024, 64 * 1024),
        d.snapshots(),
        new StoreSettings.Reads(1, 1));
  }

  /** Applies nothing until it is released. */
  static class Waiting implements RangeLogic<Command, String> {
    private final CountDownLatch release;

    Waiting(CountDownLatch release) {
      this.release = release;
    }

    @Override
    public void open(RangeReader state) {}

    @Override
    public List<String> apply(List<Command> commands, RangeWriter out) {
      pause();
      return commands.stream().map(_ -> "applied").toList();
    }

    void pause() {
      pause(release);
    }

    static void pause(CountDownLatch release) {
      try {
        release.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
