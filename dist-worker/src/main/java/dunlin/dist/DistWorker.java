package dunlin.dist;

import dunlin.dist.RouteCommand.Add;
import dunlin.dist.RouteCommand.PurgeBefore;
import dunlin.dist.RouteCommand.Remove;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The dist tier of a process that leads the range of all routes: keeps the routes, and hands each message to the
 * destinations attached here whose routes match it.
 *
 * <p>Its futures complete on the range's applying thread: what is chained to them must be quick.
 */
public final class DistWorker implements DistClient {
  /*
   * Owner: any thread calls it; each lane has its own.
   * Bounds: a page of routes looks at PAGE_ROWS rows, on a reader of the range. The changes under way are those in the range's bounded queue; full, a change fails at once and nothing of it
   * happened. Lanes stay as long as the worker: their opener has one for each of its threads.
   * Failure: a change that failed may still happen. Until a change that was proposed later has been applied, which settles
   * it, all changes go through the log.
   *
   * A route that is there already costs no entry in the log; shards announce all their routes again when they start. The
   * index alone does not tell: the caller may have a change of the same route under way, which would come after. So a change
   * counts as under way from before it is proposed until the index shows it, and that is looked at first.
   */
  private static final String RANGE = "routes";
  private static final int PURGE_STEP = 1_000;
  private static final int PAGE_ROWS = 256;
  private static final Destination[] NONE = {};

  /** Who serves the inbox shards of this process, or one frontend. */
  record Destination(ShardId.Kind kind, @Nullable String name, Deliveries deliveries) {
    boolean serves(ShardId shard) {
      return kind == shard.kind() && (name == null || name.equals(shard.name()));
    }

    boolean replaces(Destination other) {
      return kind == other.kind && (name == null ? other.name == null : name.equals(other.name));
    }
  }

  /** Makes the range. */
  interface RangeOpener {
    Range<RouteCommand, RouteResult> range(
        String name, CommandCodec<RouteCommand> codec, RangeLogic<RouteCommand, RouteResult> logic);
  }

  private record RouteId(String tenant, TopicFilter filter, ShardId shard) implements Comparable<RouteId> {
    @Override
    public int compareTo(RouteId other) {
      int byFilter = filter.compareTo(other.filter);
      if (byFilter != 0) return byFilter;
      int byShard = shard.compareTo(other.shard);
      return byShard != 0 ? byShard : tenant.compareTo(other.tenant);
    }
  }

  private final RouteRange routes = new RouteRange();
  private final Range<RouteCommand, RouteResult> range;
  private final Function<Publisher, ShardId> home;
  private final List<LocalLane> lanes = new CopyOnWriteArrayList<>();

  private final ConcurrentHashMap<RouteId, Integer> changing = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<ShardId, Integer> purging = new ConcurrentHashMap<>();
  private final AtomicLong failures = new AtomicLong();
  private final AtomicLong settledFailures = new AtomicLong();
  private volatile Destination[] destinations = NONE;

  /**
   * Declares the range of routes in a store that has not started yet. Routes can be changed once it has.
   *
   * @param home the inbox shard that records the QoS 2 exchanges of a publisher
   */
  public static DistWorker create(RangeStore store, Function<Publisher, ShardId> home, MeterRegistry registry) {
    return new DistWorker(store::range, home, registry);
  }

  /** With the range that is made here. */
  DistWorker(RangeOpener store, Function<Publisher, ShardId> home, MeterRegistry registry) {
    this.home = home;
    range = store.range(RANGE, new RouteCodec(), routes);
    Gauge.builder("dunlin.dist.routes", routes, RouteRange::size)
        .description("Routes: a topic filter that a shard wants the messages of")
        .register(registry);
    Gauge.builder("dunlin.dist.filters", routes, all -> all.index().size())
        .description("Topic filters with at least one route")
        .register(registry);
    Gauge.builder("dunlin.dist.changing", changing, ConcurrentHashMap::mappingCount)
        .description("Routes with a change in the range's queue")
        .register(registry);
    counter(registry, "dunlin.dist.published", LocalLane::published, "Messages that came in for matching");
    counter(registry, "dunlin.dist.matched", LocalLane::matched, "Messages that matched a route");
    counter(
        registry,
        "dunlin.dist.unattached",
        LocalLane::unattached,
        "Matched routes to a shard that this process does not serve");
  }

