package dunlin.dist.remote;

import dunlin.dist.OtherRanges;
import dunlin.dist.RouteTier;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteRangeClient.Sums;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteRows;
import dunlin.dist.route.RouteView;
import dunlin.model.ShardId;
import dunlin.runtime.Failures;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.serve.SharedBarrier;
import dunlin.store.ways.RangeAnswers;
import dunlin.store.ways.RangeRouter;
import dunlin.store.ways.TenantAnswers;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The routes of a cluster: passes each call to the leader of the range that has its key, also while ranges are split. */
public final class RouteRouter implements RouteClient, OtherRanges, AutoCloseable {
  /*
   * RangeRouter finds the range of each call, so the changes of a route keep the order in which a thread has made them. Pages and purges go through one range after the
   * other: the cursor of a page is the key at which the next one begins.
   *
   * Messages are delivered by the leader of the first range. It does not deliver to a frontend that it counts as dead, until it hears from it. So a frontend's route in
   * another range is set only once that leader has answered its node as well: one question at a time serves all routes that were set before it was asked.
   *
   * Owner: any thread calls; RangeRouter's lock is taken when ranges change or a call has to wait.
   * Bounds: CallBounds for each range. Calls that wait for the map are bounded by those who make them (RemoteRoutes).
   * Failure: those of RangeRouter and RemoteRoutes, with a StoreException. A purge that fails may have removed some routes.
   */
  private static final byte[] FIRST = {};
  private static final UUID FIRST_RANGE = RangeId.firstOf(RouteReplica.KIND).uuid();

  private final RangeRouter<RemoteRoutes> router;
  private final RangeAnswers<RemoteRoutes, Sums> sums = new RangeAnswers<>(RemoteRoutes::sums);
  private final TenantAnswers<RemoteRoutes, Long> tenants = new TenantAnswers<>(RemoteRoutes::routesOfTenants);
  private final SharedBarrier heard = new SharedBarrier(this::greet);
  private volatile List<RangeDescriptor> map = List.of();
  private volatile @Nullable Seen seen;

  /** The last view, and what it was made of. */
  private record Seen(RangeDescriptor own, List<RangeDescriptor> map, RouteView view) {}

  /**
   * Knows no range, until {@link #ranges}.
   *
   * @param part of the node that calls, for its meters: a node has a caller for each
   * @param node as the leaders of ranges are to know this caller
   * @param incarnation which life of it, larger than those before
   * @param networks leads to the leader of a range
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param bounds of each range's calls
   * @param timer gives up calls that have waited for too long; the caller closes it
   */
  public RouteRouter(
      String part, String node, long incarnation, Function<UUID, CallLinks.Network> networks, Executor owner, CallBounds bounds, ScheduledExecutorService timer,
      MeterRegistry registry) {
    this(
        range -> new CallLinks(RouteCallCodec.PROTOCOL, node + "/" + part, incarnation, networks.apply(range), owner, bounds), part, timer, RangeRouter.PATIENCE,
        registry);
  }

  /**
   * With other ways to ranges.
   *
   * @param links makes the way to a range, without a link
   */
  RouteRouter(Function<UUID, CallLinks> links, String part, ScheduledExecutorService timer, Duration patience, MeterRegistry registry) {
    router = new RangeRouter<>(range -> new RemoteRoutes(links.apply(range)), this::forget, "topic filter", timer, patience);
    gauge(registry, "dunlin.dist.calls", part, null, each -> each.sum(CallLinks::calls), "Calls to the leaders of routes that are not answered");
    gauge(registry, "dunlin.dist.calls.size", part, "bytes", each -> each.sum(CallLinks::bytes), "Bytes of the calls to the leaders of routes that are not answered");
    gauge(
        registry, "dunlin.dist.calls.held", part, null, each -> each.router.held(),
        "Calls for routes that wait until the map of the cluster shows how a range was split");
    counter(registry, "dunlin.dist.calls.refused", part, CallLinks::refused, "Calls to the leaders of routes that failed since too many were not answered");
    counter(registry, "dunlin.dist.links.lost", part, CallLinks::lost, "Links for calls to the leaders of routes that were lost");
  }

  private void forget(UUID range) {
    sums.forget(range);
    tenants.forget(range);
  }

  private void gauge(MeterRegistry registry, String name, String part, @Nullable String unit, ToDoubleFunction<RouteRouter> value, String help) {
    Gauge.builder(name, this, value).tag("part", part).description(help).baseUnit(unit).register(registry);
  }

  private void counter(MeterRegistry registry, String name, String part, ToLongFunction<CallLinks> value, String help) {
    FunctionCounter.builder(name, this, each -> each.sum(value)).tag("part", part).description(help).register(registry);
  }

  private long sum(ToLongFunction<CallLinks> of) {
    return router.links().stream().map(RemoteRoutes::links).mapToLong(of).sum();
  }

  /** Begins the links. Completes when the leaders of all ranges of the first map with ranges have taken theirs. Any thread, once. */
  public CompletableFuture<Void> begin() {
    return router.begin();
  }

  /** Whether the leaders of all ranges have taken the present links. Any thread. */
  public boolean isReached() {
    return router.isReached();
  }

  /** Takes the ranges of a newer map, whose keys are disjoint. Any thread, in the order of the maps; never waits. */
  public void ranges(List<RangeDescriptor> ranges) {
    router.ranges(ranges);
    map = ranges.stream().filter(range -> router.link(range.id()).isPresent()).toList();
  }

