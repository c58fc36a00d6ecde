package dunlin.dist;

import dunlin.dist.route.FilterRanges;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCodec;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteQuota;
import dunlin.dist.route.RouteRange;
import dunlin.dist.route.RouteRangeClient;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteResult;
import dunlin.dist.route.RouteRows;
import dunlin.dist.route.RouteServer;
import dunlin.dist.route.RouteView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TenantQuota;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.raft.RangeStore;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The dist tier of a process: keeps the routes, and passes each message to the attached destinations with matching routes. A node that runs alone has all ranges of
 * routes. In a cluster a worker serves one leadership of the first range, asks the leaders of the others, and nothing is appended to its lanes afterwards.
 *
 * <p>Its futures complete on the range's applying thread: dependent stages must be quick.
 */
public final class DistWorker implements DistClient, AutoCloseable {
  /*
   * Owner: any thread calls it; each lane belongs to one thread. All routes of a filter are in one range; FilterRanges
   * finds the ranges in which a topic may match. A single node has one range.
   * Bounds: see RouteServer. Lanes live as long as the worker: there is one for each thread of their opener.
   * Failure: an error of a range only affects its own routes.
   */
  private static final Destination[] NONE = {};
  private static final RouteView WHOLE = RouteView.whole();

  /**
   * The deliveries of the inbox shards of an interval, or of one frontend; without any while the frontend is detached.
   *
   * @param frontend null for inbox shards
   * @param from the number of the first inbox shard
   * @param to behind that of the last one
   */
  record Destination(@Nullable String frontend, int from, int to, @Nullable Deliveries deliveries) {
    static Destination ofFrontend(String nodeId, @Nullable Deliveries deliveries) {
      return new Destination(nodeId, 0, 0, deliveries);
    }

    boolean serves(ShardId shard) {
      if (deliveries == null) return false;
      return frontend == null ? shard.kind() == ShardId.Kind.INBOX && has(shard) : is(shard);
    }

    private boolean has(ShardId shard) {
      if (from == 0 && to == Integer.MAX_VALUE) return true;
      int number = shard.number();
      return from <= number && number < to;
    }

    private boolean is(ShardId shard) {
      return shard.kind() == ShardId.Kind.FRONTEND && shard.name().equals(frontend);
    }

    boolean isDetached(ShardId shard) {
      return deliveries == null && is(shard);
    }

    boolean stores() {
      return frontend == null;
    }

    boolean replaces(Destination other) {
      return Objects.equals(frontend, other.frontend) && from == other.from && to == other.to;
    }
  }

  /** Creates a range. */
  interface RangeOpener {
    Range<RouteCommand, RouteResult> range(
        String name, CommandCodec<RouteCommand> codec, RangeLogic<RouteCommand, RouteResult> logic);
  }

  private final FilterRanges ranges;

  /** The servers, in the order of their ranges. */
  private final RouteServer[] servers;

  private final Function<Publisher, ShardId> home;
  private final List<LocalLane> lanes = new CopyOnWriteArrayList<>();
  private final DistMeters meters;
  private final Tracer tracer;
  private final DeliveryThreads threads;

  /** Null in a process that has all ranges. */
  private final @Nullable Cluster cluster;

  /** Of the lanes of a cluster. */
  private final List<GatheringLane> gathering = new CopyOnWriteArrayList<>();

  /** Null in a cluster, where RouteTier has them. */
  private final @Nullable RouteMeters routeMeters;

  /** Of the ranges of a node that runs alone; null in a cluster, where RouteTier has one for each range. */
  private final @Nullable RouteQuota quota;

  private volatile Destination[] destinations = NONE;

  /**
   * Declares the range of routes in a store before its start. Routes can be changed after the start.
   *
   * @param home the inbox shard that records the QoS 2 exchanges of a publisher
   */
  public static DistWorker create(RangeStore store, DistSettings settings, Function<Publisher, ShardId> home, MeterRegistry registry) {
    return create(store, settings, home, registry, Tracer.idle(), DeliveryThreads.inline());
  }

  /**
   * The same.
   *
   * @param tracer notes where messages go, for operators
   * @param threads where its lanes serve destinations; closed with it
   */
  public static DistWorker create(
      RangeStore store, DistSettings settings, Function<Publisher, ShardId> home, MeterRegistry registry, Tracer tracer, DeliveryThreads threads) {
    return new DistWorker(store::range, List.of(), settings, home, registry, tracer, threads);
  }

