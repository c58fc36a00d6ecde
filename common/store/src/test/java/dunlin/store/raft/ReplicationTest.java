package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.LowDiskException;
import dunlin.store.Member;
import dunlin.store.NotLeaderException;
import dunlin.store.OutdatedException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.Replica;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.disk.GroupStorage;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * One range with replicas on three nodes, over real sockets and disks: elections, members that come and go, and what a replica leaves behind.
 *
 * <p>The class is long: all of it is about one fixture, and the tests for members need those for leaders to hold.
 */
class ReplicationTest {
  /** Longer than a leader without a majority keeps its leadership. */
  private static final Duration ADDING_MAX = Duration.ofSeconds(10);

  @TempDir Path directory;

  @Test
  void everyReplicaAppliesTheLeadersCommandsAndFollowersNameTheLeader() {
    try (var trio = Trio.start(directory)) {
      for (int i = 0; i < 50; i++) trio.apply(new Append("key" + i % 5, "+" + i));

      await("while another one may be elected").atMost(Trio.DEADLINE).untilAsserted(() -> followersNameTheLeader(trio, trio.leader()));
    }
  }

  private static void followersNameTheLeader(Trio trio, Trio.Node leader) {
    for (var follower : trio.nodes) {
      if (follower == leader) continue;
      assertThat(follower.rows()).isEqualTo(leader.rows());
      assertThat(follower.role()).isEqualTo(ReplicaRole.FOLLOWER);
      assertThat(Trio.propose(follower, new Put("a", "1")))
          .failsWithin(Trio.DEADLINE)
          .withThrowableThat()
          .havingCause()
          .isInstanceOfSatisfying(NotLeaderException.class, refused -> assertThat(refused.leader()).contains(leader.id()));
      assertThat(follower.range().readBarrier())
          .failsWithin(Trio.DEADLINE)
          .withThrowableThat()
          .withCauseInstanceOf(NotLeaderException.class);
    }
    assertThat(leader.range().readBarrier()).succeedsWithin(Trio.DEADLINE);
    var status = leader.range().status();
    assertThat(status.peers()).hasSize(3);
    assertThat(status.applied()).isEqualTo(status.committed()).isGreaterThanOrEqualTo(50 / 5);
    assertThat(leader.meters.get("dunlin.store.leading").gauge().value()).isEqualTo(1);
    assertThat(leader.meters.get("dunlin.store.lag").gauge().value()).isZero();
  }

  @Test
  void aLeaderIsPreferredUntilThePeersAreChangedAndKeepsLeading() {
    try (var trio = Trio.start(directory)) {
      await("while another one may be elected")
          .atMost(Trio.DEADLINE)
          .ignoreExceptionsInstanceOf(StoreException.class)
          .untilAsserted(() -> aLeaderIsPreferredAndKeepsLeading(trio, trio.followers().getFirst()));
    }
  }

