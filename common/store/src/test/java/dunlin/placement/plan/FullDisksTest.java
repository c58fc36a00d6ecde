package dunlin.placement.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.Action;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.MemoryRows;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.OperationRules;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.Adding;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.PeersChanged;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult;
import dunlin.placement.PlacementTest;
import dunlin.store.RangeDescriptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Decisions about nodes whose disks have no room. There is one range, led by node 1. */
class FullDisksTest {
  private static final Duration LEASE = Duration.ofSeconds(4);
  private static final UUID OPERATION = new UUID(5, 5);
  private static final UUID RANGE = PlacementTest.range(1).id();

  private final MemoryRows rows = new MemoryRows();
  private final Placement placement = new Placement(_ -> {});
  private final Map<Integer, Replica> replicas = new TreeMap<>();
  private long configuration = -1;

  /** By the leader. */
  private List<UUID> unreached = List.of();

  @Test
  void aReplicaIsPlacedOnANodeWithRoomOrNotAtAll() {
    cluster(4, 1, 2);
    assertThat(begun()).containsExactly(new AddReplica(RANGE, id(3)));
    disk(3, Disk.SHORT);
    assertThat(begun()).containsExactly(new AddReplica(RANGE, id(4)));
    disk(4, Disk.LOW);
    assertThat(begun()).isEmpty();
    disk(3, Disk.ENOUGH);
    assertThat(begun()).containsExactly(new AddReplica(RANGE, id(3)));
  }

  @Test
  void aDrainWaitsForRoomAndSaysSo() {
    cluster(4, 1, 2, 3);
    apply(new Begin(OPERATION, new DrainNode(id(2))));
    disk(4, Disk.SHORT);

    assertThat(decide().waiting().get(OPERATION)).isEqualTo("1 replicas are moving or have no place to go; none is placed on nodes whose disks have no room: [%s]", id(4));
    assertThat(begun()).isEmpty();
    disk(4, Disk.ENOUGH);
    assertThat(begun()).containsExactly(new MoveReplica(RANGE, id(2), id(4)));
  }

  @Test
  void aMoveToANodeThatTurnsOutToHaveNoRoomIsUndone() {
    for (var full : List.of(Disk.SHORT, Disk.LOW)) {
      cluster(4, 1, 2, 3);
      apply(new Begin(OPERATION, new MoveReplica(RANGE, id(2), id(4))));
      created(4, false);
      apply(new Adding(OPERATION, configuration));
      disk(4, full);
      assertThat(actions()).as("its vote may come late, so the range gets another configuration").containsExactly(change(List.of(1, 2, 3), 1, 2, 3));

      configured(1, 2, 3, 4); // it came before
      created(4, false);
      assertThat(actions()).containsExactly(change(List.of(1, 2, 3, 4), 1, 2, 3));
      configured(1, 2, 3);
      assertThat(decide().commands()).contains(new Abandon(OPERATION));
      apply(new Abandon(OPERATION));
      assertThat(actions()).containsExactly(new Action.DropReplica(id(4), RANGE, OPERATION));
      replicas.remove(4);
      disk(4, Disk.ENOUGH);
    }
  }

  @Test
  void aReplicaThatHasItsRowsStaysWhenTheDiskBecomesFull() {
    cluster(4, 1, 2, 3);
    apply(new Begin(OPERATION, new MoveReplica(RANGE, id(2), id(4))));
    apply(new Adding(OPERATION, configuration));
    configured(1, 2, 3, 4);
    created(4, true);
    disk(4, Disk.LOW);

    assertThat(actions()).containsExactly(change(List.of(1, 2, 3, 4), 1, 3, 4));
  }

  /** Only a voter with room may take its place: until then it counts as one that has lost its rows. */
  @Test
  void aVoterWithoutRoomForItsRowsBlocksNoOtherOperation() {
    cluster(3, 1, 2);
    apply(new Begin(OPERATION, new AddReplica(RANGE, id(3))));
    apply(new Adding(OPERATION, configuration));
    configured(1, 2, 3);
    created(3, false);
    assertThat(decide().waiting().get(OPERATION)).contains("catches up");

    disk(3, Disk.SHORT);
    assertThat(decide().commands()).contains(new Abandon(OPERATION));
    apply(new Abandon(OPERATION));
    assertThat(begun()).as("there is no other node").isEmpty();
    apply(new RegisterNode(PlacementTest.node(4)));
    assertThat(begun()).containsExactly(new MoveReplica(RANGE, id(3), id(4)));
    disk(3, Disk.ENOUGH);
    assertThat(begun()).as("it has room again").containsExactly(new ReplaceReplica(RANGE, id(3)));
  }

