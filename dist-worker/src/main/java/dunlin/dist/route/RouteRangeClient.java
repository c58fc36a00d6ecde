package dunlin.dist.route;

import dunlin.model.ShardId;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * One range of routes of a cluster. A caller names the epoch at which it knows the range; when the range has another one, nothing is done and the call fails with a
 * {@code WrongEpochException}. Other failures are {@code StoreException}s. Never blocks.
 */
public interface RouteRangeClient {
  /** {@link RouteClient#addRoute} for a route of this range. */
  CompletableFuture<Void> addRoute(long epoch, Route route);

  /** {@link RouteClient#removeRoute} for a route of this range. */
  CompletableFuture<Void> removeRoute(long epoch, Route route);

  /**
   * {@link RouteClient#removeRoutesBefore} in this range.
   *
   * @param from the lowest key to visit, in this range
   * @return how many were removed, and where the next range begins
   */
  CompletableFuture<RouteResult.Purged> removeRoutesBefore(long epoch, ShardId shard, long incarnation, byte[] from);

  /**
   * A page of this range's routes, of all shards of a kind. Its end may be the beginning of the next range.
   *
   * @param from the lowest key to visit, in this range
   */
  CompletableFuture<RoutePage> routes(long epoch, ShardId.Kind kind, byte[] from);

  /** The stored routes of one shard, in the same way. */
  CompletableFuture<RoutePage> routesOf(long epoch, ShardId shard, byte[] from);

  /**
   * The routes of this range that a topic matches, with all that were set before the call, also by an earlier leader.
   *
   * @param topic the topic name in UTF-8
   * @param known what the caller has of them
   * @param after {@link RouteMatch.Found#next} of the answer before; empty for the first one
   */
  CompletableFuture<RouteMatch> match(long epoch, String tenant, byte[] topic, MatchSignature known, byte[] after);

  /** What the range has now, at any epoch. Answered at once, so it also tells the leader that the caller is there. */
  CompletableFuture<Sums> sums();

  /**
   * The number of routes that tenants have in this range now, at any epoch.
   *
   * @param tenants at most {@code WantedTenants.TENANTS_MAX}
   * @return for each, in their order
   */
  CompletableFuture<List<Long>> routesOfTenants(List<String> tenants);

  /** @param memory that the routes take, in bytes */
  record Sums(long routes, long memory) {}
}