  private static void aLeaderIsPreferredAndKeepsLeading(Trio trio, Trio.Node next) {
    trio.letLead(next);
    await().atMost(Trio.DEADLINE).until(() -> trio.leader() != next || next.range().status().configuration() >= 0);
    assertThat(trio.leader()).isSameAs(next);
    assertThat(next.range().status().peers()).filteredOn(peer -> peer.priority() > 0).hasSize(1);

    next.range().changePeers(next.range().status().configuration(), trio.members(), Trio.DEADLINE);

    await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(next.range().status().configuration()).isNotNegative());
    assertThat(next.range().status().peers()).hasSize(3).allMatch(peer -> peer.priority() == 0);
    assertThat(trio.leader()).isSameAs(next);
  }

  @Test
  void anElectionThatCannotBeginFails() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var followers = trio.followers();
      var alone = followers.getFirst();
      await().atMost(Trio.DEADLINE).untilAsserted(
              () -> {
                var leader = trio.leader();
                assertThat(leader.range().leader()).contains(leader.id());
                assertThat(alone.range().leader()).contains(leader.id()).isEqualTo(alone.range().status().leader());
              });
      trio.leader().close();
      followers.getLast().close();
      await().atMost(Trio.DEADLINE).until(() -> alone.range().leader().isEmpty());
      assertThat(alone.range().status().leader()).isEmpty();

      // The first lost election takes the term past that of the last log entry.
      await().atMost(Trio.DEADLINE).untilAsserted(() ->
              assertThatThrownBy(() -> alone.range().elect())
                  .isInstanceOf(StoreException.class)
                  .hasMessageContaining("cannot begin an election"));

      for (var node : trio.nodes) if (node != alone) node.restart();
      assertThat(trio.apply(new Put("a", "2"))).isEqualTo("put");
    }
  }

  @Test
  void writesSurviveTheLossOfTheLeaderAndItsReturn() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("before", "1"));
      var first = trio.leader();
      first.close();

      trio.apply(new Put("meanwhile", "2"));
      assertThat(trio.leader()).isNotSameAs(first);
      first.restart();
      trio.apply(new Put("after", "3"));

      for (var node : trio.nodes)
        await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(node.rows()).containsExactly("after=3", "before=1", "meanwhile=2"));
    }
  }

  @Test
  void allNodesStoppedAtOnceComeBackByThemselves() {
    try (var trio = Trio.start(directory)) {
      for (int i = 0; i < 20; i++) trio.apply(new Append("a", String.valueOf((char) ('a' + i))));
      trio.stopAll();
      var starts = trio.nodes.stream().map(node -> CompletableFuture.runAsync(node::restart, Thread::startVirtualThread));
      CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).join();

      assertThat(trio.apply(new Append("a", "!"))).isEqualTo("abcdefghijklmnopqrst!");
    }
  }

  @Test
  void aMinorityAcceptsNothingOnceItsLeaseIsOver() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var leader = await("while another one may be elected").atMost(Trio.DEADLINE).until(() -> leftAloneWithCommands(trio), Objects::nonNull);

      await().atMost(Trio.DEADLINE).until(() -> leader.range().readBarrier().handle((_, e) -> e instanceof NotLeaderException).join());
      assertThat(Trio.propose(leader, new Put("a", "3")))
          .failsWithin(Trio.DEADLINE)
          .withThrowableThat()
          .withCauseInstanceOf(NotLeaderException.class);
    }
  }

  /**
   * Stops the followers while their leader gets commands, so that it has some in its log that it can never commit, however long the stopping takes.
   * Returns it, or null with the followers started again when it was deposed before it was alone.
   */
  private static Trio.@Nullable Node leftAloneWithCommands(Trio trio) {
    var leader = trio.leader();
    var followers = trio.nodes.stream().filter(node -> node != leader).toList();
    var stopped = CompletableFuture.runAsync(() -> followers.forEach(Trio.Node::close), Thread::startVirtualThread);
    var proposed = new ArrayList<CompletableFuture<String>>();
    await().atMost(Trio.DEADLINE).until(
            () -> {
              proposed.add(Trio.propose(leader, new Put("a", "2")));
              return stopped.isDone() && leader.role() != ReplicaRole.LEADER;
            });
    boolean isAlone = false;
    for (var result : proposed) isAlone |= result.handle((_, e) -> e instanceof OutcomeUnknownException).orTimeout(Trio.DEADLINE.toSeconds(), TimeUnit.SECONDS).join();
    if (isAlone) return leader;
    followers.forEach(Trio.Node::restart);
    return null;
  }

  /** Each command has a unique number, so the rows show which were applied, how often and in which order. */
  @Test
  void noAcknowledgedCommandIsLostOrAppliedTwiceWhileLeadersChange() throws Exception {
    long seed = System.nanoTime();
    var random = new Random(seed);
    int writers = 4;
    var acknowledged = new CopyOnWriteArrayList<String>();
    var refused = new CopyOnWriteArrayList<String>();
    var unknown = new CopyOnWriteArrayList<String>();
    try (var trio = Trio.start(directory)) {
      var going = new AtomicBoolean(true);
      var threads = new ArrayList<Thread>();
      for (int writer = 0; writer < writers; writer++) {
        int w = writer;
        threads.add(
            Thread.ofPlatform().start(
                    () -> {
                      for (int n = 0; going.get(); n++) write(trio, w, n, acknowledged, refused, unknown);
                    }));
      }
      for (int round = 0; round < 3; round++) {
        int before = acknowledged.size();
        await().atMost(Trio.DEADLINE).until(() -> acknowledged.size() > before + 200);
        var leader = trio.leader();
        switch (random.nextInt(3)) {
          case 0 -> {
            leader.close();
            leader.restart();
          }
          case 1 -> {
            // Without a quorum it accepts commands for a while that it cannot commit, and their outcome is unknown.
            var followers = trio.followers();
            followers.forEach(Trio.Node::close);
            await().atMost(Trio.DEADLINE).until(() -> leader.role() != ReplicaRole.LEADER);
            followers.forEach(Trio.Node::restart);
          }
          default -> {
            var to = trio.followers().get(random.nextInt(2));
            try {
              leader.range().transferLeadership(to.id(), Trio.DEADLINE);
            } catch (StoreException e) {
              assertThat(e).as("seed %d", seed).hasMessageContaining("let node"); // it may be behind; writing goes on
            }
          }
        }
      }
      int before = acknowledged.size();
      await().atMost(Trio.DEADLINE).until(() -> acknowledged.size() > before + 100);
      going.set(false);
      for (var thread : threads) assertThat(thread.join(Trio.DEADLINE)).as("seed %d", seed).isTrue();

      trio.apply(new Put("end", ""));
      for (var node : trio.nodes) {
        await().atMost(Trio.DEADLINE).until(() -> node.rows().contains("end="));
        var applied = new ArrayList<String>();
        for (var row : node.rows()) {
          if (row.startsWith("end")) continue;
          String writer = row.substring(0, row.indexOf('='));
          for (String number : row.substring(row.indexOf('=') + 1).split(",", 0)) applied.add(writer + ":" + number);
        }
        var once = new HashSet<>(applied);
        assertThat(applied).as("none twice, seed %d", seed).hasSize(once.size());
        assertThat(once).as("none lost, seed %d", seed).containsAll(acknowledged);
        assertThat(once).as("no command that was reported as not done was applied, seed %d", seed).doesNotContainAnyElementsOf(refused);
        assertThat(applied.size()).as("none invented, seed %d", seed).isLessThanOrEqualTo(acknowledged.size() + unknown.size());
      }
    }
  }

  private static void write(
      Trio trio, int writer, int n, List<String> acknowledged, List<String> refused, List<String> unknown) {
    var node = trio.nodes.stream().filter(each -> each.role() == ReplicaRole.LEADER).findFirst();
    if (node.isEmpty()) {
      Thread.onSpinWait();
      return;
    }
    String number = "w" + writer + ":" + n;
    try {
      Trio.propose(node.get(), new Append("w" + writer, n + ",")).get(Trio.DEADLINE.toSeconds(), TimeUnit.SECONDS);
      acknowledged.add(number);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof OutcomeUnknownException) unknown.add(number);
      else refused.add(number);
    } catch (IllegalStateException e) {
      refused.add(number); // the node was closed
    } catch (InterruptedException | TimeoutException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void leadershipMovesToTheRequestedVoter() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var from = trio.leader();
      var to = trio.followers().getFirst();
      var seen = new CopyOnWriteArrayList<Boolean>();
      to.range().onLeadership(seen::add);

      trio.letLead(to);

      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(seen).startsWith(false, true));
      await("while another one may be elected")
          .atMost(Trio.DEADLINE)
          .untilAsserted(
              () -> {
                if (trio.leader() != to) trio.letLead(to);
                assertThat(trio.leader()).isSameAs(to);
                assertThatThrownBy(() -> from.range().transferLeadership(from.id(), Trio.DEADLINE)).isInstanceOf(NotLeaderException.class);
                assertThatThrownBy(() -> to.range().remove(to.id(), Trio.DEADLINE)).hasMessageContaining("it leads the range");
              });
    }
  }

  @Test
  void aNodeJoinsAndAnotherLeaves() {
    try (var trio = Trio.start(directory)) {
      for (int i = 0; i < 30; i++) trio.apply(new Put("key" + i, ""));
      var fourth = trio.newNode().startEmpty();

      fourth.join(trio.members());
      assertThat(fourth.role()).isEqualTo(ReplicaRole.OUTSIDE);
      trio.add(fourth.store().member());
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(fourth.rows()).hasSize(30));
      await("while another one may be elected")
          .atMost(Trio.DEADLINE)
          .untilAsserted(
              () -> assertThatThrownBy(() -> trio.leader().range().add(fourth.store().member(), Trio.DEADLINE)).hasMessageContaining("it has a replica already"));
      await().atMost(Trio.DEADLINE).until(() -> fourth.role() == ReplicaRole.FOLLOWER);
      var leaving = trio.followers().stream().filter(node -> node != fourth).findFirst().orElseThrow();
      // In a cluster, a node that has missed its removal is told when it asks for votes: it is no peer any more, but a node of the cluster.
      for (var node : trio.nodes) node.store().members(id -> id.equals(leaving.id()) ? Optional.of("127.0.0.1") : Optional.empty());
      trio.remove(leaving.id());
      var fatal = new CopyOnWriteArrayList<StoreException>();
      leaving.store().onFatal(fatal::add);
      await()
          .atMost(Trio.DEADLINE)
          .untilAsserted(
              () ->
                  assertThat(Trio.propose(leaving, new Put("a", "")))
                      .failsWithin(Trio.DEADLINE)
                      .withThrowableThat()
                      .withMessageContaining("has no replica on this node any more"));
      assertThat(leaving.role()).isEqualTo(ReplicaRole.OUTSIDE);
      leaving.store().dropReplica(Trio.RANGE, Trio.DEADLINE);
      assertThat(fatal).as("removal is no failure").isEmpty();

      assertThat(trio.leader().range().status().peers())
          .hasSize(3)
          .extracting(peer -> peer.member().node())
          .contains(fourth.id())
          .doesNotContain(leaving.id());
      assertThat(leaving.data.resolve("ranges").resolve(Trio.RANGE.uuid().toString())).doesNotExist();
      assertThat(leaving.store().stored()).isEmpty();
      leaving.replica = null;
      trio.letLead(fourth);
      trio.apply(new Put("late", ""));
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(fourth.rows()).hasSize(31));

      // and again, on the same node
      leaving.join(trio.members());
      trio.add(leaving.store().member());
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(leaving.rows()).hasSize(31));
    }
  }

  /** Nothing that is based on the configuration before can take effect any more. */
  @Test
  void theSamePeersMakeANewConfiguration() {
    try (var trio = Trio.start(directory)) {
      for (int i = 0; i < 3; i++) {
        await("while another one may be elected")
            .atMost(Trio.DEADLINE)
            .ignoreExceptionsInstanceOf(StoreException.class)
            .untilAsserted(() -> theSamePeersMakeANewConfiguration(trio, trio.leader().range()));
      }
      assertThat(trio.leader().range().status().peers()).hasSize(3);
    }
  }

  private static void theSamePeersMakeANewConfiguration(Trio trio, Replica<Command, String> leader) {
    long before = leader.status().configuration();
    assertThat(before).isNotNegative();

    leader.changePeers(before, trio.members(), Trio.DEADLINE);

    await().atMost(Trio.DEADLINE).until(() -> leader.status().configuration() > before);
    assertThatThrownBy(() -> leader.changePeers(before, trio.members(), Trio.DEADLINE)).isInstanceOf(OutdatedException.class);
  }

  @Test
  void aNodeThatIsDeadIsNotAddedBeforeItIsBack() {
    try (var trio = Trio.start(directory)) {
      var leader = leaderAlone(trio);
      var dying = joiningOne(trio, leader);
      var member = dying.store().member();
      dying.close();

      assertThatThrownBy(() -> leader.range().add(member, ADDING_MAX)).isInstanceOf(StoreException.class);
      trio.apply(new Put("b", "2"));
      assertThat(leader.range().status().peers()).hasSize(1);

      dying.restart();
      added(trio, member);
      await().atMost(Trio.DEADLINE).until(() -> dying.role() == ReplicaRole.FOLLOWER);
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(dying.rows()).hasSize(2));
    }
  }

  /** When it dies in the middle of the change, the leader reaches no majority, and one has to be elected once it is back. */
  @Test
  void aRangeKeepsOrFindsItsLeaderWhenANodeDiesWhileItIsAdded() {
    try (var trio = Trio.start(directory)) {
      var leader = leaderAlone(trio);
      var dying = joiningOne(trio, leader);
      var member = dying.store().member();
      var adding = CompletableFuture.runAsync(() -> leader.range().add(member, ADDING_MAX), Thread::startVirtualThread);
      dying.close();
      await().atMost(Trio.DEADLINE).until(adding::isDone);

      dying.restart();
      added(trio, member);
      trio.apply(new Put("b", "2"));
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(dying.rows()).hasSize(2));
    }
  }

  private static Trio.Node leaderAlone(Trio trio) {
    var leader = trio.leader();
    for (var other : trio.nodes) {
      if (other == leader) continue;
      trio.remove(other.id());
      other.store().dropReplica(Trio.RANGE, Trio.DEADLINE);
      other.replica = null;
    }
    return leader;
  }

  /** A node that has made its replica and that no leader has added yet; the range has a row. */
  private static Trio.Node joiningOne(Trio trio, Trio.Node leader) {
    var joining = trio.nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
    joining.join(List.of(leader.store().member()));
    trio.apply(new Put("a", "1"));
    return joining;
  }

  /** Adds a node, unless an earlier call is still doing so. */
  private static void added(Trio trio, Member member) {
    await()
        .atMost(Trio.DEADLINE)
        .ignoreExceptions()
        .until(
            () -> {
              var range = trio.leader().range();
              if (range.status().peer(member.node()).isEmpty()) range.add(member, ADDING_MAX);
              return range.status().peer(member.node()).isPresent();
            });
  }

  @Test
  void aDropThatTimedOutCanBeRepeated() {
    try (var trio = Trio.start(directory)) {
      var leaving = trio.followers().getFirst();
      trio.remove(leaving.id());

      await().atMost(Trio.DEADLINE).until(() -> dropsWithin(leaving, Duration.ofMillis(1)));

      assertThat(leaving.data.resolve("ranges").resolve(Trio.RANGE.uuid().toString())).doesNotExist();
      assertThat(leaving.data.resolve("raft").resolve(Trio.RANGE.uuid().toString())).doesNotExist();
      assertThat(leaving.store().stored()).isEmpty();
      leaving.replica = null;
    }
  }

  private static boolean dropsWithin(Trio.Node node, Duration deadline) {
    try {
      node.store().dropReplica(Trio.RANGE, deadline);
      return true;
    } catch (StoreException e) {
      return false;
    }
  }

  /** gRPC's backoff would leave a node that is back without any call for up to two minutes. */
  @Test
  void anUnreachablePeerIsRetriedAllTheTime() throws Exception {
    try (var trio = Trio.start(directory)) {
      var away = trio.followers().getFirst();
      var leader = trio.leader();
      away.close();
      leader.close(); // the remaining one asks for votes again and again
      try (var place = new ServerSocket(away.port, 50, InetAddress.getLoopbackAddress())) {
        for (int i = 0; i < 20; i++) {
          place.setSoTimeout((int) Trio.DEADLINE.dividedBy(12).toMillis());
          place.accept().close();
        }
      }
    }
  }

  /** The maintenance looks at all replicas all the time; it must not take a slow creation for a replica that Ratis has lost. */
  @Test
  void aCreationMayTakeLong() {
    var slow = new HeldLogic();
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var fourth = trio.newNode().startEmpty();
      var fatal = new CopyOnWriteArrayList<StoreException>();
      fourth.store().onFatal(fatal::add);
      var creation =
          CompletableFuture.supplyAsync(
              () -> fourth.store().createReplica(Trio.RANGE, trio.members(), true, Command.CODEC, slow, Trio.DEADLINE),
              Thread::startVirtualThread);
      await().during(Duration.ofSeconds(2)).atMost(Trio.DEADLINE).until(fatal::isEmpty);
      assertThat(creation).isNotDone();

      slow.mayOpen.countDown();
      assertThat(creation).succeedsWithin(Trio.DEADLINE);
      trio.add(fourth.store().member());
      assertThat(fatal).isEmpty();
    }
  }

  @Test
  void aFailedCreationLeavesNothingOrANoteThatItMayHaveVoted() {
    RangeLogic<Command, String> broken =
        new RangeLogic<>() {
          @Override
          public void open(RangeReader state) {
            throw new IllegalStateException("cannot be opened");
          }

          @Override
          public List<String> apply(List<Command> commands, RangeWriter out) {
            throw new AssertionError("never opened");
          }
        };
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var fourth = trio.newNode().startEmpty();
      var voters = new ArrayList<>(trio.members());

      assertThatThrownBy(() -> fourth.store().createReplica(Trio.RANGE, voters, true, Command.CODEC, broken, Trio.DEADLINE))
          .hasStackTraceContaining("cannot be opened");
      assertThat(fourth.store().stored()).isEmpty();
      assertThatThrownBy(() -> fourth.store().createReplica(Trio.RANGE, voters, false, Command.CODEC, broken, Trio.DEADLINE))
          .hasStackTraceContaining("cannot be opened");
      assertThat(fourth.store().stored()).containsExactly(Trio.RANGE.uuid());
      assertThatThrownBy(
              () -> fourth.store().createReplica(Trio.RANGE, voters, false, Command.CODEC, new Command.Logic(), Trio.DEADLINE))
          .hasMessageContaining("had a replica here that may have voted");

      fourth.join(trio.members());
      trio.add(fourth.store().member());
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(fourth.rows()).containsExactly("a=1"));
    }
  }

  @Test
  void aNodeThatLostItsDiskIsAnotherNode() throws Exception {
    try (var trio = Trio.start(directory)) {
      for (int i = 0; i < 30; i++) trio.apply(new Put("key" + i, ""));
      var lost = trio.followers().getFirst();
      var formerly = lost.id();
      lost.close();
      GroupStorage.deleteTree(lost.data);

      lost.startEmpty();
      assertThat(lost.id()).isNotEqualTo(formerly);
      trio.remove(formerly);
      lost.join(trio.members());
      trio.add(lost.store().member());

      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(lost.rows()).hasSize(30));
      assertThat(trio.leader().range().status().peers()).hasSize(3);
    }
  }

  @Test
  void aNodeWithALowDiskAcceptsNoCommandsAndTransfersTheLeadership() {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var low = trio.leader();

      low.diskFree = 1;
      await().atMost(Trio.DEADLINE).until(() -> low.meters.get("dunlin.store.disk.low").gauge().value() == 1);
      await().atMost(Trio.DEADLINE).until(() -> low.role() == ReplicaRole.FOLLOWER);
      trio.apply(new Put("b", "2"));
      await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(low.rows()).containsExactly("a=1", "b=2"));

      // Without room on any node, none can lead it, and the error says why.
      for (var node : trio.nodes) node.diskFree = 1;
      await().atMost(Trio.DEADLINE).until(() -> trio.nodes.stream().allMatch(node -> node.meters.get("dunlin.store.disk.low").gauge().value() == 1));
      await()
          .atMost(Trio.DEADLINE)
          .until(() -> Trio.propose(trio.leader(), new Put("c", "3")).handle((_, e) -> e instanceof LowDiskException).join());
      for (var node : trio.nodes) node.diskFree = Long.MAX_VALUE / 2;
      await()
          .atMost(Trio.DEADLINE)
          .until(() -> Trio.propose(trio.leader(), new Put("c", "3")).handle((_, e) -> e == null).join());
    }
  }

  @Test
  void anOpenClusterPortIsRefusedUnlessItIsAllowed() {
    var everywhere = ClusterSettings.at(FreePort.find(), "localhost", "0.0.0.0", new PeerSecurity.Plaintext(false));
    assertThatThrownBy(() -> OneRange.start(directory, StoreSettings.defaults().with(everywhere)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("would be open without TLS on 0.0.0.0")
        .hasMessageContaining("dunlin.cluster.plaintext");

    var allowed = ClusterSettings.at(everywhere.port(), "localhost", "0.0.0.0", new PeerSecurity.Plaintext(true));
    OneRange.start(directory, StoreSettings.defaults().with(allowed)).close();
  }

  @Test
  void anInterruptedDropIsCompletedAtTheNextOpening() throws Exception {
    OneRange.start(directory).close();
    Path rows = directory.resolve("ranges").resolve(Trio.RANGE.uuid().toString());
    Files.createFile(rows.resolveSibling(rows.getFileName() + ".dropped"));
    try (var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry())) {
      assertThat(store.stored()).isEmpty();
      store.start(Duration.ofSeconds(20));
      OneRange.close(store);
    }
    assertThat(rows).doesNotExist();
  }
}
