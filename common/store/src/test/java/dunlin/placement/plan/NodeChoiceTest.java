package dunlin.placement.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.MemoryRows;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult;
import dunlin.placement.PlacementTest;
import dunlin.store.RangeDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Where replicas and leaders of a range go when some nodes prefer such ranges: here nodes from 4 on, in zones of their own or in one. */
class NodeChoiceTest {
  private static final Duration LEASE = Duration.ofSeconds(6);

  private final MemoryRows rows = new MemoryRows();
  private final Placement placement = new Placement(_ -> {});
  private final Set<UUID> silent = new TreeSet<>();
  private final Map<UUID, List<UUID>> unreached = new TreeMap<>();
  private Duration calm = LEASE;
  private RangeDescriptor range = PlacementTest.range();
  private int leader;

  @Test
  void aNewReplicaGoesToANodeThatPrefersItButFirstToAnotherZone() {
    cluster(Map.of(1, "a", 2, "a", 3, "b", 4, "a"), 1);

    assertThat(NodeChoice.replica(range, null, map(), observation(), List.of())).as("another zone comes first").contains(id(3));
    cluster(Map.of(1, "a", 2, "a", 3, "a", 4, "a"), 1);
    assertThat(NodeChoice.replica(range, null, map(), observation(), List.of())).contains(id(4));
  }

  @Test
  void replicasMoveToNodesThatPreferThemFollowersFirst() {
    cluster(Map.of(1, "", 2, "", 3, "", 4, "", 5, ""), 1, 2, 3);

    assertThat(NodeChoice.relocation(map(), observation())).contains(new MoveReplica(range.id(), id(2), id(4)));
    placed(1, 4, 3);
    assertThat(NodeChoice.relocation(map(), observation())).contains(new MoveReplica(range.id(), id(3), id(5)));
    placed(1, 4, 5);
    assertThat(NodeChoice.relocation(map(), observation())).as("no third one prefers it").isEmpty();
  }

  @Test
  void noReplicaMovesSoonAfterAChangeOrToASilentNodeOrAwayFromOne() {
    cluster(Map.of(1, "", 2, "", 3, "", 4, ""), 1, 2, 3);

    calm = LEASE.minusMillis(1);
    assertThat(NodeChoice.relocation(map(), observation())).isEmpty();
    calm = LEASE;
    silent.add(id(4));
    assertThat(NodeChoice.relocation(map(), observation())).isEmpty();
    silent.clear();
    silent.add(id(2));
    assertThat(NodeChoice.relocation(map(), observation())).as("a dead node's replica is another matter").contains(new MoveReplica(range.id(), id(3), id(4)));
  }

  @Test
  void noReplicaLeavesAZoneOfItsOwnForASharedOne() {
    cluster(Map.of(1, "a", 2, "b", 3, "c", 4, "b"), 1, 2, 3);

    assertThat(NodeChoice.relocation(map(), observation())).contains(new MoveReplica(range.id(), id(2), id(4)));
    placed(1, 4, 3);
    assertThat(NodeChoice.relocation(map(), observation())).isEmpty();
    cluster(Map.of(1, "a", 2, "b", 3, "c", 4, "d"), 1, 2, 3);
    assertThat(NodeChoice.relocation(map(), observation())).contains(new MoveReplica(range.id(), id(2), id(4)));
  }

  @Test
  void theLeadershipGoesToANodeThatPrefersItAndStaysThere() {
    cluster(Map.of(1, "", 2, "", 4, "", 5, ""), 1, 2, 4);

    assertThat(NodeChoice.balance(map(), observation(), OperationSettings.defaults())).contains(new TransferLeadership(range.id(), id(4)));
    leader = 4;
    assertThat(NodeChoice.balance(map(), observation(), OperationSettings.defaults())).isEmpty();
    leader = 1;
    silent.add(id(4));
    assertThat(NodeChoice.balance(map(), observation(), OperationSettings.defaults())).isEmpty();
  }

  @Test
  void theLeadershipGoesToTheVoterThatReachesTheMostNodes() {
    cluster(Map.of(1, "", 2, "", 3, ""), 1, 2, 3);
    assertThat(towardsReach()).isEmpty();

    unreached.put(id(1), List.of(id(2)));
    assertThat(towardsReach()).as("one side's word is enough").containsExactly(new TransferLeadership(range.id(), id(3)));
    leader = 2;
    assertThat(towardsReach()).containsExactly(new TransferLeadership(range.id(), id(3)));
    leader = 3;
    assertThat(towardsReach()).isEmpty();
  }