  /**
   * Serves the lanes of a cluster, for one leadership of the first range.
   *
   * @param led the first range, which this node leads; its owner closes it
   * @param others the other ranges
   * @param own the frontend of this node, which may have none
   * @param dropped called for each QoS 0 message that is given up since another range has no answer; any thread
   * @param tracer notes where messages go, for operators
   * @param threads where its lanes serve destinations; closed with it
   */
  public static DistWorker leading(
      RouteTier.Led led, OtherRanges others, ShardId own, Consumer<Publication> dropped, Function<Publisher, ShardId> home, MeterRegistry registry, Tracer tracer,
      DeliveryThreads threads) {
    return new DistWorker(List.of(led.server), new FilterRanges(List.of()), new Cluster(led, others, own, dropped), null, null, home, registry, tracer, threads);
  }

  /** What a worker of a cluster has beside its own range. */
  private record Cluster(RouteTier.Led led, OtherRanges others, ShardId own, Consumer<Publication> dropped) {
    CompletableFuture<@Nullable Void> barrier() {
      return led.replica.readBarrier();
    }

    RouteView view() {
      return led.server.descriptor().map(others::beside).orElse(WHOLE);
    }
  }

  /**
   * Creates a worker and its ranges.
   *
   * @param cuts as in {@link FilterRanges}
   */
  DistWorker(
      RangeOpener store,
      List<byte[]> cuts,
      DistSettings settings,
      Function<Publisher, ShardId> home,
      MeterRegistry registry,
      Tracer tracer,
      DeliveryThreads threads) {
    this(Alone.of(declare(store, cuts.size() + 1), settings), new FilterRanges(cuts), home, registry, tracer, threads);
  }

  private DistWorker(
      Alone alone, FilterRanges ranges, Function<Publisher, ShardId> home, MeterRegistry registry, Tracer tracer, DeliveryThreads threads) {
    this(alone.servers, ranges, null, new RouteMeters(registry, alone.servers, List.of(alone.quota)), alone.quota, home, registry, tracer, threads);
  }

  private DistWorker(
      List<RouteServer> servers,
      FilterRanges ranges,
      @Nullable Cluster cluster,
      @Nullable RouteMeters routeMeters,
      @Nullable RouteQuota quota,
      Function<Publisher, ShardId> home,
      MeterRegistry registry,
      Tracer tracer,
      DeliveryThreads threads) {
    this.servers = servers.toArray(RouteServer[]::new);
    this.ranges = ranges;
    this.cluster = cluster;
    this.routeMeters = routeMeters;
    this.quota = quota;
    this.home = home;
    this.tracer = tracer;
    this.threads = threads;
    meters = new DistMeters(registry, lanes);
    if (cluster != null) meters.gathering(gathering);
  }

  /** All ranges of a node that runs alone, whose limits are for all of them together. */
  private record Alone(List<RouteServer> servers, RouteQuota quota) {
    static Alone of(List<RouteReplica> replicas, DistSettings settings) {
      var quota =
          new RouteQuota(
              settings.memoryMax(), settings.groupsMax(), () -> replicas.stream().mapToLong(RouteReplica::memory).sum(),
              tenant -> replicas.stream().mapToLong(each -> each.routesOf(tenant)).sum());
      return new Alone(IntStream.range(0, replicas.size()).mapToObj(i -> new RouteServer(name(i), replicas.get(i), quota, settings.patternsMax())).toList(), quota);
    }
  }

  /** Sets how many routes a tenant may have, in a node that runs alone. */
  public void limitTenants(TenantQuota routesMax) {
    Objects.requireNonNull(quota, "a node of a cluster").limitTenants(routesMax);
  }

  private static List<RouteReplica> declare(RangeOpener store, int count) {
    var made = new ArrayList<RouteReplica>(count);
    for (int i = 0; i < count; i++) {
      var routes = new RouteRange();
      made.add(RouteReplica.alone(store.range(name(i), new RouteCodec(), routes), routes));
    }
    return made;
  }

  private static String name(int range) {
    return range == 0 ? RouteReplica.KIND : RouteReplica.KIND + "-" + range;
  }

  /** Sets the deliveries to a frontend's connected sessions; replaces earlier ones of the same frontend. */
  public void attachFrontend(String nodeId, Deliveries deliveries) {
    attach(Destination.ofFrontend(nodeId, deliveries));
  }

  /**
   * Stops delivering to a frontend, whose connected sessions have ended. Unanswered messages to it are soon answered as lost.
   * Later ones that match its routes are counted as unattached.
   */
  public void detachFrontend(String nodeId) {
    attach(Destination.ofFrontend(nodeId, null));
    lanes.forEach(LocalLane::attachSoon);
  }

  /** Sets the deliveries to all inbox shards. A message is delivered once, however many of them match. */
  public void attachInboxShards(Deliveries deliveries) {
    attachInboxShards(0, Integer.MAX_VALUE, deliveries);
  }

