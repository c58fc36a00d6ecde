package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.model.ShardId;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RouteRightsTest {
  private static final UUID FRONTEND = new UUID(1, 1);
  private static final UUID STORE = new UUID(2, 2);
  private static final UUID UNKNOWN = new UUID(3, 3);
  private static final UUID UNCLEAR = new UUID(4, 4);

  private final TreeMap<UUID, ClusterNode> nodes = new TreeMap<>();
  private final RouteRights rights =
      new RouteRights(() -> new ClusterMap(1, new UUID(9, 9), nodes, new TreeMap<>(), new TreeMap<>(), new TreeMap<>()));

  RouteRightsTest() {
    join(FRONTEND, Set.of(ClusterTiers.FRONTEND));
    join(STORE, Set.of(ClusterTiers.FRONTEND, "sessions", "routes"));
  }

  private void join(UUID node, Set<String> roles) {
    nodes.put(node, ClusterNode.joining(node, "localhost", Map.of(), roles, "", ""));
  }

  private static List<ShardId> own(UUID node) {
    return List.of(ShardId.frontend(node.toString()), ApplicationSubscriptions.shardOf(node.toString()));
  }

  @Test
  void aFrontendChangesItsOwnRoutesOnly() {
    join(UNCLEAR, Set.of());
    for (UUID node : List.of(FRONTEND, UNKNOWN, UNCLEAR)) {
      assertThat(own(node)).allMatch(shard -> rights.mayChange(node.toString(), shard));
      assertThat(own(STORE)).noneMatch(shard -> rights.mayChange(node.toString(), shard));
      assertThat(rights.mayChange(node.toString(), ShardId.inbox(1))).isFalse();
    }
  }

  @Test
  void aNodeThatMayLeadRangesChangesAll() {
    assertThat(own(FRONTEND)).allMatch(shard -> rights.mayChange(STORE.toString(), shard));
    assertThat(rights.mayChange(STORE.toString(), ShardId.inbox(1))).isTrue();
  }
}
