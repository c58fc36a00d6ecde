package dunlin.dist.remote;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteRangeClient;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteResult;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.KeyInterval;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A map as the routes of the dist tier, and as the only range of them. Two tenants are there to fail. Answers when the test says so. */
final class MapRoutes implements RouteClient, RouteRangeClient {
  /** This range, with its only epoch. */
  static final RangeDescriptor DESCRIPTOR =
      new RangeDescriptor(RangeId.firstOf(RouteReplica.KIND).uuid(), RouteReplica.KIND, KeyInterval.all(), 1, List.of(new UUID(1, 2)), null);

  static final int ROUTES_MAX = 12;
  static final String TENANT = "t";
  private static final String FAILING = "failing";
  private static final String UNKNOWN = "unknown";
  static final List<String> TENANTS = List.of(TENANT, TENANT, TENANT, TENANT, TENANT, FAILING, UNKNOWN);
  private static final int PAGE_ROUTES = 3;

  /** By what names a route; incarnation and handle are what it has. */
  final TreeMap<String, Route> routes = new TreeMap<>();

  private final Consumer<Runnable> answering;

  /** @param answering runs what gives an answer, now or later */
  MapRoutes(Consumer<Runnable> answering) {
    this.answering = answering;
  }

  static Route route(String tenant, String filter, ShardId shard, long incarnation, int handle) {
    return new Route(tenant, TopicFilter.parse(filter).orElseThrow(), shard, incarnation, handle);
  }

  static String name(Route route) {
    return route.filter().text() + " " + route.shard();
  }

  private <T> CompletableFuture<T> answer(Supplier<@Nullable T> does) {
    var answer = new CompletableFuture<T>();
    try {
      @Nullable T value = does.get();
      answering.accept(() -> answer.complete(value));
    } catch (RuntimeException e) {
      answering.accept(() -> answer.completeExceptionally(e));
    }
    return answer;
  }

  private static void check(Route route) {
    if (route.tenant().equals(FAILING)) throw new StoreException("no route can have this");
    if (route.tenant().equals(UNKNOWN)) throw new OutcomeUnknownException("nobody knows", new StoreException("of a test"));
  }

  @Override
  public CompletableFuture<Void> addRoute(Route route) {
    return answer(
        () -> {
          check(route);
          if (routes.size() == ROUTES_MAX && !routes.containsKey(name(route))) {
            var kind = route.filter().shared() ? RouteQuotaException.Kind.GROUPS : RouteQuotaException.Kind.MEMORY;
            throw new RouteQuotaException(kind, ROUTES_MAX);
          }
          routes.put(name(route), route);
          return null;
        });
  }

  @Override
  public CompletableFuture<Void> removeRoute(Route route) {
    return answer(
        () -> {
          check(route);
          routes.remove(name(route));
          return null;
        });
  }

  @Override
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    return answer(
        () -> {
          long before = routes.size();
          routes.values().removeIf(each -> each.shard().equals(shard) && each.incarnation() < incarnation);
          return before - routes.size();
        });
  }

  @Override
  public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
    return page(shard -> shard.kind() == kind, from);
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
    return page(shard::equals, from);
  }

  private CompletableFuture<RoutePage> page(Predicate<ShardId> of, byte @Nullable [] from) {
    return answer(
        () -> {
          int at = from == null || from.length == 0 ? 0 : from[0];
          var all = routes.values().stream().filter(each -> of.test(each.shard())).toList();
          int end = Math.min(all.size(), at + PAGE_ROUTES);
          List<Route> page = new ArrayList<>(all.subList(Math.min(at, end), end));
          return new RoutePage(page, end == all.size() ? null : new byte[] {(byte) end});
        });
  }

  @Override
  public CompletableFuture<Void> addRoute(long epoch, Route route) {
    return addRoute(route);
  }

  @Override
  public CompletableFuture<Void> removeRoute(long epoch, Route route) {
    return removeRoute(route);
  }

  @Override
  public CompletableFuture<RouteResult.Purged> removeRoutesBefore(long epoch, ShardId shard, long incarnation, byte[] from) {
    return removeRoutesBefore(shard, incarnation).thenApply(removed -> new RouteResult.Purged(removed, null));
  }

  @Override
  public CompletableFuture<RoutePage> routes(long epoch, ShardId.Kind kind, byte[] from) {
    return routes(kind, from);
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(long epoch, ShardId shard, byte[] from) {
    return routesOf(shard, from);
  }

  @Override
  public CompletableFuture<RouteMatch> match(long epoch, String tenant, byte[] topic, MatchSignature known, byte[] after) {
    throw new UnsupportedOperationException("these routes are changed and read only");
  }

  @Override
  public CompletableFuture<Sums> sums() {
    return CompletableFuture.completedFuture(new Sums(routes.size(), 0));
  }

  @Override
  public CompletableFuture<List<Long>> routesOfTenants(List<String> tenants) {
    return CompletableFuture.completedFuture(tenants.stream().map(_ -> (long) routes.size()).toList());
  }
}