  private void counter(MeterRegistry registry, String name, ToLongFunction<LocalLane> of, String description) {
    FunctionCounter.builder(name, lanes, all -> all.stream().mapToLong(of).sum())
        .description(description)
        .register(registry);
  }

  /** Says who delivers to a frontend's connected sessions. Another one for the same frontend takes its place. */
  public void attachFrontend(String nodeId, Deliveries deliveries) {
    attach(new Destination(ShardId.Kind.FRONTEND, nodeId, deliveries));
  }

  /** Says who delivers to all inbox shards: a message is handed over once, however many of them want it. */
  public void attachInboxShards(Deliveries deliveries) {
    attach(new Destination(ShardId.Kind.INBOX, null, deliveries));
  }

  private synchronized void attach(Destination destination) {
    Destination[] now = destinations;
    for (int i = 0; i < now.length; i++) {
      if (!destination.replaces(now[i])) continue;
      Destination[] replaced = now.clone();
      replaced[i] = destination;
      destinations = replaced;
      return;
    }
    Destination[] more = Arrays.copyOf(now, now.length + 1);
    more[now.length] = destination;
    destinations = more;
  }

  /** Never written to; a destination keeps its place. */
  Destination[] destinations() {
    return destinations;
  }

  @Override
  public Lane openLane(int number, Executor thread, LaneCredit credit) {
    var lane = new LocalLane(this, routes, home, number, thread);
    lanes.add(lane);
    return lane;
  }

  @Override
  public CompletableFuture<Void> addRoute(Route route) {
    var problem = RouteRows.problem(route.tenant(), route.filter(), route.shard());
    if (problem.isPresent()) return refused(problem);
    var id = new RouteId(route.tenant(), route.filter(), route.shard());
    // In this order: what is no longer under way is in the index.
    boolean underWay = changing.containsKey(id) || purging.containsKey(route.shard());
    if (!underWay && settledFailures.get() == failures.get()) {
      if (route.equals(routes.find(route.tenant(), route.filter(), route.shard()))) {
        return CompletableFuture.completedFuture(null);
      }
    }
    var future = new CompletableFuture<Void>();
    propose(
        new Add(route),
        changing,
        id,
        result -> {
          switch (result) {
            case RouteResult.Superseded(long incarnation) ->
                future.completeExceptionally(
                    new StoreException("incarnation " + incarnation + " of its shard has set " + route));
            case RouteResult.Refused(String reason) ->
                future.completeExceptionally(new StoreException("no route can have " + reason));
            case RouteResult.Added _, RouteResult.Removed _, RouteResult.Purged _ -> future.complete(null);
          }
        },
        future::completeExceptionally);
    return future;
  }

  @Override
  public CompletableFuture<Void> removeRoute(Route route) {
    var problem = RouteRows.problem(route.tenant(), route.filter(), route.shard());
    if (problem.isPresent()) return refused(problem);
    var future = new CompletableFuture<Void>();
    propose(
        new Remove(route.tenant(), route.filter(), route.shard(), route.incarnation()),
        changing,
        new RouteId(route.tenant(), route.filter(), route.shard()),
        _ -> future.complete(null),
        future::completeExceptionally);
    return future;
  }

  @Override
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    var future = new CompletableFuture<Long>();
    purge(new PurgeBefore(shard, incarnation, new byte[0], PURGE_STEP), 0, future);
    return future;
  }

  /** One step; the next one queues behind what has come meanwhile, so that others' changes are not held up. */
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

  @Override
  public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
    var page = new CompletableFuture<RoutePage>();
    try {
      range
          .readers()
          .execute(
              () -> {
                try {
                  page.complete(RouteRows.page(range.reader(), kind, from == null ? new byte[0] : from, PAGE_ROWS));
                } catch (RuntimeException e) {
                  page.completeExceptionally(e);
                }
              });
    } catch (RejectedExecutionException busy) {
      page.completeExceptionally(new StoreException("overload: too many read range " + RANGE, busy));
    }
    return page;
  }

  /** Proposes a command and counts it as under way for a key until its result is applied or it has failed. */
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
    failed.accept(new StoreException("overload: the queue of range " + RANGE + " is full"));
  }

  private static <K> void ended(ConcurrentHashMap<K, Integer> underWay, K key) {
    underWay.computeIfPresent(key, (_, count) -> count == 1 ? null : count - 1);
  }

  private static CompletableFuture<Void> refused(Optional<String> problem) {
    return CompletableFuture.failedFuture(new StoreException("no route can have " + problem.orElseThrow()));
  }
}
