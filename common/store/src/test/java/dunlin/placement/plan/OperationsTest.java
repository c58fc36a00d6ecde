package dunlin.placement.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.Action;
import dunlin.placement.ClusterNode;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.MemoryRows;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult;
import dunlin.placement.PlacementTest;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Single decisions; the simulation tests how they work together. All are made about the nodes and reports of one fixture, so they are one long file. */
class OperationsTest {
  private static final Duration LEASE = Duration.ofSeconds(4);
  private static final UUID OPERATION = new UUID(5, 5);

  private final MemoryRows rows = new MemoryRows();
  private final Placement placement = new Placement(_ -> {});
  private final Map<Integer, List<Replica>> replicas = new TreeMap<>();
  private final Map<Integer, Duration> silent = new TreeMap<>();

  /** Which nodes do not answer a node. */
  private final Map<Integer, List<UUID>> unreached = new TreeMap<>();

  private Duration calm = LEASE;
  private Duration uptime = LEASE.multipliedBy(6);

  /** Of node 1. */
  private Duration leaderUptime = LEASE.multipliedBy(100);
  private final Map<UUID, Duration> ages = new TreeMap<>();

  @Test
  void aBusyRangeIsSplitByLoadAndALargeOneBySize() {
    var settings = new SplitSettings(1000, 500, 100, 2, 64);
    byte[] middle = {40};
    byte[] busiest = {90};

    assertThat(cut(load(999, 499, middle, busiest), settings)).isEmpty();
    assertThat(cut(load(1001, 0, middle, busiest), settings)).contains(middle);
    assertThat(cut(load(1001, 501, middle, busiest), settings)).contains(busiest);
    assertThat(cut(load(1001, 501, middle, null), settings)).contains(middle);
    assertThat(cut(load(99, 501, middle, busiest), settings)).as("too small").isEmpty();
    assertThat(cut(load(100, 501, middle, busiest), settings)).contains(busiest);
    assertThat(cut(load(1001, 501, new byte[0], null), settings)).as("nothing would be below").isEmpty();
    assertThat(cut(load(1001, 0, new byte[9000], null), settings).orElseThrow()).hasSize(KeyInterval.BOUNDARY_BYTES_MAX);
    assertThat(cut(load(1L << 50, 1L << 50, middle, busiest), SplitSettings.never())).isEmpty();
  }

  private static Load load(long bytes, long operations, byte @Nullable [] middle, byte @Nullable [] busiest) {
    return new Load(bytes, 0, operations, middle, busiest, false);
  }

  private static Optional<byte[]> cut(Load load, SplitSettings settings) {
    return SplitChoice.choose(PlacementTest.range(1, 2, 3), load, settings).map(Operation.Split::cut);
  }

  @Test
  void aRangeIsSplitAutomaticallyOnlyWhenAllVotersAreHealthy() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    loaded(1, 1, large(false));

