package dunlin.dist;

import dunlin.model.ShardId;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The routes of the dist tier as frontends and session owners change and read them. */
public interface RouteClient {
  /**
   * Sets a route. Completes when every publish accepted from then on sees it; at once when the route was there already with
   * the same incarnation and handle. Calls of one thread take effect in their order. Fails with a {@code StoreException},
   * and with a {@link RouteQuotaException} when there are as many routes as may be and this is a new one.
   */
  CompletableFuture<Void> addRoute(Route route);

  /** Removes the route of this shard, whatever its handle, unless a later incarnation has set it. */
  CompletableFuture<Void> removeRoute(Route route);

  /**
   * Removes all routes that the shard set in lives before this one, in bounded steps.
   *
   * @return how many there were
   */
  CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation);

  /**
   * The routes of all shards of a kind as they are stored, in pages of a few hundred at most; some pages may be empty. Fails with a
   * {@code StoreException} when too many others read.
   *
   * @param from where the page begins, as the page before says; null for the first one
   */
  CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from);
}
