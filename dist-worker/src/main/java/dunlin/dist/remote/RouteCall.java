package dunlin.dist.remote;

import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import org.jspecify.annotations.Nullable;

/** What is asked of the dist tier: the calls of {@link dunlin.dist.route.RouteClient}. */
sealed interface RouteCall {
  record Add(Route route) implements RouteCall {}

  record Remove(Route route) implements RouteCall {}

  record RemoveBefore(ShardId shard, long incarnation) implements RouteCall {}

  record Page(ShardId.Kind kind, byte @Nullable [] from) implements RouteCall {}

  record PageOf(ShardId shard, byte @Nullable [] from) implements RouteCall {}
}