    assertThat(begun(splitting(2, 64))).containsExactly(splitOf(1));
    silent.put(3, LEASE);
    assertThat(begun(splitting(2, 64))).isEmpty();
  }

  @Test
  void measurementsFromBeforeASplitDoNotCauseAnother() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    loaded(1, 1, large(false));
    byte[] cut = {1, 8};
    apply(new Begin(OPERATION, new Split(id(1), 1, cut, new UUID(1, 99))));
    assertThat(begun(splitting(2, 64))).as("it is being split").isEmpty();
    var child = range(1, 1, 2, 3).upper(cut, new UUID(1, 99), new Origin(id(1), 1, 10));
    apply(new PlacementCommand.SplitDone(OPERATION, child, -1));

    assertThat(begun(splitting(2, 64))).isEmpty();
  }

  @Test
  void splitsAtATimeAreBounded() {
    cluster(3, 5);
    for (int range = 1; range <= 5; range++) {
      lead(range, 1, 1, 2, 3);
      loaded(range, 1, large(false));
    }

    assertThat(begun(splitting(2, 64))).containsExactly(splitOf(1), splitOf(2));
    apply(new Begin(OPERATION, splitOf(4)));
    assertThat(begun(splitting(2, 64))).containsExactly(splitOf(1));
    assertThat(begun(splitting(9, 6))).as("a node would have more replicas than it may").isEmpty();
    assertThat(begun(splitting(9, 7))).as("one of 5, one that comes, and one more").containsExactly(splitOf(1));
    assertThat(begun(splitting(0, 64))).isEmpty();
  }

  @Test
  void aRangeThatCannotBeSplitIsReportedAndNotTried() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    loaded(1, 1, large(true));

    var decision = new Operations(splitting(2, 64)).decide(placement.map(), observation());

    assertThat(decision.commands()).isEmpty();
    assertThat(decision.indivisible()).containsExactly(id(1));
  }

  @Test
  void allReplicasAreFlushedBeforeASplitAndAllMembersStartedAfterIt() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    for (int node = 1; node <= 3; node++) loaded(1, node, Load.unmeasured(node == 2 ? 5 : 11));
    var split = splitOf(1);
    apply(new Begin(OPERATION, split));
    assertThat(decide().actions())
        .containsExactly(new Action.FlushReplica(PlacementTest.id(1), id(1)), new Action.FlushReplica(PlacementTest.id(3), id(1)));
    for (int node = 1; node <= 3; node++) loaded(1, node, Load.NONE);
    assertThat(step()).isEqualTo(new Action.ProposeSplit(PlacementTest.id(1), split));

    var child = range(1, 1, 2, 3).upper(split.cut(), split.child(), new Origin(id(1), 1, 10));
    replica(1, at(range(1, 1, 2, 3).lower(split.cut()), Phase.RUNNING, true));
    for (int node = 1; node <= 3; node++) replica(node, at(child, Phase.STORED, false));
    assertThat(decide().actions()).containsExactlyElementsOf(starts(child, 1, 2, 3));
    replica(2, at(child, Phase.RUNNING, false));
    assertThat(decide().actions()).as("one is no majority").containsExactlyElementsOf(starts(child, 1, 3));
    replica(3, at(child, Phase.RUNNING, false));
    assertThat(decide().actions()).as("they elect one by themselves").containsExactlyElementsOf(starts(child, 1));
    replica(3, at(child, Phase.STORED, false));
    replica(1, at(child, Phase.RUNNING, false));
    var elect = new Action.Elect(PlacementTest.id(1), child.id());
    assertThat(decide().actions()).containsExactly(starts(child, 3).getFirst(), elect);
    replica(2, at(child, Phase.RUNNING, true));
    assertThat(decide().actions()).as("somebody leads").containsExactlyElementsOf(starts(child, 3));
  }

  @Test
  void aRangeThatIsWrittenFasterThanItIsFlushedIsStillSplit() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    for (int node = 1; node <= 3; node++) loaded(1, node, Load.unmeasured(11));
    var split = splitOf(1);
    apply(new Begin(OPERATION, split));
    ages.put(OPERATION, SplitSteps.FLUSHING_MAX.minusMillis(1));
    assertThat(decide().actions()).hasSize(3).allMatch(action -> action instanceof Action.FlushReplica);

    ages.put(OPERATION, SplitSteps.FLUSHING_MAX);

    assertThat(step()).isEqualTo(new Action.ProposeSplit(PlacementTest.id(1), split));
  }

  @Test
  void anotherMemberIsElectedWhenTheFirstLostItsElection() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    var split = splitOf(1);
    apply(new Begin(OPERATION, split));
    var child = range(1, 1, 2, 3).upper(split.cut(), split.child(), new Origin(id(1), 1, 10));
    replica(1, at(range(1, 1, 2, 3).lower(split.cut()), Phase.RUNNING, true));
    for (int node = 1; node <= 3; node++) replica(node, inTerm(0, child));
    assertThat(step()).isEqualTo(new Action.Elect(PlacementTest.id(1), child.id()));

    replica(1, inTerm(1, child));

    assertThat(step()).isEqualTo(new Action.Elect(PlacementTest.id(2), child.id()));
    replica(2, inTerm(1, child));
    assertThat(step()).isEqualTo(new Action.Elect(PlacementTest.id(3), child.id()));
    replica(3, inTerm(1, child));
    assertThat(step()).isEqualTo(new Action.Elect(PlacementTest.id(1), child.id()));
  }

  private static Replica inTerm(long term, RangeDescriptor range) {
    return new Replica(range, -1, NodeReport.ORIGINAL, Phase.RUNNING, false, term, 9, false, List.of(), Load.NONE);
  }

  private static List<Action> starts(RangeDescriptor range, int... nodes) {
    var starts = new ArrayList<Action>();
    for (int node : nodes) starts.add(new Action.StartReplica(PlacementTest.id(node), range.id()));
    return starts;
  }

  /** A replica; if its range is a child, no entry has confirmed its rows. */
  private static Replica at(RangeDescriptor range, Phase phase, boolean leads) {
    boolean based = range.origin().isEmpty();
    return new Replica(range, -1, NodeReport.ORIGINAL, phase, leads, 1, 9, based, List.of(), Load.NONE);
  }

  private static Load large(boolean indivisible) {
    return new Load(2000, 0, 0, indivisible ? null : new byte[] {1, 4}, null, indivisible);
  }

  private static Split splitOf(int number) {
    byte[] cut = {(byte) number, 4};
    return SplitChoice.at(range(number, 1, 2, 3), cut);
  }

  private static OperationSettings splitting(int atOnce, int replicas) {
    return new OperationSettings(10, 10, 9, 3, new SplitSettings(1000, 0, 0, atOnce, replicas), null, false);
  }

  /** A node repeats its last report of a replica, with this load. */
  private void loaded(int range, int node, Load load) {
    replicas.getOrDefault(node, List.of()).replaceAll(replica -> {
          if (!replica.range().id().equals(id(range))) return replica;
          var of = load.middle() == null ? load : new Load(load.bytes(), 0, 0, new byte[] {(byte) range, 4}, null, false);
          return new Replica(
              replica.range(), -1, NodeReport.ORIGINAL, Phase.RUNNING, replica.leads(), 1, 9, true, replica.followers(), of);
        });
  }

  @Test
  void askingForTheSameSplitTwiceMakesOneChild() {
    var range = PlacementTest.range(1, 2, 3);
    var split = SplitChoice.at(range, new byte[] {1});

    assertThat(SplitChoice.at(range, new byte[] {1}).child()).isEqualTo(split.child());
    assertThat(SplitChoice.at(range, new byte[] {2}).child()).isNotEqualTo(split.child());
    var later = SplitChoice.at(range.lower(new byte[] {9}), new byte[] {1});
    assertThat(later.child()).as("in the next epoch").isNotEqualTo(split.child());
    long kind = range.id().getMostSignificantBits() >>> 32;
    assertThat(split.child().getMostSignificantBits() >>> 32).isEqualTo(kind);
    assertThat(split.child().version()).isEqualTo(8);
    assertThat(split.child().variant()).isEqualTo(2);
  }

  @Test
  void replicasThatAreMadeAtOnceGoToDifferentNodes() {
    cluster(5, 2);
    silent.put(3, Duration.ofHours(1));
    apply(new MarkNode(PlacementTest.id(3), State.JOINED, State.SUSPECT));
    apply(new MarkNode(PlacementTest.id(3), State.SUSPECT, State.DOWN));
    for (int range = 1; range <= 2; range++) lead(range, range, 1, 2, 3);

    assertThat(begun(replacing(Duration.ofHours(1))))
        .containsExactly(
            new MoveReplica(id(1), PlacementTest.id(3), PlacementTest.id(4)), new MoveReplica(id(2), PlacementTest.id(3), PlacementTest.id(5)));
  }

  @Test
  void leadershipsAreSpreadUntilNoNodeHasTwoMoreThanAnother() {
    cluster(3, 6);
    for (int range = 1; range <= 6; range++) lead(range, 1, 1, 2, 3);

    int moves = 0;
    while (true) {
      var balance = NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults());
      if (balance.isEmpty()) break;
      lead((int) balance.get().of().getLeastSignificantBits(), node(balance.get().to()), 1, 2, 3);
      assertThat(++moves).isLessThan(10);
    }

    assertThat(leaders()).containsExactly(2L, 2L, 2L);
    assertThat(moves).as("none too many").isEqualTo(4);
  }

  @Test
  void noLeadershipMovesSoonAfterAChange() {
    cluster(3, 2);
    lead(1, 1, 1, 2, 3);
    lead(2, 1, 1, 2, 3);
    calm = LEASE.minusMillis(1);
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isEmpty();
    calm = LEASE;
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isPresent();
  }

  @Test
  void noLeadershipMovesToANodeThatWasJustStarted() {
    cluster(3, 2);
    lead(1, 1, 1, 2, 3);
    lead(2, 1, 1, 2, 3);
    uptime = LEASE.multipliedBy(6).minusMillis(1);
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isEmpty();
    uptime = LEASE.multipliedBy(6);
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isPresent();
  }

  @Test
  void inAClusterThatWasJustFoundedLeadershipsAreSpreadAtOnce() {
    cluster(3, 2);
    lead(1, 1, 1, 2, 3);
    lead(2, 1, 1, 2, 3);
    leaderUptime = Duration.ofSeconds(4);
    uptime = Duration.ofMillis(1_999);
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isEmpty();
    uptime = Duration.ofSeconds(2);
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isPresent();
  }

  @Test
  void noLeadershipGoesToALaggingOrSilentNode() {
    cluster(3, 2);
    lead(1, 1, 1, 2, 3);
    lead(2, 1, 1, 2, 3);
    for (int lag : new int[] {5_000, 51}) {
      lag(1, 1, lag);
      lag(2, 1, lag);
      assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults())).isEmpty();
    }
    lag(1, 1, 50);
    silent.put(2, LEASE);
    assertThat(NodeChoice.balance(placement.map(), observation(), OperationSettings.defaults()))
        .contains(new TransferLeadership(id(1), PlacementTest.id(3)));
  }

  @Test
  void aVoterThatHasYetToApplyWhatTheLeaderHasIsGivenNoLeadership() {
    cluster(3, 2);
    lead(1, 1, 1, 2, 3);
    lead(2, 1, 1, 2, 3);
    silent.put(2, LEASE);
    var settings = OperationSettings.defaults();
    var transfer = new TransferLeadership(id(1), PlacementTest.id(3));
    assertThat(NodeChoice.balance(placement.map(), observation(), settings)).contains(transfer);

    applied(1, range(1, 1, 2, 3), 9 + settings.appliedLagMax() + 1);
    applied(2, range(2, 1, 2, 3), 9 + settings.appliedLagMax() + 1);
    assertThat(NodeChoice.balance(placement.map(), observation(), settings)).as("thousands of entries").isEmpty();

    var before = range(1, 1, 2, 3);
    var split = new RangeDescriptor(before.id(), before.kind(), before.keys(), before.epoch() + 1, before.peers(), before.split());
    applied(1, split, 10);
    assertThat(NodeChoice.balance(placement.map(), observation(), settings)).as("a split").isEmpty();
    apply(new Begin(OPERATION, transfer));
    assertThat(decide().actions()).as("an operator's transfer waits").isEmpty();
    replica(3, new Replica(split, -1, NodeReport.ORIGINAL, Phase.RUNNING, false, 1, 10, true, List.of(), Load.NONE));
    assertThat(decide().actions()).hasSize(1);
  }

  /** It was begun just before a cut. A node that reaches both can lead the range only when nothing is being done with it. */
  @Test
  void aTransferToANodeThatTheLeaderDoesNotReachIsGivenUp() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    apply(new Begin(OPERATION, new TransferLeadership(id(1), PlacementTest.id(3))));
    unreached.put(2, List.of(PlacementTest.id(3)));
    assertThat(step()).as("another one does not reach it").isInstanceOf(Action.TransferLeadership.class);

    for (int node : List.of(1, 3)) {
      unreached.put(node, List.of(PlacementTest.id(4 - node)));
      assertThat(decide().commands()).contains(new PlacementCommand.Abandon(OPERATION));
      assertThat(decide().actions()).isEmpty();
      unreached.remove(node);
    }
  }

  /** A new leader of the meta group has heard of no node. */
  @Test
  void aTransferWaitsForTheFirstReportOfItsTarget() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    var reported = replicas.getOrDefault(3, List.of());
    replicas.remove(3);
    apply(new Begin(OPERATION, new TransferLeadership(id(1), PlacementTest.id(3))));
    assertThat(waits()).isEqualTo("node %s has not reported".formatted(PlacementTest.id(3)));
    assertThat(decide().commands()).isEmpty();

    replicas.put(3, reported);
    assertThat(step()).isInstanceOf(Action.TransferLeadership.class);

    apply(new MarkNode(PlacementTest.id(3), State.JOINED, State.SUSPECT));
    assertThat(decide().commands()).contains(new PlacementCommand.Abandon(OPERATION));
  }

  /** The leader of a range, which is node 1, has these rows; all others have its log. */
  private void applied(int number, RangeDescriptor range, long index) {
    var followers = List.of(new Follower(PlacementTest.id(2), 0), new Follower(PlacementTest.id(3), 0));
    replicas.getOrDefault(1, List.of()).replaceAll(
        replica -> replica.range().id().equals(id(number)) ? new Replica(range, -1, NodeReport.ORIGINAL, Phase.RUNNING, true, 1, index, true, followers, Load.NONE) : replica);
  }

  @Test
  void aDeadNodeIsReplacedAfterTheConfiguredTimeAndNotBefore() {
    cluster(4, 1);
    lead(1, 1, 1, 2, 3);
    apply(new MarkNode(PlacementTest.id(3), State.JOINED, State.SUSPECT));
    apply(new MarkNode(PlacementTest.id(3), State.SUSPECT, State.DOWN));
    replicas.remove(3);
    silent.put(3, Duration.ofMinutes(9));

    assertThat(begun(OperationSettings.defaults())).as("off by default").isEmpty();
    assertThat(begun(replacing(Duration.ofMinutes(10)))).isEmpty();
    silent.put(3, Duration.ofMinutes(10));
    assertThat(begun(replacing(Duration.ofMinutes(10))))
        .containsExactly(new MoveReplica(id(1), PlacementTest.id(3), PlacementTest.id(4)));
  }

  @Test
  void aLostReplicaIsReplacedOnTheSameNode() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    replicas.put(2, new ArrayList<>());

    assertThat(begun(OperationSettings.defaults())).containsExactly(new ReplaceReplica(id(1), PlacementTest.id(2)));
    silent.put(2, LEASE);
    assertThat(begun(OperationSettings.defaults())).as("its report is too old to say that").isEmpty();
  }

  @Test
  void aRangeGetsMoreReplicasInOtherZonesFirst() {
    cluster(1, 0);
    apply(new PlaceRange(range(1, 1)));
    lead(1, 1, 1);
    assertThat(begun(OperationSettings.defaults())).isEmpty();
    apply(new RegisterNode(ClusterNode.joining(PlacementTest.id(2), "n2", Map.of(), Set.of("routes"), "r", "z1")));
    apply(new RegisterNode(PlacementTest.node(3)));
    replicas.put(2, new ArrayList<>());
    replicas.put(3, new ArrayList<>());

    assertThat(begun(OperationSettings.defaults())).containsExactly(new AddReplica(id(1), PlacementTest.id(3)));
  }

  @Test
  void automaticOperationsAreBounded() {
    cluster(3, 9);
    for (int range = 1; range <= 9; range++) lead(range, 1, 1, 2, 3);
    replicas.put(2, new ArrayList<>());

    assertThat(begun(OperationSettings.defaults())).hasSize(4);
  }

  @Test
  void eachStepOfAMoveFollowsFromTheReports() {
    cluster(4, 1);
    lead(1, 1, 1, 2, 3);
    var from = PlacementTest.id(1);
    var to = PlacementTest.id(4);
    apply(new Begin(OPERATION, new MoveReplica(id(1), from, to)));
    assertThat(step()).isInstanceOfSatisfying(Action.CreateReplica.class, create -> assertThat(create.node()).isEqualTo(to));

    created(4, OPERATION, false);
    adding(-1);
    assertThat(step()).isEqualTo(change(-1, voters(1, 2, 3), voters(1, 2, 3, 4)));
    configured(1, 6, voters(1, 2, 3, 4), 10);
    assertThat(waits()).contains("catches up");
    created(4, OPERATION, true);
    assertThat(step()).isEqualTo(new Action.TransferLeadership(from, id(1), PlacementTest.id(2)));
    lead(1, 2, 1, 2, 3, 4);
    created(4, OPERATION, true);
    configured(2, 6, voters(1, 2, 3, 4), 10);
    assertThat(step())
        .isEqualTo(new Action.ChangePeers(PlacementTest.id(2), id(1), 6, voters(1, 2, 3, 4), voters(2, 3, 4)));
    configured(2, 7, voters(2, 3, 4), 10);
    assertThat(step()).isEqualTo(new Action.DropReplica(from, id(1), NodeReport.ORIGINAL));
    replicas.put(1, new ArrayList<>());
    assertThat(waits()).as("the end comes after the map has it").contains("the map learns");
    apply(new PlacementCommand.PeersChanged(id(1), 1, 7, voters(2, 3, 4)));
    assertThat(decide().commands()).contains(new PlacementCommand.Finish(OPERATION));
  }

  /** It was lost, and a late call has created an empty one, which has forgotten what the lost one voted for. */
  @Test
  void aReplicaThatTookThePlaceOfALostOneIsRemovedFirst() {
    cluster(4, 1);
    lead(1, 1, 1, 2, 3);
    var to = PlacementTest.id(4);
    apply(new Begin(OPERATION, new MoveReplica(id(1), PlacementTest.id(2), to)));
    var another = new UUID(6, 6);

    configured(1, 6, voters(1, 2, 3, 4), 10);
    created(4, another, true);
    assertThat(step()).isEqualTo(change(6, voters(1, 2, 3, 4), voters(1, 2, 3)));
    configured(1, 7, voters(1, 2, 3), 10);
    assertThat(step()).isEqualTo(new Action.DropReplica(to, id(1), another));
    replicas.put(4, new ArrayList<>());
    assertThat(step()).isInstanceOfSatisfying(Action.CreateReplica.class, create -> assertThat(create.creation()).isEqualTo(OPERATION));
    configured(1, 8, voters(1, 2, 3, 4), 10);
    assertThat(step()).as("it has been lost again").isEqualTo(change(8, voters(1, 2, 3, 4), voters(1, 2, 3)));
  }

  @Test
  void aReplicaIsMadeAnewWhereItWasLost() {
    cluster(3, 1);
    lead(1, 1, 1, 2, 3);
    var node = PlacementTest.id(2);
    apply(new Begin(OPERATION, new ReplaceReplica(id(1), node)));
    replicas.put(2, new ArrayList<>());
    assertThat(step()).isEqualTo(change(-1, voters(1, 2, 3), voters(1, 3)));

    configured(1, 5, voters(1, 3), 10);
    assertThat(step()).isInstanceOf(Action.CreateReplica.class);
    created(2, new UUID(6, 6), false);
    assertThat(step()).isEqualTo(new Action.DropReplica(node, id(1), new UUID(6, 6)));
    created(2, OPERATION, false);
    adding(5);
    assertThat(step()).isEqualTo(change(5, voters(1, 3), voters(1, 3, 2)));
    configured(1, 6, voters(1, 3, 2), 10);
    assertThat(waits()).contains("catches up");
    created(2, OPERATION, true);
    apply(new PlacementCommand.PeersChanged(id(1), 1, 6, voters(1, 3, 2)));
    assertThat(decide().commands()).contains(new PlacementCommand.Finish(OPERATION));
  }

  @Test
  void reportsOlderThanTheMapAreIgnored() {
    cluster(4, 1);
    lead(1, 1, 1, 2, 3);
    report(4, 1, OPERATION, false, -1, voters(1, 2, 3));
    assertThat(decide().actions()).as("no operation needs it").hasSize(1);

    apply(new PlacementCommand.PeersChanged(id(1), 1, 6, voters(1, 2, 3, 4)));

    assertThat(decide().actions()).isEmpty();
  }

  /** It got a replica of the parent after the child had moved on, and has applied the split since. */
  @Test
  void rowsThatASplitHasLeftOnANodeWithoutAPartInTheChildAreRemoved() {
    cluster(4, 1);
    lead(1, 1, 1, 2, 3);
    var node = PlacementTest.id(4);
    replica(4, at(range(1, 1, 2, 3), Phase.STORED, false));
    assertThat(decide().actions()).as("a node has one pending action for a range").containsExactly(new Action.DropReplica(node, id(1), NodeReport.ORIGINAL));

    apply(new Begin(OPERATION, new MoveReplica(id(1), PlacementTest.id(2), node)));
    assertThat(step()).as("before it gets a replica").isEqualTo(new Action.DropReplica(node, id(1), NodeReport.ORIGINAL));
  }

  /** The change that adds it may take effect late, so the range gets another configuration first. */
  @Test
  void anOperationIsAbandonedOnlyWhenItsReplicaIsSurelyNotAdded() {
    cluster(4, 1);
    lead(1, 1, 1, 2, 3);
    apply(new Begin(OPERATION, new AddReplica(id(1), PlacementTest.id(4))));
    created(4, OPERATION, false);
    configured(1, 5, voters(1, 2, 3), 0);
    apply(new PlacementCommand.PeersChanged(id(1), 1, 5, voters(1, 2, 3)));
    adding(5);
    apply(new PlacementCommand.Cancel(OPERATION));

    assertThat(step()).isEqualTo(change(5, voters(1, 2, 3), voters(1, 2, 3)));
    configured(1, 6, voters(1, 2, 3), 0);
    apply(new PlacementCommand.PeersChanged(id(1), 1, 6, voters(1, 2, 3)));
    assertThat(decide().commands()).contains(new PlacementCommand.Abandon(OPERATION));
  }

  /** The meta group's log says that a replica is about to be added. */
  private void adding(long configuration) {
    var adding = new PlacementCommand.Adding(OPERATION, configuration);
    assertThat(decide().actions()).isEmpty();
    assertThat(decide().commands()).contains(adding);
    apply(adding);
  }

  private Operations.Decision decide() {
    return new Operations(replacing(Duration.ofHours(1))).decide(placement.map(), observation());
  }

  private Action step() {
    assertThat(decide().actions()).hasSize(1);
    return decide().actions().getFirst();
  }

  private String waits() {
    assertThat(decide().actions()).isEmpty();
    return decide().waiting().getOrDefault(OPERATION, "nothing");
  }

  private static Action change(long configuration, List<UUID> expected, List<UUID> wanted) {
    return new Action.ChangePeers(PlacementTest.id(1), id(1), configuration, expected, wanted);
  }

  private static List<UUID> voters(int... nodes) {
    var peers = new ArrayList<UUID>();
    for (int node : nodes) peers.add(PlacementTest.id(node));
    return peers;
  }

  /** The leader of range 1 reports this configuration, with this lag of all others. */
  private void configured(int leader, long configuration, List<UUID> peers, long lag) {
    var followers =
        peers.stream()
            .filter(peer -> !peer.equals(PlacementTest.id(leader)))
            .map(peer -> new Follower(peer, lag))
            .toList();
    var range = range(1, 1).withPeers(peers);
    replica(
        leader,
        new Replica(range, configuration, NodeReport.ORIGINAL, Phase.RUNNING, true, 2, 9, true, followers, Load.NONE));
  }

  /** A node reports a replica of range 1 that an action has had created. */
  private void created(int node, UUID creation, boolean based) {
    replica(
        node,
        new Replica(
            range(1, 1, 2, 3), -1, creation, Phase.RUNNING, false, 2, based ? 9 : -1, based, List.of(), Load.NONE));
  }

  private void report(int node, int range, UUID creation, boolean leads, long configuration, List<UUID> peers) {
    replica(
        node,
        new Replica(
            range(range, 1).withPeers(peers), configuration, creation, Phase.RUNNING, leads, 1, 9, true, List.of(), Load.NONE));
  }

  private void replica(int node, Replica replica) {
    var of = replicas.computeIfAbsent(node, _ -> new ArrayList<>());
    of.removeIf(other -> other.range().id().equals(replica.range().id()));
    of.add(replica);
  }

  private List<Operation> begun(OperationSettings settings) {
    return new Operations(settings)
        .decide(placement.map(), observation()).commands().stream()
            .filter(Begin.class::isInstance)
            .map(command -> ((Begin) command).operation())
            .toList();
  }

  private static OperationSettings replacing(Duration after) {
    return new OperationSettings(1000, 10, 4, 3, SplitSettings.never(), after, false);
  }

  private void cluster(int nodes, int ranges) {
    apply(new FoundCluster(new UUID(7, 7)));
    for (int i = 1; i <= nodes; i++) {
      apply(new RegisterNode(PlacementTest.node(i)));
      replicas.put(i, new ArrayList<>());
    }
    for (int i = 1; i <= ranges; i++) apply(new PlaceRange(range(i, 1, 2, 3)));
  }

  /** Makes a node the leader of a range, by reports of all its nodes. */
  private void lead(int range, int leader, int... nodes) {
    for (int node : nodes) {
      var of = replicas.computeIfAbsent(node, _ -> new ArrayList<>());
      of.removeIf(replica -> replica.range().id().equals(id(range)));
      var followers = new ArrayList<Follower>();
      for (int other : nodes) if (node == leader && other != leader) followers.add(new Follower(PlacementTest.id(other), 0));
      of.add(
          new Replica(
              range(range, nodes), -1, NodeReport.ORIGINAL, Phase.RUNNING, node == leader, 1, 9, true, followers, Load.NONE));
    }
  }

  /** Lets all followers of a range lag. */
  private void lag(int range, int leader, long lag) {
    var of = replicas.getOrDefault(leader, List.of());
    of.replaceAll(
        replica ->
            !replica.range().id().equals(id(range))
                ? replica
                : new Replica(
                    replica.range(), -1, NodeReport.ORIGINAL, Phase.RUNNING, true, 1, 9, true,
                    replica.followers().stream().map(follower -> new Follower(follower.node(), lag)).toList(), Load.NONE));
  }

  private List<Long> leaders() {
    return replicas.values().stream().map(of -> of.stream().filter(Replica::leads).count()).toList();
  }

  private ClusterObservation observation() {
    var reports = new TreeMap<UUID, NodeReport>();
    var silences = new TreeMap<UUID, Duration>();
    replicas.forEach((node, of) -> reports.put(PlacementTest.id(node), new NodeReport(PlacementTest.id(node), 1, 1, 1, of, unreached.getOrDefault(node, List.of()))));
    var uptimes = new TreeMap<UUID, Duration>();
    for (var node : placement.map().nodes().keySet()) {
      silences.put(node, silent.getOrDefault(node(node), Duration.ZERO));
      uptimes.put(node, node(node) == 1 ? leaderUptime : uptime);
    }
    return new ClusterObservation(reports, silences, uptimes, new TreeMap<>(ages), calm, LEASE);
  }

  private void apply(PlacementCommand command) {
    assertThat(placement.apply(List.of(command), rows).getFirst()).isInstanceOf(PlacementResult.Accepted.class);
  }

  private static int node(UUID id) {
    return (int) id.getLeastSignificantBits();
  }

  private static UUID id(int range) {
    return new UUID(1, range);
  }

  private static RangeDescriptor range(int number, int... nodes) {
    var peers = new ArrayList<UUID>();
    for (int node : nodes) peers.add(PlacementTest.id(node));
    byte[] start = {(byte) number};
    byte[] end = {(byte) (number + 1)};
    return new RangeDescriptor(id(number), "routes", KeyInterval.between(start, end), 1, peers, null);
  }
}