  /**
   * Sets the deliveries to the inbox shards of an interval. A message is delivered once to each interval with shards that match. Intervals must not overlap.
   *
   * @param from the number of the first one
   * @param to behind that of the last one
   */
  public void attachInboxShards(int from, int to, Deliveries deliveries) {
    if (from < 0 || from >= to) throw new IllegalArgumentException("inbox shards from " + from + " to " + to);
    attach(new Destination(null, from, to, deliveries));
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

  /** The destinations. The array is never modified; a destination keeps its index. */
  Destination[] destinations() {
    return destinations;
  }

  @Override
  public Lane openLane(int number, Executor thread, LaneCredit credit) {
    var lane = new LocalLane(this, home, number, thread, cluster != null);
    lanes.add(lane);
    if (cluster == null) return lane;
    var leased = new LeasedLane(lane, cluster::barrier, this::epoch, thread);
    var gathers = new GatheringLane(leased, new LaneSurroundings(cluster, thread), thread, GatheringLane.AHEAD_BYTES);
    gathering.add(gathers);
    return gathers;
  }

  private record LaneSurroundings(Cluster cluster, Executor thread) implements GatheringLane.Surroundings {
    @Override
    public RouteView view() {
      return cluster.view();
    }

    @Override
    public long nanoTime() {
      return System.nanoTime();
    }

    @Override
    public void later(Runnable task, long millis) {
      CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS, thread).execute(task);
    }

    @Override
    public void dropped(Publication message) {
      cluster.dropped.accept(message);
    }
  }

  /** The frontend of this node; null in a process that has no other ones. */
  @Nullable ShardId own() {
    return cluster == null ? null : cluster.own;
  }

  /** The present epoch of the own range. */
  long epoch() {
    return servers[0].epoch();
  }

  /** Returns the messages that wait for other ranges to their senders, soon. Called before the end of a leadership. */
  public void giveUpWaiting() {
    gathering.forEach(GatheringLane::giveUpSoon);
  }

  /** What operators see of the routes. */
  public RoutesMXBean operations() {
    return cluster == null ? new RouteOperations(List.of(servers), lanes) : new RouteOperations(List.of(servers), cluster::view, cluster.others::routes, lanes);
  }

  DistMeters meters() {
    return meters;
  }

  Tracer tracer() {
    return tracer;
  }

  FilterRanges ranges() {
    return ranges;
  }

  DeliveryThreads threads() {
    return threads;
  }

  /** The routes of a range as applied so far. */
  RouteRange applied(int range) {
    return servers[range].applied();
  }

  /** The first range, as callers in other processes change and read it. */
  public RouteRangeClient range() {
    return servers[0];
  }

  private RouteServer serverOf(Route route) {
    return servers[ranges.of(RouteRows.key(route))];
  }

  @Override
  public CompletableFuture<Void> addRoute(Route route) {
    var server = serverOf(route);
    return server.addRoute(server.epoch(), route);
  }

  @Override
  public void together(Runnable calls) {
    Runnable nested = calls;
    for (var server : servers) {
      Runnable inner = nested;
      nested = () -> server.together(inner);
    }
    nested.run();
  }

  @Override
  public CompletableFuture<Void> removeRoute(Route route) {
    var server = serverOf(route);
    return server.removeRoute(server.epoch(), route);
  }

  @Override
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    return Arrays.stream(servers)
        .map(server -> server.removeRoutesBefore(server.epoch(), shard, incarnation, new byte[0]).thenApply(RouteResult.Purged::removed))
        .reduce((one, other) -> one.thenCombine(other, Long::sum))
        .orElseThrow();
  }

  @Override
  public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
    return page((server, key) -> server.routes(server.epoch(), kind, key), from);
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
    return page((server, key) -> server.routesOf(server.epoch(), shard, key), from);
  }

  private CompletableFuture<RoutePage> page(BiFunction<RouteServer, byte[], CompletableFuture<RoutePage>> of, byte @Nullable [] from) {
    // Two bytes for the range, followed by the key to continue from.
    int range = from == null ? 0 : Short.toUnsignedInt(ByteBuffer.wrap(from).getShort());
    byte[] key = from == null ? new byte[0] : Arrays.copyOfRange(from, 2, from.length);
    return of.apply(servers[range], key).thenApply(page -> new RoutePage(page.routes(), behind(range, page.next())));
  }

  private byte @Nullable [] behind(int range, byte @Nullable [] next) {
    if (next == null && range + 1 == servers.length) return null;
    byte[] key = next == null ? new byte[0] : next;
    return ByteBuffer.allocate(2 + key.length).putShort((short) (next == null ? range + 1 : range)).put(key).array();
  }

  /**
   * Closes its lanes to all destinations, on their threads, and removes its meters. Nothing may be appended afterwards.
   * Waits for the threads beside those of the lanes, if there are any.
   */
  @Override
  public void close() {
    lanes.forEach(LocalLane::close);
    threads.close();
    meters.close();
    if (routeMeters != null) routeMeters.close();
  }
}
