package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.ReplicaRole;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Replicas that are behind the leader's log, or have lost their files, and install a snapshot. */
class ReinstallTest {
  private static final int ENTRY_BYTES = 64 * 1024;

  @TempDir Path directory;

  private Trio start() {
    return start(UnaryOperator.identity());
  }

  private Trio start(UnaryOperator<ClusterSettings> cluster) {
    return Trio.start(
        directory,
        cluster,
        d ->
            new StoreSettings(
                true,
                d.cluster(),
                d.memoryBytes(),
                new StoreSettings.Disk(0, 0),
                new StoreSettings.Queue(1024, d.queue().bytesMax()),
                new StoreSettings.Entries(8, 1, d.entries().fullAt(), ENTRY_BYTES),
                new StoreSettings.Snapshots(10, ENTRY_BYTES, Duration.ofSeconds(1)),
                new StoreSettings.Reads(1, 16)));
  }

  /** Truncates the log of the running nodes behind the last entry of any other. */
  private static void cutLog(Trio trio) {
    cutLog(trio, trio.nodes.stream().filter(node -> node.running != null).toList());
  }

  /** A segment of the log has twice the bytes of the largest entry, and is not dropped where a leader's term ends. */
  private static void cutLog(Trio trio, List<Trio.Node> nodes) {
    for (int i = 0; i < 4; i++) trio.apply(new Put("large", "x".repeat(ENTRY_BYTES * 3 / 4)));
    for (int i = 0; i < 120; i++) trio.apply(new Append("after", "b"));
    for (var node : nodes) await().atMost(Trio.DEADLINE).until(() -> firstSegment(node) > 0);
  }

  private static Path group(Trio.Node node) {
    return node.data.resolve("raft").resolve(Trio.RANGE.uuid().toString());
  }

  private static Path log(Trio.Node node) {
    return group(node).resolve("current");
  }

  private static Path rows(Trio.Node node) {
    return node.data.resolve("ranges").resolve(Trio.RANGE.uuid().toString());
  }

  private static long firstSegment(Trio.Node node) throws IOException {
    try (var found = Files.list(log(node))) {
      return found.map(path -> path.getFileName().toString())
          .filter(name -> name.startsWith("log_"))
          .mapToLong(name -> Long.parseLong(name.replace("log_inprogress_", "").replace("log_", "").replaceAll("-.*", "")))
          .min()
          .orElse(-1);
    }
  }

  /** Its own log has nothing that is not applied. */
  @Test
  void aFollowerThatWaitsForASnapshotIsBehind() {
    try (var trio = start()) {
      trio.apply(new Put("first", "1"));
      var behind = trio.followers().getFirst();
      await().atMost(Trio.DEADLINE).until(() -> behind.rows().size() == 1);
      behind.close();
      cutLog(trio);
      behind.snapshotsHeld = new CountDownLatch(1);

      behind.restart();
      await().atMost(Trio.DEADLINE).until(() -> behind.snapshotsAsked.get() > 0);
      assertThat(behind.range().status().behind()).isNotZero();

      behind.snapshotsHeld.countDown();
      await().atMost(Trio.DEADLINE).until(() -> behind.range().status().behind() == 0);
      assertThat(behind.rows()).isEqualTo(trio.leader().rows());
      assertThat(trio.leader().range().status().behind()).isZero();
    }
  }

