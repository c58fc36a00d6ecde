package dunlin.dist.route;

import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.Completion;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.serve.EpochRange;
import dunlin.store.serve.SharedBarrier;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Serves one range of routes on its leader: proposes changes of its routes, and keeps their filters for the lanes.
 *
 * <p>Its futures complete on the range's applying thread: dependent stages must be quick.
 */
public final class RouteServer implements RouteRangeClient {
  /*
   * Owner: any thread calls it.
   * Bounds: a page of routes visits PAGE_ROWS rows, on a reader of the range. Changes in progress are in the range's
   * bounded queue; when it is full, a change fails at once and has no effect.
   * Failure: a failed change may still be applied. All changes of the route go through the log until a later one has
   * been applied, which settles it.
   *
   * A route that exists already costs no log entry; shards announce all their routes again when they start. The index
   * alone does not suffice: a change of the same route may be in progress and be applied later. So a change counts as
   * in progress from before it is proposed until the index shows it, and that is checked first.
   *
   * In a cluster the range may be split at any time. What names another epoch than the range's own is refused, and surely not done; a page is of one epoch.
   */
  private static final int PURGE_STEP = 1_000;
  private static final int PAGE_ROWS = 256;

  private record RouteId(String tenant, TopicFilter filter, ShardId shard) implements Comparable<RouteId> {
    @Override
    public int compareTo(RouteId other) {
      int byFilter = filter.compareTo(other.filter);
      if (byFilter != 0) return byFilter;
      int byShard = shard.compareTo(other.shard);
      return byShard != 0 ? byShard : tenant.compareTo(other.tenant);
    }
  }

  private final String name;
  private final RouteRange routes;
  private final EpochRange<RouteCommand, RouteResult> range;
  private final RouteQuota quota;
  private final int patternsMax;
  private final RouteMatcher matcher;
  private final SharedBarrier barrier;

  private final ConcurrentHashMap<RouteId, Integer> changing = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<ShardId, Integer> purging = new ConcurrentHashMap<>();
  private final AtomicLong failures = new AtomicLong();
  private final AtomicLong settledFailures = new AtomicLong();

  /**
   * @param name the range's name in messages
   * @param patternsMax patterns of wildcards that the filters of a tenant may have in this range
   */
  public RouteServer(String name, RouteReplica replica, RouteQuota quota, int patternsMax) {
    this.name = name;
    this.quota = quota;
    this.patternsMax = patternsMax;
    routes = replica.routes();
    range = replica.served();
    matcher = new RouteMatcher(routes);
    barrier = new SharedBarrier(range::readBarrier);
  }

  /** The applied routes. Any thread. */
  public RouteRange applied() {
    return routes;
  }

  /** Routes with a change in the range's queue. */
  public long changing() {
    return changing.mappingCount();
  }

  /** The range by the rows of this replica; empty in a node that runs alone. Any thread. */
  public Optional<RangeDescriptor> descriptor() {
    return range.descriptor();
  }

  /** The present epoch of the range. Any thread. */
  public long epoch() {
    return range.epoch();
  }

  /** Why this range cannot have a route at an epoch; empty when it can. */
  private Optional<StoreException> refusal(long epoch, Route route) {
    var problem = RouteRows.problem(route.tenant(), route.filter(), route.shard());
    if (problem.isPresent()) return problem.map(what -> new StoreException("no route can have " + what));
    if (!range.isPlaced()) return Optional.empty();
    byte[] key = RouteRows.key(route);
    return range.refusal(epoch, key, key.length);
  }

