package dunlin.dist.route;

import dunlin.model.ShardId;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The routes of the dist tier as frontends and session owners change and read them. */
public interface RouteClient {
  /**
   * Sets a route. Completes when every later publish sees it; at once when the route exists with the same incarnation
   * and handle. Calls of one thread take effect in their order. Fails with a {@code StoreException}, and with a {@link
   * RouteQuotaException} when the route is new and a limit is reached.
   */
  CompletableFuture<Void> addRoute(Route route);

  /** Makes several calls on this thread, which then cost less where the routes are in this process. */
  default void together(Runnable calls) {
    calls.run();
  }

  /** Removes the shard's route, whatever its handle, unless a later incarnation has set it. */
  CompletableFuture<Void> removeRoute(Route route);

  /**
   * Removes all routes that earlier incarnations of the shard have set, in bounded steps.
   *
   * @return how many were removed
   */
  CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation);

  /**
   * The stored routes of all shards of a kind, in pages of at most a few hundred; some pages may be empty. Fails with a
   * {@code StoreException} when there are too many reads.
   *
   * @param from the previous page's {@link RoutePage#next}; null for the first page
   */
  CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from);

  /** The stored routes of one shard, in the same way. */
  CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from);
}