  @Override
  public CompletableFuture<Void> addRoute(Route route) {
    var answer = new CompletableFuture<Void>();
    var _ =
        change(route, (range, epoch) -> range.addRoute(epoch, route).thenApply(_ -> range))
            .whenComplete((range, failure) -> added(route, range, failure, answer));
    return answer;
  }

  private void added(Route route, RemoteRoutes range, @Nullable Throwable failure, CompletableFuture<Void> answer) {
    if (failure != null) {
      answer.completeExceptionally(Failures.unwrapped(failure));
    } else if (route.shard().kind() != ShardId.Kind.FRONTEND || router.link(FIRST_RANGE).filter(range::equals).isPresent()) {
      answer.complete(null);
    } else {
      var _ =
          heard
              .ask()
              .whenComplete(
                  (_, unheard) -> {
                    if (unheard == null) answer.complete(null);
                    else answer.completeExceptionally(Failures.unwrapped(unheard));
                  });
    }
  }

  /** Has the leader of the first range hear of this node. */
  private CompletableFuture<@Nullable Void> greet() {
    var answer = new CompletableFuture<@Nullable Void>();
    var _ =
        router
            .call(FIRST, (range, _) -> range.sums())
            .whenComplete(
                (_, failure) -> {
                  if (failure == null) answer.complete(null);
                  else answer.completeExceptionally(failure);
                });
    return answer;
  }

  @Override
  public CompletableFuture<Void> removeRoute(Route route) {
    return change(route, (range, epoch) -> range.removeRoute(epoch, route));
  }

  private <T> CompletableFuture<T> change(Route route, RangeRouter.Maker<RemoteRoutes, T> change) {
    var problem = RouteRows.problem(route.tenant(), route.filter(), route.shard());
    if (problem.isPresent()) return CompletableFuture.failedFuture(new StoreException("no route can have " + problem.get()));
    return router.call(RouteRows.key(route), change);
  }

  @Override
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    return removeFrom(FIRST, shard, incarnation, 0);
  }

  private CompletableFuture<Long> removeFrom(byte[] from, ShardId shard, long incarnation, long removedBefore) {
    return router
        .call(from, (range, epoch) -> range.removeRoutesBefore(epoch, shard, incarnation, from))
        .thenCompose(
            purged -> {
              long removed = removedBefore + purged.removed();
              byte @Nullable [] next = purged.next();
              return next == null ? CompletableFuture.completedFuture(removed) : removeFrom(next, shard, incarnation, removed);
            });
  }

  @Override
  public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
    byte[] key = from == null ? FIRST : from;
    return router.call(key, (range, epoch) -> range.routes(epoch, kind, key));
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
    byte[] key = from == null ? FIRST : from;
    return router.call(key, (range, epoch) -> range.routesOf(epoch, shard, key));
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // compared for each message: there are new objects for each change
  public RouteView beside(RangeDescriptor own) {
    var last = seen;
    var present = map;
    if (last != null && last.own == own && last.map == present) return last.view;
    var view = RouteView.of(own, present, this::other);
    seen = new Seen(own, present, view);
    return view;
  }

  private RouteView.Other other(RangeDescriptor range) {
    return new Asking(range.id(), range.epoch(), router.link(range.id()).orElseThrow());
  }

  /** A range of a view, at its epoch. */
  private record Asking(UUID range, long epoch, RemoteRoutes link) implements RouteView.Other {
    @Override
    public CompletableFuture<RouteMatch> match(String tenant, byte[] topic, MatchSignature known) {
      return link.match(epoch, tenant, topic, known, FIRST).thenCompose(match -> goOn(tenant, topic, match));
    }

    /** Asks for the rest of many routes. When they have changed in between, their signature stands for nothing. */
    private CompletableFuture<RouteMatch> goOn(String tenant, byte[] topic, RouteMatch match) {
      if (!(match instanceof RouteMatch.Found(var signature, var routes, var next)) || next == null) return CompletableFuture.completedFuture(match);
      return link.match(epoch, tenant, topic, MatchSignature.NONE, next)
          .thenCompose(
              rest -> {
                if (!(rest instanceof RouteMatch.Found more)) throw new StoreException("the rest of many routes is said to be unchanged");
                var all = Stream.concat(routes.stream(), more.routes().stream()).toList();
                var same = more.signature().equals(signature) ? signature : MatchSignature.NONE;
                return goOn(tenant, topic, new RouteMatch.Found(same, all, more.next()));
              });
    }
  }

  /** Asks all ranges what they have now, unless that was done a moment ago. Any thread; the answers come later. */
  public void ask() {
    sums.ask(router);
    tenants.ask(router);
  }

  /** What all ranges but this one had when they were asked last. Any thread. */
  public RouteTier.RoutesElsewhere elsewhere(UUID range) {
    return new RouteTier.RoutesElsewhere() {
      @Override
      public long memory() {
        return sums.elsewhere(range).mapToLong(Sums::memory).sum();
      }

      @Override
      public long routesOf(String tenant) {
        return tenants.elsewhere(range, tenant).mapToLong(each -> each).sum();
      }
    };
  }

  @Override
  public long routes() {
    return sums.elsewhere(FIRST_RANGE).mapToLong(Sums::routes).sum();
  }

  /** Ends the links; what is not answered fails. */
  @Override
  public void close() {
    router.close();
  }
}