  @Test
  void aLostReplicaIsNotMadeAnewWithoutRoom() {
    cluster(3, 1, 2, 3);
    replicas.remove(2);
    assertThat(begun()).containsExactly(new ReplaceReplica(RANGE, id(2)));
    disk(2, Disk.LOW);
    assertThat(begun()).isEmpty();

    apply(new Begin(OPERATION, new ReplaceReplica(RANGE, id(2))));
    assertThat(decide().commands()).contains(new Abandon(OPERATION));
    configured(1, 3);
    assertThat(decide().commands()).as("after its old vote is gone").contains(new Abandon(OPERATION));
    disk(2, Disk.ENOUGH);
    assertThat(actions()).hasSize(1).first().isInstanceOf(Action.CreateReplica.class);
  }

  @Test
  void aNodeWhoseDiskIsNearlyFullGetsNoLeadership() {
    cluster(4, 1, 2, 3);
    disk(2, Disk.LOW);
    apply(new Begin(OPERATION, new TransferLeadership(RANGE, id(2))));
    assertThat(decide().commands()).contains(new Abandon(OPERATION));
    apply(new Abandon(OPERATION));

    disk(2, Disk.SHORT);
    apply(new Begin(OPERATION, new TransferLeadership(RANGE, id(2))));
    assertThat(actions()).as("for commands it has room").containsExactly(new Action.TransferLeadership(id(1), RANGE, id(2)));
    apply(new Abandon(OPERATION));

    disk(2, Disk.LOW);
    apply(new Begin(OPERATION, new MoveReplica(RANGE, id(1), id(4))));
    apply(new Adding(OPERATION, configuration));
    configured(1, 2, 3, 4);
    created(4, true);
    assertThat(actions()).containsExactly(new Action.TransferLeadership(id(1), RANGE, id(3)));
    disk(3, Disk.LOW);
    disk(4, Disk.LOW);
    assertThat(decide().waiting().get(OPERATION)).isEqualTo("no other node can take the leadership from node %s: there are disks that are nearly full", id(1));
  }

  @Test
  void theLeadershipLeavesANodeWhoseDiskIsNearlyFull() {
    cluster(3, 1, 2, 3);
    assertThat(begun()).isEmpty();
    disk(1, Disk.SHORT);
    assertThat(begun()).as("for commands it has room").isEmpty();
    disk(1, Disk.LOW);
    assertThat(begun()).containsExactly(new TransferLeadership(RANGE, id(2)));
    disk(2, Disk.LOW);
    assertThat(begun()).containsExactly(new TransferLeadership(RANGE, id(3)));
    disk(3, Disk.LOW);
    assertThat(begun()).as("no other has room either").isEmpty();
    unreached = List.of(id(2));
    assertThat(begun()).as("leaders must reach each other, full or not").containsExactly(new TransferLeadership(RANGE, id(3)));
    apply(new Begin(OPERATION, new TransferLeadership(RANGE, id(3))));
    assertThat(actions()).containsExactly(new Action.TransferLeadership(id(1), RANGE, id(3)));
    apply(new Abandon(OPERATION));
    disk(1, Disk.ENOUGH);
    assertThat(begun()).as("from a disk with room to a full one").isEmpty();
  }

  @Test
  void whatADiskHasNoRoomForIsNotProposed() {
    cluster(4, 1, 2, 3);
    var transfer = new TransferLeadership(RANGE, id(2));
    var replace = new ReplaceReplica(RANGE, id(2));
    for (var operation : List.of(transfer, replace, new DrainNode(id(1)))) assertThat(refusal(operation)).isNull();

    disk(2, Disk.SHORT);
    assertThat(refusal(transfer)).isNull();
    assertThat(refusal(replace)).isEqualTo("node %s cannot take a replica now, since its disk has no room for the rows of a replica", id(2));
    disk(2, Disk.LOW);
    assertThat(refusal(transfer)).isEqualTo("node %s cannot lead now, since its disk is nearly full", id(2));
    assertThat(refusal(replace)).isEqualTo("node %s cannot take a replica now, since its disk is nearly full", id(2));
    assertThat(placement.apply(List.of(new Begin(OPERATION, transfer)), rows).getFirst())
        .as("replicas of an earlier version of the meta group apply it, so all do")
        .isInstanceOf(PlacementResult.Accepted.class);
  }

