package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.ClusterMap;
import dunlin.placement.Intent;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.PlacedRange;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.ReplicaRole;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CatchUpTest {
  private static final UUID SELF = new UUID(0, 1);
  private static final UUID OTHER = new UUID(0, 2);
  private static final RangeId ROUTES = RangeId.firstOf("routes");
  private static final RangeId SESSIONS = RangeId.firstOf("sessions");

  private final List<RangeStatus> replicas = new ArrayList<>();
  private ClusterMap map = ClusterMap.empty();
  private final CatchUp catchUp = new CatchUp(() -> map, () -> replicas, SELF);

  private static PlacedRange placed(RangeId id, UUID... voters) {
    var peers = List.of(voters).stream().map(node -> node).toList();
    return new PlacedRange(new RangeDescriptor(id.uuid(), id.kind(), KeyInterval.all(), 1, peers, null), 1);
  }

  private void places(List<PlacedRange> ranges, Operation... operations) {
    var byId = new TreeMap<UUID, PlacedRange>();
    for (var each : ranges) byId.put(each.range().id(), each);
    var intents = new TreeMap<UUID, Intent>();
    for (var each : operations) intents.put(UUID.randomUUID(), new Intent(UUID.randomUUID(), each, 1, false, Intent.NOT_ADDING));
    map = new ClusterMap(1, new UUID(0, 9), new TreeMap<>(), byId, intents, new TreeMap<>());
  }

  private void has(RangeId id, ReplicaRole role, @Nullable UUID leader, long applied, long behind) {
    replicas.removeIf(each -> each.range().equals(id));
    replicas.add(new RangeStatus(id, role, leader, 1, applied, applied, behind, applied, 0, 0, List.of(), 1));
  }

  private String look() {
    catchUp.look();
    return catchUp.behind().orElse("ready");
  }

  @Test
  void aReplicaHasCaughtUpOnceItHasAppliedWhatTheLeaderHadWhenItWasFirstHeardOf() {
    places(List.of(placed(ROUTES, SELF, OTHER)));

    has(ROUTES, ReplicaRole.FOLLOWER, null, 10, -1);
    assertThat(look()).isEqualTo("range 'routes' has no leader");
    has(ROUTES, ReplicaRole.FOLLOWER, OTHER, 10, -1);
    assertThat(look()).isEqualTo("range 'routes': its leader has not been heard of yet");
    has(ROUTES, ReplicaRole.FOLLOWER, OTHER, 10, 5_000);
    assertThat(look()).isEqualTo("range 'routes': its replica on this node is catching up, 5,000 entries are left");
    has(ROUTES, ReplicaRole.FOLLOWER, OTHER, 3_010, 4_000);
    assertThat(look()).isEqualTo("range 'routes': its replica on this node is catching up, 2,000 entries are left");
    has(ROUTES, ReplicaRole.FOLLOWER, OTHER, 5_010, 7);
    assertThat(look()).as("others write on").isEqualTo("ready");
  }

  @Test
  void eachReplicaCounts() {
    places(List.of(placed(ROUTES, SELF), placed(SESSIONS, SELF, OTHER)));
    has(ROUTES, ReplicaRole.LEADER, SELF, 10, 0);
    assertThat(look()).isEqualTo("the range of kind 'sessions': this node has no replica of it yet");

    has(SESSIONS, ReplicaRole.QUARANTINED, null, -1, -1);
    assertThat(look()).isEqualTo("range 'sessions': its replica on this node is lost and has not been recreated yet");
    has(SESSIONS, ReplicaRole.OUTSIDE, OTHER, 10, 0);
    assertThat(look()).isEqualTo("range 'sessions': its replica on this node is not a member of the group");
    has(SESSIONS, ReplicaRole.STOPPED, null, 10, -1);
    assertThat(look()).isEqualTo("range 'sessions': its replica on this node is not running");

    has(SESSIONS, ReplicaRole.FOLLOWER, OTHER, 10, 0);
    assertThat(look()).isEqualTo("ready");
  }

  @Test
  void replicasOfOtherNodesDoNotCount() {
    places(List.of(placed(ROUTES, OTHER)), new AddReplica(SESSIONS.uuid(), OTHER));
    assertThat(look()).isEqualTo("ready");
  }

  @Test
  void aReplicaThatIsBeingMadeHereCounts() {
    places(List.of(placed(ROUTES, OTHER)), new AddReplica(ROUTES.uuid(), SELF));
    assertThat(look()).isEqualTo("the range of kind 'routes': a replica is being created on this node");

    places(List.of(placed(ROUTES, OTHER, SELF)));
    has(ROUTES, ReplicaRole.FOLLOWER, OTHER, 10, 0);
    assertThat(look()).isEqualTo("ready");
  }

  @Test
  void beforeTheMapIsKnownNothingIsReady() {
    assertThat(look()).contains("has not heard of its cluster's ranges");
  }
}
