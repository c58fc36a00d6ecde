package dunlin.tiers;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.dist.remote.RouteCalls;
import dunlin.model.ShardId;
import dunlin.placement.ClusterMap;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * Whose routes the nodes of a cluster may change. A process that is a frontend and nothing else changes its own only: one that is broken into must not take the
 * subscriptions of others away. A process that may lead ranges may change all, since leaders remove the routes of lost frontends and keep those of sessions.
 */
final class RouteRights implements RouteCalls.Rights {
  /*
   * A certificate of a frontend keeps a node from registering any other role (JoinCheck). A node that the map does not have yet has no more than its own routes, too.
   */
  private static final Set<String> FRONTEND_ALONE = Set.of(ClusterTiers.FRONTEND);

  private final Supplier<ClusterMap> map;

  RouteRights(Supplier<ClusterMap> map) {
    this.map = map;
  }

  @Override
  public boolean mayChange(String node, ShardId shard) {
    if (shard.equals(ShardId.frontend(node)) || shard.equals(ApplicationSubscriptions.shardOf(node))) return true;
    var known = map.get().nodes().get(UUID.fromString(node));
    return known != null && !FRONTEND_ALONE.containsAll(known.roles());
  }
}