  @Override
  public CompletableFuture<Void> addRoute(long epoch, Route route) {
    var refused = refusal(epoch, route);
    if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
    var id = new RouteId(route.tenant(), route.filter(), route.shard());
    // In this order: a change that is no longer in progress is in the index.
    boolean underWay = changing.containsKey(id) || purging.containsKey(route.shard());
    var present = routes.find(route.tenant(), route.filter(), route.shard());
    // Of a leader that has been deposed the index may have what a later one has removed.
    if (!underWay && settledFailures.get() == failures.get() && route.equals(present)) return barrier.ask().thenCompose(_ -> unlessRefused(epoch, route));
    Runnable giveBack;
    try {
      giveBack = present == null ? take(route) : () -> {};
    } catch (RouteQuotaException full) {
      return CompletableFuture.failedFuture(full);
    }
    var future = new CompletableFuture<Void>();
    propose(
        epoch,
        new Add(route),
        changing,
        id,
        result -> {
          giveBack.run();
          switch (result) {
            case RouteResult.Superseded(long incarnation) ->
                future.completeExceptionally(
                    new StoreException("incarnation " + incarnation + " of its shard has set " + route));
            case RouteResult.Refused(String reason) ->
                future.completeExceptionally(new StoreException("no route can have " + reason));
            case RouteResult.Added _, RouteResult.Removed _, RouteResult.Purged _ -> future.complete(null);
          }
        },
        failure -> {
          giveBack.run();
          future.completeExceptionally(failure);
        });
    return future;
  }

  /** The range may have been split since, and the next leader of the upper half may have removed the route. */
  private CompletableFuture<Void> unlessRefused(long epoch, Route route) {
    var refused = refusal(epoch, route);
    return refused.isPresent() ? CompletableFuture.failedFuture(refused.get()) : CompletableFuture.completedFuture(null);
  }

  /** See {@link RouteClient#together}. */
  public void together(Runnable calls) {
    range.range().together(calls);
  }

  /** Reserves the share of a new route in all that is bounded; see {@link RouteQuota#take}. */
  private Runnable take(Route route) {
    var patterns = routes.patterns(); // the share is given back where it was taken, also when the range has opened anew
    String filter = route.filter().filter();
    if (!patterns.take(route.tenant(), filter, patternsMax)) throw quota.refusal(RouteQuotaException.Kind.PATTERNS, patternsMax);
    Runnable giveBack = () -> patterns.remove(route.tenant(), filter);
    try {
      Runnable rest = quota.take(route, routes.groupsBeside(route));
      return () -> {
        giveBack.run();
        rest.run();
      };
    } catch (RouteQuotaException full) {
      giveBack.run();
      throw full;
    }
  }

  @Override
  public CompletableFuture<Void> removeRoute(long epoch, Route route) {
    var refused = refusal(epoch, route);
    if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
    var future = new CompletableFuture<Void>();
    propose(
        epoch,
        new Remove(route.tenant(), route.filter(), route.shard(), route.incarnation()),
        changing,
        new RouteId(route.tenant(), route.filter(), route.shard()),
        _ -> future.complete(null),
        future::completeExceptionally);
    return future;
  }

  @Override
  public CompletableFuture<RouteResult.Purged> removeRoutesBefore(long epoch, ShardId shard, long incarnation, byte[] from) {
    var refused = range.refusal(epoch, from, from.length);
    if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
    var future = new CompletableFuture<RouteResult.Purged>();
    purge(epoch, new PurgeBefore(shard, incarnation, from, PURGE_STEP), 0, future);
    return future;
  }

  /** One step; the next one is queued after newer commands, so that other changes are not delayed. */
  private void purge(long epoch, PurgeBefore step, long removedBefore, CompletableFuture<RouteResult.Purged> future) {
    propose(
        epoch,
        step,
        purging,
        step.shard(),
        result -> {
          if (!(result instanceof RouteResult.Purged(long removed, byte[] next))) {
            throw new IllegalStateException("a purge ended with " + result);
          }
          long removedSoFar = removedBefore + removed;
          if (next == null) {
            ended(epoch, removedSoFar, future);
          } else {
            purge(epoch, new PurgeBefore(step.shard(), step.incarnation(), next, step.limit()), removedSoFar, future);
          }
        },
        future::completeExceptionally);
  }