  @Test
  void aFollowerBehindTheTruncatedLogInstallsASnapshot() {
    try (var trio = start()) {
      trio.apply(new Put("first", "1"));
      var behind = trio.followers().getFirst();
      await().atMost(Trio.DEADLINE).until(() -> behind.rows().size() == 1);
      behind.close();
      cutLog(trio);

      behind.restart();
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(behind.rows()).isEqualTo(trio.leader().rows()));

      assertThat(behind.meters.get("dunlin.store.install.bytes").counter().count()).isPositive();
      assertThat(behind.logic.opened).as("the logic was opened on the snapshot").isEqualTo(2);
      assertThat(behind.logic.rowsAtOpen).anyMatch(row -> row.startsWith("after="));
      trio.letLead(behind);
      assertThat(trio.apply(new Append("after", "!"))).isEqualTo("b".repeat(120) + "!");
      behind.close();
      behind.restart();
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(behind.rows()).isEqualTo(trio.leader().rows()));
    }
  }

  /** Its own log ends within the leader's, so the leader starts appending from there and does not ask for a snapshot again. */
  @Test
  void anOldLeaderWithAnUncommittedTailInstallsASnapshot() {
    try (var trio = start(ReinstallTest::patient)) {
      var old = closedWithAnUncommittedTail(trio);
      cutLog(trio); // to within the old leader's uncommitted tail
      old.snapshotsHeld = new CountDownLatch(1);
      old.restart();
      await().atMost(Trio.DEADLINE).until(() -> old.snapshotsAsked.get() > 0);
      long term = trio.leader().range().status().term();
      for (int i = 0; i < 5; i++) trio.apply(new Append("meanwhile", "c")); // the leader appends while the snapshot is missing
      old.snapshotsHeld.countDown();

      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(old.rows()).isEqualTo(trio.leader().rows()));
      assertThat(old.rows()).noneMatch(row -> row.startsWith("tail="));
      // The next leader would have it install a snapshot again.
      if (trio.leader().range().status().term() == term) assertThat(old.snapshotsAsked).as("a snapshot that is ready is not fetched again").hasValue(1);
      assertThat(old.meters.get("dunlin.store.install.waiting").gauge().value()).isZero();
      assertThat(new RowsDirectory(rows(old)).ready()).doesNotExist();
      trio.letLead(old);
      assertThat(trio.apply(new Append("after", "!"))).isEqualTo("b".repeat(120) + "!");
    }
  }

  /**
   * A leader that got commands while the others were closed, and is closed while they run again. A machine may be so busy that it notices that it is alone before
   * it gets the commands; then another one is tried.
   */
  private static Trio.Node closedWithAnUncommittedTail(Trio trio) {
    for (int tries = 0; tries < 20; tries++) {
      for (int i = 0; i < 5; i++) trio.apply(new Append("before", "a"));
      var old = trio.leader();
      var others = trio.nodes.stream().filter(node -> node != old).toList();
      for (var other : others) await().atMost(Trio.DEADLINE).until(() -> other.rows().equals(old.rows()));
      var closing = others.stream().map(other -> CompletableFuture.runAsync(other::close, Thread::startVirtualThread)).toList();
      CompletableFuture.allOf(closing.toArray(CompletableFuture<?>[]::new)).join();
      var tail = new ArrayList<CompletableFuture<String>>();
      for (int i = 0; i < 8; i++) tail.add(Trio.propose(old, new Append("tail", "t")));
      boolean leads = old.id().equals(old.range().status().leaderOrNull());
      await().atMost(Trio.DEADLINE).until(() -> tail.stream().allMatch(CompletableFuture::isCompletedExceptionally));
      old.close();
      others.forEach(Trio.Node::restart);
      if (leads) return old;
      trio.apply(new Append("before", "a")); // so that the others have a leader before it is back
      old.restart();
    }
    throw new AssertionError("each leader has noticed that it was alone before it got commands");
  }

  /** It ends where its term has ended. If the leader's log began right there, Ratis could neither append nor install a snapshot. */
  @Test
  void aLeaderThatTransferredAndStoppedCatchesUpAfterTruncation() {
    try (var trio = start()) {
      for (int i = 0; i < 5; i++) trio.apply(new Append("before", "a"));
      var old = trio.leader();
      old.close();
      for (int i = 0; i < 120; i++) trio.apply(new Append("after", "b"));
      for (var other : trio.nodes) if (other != old) await().atMost(Trio.DEADLINE).until(() -> cutWasDue(other));

      old.restart();
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(old.rows()).isEqualTo(trio.leader().rows()));
      assertThat(old.snapshotsAsked).as("the entries that it lacks are still there").hasValue(0);

      old.close();
      cutLog(trio);
      old.restart();
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(old.rows()).isEqualTo(trio.leader().rows()));
      assertThat(old.snapshotsAsked).hasPositiveValue();
    }
  }

  /** Whether everything has been flushed, which is when the log is truncated. */
  private static boolean cutWasDue(Trio.Node node) {
    var status = node.range().status();
    return status.applied() > 100 && status.flushed() == status.applied();
  }

  /** Many short terms must not prevent truncation for ever. */
  @Test
  void aLogOfManyShortTermsIsTruncated() {
    try (var trio = start()) {
      for (int term = 0; term < 12; term++) {
        for (int i = 0; i < 10; i++) trio.apply(new Append("row", "a"));
        trio.letLead(trio.followers().getFirst());
      }
      for (int i = 0; i < 60; i++) trio.apply(new Append("row", "b"));
      for (var node : trio.nodes) await().atMost(Trio.DEADLINE).until(() -> firstSegment(node) > 0);
    }
  }

  @Test
  void aSnapshotFromADeadLeaderIsCancelledForTheNextLeaders() {
    try (var trio = start()) {
      trio.apply(new Put("first", "1"));
      var behind = trio.followers().getFirst();
      await().atMost(Trio.DEADLINE).until(() -> behind.rows().size() == 1);
      behind.close();
      cutLog(trio);
      behind.snapshotsHeld = new CountDownLatch(1);
      behind.restart();
      await().atMost(Trio.DEADLINE).until(() -> behind.snapshotsAsked.get() > 0);

      behind.snapshotsHeld = new CountDownLatch(0); // the next one does not wait
      var next = trio.followers().stream().filter(node -> node != behind).findFirst().orElseThrow();
      trio.letLead(next);
      await().atMost(Trio.DEADLINE.dividedBy(2)).untilAsserted(() -> assertThat(behind.rows()).isEqualTo(next.rows()));
    }
  }

  /** Settings with which a leader steps down later, so that it can accept commands while the others are closed. */
  private static ClusterSettings patient(ClusterSettings usual) {
    return new ClusterSettings(
        usual.port(), usual.host(), usual.bindAddress(), usual.security(), Duration.ofSeconds(5), usual.entriesKept(),
        usual.installBytesPerSecond(), usual.installDeadline());
  }

  @Test
  void aSnapshotThatWasReadyWhenTheProcessEndedIsInstalled() throws IOException {
    try (var trio = start()) {
      trio.apply(new Put("first", "1"));
      var behind = trio.followers().getFirst();
      await().atMost(Trio.DEADLINE).until(() -> behind.rows().size() == 1);
      behind.close();
      cutLog(trio);
      // As if it had been killed between the completion of the snapshot and the swap, before its log was truncated.
      var files = new RowsDirectory(rows(behind));
      var snapshot = trio.leader().store().openSnapshot(Trio.RANGE);
      Files.createDirectories(files.ready());
      for (var file : snapshot.files())
        try (var out = Files.newOutputStream(files.ready().resolve(file.name()))) {
          for (long at = 0; at < file.bytes(); ) {
            int length = (int) Math.min(SnapshotSource.CHUNK_BYTES_MAX, file.bytes() - at);
            out.write(trio.leader().store().readSnapshot(snapshot.id(), file.name(), at, length));
            at += length;
          }
        }

      behind.restart();

      assertThat(behind.logic.opened).isEqualTo(1);
      assertThat(behind.logic.rowsAtOpen).anyMatch(row -> row.startsWith("after="));
      assertThat(files.ready()).doesNotExist();
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(behind.rows()).isEqualTo(trio.leader().rows()));
      trio.apply(new Put("behind the snapshot", "1"));
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(behind.rows()).isEqualTo(trio.leader().rows()));
      assertThatThrownBy(() -> trio.leader().store().readSnapshot(snapshot.id(), "../../dunlin.node", 0, 1))
          .hasMessageContaining("has no 1 bytes at 0 of '../../dunlin.node'");
    }
  }

  @Test
  void damagedFilesOfOneReplicaAreQuarantinedAndReplaced() throws IOException {
    try (var trio = start()) {
      for (int i = 0; i < 60; i++) trio.apply(new Put("key" + i, "x".repeat(1000)));
      var damagedLog = trio.followers().getFirst();
      var damagedRows = trio.followers().getLast();

      damagedLog.close();
      Path segment = last(log(damagedLog), "log_*");
      flip(segment, Files.size(segment) / 2);
      rejoin(trio, damagedLog);
      damagedLog.close();
      cutShort(last(log(damagedLog), "log_inprogress_*"));
      rejoin(trio, damagedLog);
      damagedLog.close();
      empty(last(log(damagedLog), "log_inprogress_*"));
      rejoin(trio, damagedLog);
      damagedRows.close();
      flip(last(rows(damagedRows), "MANIFEST-*"), 20);
      rejoin(trio, damagedRows);

      // Healthy again: any two of them can continue.
      trio.letLead(damagedLog);
      trio.nodes.stream().filter(node -> node != damagedLog && node != damagedRows).forEach(Trio.Node::close);
      trio.apply(new Put("last", ""));
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(damagedRows.rows()).hasSize(61));
    }
  }

  /** A new replica that began as a member would have forgotten what the lost one voted for. */
  @Test
  void aReplicaThatLostLogAndRowsComesBackOnlyByJoining() throws IOException {
    try (var trio = start()) {
      for (int i = 0; i < 60; i++) trio.apply(new Put("key" + i, ""));
      var lost = trio.followers().getFirst();
      lost.close();
      GroupStorage.deleteTree(group(lost));
      GroupStorage.deleteTree(rows(lost));
      lost.restart();
      assertThat(lost.role()).isEqualTo(ReplicaRole.QUARANTINED);
      assertThat(lost.store().stored()).containsExactly(Trio.RANGE.uuid());
      assertThatThrownBy(
              () -> lost.store().createReplica(Trio.RANGE, trio.members(), false, Command.CODEC, lost.logic, Trio.DEADLINE))
          .hasMessageContaining("had a replica here that may have voted");
      lost.close();
      GroupStorage.deleteTree(lost.data.resolve("quarantine")); // as an operator may who has seen that it is empty

      rejoin(trio, lost);

      trio.remove(lost.id());
      lost.store().dropReplica(Trio.RANGE, Trio.DEADLINE);
      assertThat(lost.store().stored()).as("dropped is not lost").isEmpty();
      lost.close();
      lost.startEmpty();
    }
  }

  /** The others still call the lost node at this address; the new one must not vote or acknowledge in its name. */
  @Test
  void aNewNodeAtTheAddressOfALostOneDoesNotVoteForIt() throws IOException {
    try (var trio = start()) {
      trio.apply(new Put("first", "1"));
      var leader = trio.leader();
      var lost = trio.followers().getFirst();
      var other = trio.followers().getLast();
      lost.close();
      GroupStorage.deleteTree(lost.data);
      lost.startEmpty();
      lost.join(trio.members());
      trio.apply(new Put("second", "2"));
      await().during(Duration.ofSeconds(5)).atMost(Trio.DEADLINE).until(() -> lost.rows().isEmpty());
      other.close();

      var alone = Trio.propose(leader, new Put("third", "3"));
      await().atMost(Trio.DEADLINE).until(alone::isDone);
      assertThat(alone).isCompletedExceptionally();
      assertThat(lost.rows()).isEmpty();

      other.restart();
      trio.add(lost.store().member());
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(lost.rows()).isEqualTo(trio.leader().rows()).contains("second=2"));
    }
  }

  /** The others call it all the time. Ratis would pass their calls to a group that is still starting, which then fails. */
  @Test
  void aReplicaThatIsCalledDuringItsCreationIsCreated() throws InterruptedException {
    try (var trio = start()) {
      trio.apply(new Put("first", "1"));
      var again = trio.followers().getFirst();
      again.store().dropReplica(Trio.RANGE, Trio.DEADLINE);
      cutLog(trio, trio.nodes.stream().filter(node -> node != again).toList());
      var slow = new HeldLogic();
      var members = trio.members();
      var made =
          CompletableFuture.supplyAsync(
              () -> again.store().createReplica(Trio.RANGE, members, true, Command.CODEC, slow, Trio.DEADLINE),
              Thread::startVirtualThread);
      assertThat(slow.asked.await(Trio.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      // It is told to install a snapshot once a second.
      await().during(Duration.ofSeconds(3)).atMost(Trio.DEADLINE).until(() -> !made.isDone());
      slow.mayOpen.countDown();

      await().atMost(Trio.DEADLINE).until(made::isDone);
      assertThat(made).isCompleted();
      trio.remove(again.id());
      again.store().dropReplica(Trio.RANGE, Trio.DEADLINE);
      again.join(members);
      trio.add(again.store().member());
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(again.rows()).isEqualTo(trio.leader().rows()));
    }
  }

  private static void rejoin(Trio trio, Trio.Node node) throws IOException {
    node.restart();
    assertThat(node.role()).isEqualTo(ReplicaRole.QUARANTINED);
    assertThat(node.data.resolve("quarantine")).isNotEmptyDirectory();
    assertThat(Trio.propose(node, new Put("a", ""))).isCompletedExceptionally();
    node.close();
    node.restart();
    assertThat(node.role()).as("not by itself: it has forgotten what it voted").isEqualTo(ReplicaRole.QUARANTINED);

    trio.remove(node.id());
    node.join(trio.members());
    trio.add(node.store().member());
    await().atMost(Trio.DEADLINE).until(() -> node.role() == ReplicaRole.FOLLOWER);
    await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(node.rows()).hasSize(60));
    node.close();
    node.restart();
    assertThat(node.role()).isNotEqualTo(ReplicaRole.QUARANTINED);
    await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(node.rows()).hasSize(60));
  }

  private static Path last(Path directory, String glob) throws IOException {
    try (var found = Files.newDirectoryStream(directory, glob)) {
      var paths = new ArrayList<Path>();
      found.forEach(paths::add);
      paths.sort(Comparator.comparing(Path::toString));
      return paths.getLast();
    }
  }

  /** Makes the open segment of a log a closed one that should have more entries. */
  private static void cutShort(Path open) throws IOException {
    long first = Long.parseLong(open.getFileName().toString().substring("log_inprogress_".length()));
    Files.move(open, open.resolveSibling("log_%d-%d".formatted(first, first + 1000)));
  }

  /** Takes all entries from a file of a log. */
  private static void empty(Path open) throws IOException {
    Files.write(open, Arrays.copyOf(Files.readAllBytes(open), RangeStoreDamageTest.SEGMENT_HEADER));
  }

  private static void flip(Path file, long at) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[(int) at] ^= 0x40;
    Files.write(file, bytes);
  }
}
