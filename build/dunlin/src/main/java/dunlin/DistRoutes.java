package dunlin;

import dunlin.dist.DistClient;
import dunlin.dist.Route;
import dunlin.inbox.InboxRoutes;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.concurrent.CompletableFuture;

/** The dist tier as the session tier announces its filters to it. An inbox shard lives as long as its data: one life only. */
final class DistRoutes implements InboxRoutes {
  private static final long ONLY_LIFE = 1;
  private static final int NO_HANDLE = 0;

  private final DistClient dist;

  DistRoutes(DistClient dist) {
    this.dist = dist;
  }

  @Override
  public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
    return dist.addRoute(new Route(tenant, filter, shard, ONLY_LIFE, NO_HANDLE));
  }

  @Override
  public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
    return dist.removeRoute(new Route(tenant, filter, shard, ONLY_LIFE, NO_HANDLE));
  }
}
