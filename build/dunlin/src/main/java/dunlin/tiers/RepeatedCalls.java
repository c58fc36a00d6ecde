package dunlin.tiers;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.runtime.Failures;
import dunlin.store.OutcomeUnknownException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Repeats calls that a change of the leader has interrupted and that may be made twice, so that clients wait for the next leader. */
final class RepeatedCalls {
  /*
   * A route that is set twice is set once, and so it is with its removal. But a route that is set again behind its removal brings a group's
   * messages to where it has no members, and a removal behind the next setting takes a subscription away. So of a shard's changes of the
   * same filter each begins when the one before has come to its end.
   *
   * Owner: any thread.
   * Bounds: the calls' own; each is repeated for LIMIT.
   */
  /** How long messages of a lane are sent again, too. */
  static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Executor SOON = CompletableFuture.delayedExecutor(25, TimeUnit.MILLISECONDS);

  private RepeatedCalls() {}

  static RouteClient of(RouteClient routes) {
    return new RepeatingRoutes(routes);
  }

  static RetainClient of(RetainClient retained) {
    return new RepeatingRetain(retained);
  }

  private static <T> CompletableFuture<T> repeated(Supplier<CompletableFuture<T>> call) {
    return repeated(call, System.nanoTime() + LIMIT.toNanos());
  }

  private static <T> CompletableFuture<T> repeated(Supplier<CompletableFuture<T>> call, long deadlineNanos) {
    return call.get()
        .exceptionallyCompose(
            failure -> {
              var cause = Failures.unwrapped(failure);
              if (!(cause instanceof OutcomeUnknownException) || System.nanoTime() - deadlineNanos >= 0) return CompletableFuture.failedFuture(cause);
              return CompletableFuture.supplyAsync(() -> repeated(call, deadlineNanos), SOON).thenCompose(again -> again);
            });
  }

  private static final class RepeatingRoutes implements RouteClient {
    /** What changes name: a shard has one route of a filter. */
    private record Place(String tenant, TopicFilter filter, ShardId shard) {}

    private final RouteClient routes;

    /** The last change of each place where one is in progress. */
    private final Map<Place, CompletableFuture<Void>> last = new ConcurrentHashMap<>();

    RepeatingRoutes(RouteClient routes) {
      this.routes = routes;
    }

    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      return inOrder(route, () -> routes.addRoute(route));
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      return inOrder(route, () -> routes.removeRoute(route));
    }

    private CompletableFuture<Void> inOrder(Route route, Supplier<CompletableFuture<Void>> change) {
      var place = new Place(route.tenant(), route.filter(), route.shard());
      var done = new CompletableFuture<Void>();
      var before = last.put(place, done);
      if (before == null) begin(place, change, done);
      else before.whenComplete((_, _) -> begin(place, change, done));
      return done;
    }

    private void begin(Place place, Supplier<CompletableFuture<Void>> change, CompletableFuture<Void> done) {
      repeated(change)
          .whenComplete(
              (_, failure) -> {
                last.remove(place, done);
                if (failure == null) done.complete(null);
                else done.completeExceptionally(Failures.unwrapped(failure));
              });
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      return repeated(() -> routes.removeRoutesBefore(shard, incarnation));
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      return repeated(() -> routes.routes(kind, from));
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      return repeated(() -> routes.routesOf(shard, from));
    }
  }

  private record RepeatingRetain(RetainClient retained) implements RetainClient {
    @Override
    public void set(Publication message, Consumer<ReasonCode> answer) {
      retained.set(message, answer);
    }

    @Override
    public void add(Publication message, Consumer<Optional<ReasonCode>> answer) {
      retained.add(message, answer);
    }

    @Override
    public CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
      return repeated(() -> retained.find(tenant, filter, after, messagesMax, bytesMax));
    }

    @Override
    public CompletableFuture<Long> count() {
      return repeated(retained::count);
    }
  }
}