  @Test
  void whatNoNodeReachesMovesNothing() {
    cluster(Map.of(1, "", 2, "", 3, ""), 1, 2, 3);
    unreached.put(id(1), List.of(id(3)));
    unreached.put(id(2), List.of(id(3)));

    assertThat(towardsReach()).isEmpty();
    silent.add(id(3));
    assertThat(towardsReach()).isEmpty();
    unreached.put(id(3), List.of(id(1), id(2)));
    assertThat(towardsReach()).as("nor does the word of a node that is silent itself").isEmpty();
  }

  @Test
  void theLeadershipDoesNotMoveToASilentNodeOrSoonAfterAChange() {
    cluster(Map.of(1, "", 2, "", 3, ""), 1, 2, 3);
    unreached.put(id(1), List.of(id(2)));

    calm = LEASE.dividedBy(2).minusMillis(1);
    assertThat(towardsReach()).isEmpty();
    calm = LEASE.dividedBy(2);
    assertThat(towardsReach()).hasSize(1);
    silent.add(id(3));
    assertThat(towardsReach()).isEmpty();
  }

  @Test
  void noPreferenceTakesTheLeadershipBackToANodeThatReachesFewer() {
    cluster(Map.of(1, "", 2, "", 4, ""), 1, 2, 4);
    unreached.put(id(4), List.of(id(2)));

    assertThat(towardsReach()).isEmpty();
    assertThat(NodeChoice.balance(map(), observation(), OperationSettings.defaults())).isEmpty();
    unreached.clear();
    assertThat(NodeChoice.balance(map(), observation(), OperationSettings.defaults())).contains(new TransferLeadership(range.id(), id(4)));
  }

  private List<TransferLeadership> towardsReach() {
    return NodeChoice.towardsReach(map(), observation(), OperationSettings.defaults());
  }

  /** The first voter leads. */
  private void cluster(Map<Integer, String> zones, int... voters) {
    apply(new FoundCluster(new UUID(7, 7)));
    new TreeMap<>(zones)
        .forEach(
            (number, zone) -> {
              var roles = number < 4 ? Set.of("routes") : Set.of("routes", ClusterNode.preferring("routes"));
              apply(new RegisterNode(ClusterNode.joining(id(number), "n" + number, Map.of(), roles, "r", zone)));
            });
    if (map().ranges().isEmpty()) apply(new PlaceRange(PlacementTest.range(voters)));
    placed(voters);
  }

  private void placed(int... voters) {
    long configuration = map().ranges().firstEntry().getValue().configuration() + 1;
    range = PlacementTest.range(voters);
    leader = voters[0];
    apply(new PlacementCommand.PeersChanged(range.id(), 1, configuration, range.peers()));
  }

  private ClusterMap map() {
    return placement.map();
  }

  private ClusterObservation observation() {
    var reports = new TreeMap<UUID, NodeReport>();
    var silences = new TreeMap<UUID, Duration>();
    var uptimes = new TreeMap<UUID, Duration>();
    for (var node : map().nodes().keySet()) {
      boolean leads = node.equals(id(leader));
      var followers = leads ? range.peers().stream().filter(peer -> !peer.equals(node)).map(peer -> new Follower(peer, 0)).toList() : List.<Follower>of();
      var replica = new Replica(range, 9, NodeReport.ORIGINAL, Phase.RUNNING, leads, 1, 9, true, followers, Load.NONE);
      reports.put(node, new NodeReport(node, 1, 1, 1, range.has(node) ? List.of(replica) : List.of(), unreached.getOrDefault(node, List.of())));
      silences.put(node, silent.contains(node) ? LEASE : Duration.ZERO);
      uptimes.put(node, LEASE.multipliedBy(6));
    }
    return new ClusterObservation(reports, silences, uptimes, new TreeMap<>(), calm, LEASE);
  }

  private void apply(PlacementCommand command) {
    assertThat(placement.apply(List.of(command), rows).getFirst()).isInstanceOf(PlacementResult.Accepted.class);
  }

  private static UUID id(int node) {
    return PlacementTest.id(node);
  }
}
