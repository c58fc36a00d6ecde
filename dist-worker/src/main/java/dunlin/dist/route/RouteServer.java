package dunlin.dist.route;

import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Serves one range of routes on its leader: proposes changes of its routes, and keeps their filters for the lanes.
 *
 * <p>Its futures complete on the range's applying thread: dependent stages must be quick.
 */
public final class RouteServer {
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
  private final Range<RouteCommand, RouteResult> range;
  private final RouteQuota quota;

  private final ConcurrentHashMap<RouteId, Integer> changing = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<ShardId, Integer> purging = new ConcurrentHashMap<>();
  private final AtomicLong failures = new AtomicLong();
  private final AtomicLong settledFailures = new AtomicLong();

  /** @param name the range's name in messages */
  public RouteServer(String name, RouteReplica replica, RouteQuota quota) {
    this.name = name;
    this.quota = quota;
    routes = replica.routes();
    range = replica.range();
  }

  /** The applied routes. Any thread. */
  public RouteRange applied() {
    return routes;
  }

  /** Routes with a change in the range's queue. */
  public long changing() {
    return changing.mappingCount();
  }

  /** {@link RouteClient#addRoute} for a valid route of this range. */
  public CompletableFuture<Void> addRoute(Route route) {
    var id = new RouteId(route.tenant(), route.filter(), route.shard());
    // In this order: a change that is no longer in progress is in the index.
    boolean underWay = changing.containsKey(id) || purging.containsKey(route.shard());
    var present = routes.find(route.tenant(), route.filter(), route.shard());
    if (!underWay && settledFailures.get() == failures.get() && route.equals(present)) return CompletableFuture.completedFuture(null);
    Runnable giveBack;
    try {
      giveBack = present == null ? quota.take(route, routes.groupsBeside(route)) : () -> {};
    } catch (RouteQuotaException full) {
      return CompletableFuture.failedFuture(full);
    }
    var future = new CompletableFuture<Void>();
    propose(
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

  /** {@link RouteClient#removeRoute} for a valid route of this range. */
  public CompletableFuture<Void> removeRoute(Route route) {
    var future = new CompletableFuture<Void>();
    propose(
        new Remove(route.tenant(), route.filter(), route.shard(), route.incarnation()),
        changing,
        new RouteId(route.tenant(), route.filter(), route.shard()),
        _ -> future.complete(null),
        future::completeExceptionally);
    return future;
  }

  /** {@link RouteClient#removeRoutesBefore} in this range. */
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    var future = new CompletableFuture<Long>();
    purge(new PurgeBefore(shard, incarnation, new byte[0], PURGE_STEP), 0, future);
    return future;
  }

  /** One step; the next one is queued after newer commands, so that other changes are not delayed. */
  private void purge(PurgeBefore step, long removedBefore, CompletableFuture<Long> future) {
    propose(
        step,
        purging,
        step.shard(),
        result -> {
          if (!(result instanceof RouteResult.Purged(long removed, byte[] next))) {
            throw new IllegalStateException("a purge ended with " + result);
          }
          long removedSoFar = removedBefore + removed;
          if (next == null) {
            future.complete(removedSoFar);
          } else {
            purge(new PurgeBefore(step.shard(), step.incarnation(), next, step.limit()), removedSoFar, future);
          }
        },
        future::completeExceptionally);
  }

  /** A page of this range's routes, of some shards. */
  public CompletableFuture<RoutePage> routes(Predicate<ShardId> of, byte[] from) {
    var page = new CompletableFuture<RoutePage>();
    try {
      range
          .readers()
          .execute(
              () -> {
                try {
                  page.complete(RouteRows.page(range.reader(), of, from, PAGE_ROWS));
                } catch (RuntimeException e) {
                  page.completeExceptionally(e);
                }
              });
    } catch (RejectedExecutionException busy) {
      page.completeExceptionally(new StoreException("overload: too many reads of range " + name, busy));
    }
    return page;
  }

  /** Proposes a command and counts it as in progress for a key until its result is applied or it has failed. */
  private <K> void propose(
      RouteCommand command,
      ConcurrentHashMap<K, Integer> underWay,
      K key,
      Consumer<RouteResult> done,
      Consumer<StoreException> failed) {
    long failuresBefore = failures.get();
    underWay.merge(key, 1, Integer::sum);
    boolean queued =
        range.propose(
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