  @Test
  void theWordForADiskIsNoRoleOfItsOwn() {
    var node = PlacementTest.node(1);
    for (var disk : Disk.values()) {
      assertThat(node.with(Disk.LOW).with(disk).disk()).isEqualTo(disk);
      assertThat(node.with(disk).with(Disk.ENOUGH)).isEqualTo(node);
      assertThat(node.with(disk).holds("routes")).isTrue();
    }
  }

  private @Nullable String refusal(Operation operation) {
    var refused = OperationRules.withoutRoom(operation, placement.map());
    return refused == null ? null : refused.sentence();
  }

  private void cluster(int nodes, int... voters) {
    apply(new FoundCluster(new UUID(7, 7)));
    for (int i = 1; i <= nodes; i++) apply(new RegisterNode(PlacementTest.node(i)));
    if (placement.map().ranges().isEmpty()) apply(new PlaceRange(PlacementTest.range(voters)));
    configured(voters);
  }

  private void disk(int node, Disk disk) {
    apply(new RegisterNode(PlacementTest.node(node).with(disk)));
  }

  /** The range has these voters, by its leader and by the map; those that have no replica yet get an original one. */
  private void configured(int... voters) {
    configuration++;
    var range = PlacementTest.range(voters);
    apply(new PeersChanged(RANGE, 1, configuration, range.peers()));
    var followers = range.peers().stream().filter(peer -> !peer.equals(id(1))).map(peer -> new Follower(peer, 0)).toList();
    for (int voter : voters)
      replicas.putIfAbsent(voter, new Replica(range, -1, NodeReport.ORIGINAL, Phase.RUNNING, false, 1, 9, true, List.of(), Load.NONE));
    replicas.put(1, new Replica(range, configuration, NodeReport.ORIGINAL, Phase.RUNNING, true, 1, 9, true, followers, Load.NONE));
  }

  /** A node has the replica that the operation has had created. */
  private void created(int node, boolean based) {
    var range = PlacementTest.range(1, 2, 3);
    replicas.put(node, new Replica(range, -1, OPERATION, Phase.RUNNING, false, 1, based ? 9 : -1, based, List.of(), Load.NONE));
  }

  private Action change(List<Integer> expected, int... wanted) {
    return new Action.ChangePeers(id(1), RANGE, configuration, ids(expected.stream().mapToInt(n -> n)), ids(IntStream.of(wanted)));
  }

  private static List<UUID> ids(IntStream nodes) {
    return nodes.mapToObj(FullDisksTest::id).toList();
  }

  private Operations.Decision decide() {
    var defaults = OperationSettings.defaults();
    return new Operations(new OperationSettings(defaults.lagMax(), defaults.unflushedMax(), 4, 3, SplitSettings.never(), null, true)).decide(map(), observation());
  }

  private List<Action> actions() {
    return decide().actions();
  }

  private List<Operation> begun() {
    return decide().commands().stream().filter(Begin.class::isInstance).map(command -> ((Begin) command).operation()).toList();
  }

  private ClusterMap map() {
    return placement.map();
  }

  private ClusterObservation observation() {
    var reports = new TreeMap<UUID, NodeReport>();
    var silences = new TreeMap<UUID, Duration>();
    var uptimes = new TreeMap<UUID, Duration>();
    for (UUID node : map().nodes().keySet()) {
      var has = new ArrayList<Replica>();
      replicas.forEach((number, replica) -> {
        if (id(number).equals(node)) has.add(replica);
      });
      reports.put(node, new NodeReport(node, 1, 1, 1, has, node.equals(id(1)) ? unreached : List.of()));
      silences.put(node, Duration.ZERO);
      uptimes.put(node, LEASE.multipliedBy(100));
    }
    return new ClusterObservation(reports, silences, uptimes, new TreeMap<>(), LEASE, LEASE);
  }

  private void apply(PlacementCommand command) {
    assertThat(placement.apply(List.of(command), rows).getFirst()).isInstanceOf(PlacementResult.Accepted.class);
  }

  private static UUID id(int node) {
    return PlacementTest.id(node);
  }
}