  private void ended(long epoch, long removed, CompletableFuture<RouteResult.Purged> future) {
    try {
      future.complete(new RouteResult.Purged(removed, range.end(epoch)));
    } catch (StoreException split) {
      future.completeExceptionally(split); // the caller goes on behind the cut
    }
  }

  @Override
  public CompletableFuture<RoutePage> routes(long epoch, ShardId.Kind kind, byte[] from) {
    return page(epoch, RouteRows.of(kind), () -> true, from);
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(long epoch, ShardId shard, byte[] from) {
    return page(epoch, RouteRows.of(shard), () -> routes.mayHave(shard), from);
  }

  /** @param some whether there may be any: otherwise no row is read */
  private CompletableFuture<RoutePage> page(long epoch, Predicate<byte[]> of, BooleanSupplier some, byte[] from) {
    var refused = range.refusal(epoch, from, from.length);
    if (refused.isPresent()) return CompletableFuture.failedFuture(refused.get());
    return range.readBarrier().thenCompose(_ -> readPage(epoch, of, some, from));
  }

  private CompletableFuture<RoutePage> readPage(long epoch, Predicate<byte[]> of, BooleanSupplier some, byte[] from) {
    try {
      return CompletableFuture.supplyAsync(() -> read(epoch, of, some, from), range.range().readers());
    } catch (RejectedExecutionException busy) {
      return CompletableFuture.failedFuture(new StoreException("overload: too many reads of range " + name, busy));
    }
  }

  private RoutePage read(long epoch, Predicate<byte[]> of, BooleanSupplier some, byte[] from) {
    var page = some.getAsBoolean() ? RouteRows.page(range.range().reader(), of, from, PAGE_ROWS) : new RoutePage(List.of(), null);
    byte @Nullable [] end = range.end(epoch); // the rows behind a cut may have gone while the page was read
    return page.next() == null ? new RoutePage(page.routes(), end) : page;
  }

  /**
   * The routes are read first, and the barrier and the epoch prove afterwards that nothing was missing: neither a route that another leader has confirmed, nor one of a
   * range that was split off.
   */
  @Override
  public CompletableFuture<RouteMatch> match(long epoch, String tenant, byte[] topic, MatchSignature known, byte[] after) {
    var found = matcher.match(tenant, topic, known, after);
    return barrier
        .ask()
        .thenApply(
            _ -> {
              var _ = range.end(epoch);
              return found;
            });
  }

  @Override
  public CompletableFuture<Sums> sums() {
    return CompletableFuture.completedFuture(new Sums(routes.size(), routes.memory()));
  }

  @Override
  public CompletableFuture<List<Long>> routesOfTenants(List<String> tenants) {
    return CompletableFuture.completedFuture(tenants.stream().map(routes::size).toList());
  }

  /** Proposes a command and counts it as in progress for a key until its result is applied or it has failed. */
  private <K> void propose(
      long epoch,
      RouteCommand command,
      ConcurrentHashMap<K, Integer> underWay,
      K key,
      Consumer<RouteResult> done,
      Consumer<StoreException> failed) {
    long failuresBefore = failures.get();
    underWay.merge(key, 1, Integer::sum);
    boolean queued =
        range.propose(
            epoch,
            command,
            new Completion<>() {
              @Override
              public void done(RouteResult result) {
                settledFailures.accumulateAndGet(failuresBefore, Math::max);
                ended(underWay, key);
                done.accept(result);
              }

              @Override
              public void failed(StoreException failure) {
                failures.incrementAndGet();
                ended(underWay, key);
                failed.accept(failure);
              }
            });
    if (queued) return;
    ended(underWay, key);
    failed.accept(new StoreException("overload: the queue of range " + name + " is full"));
  }

  private static <K> void ended(ConcurrentHashMap<K, Integer> underWay, K key) {
    underWay.computeIfPresent(key, (_, count) -> count == 1 ? null : count - 1);
  }
}
