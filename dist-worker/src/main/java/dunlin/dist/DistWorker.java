package dunlin.dist;

import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The dist tier of a process that leads all ranges of routes: keeps the routes, and hands each message to the
 * destinations attached here whose routes match it.
 *
 * <p>Its futures complete on the range's applying thread: what is chained to them must be quick.
 */
public final class DistWorker implements DistClient {
  /*
   * Owner: any thread calls it; each lane has its own.
   * The routes of a filter stand in one range; which ones a topic may match in says FilterRanges. A node that is alone has one range.
   * Bounds: RouteServer says its own. Lanes stay as long as the worker: their opener has one for each of its threads.
   * Failure: what a range refuses or fails, fails for its routes alone.
   */
  private static final String RANGE = "routes";
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

  private final FilterRanges ranges;

  /** In the order of their ranges. */
  private final RouteServer[] servers;

  private final Function<Publisher, ShardId> home;
  private final List<LocalLane> lanes = new CopyOnWriteArrayList<>();

  private volatile Destination[] destinations = NONE;

  /**
   * Declares the range of routes in a store that has not started yet. Routes can be changed once it has.
   *
   * @param home the inbox shard that records the QoS 2 exchanges of a publisher
   */
  public static DistWorker create(RangeStore store, DistSettings settings, Function<Publisher, ShardId> home, MeterRegistry registry) {
    return new DistWorker(store::range, List.of(), settings, home, registry);
  }

  /**
   * With the ranges that are made here.
   *
   * @param cuts as in {@link FilterRanges}
   */
  DistWorker(RangeOpener store, List<byte[]> cuts, DistSettings settings, Function<Publisher, ShardId> home, MeterRegistry registry) {
    this.home = home;
    ranges = new FilterRanges(cuts);
    servers = new RouteServer[ranges.count()];
    var quota = new RouteQuota(settings, () -> sum(server -> server.applied().memory()));
    for (int i = 0; i < servers.length; i++) servers[i] = new RouteServer(i == 0 ? RANGE : RANGE + "-" + i, store, quota);
    Gauge.builder("dunlin.dist.memory", this, all -> all.sum(server -> server.applied().memory()))
        .description("Memory that the routes take, as dunlin.dist.memory-max counts it")
        .baseUnit("bytes")
        .register(registry);
    for (var kind : RouteQuotaException.Kind.values()) {
      FunctionCounter.builder("dunlin.dist.refused", quota, all -> all.refused(kind))
          .tag("limit", kind.name().toLowerCase(Locale.ROOT))
          .description("Routes that were not set since a limit was reached")
          .register(registry);
    }
    Gauge.builder("dunlin.dist.routes", this, all -> all.sum(server -> server.applied().size()))
        .description("Routes: a topic filter that a shard wants the messages of")
        .register(registry);
    Gauge.builder("dunlin.dist.filters", this, all -> all.sum(server -> server.applied().index().size()))
        .description("Topic filters with at least one route")
        .register(registry);
    Gauge.builder("dunlin.dist.changing", this, all -> all.sum(RouteServer::changing))
        .description("Routes with a change in the range's queue")
        .register(registry);
    counter(registry, "dunlin.dist.published", LocalLane::published, "Messages that came in for matching");
    counter(registry, "dunlin.dist.visited", LocalLane::visited, "Ranges of routes that were looked at for messages");
    counter(registry, "dunlin.dist.matched", LocalLane::matched, "Messages that matched a route");
    counter(
        registry,
        "dunlin.dist.unattached",
        LocalLane::unattached,
        "Matched routes to a shard that this process does not serve");
  }

  private long sum(ToLongFunction<RouteServer> of) {
    return Arrays.stream(servers).mapToLong(of).sum();
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
    var lane = new LocalLane(this, home, number, thread);
    lanes.add(lane);
    return lane;
  }

  FilterRanges ranges() {
    return ranges;
  }

  /** The routes of a range as applied so far. */
  RouteRange applied(int range) {
    return servers[range].applied();
  }

  private CompletableFuture<Void> change(Route route, BiFunction<RouteServer, Route, CompletableFuture<Void>> change) {
    var problem = RouteRows.problem(route.tenant(), route.filter(), route.shard());
    if (problem.isPresent()) return CompletableFuture.failedFuture(new StoreException("no route can have " + problem.orElseThrow()));
    return change.apply(servers[ranges.of(RouteRows.key(route))], route);
  }

  @Override
  public CompletableFuture<Void> addRoute(Route route) {
    return change(route, RouteServer::addRoute);
  }

  @Override
  public CompletableFuture<Void> removeRoute(Route route) {
    return change(route, RouteServer::removeRoute);
  }

  @Override
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    return Arrays.stream(servers)
        .map(server -> server.removeRoutesBefore(shard, incarnation))
        .reduce((one, other) -> one.thenCombine(other, Long::sum))
        .orElseThrow();
  }

  @Override
  public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
    // Two bytes for the range, and where to go on in it.
    int range = from == null ? 0 : Short.toUnsignedInt(ByteBuffer.wrap(from).getShort());
    byte[] key = from == null ? new byte[0] : Arrays.copyOfRange(from, 2, from.length);
    return servers[range].routes(kind, key).thenApply(page -> new RoutePage(page.routes(), behind(range, page.next())));
  }

  private byte @Nullable [] behind(int range, byte @Nullable [] next) {
    if (next == null && range + 1 == servers.length) return null;
    byte[] key = next == null ? new byte[0] : next;
    return ByteBuffer.allocate(2 + key.length).putShort((short) (next == null ? range + 1 : range)).put(key).array();
  }
}
