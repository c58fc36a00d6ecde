package dunlin;

import dunlin.node.TierConnections;
import static java.util.Objects.requireNonNull;

import dunlin.broker.Frontend;
import dunlin.dist.Deliveries;
import dunlin.dist.Delivery;
import dunlin.dist.DeliveryThreads;
import dunlin.dist.DistClient;
import dunlin.dist.DistWorker;
import dunlin.dist.deliver.DeliverExecutor;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.dist.remote.RemoteDeliveries;
import dunlin.dist.remote.RemoteDelivery;
import dunlin.dist.remote.Repetitions;
import dunlin.dist.remote.RouteCalls;
import dunlin.dist.remote.RouteRouter;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.InboxClient;
import dunlin.inbox.remote.InboxCalls;
import dunlin.inbox.remote.RemoteConnections;
import dunlin.inbox.remote.RemoteInbox;
import dunlin.inbox.remote.SessionLinks;
import dunlin.inbox.server.FrontendLinks;
import dunlin.inbox.server.InboxServer;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainRangeClient;
import dunlin.retain.RetainReplica;
import dunlin.retain.remote.RetainCalls;
import dunlin.retain.remote.RetainRouter;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.LaneLinks;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.RemoteLane;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.SharedWindow;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tiers of one node as if they were in processes of their own: each lane to the dist tier, and each from there to the event loops and to the
 * inbox shards, is a link over wires, and so is what the frontend and the session tier say to each other, and what both call the dist tier and the retain
 * tier for. The dist tier has a thread for each lane, and workers that deliver: over queues the messages with more than one destination, so that deliveries pass
 * to and fro between the threads, and over gRPC all messages.
 */
public final class WiredTiers implements TierConnections {
  private static final Logger LOG = LoggerFactory.getLogger(WiredTiers.class);

  private static final int MESSAGE_MAX = 16 << 20;
  private static final long GRACE_MILLIS = 1_000;
  private static final UUID ANYBODY = UUID.fromString("00000000-0000-0000-0000-000000000002");
  private static final String NODE = ANYBODY.toString();

  /** Messages to be retained hold credit of lanes, which is less. */
  private static final CallBounds CALLS = new CallBounds(1 << 20, 1 << 30, 32 << 20);

  private static final long WINDOW_BYTES = 4L << 20;
  private static final int WORKERS = 3;

  private final Wires network;
  private final DeliverSettings deliver;
  private final Runnable close;
  private @Nullable SessionLinks sessions;
  private volatile Runnable lose = () -> {};
  private final List<Wire> wires = new ArrayList<>();
  private final List<ExecutorService> threads = new ArrayList<>();
  private final List<Runnable> callers = new ArrayList<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  /** What ends the present link for calls, by what is called. */
  private final Map<String, Runnable> calls = new ConcurrentHashMap<>();

  /** What ends the present link of a lane, at once or when all is answered: of lane n to the dist tier, and of lane ~n from there to the inbox shards. */
  private final Map<Integer, Runnable> lanes = new ConcurrentHashMap<>();

  private final Map<Integer, Runnable> drains = new ConcurrentHashMap<>();

  /** What ends the present link to the event loop of a lane. */
  private final Map<Integer, Runnable> deliveries = new ConcurrentHashMap<>();

  /** The traces of what is lost on links, as a node of a cluster has them. */
  private final Tracer tracer = Tracer.idle();

  private final UnacknowledgedDrops laneDrops = new UnacknowledgedDrops("lane", tracer);
  private final UnacknowledgedDrops deliveryDrops = new UnacknowledgedDrops("delivery", tracer);
  private final UnacknowledgedDrops pushDrops = new UnacknowledgedDrops("push", tracer);
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("lanes-timer").factory());

  private @Nullable Called routeCalls;

  /** A tier that is called, and the thread on which it is. */
  private record Called(Executor thread, CallReceiver receiver) {}

  private WiredTiers(Wires network, int inlineThreshold, Runnable close) {
    this.network = network;
    deliver = new DeliverSettings(inlineThreshold, WORKERS);
    this.close = close;
  }

  /** Uses queues that delay frames and break. */
  public static WiredTiers overQueues(long seed) {
    LOG.warn("wires with -Ddunlin.test.seed={}", seed);
    var random = new Random(seed);
    return new WiredTiers((_, near, far, accepting) -> new TestWire(random.nextLong(), near, far, accepting), 1, () -> {});
  }

  /** Uses gRPC on loopback. */
  public static WiredTiers overGrpc() {
    var grpc = new GrpcWires();
    return new WiredTiers(grpc::wire, 0, grpc::close);
  }

  /** Creates wires. */
  private interface Wires {
    Wire wire(UUID caller, Executor near, Executor far, Wire.Accepting accepting);
  }

  private Wire wire(Executor near, Executor far, Wire.Accepting accepting) {
    return wire(ANYBODY, near, far, accepting);
  }

  private synchronized Wire wire(UUID caller, Executor near, Executor far, Wire.Accepting accepting) {
    var wire = network.wire(caller, near, far, accepting);
    wires.add(wire);
    return wire;
  }

  private synchronized ExecutorService thread(String name) {
    var thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name(name).factory());
    threads.add(thread);
    return thread;
  }

  @Override
  public DeliveryThreads deliveryThreads(MeterRegistry of) {
    return DeliverExecutor.start(deliver, of);
  }

  @Override
  public DistClient dist(DistClient dist) {
    ends(((DistWorker) dist)::close);
    return new WiredDist(dist);
  }

  @Override
  public RouteClient routesOfSessions(RouteClient dist) {
    return remoteRoutes("sessions", dist);
  }

  private RouteRouter remoteRoutes(String part, RouteClient dist) {
    var here = thread("routes-of-" + part);
    var network = network("routes of " + part, here, routeCalls(dist));
    var routes = new RouteRouter(part, NODE, 1, _ -> network, here, CALLS, timer, meters);
    ends(routes::close);
    routes.ranges(List.of(onlyRange(RouteReplica.KIND)));
    routes.begin().orTimeout(TestBroker.SOON.toSeconds(), TimeUnit.SECONDS).join();
    return routes;
  }

  @Override
  public RetainClient retain(RetainClient retain) {
    var here = thread("retained-of-frontend");
    var there = thread("retained-of-tier");
    var network = network("retained messages", here, new Called(there, RetainCalls.receiver(there, CALLS, new OnlyRange(retain))));
    var router = new RetainRouter(NODE, 1, _ -> network, here, CALLS, MESSAGE_MAX, () -> true, timer, meters);
    ends(router::close);
    router.ranges(List.of(onlyRange(RetainReplica.KIND)));
    router.begin().orTimeout(TestBroker.SOON.toSeconds(), TimeUnit.SECONDS).join();
    return router;
  }

  /** The only range of a kind, at its first epoch. */
  private static RangeDescriptor onlyRange(String kind) {
    return new RangeDescriptor(RangeId.firstOf(kind).uuid(), kind, KeyInterval.all(), 1, List.of(ANYBODY), null);
  }

  /** A retain tier as the only range of a cluster, at its first epoch. */
  private record OnlyRange(RetainClient retain) implements RetainRangeClient {
    @Override
    public CompletableFuture<ReasonCode> set(long epoch, Publication message) {
      var answer = new CompletableFuture<ReasonCode>();
      retain.set(message, answer::complete);
      return answer;
    }

    @Override
    public CompletableFuture<Optional<ReasonCode>> add(long epoch, Publication message) {
      var answer = new CompletableFuture<Optional<ReasonCode>>();
      retain.add(message, answer::complete);
      return answer;
    }

    @Override
    public CompletableFuture<RetainClient.Page> find(
        long epoch, String tenant, String filter, RetainClient.@Nullable Cursor after, int messagesMax, int bytesMax) {
      return retain.find(tenant, filter, after, messagesMax, bytesMax);
    }

    @Override
    public CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
      throw new UnsupportedOperationException("operators ask the tier itself");
    }

    @Override
    public CompletableFuture<Sums> sums() {
      return retain.count().thenApply(messages -> new Sums(messages, 0, 0));
    }

    @Override
    public CompletableFuture<List<Held>> held(List<String> tenants) {
      throw new UnsupportedOperationException("there is no other range");
    }
  }

  /** One for all callers. */
  private synchronized Called routeCalls(RouteClient dist) {
    if (routeCalls == null) {
      var there = thread("dist-routes");
      routeCalls = new Called(there, RouteCalls.receiver(there, CALLS, ((DistWorker) dist).range(), (_, _) -> true));
    }
    return routeCalls;
  }

  private CallLinks.Network network(String name, Executor here, Called called) {
    var wire =
        wire(
            here, called.thread,
            (link, opening) -> {
              calls.put(name, () -> called.thread.execute(link::close));
              return called.receiver.open(link, opening);
            });
    return opening -> handler -> wire.dial(opening.encode(), handler);
  }

  /** Ends the present links for calls to the retain tier and the dist tier, and answers how many these are. */
  public int loseCalls() {
    calls.values().forEach(Runnable::run);
    return calls.size();
  }

  /** Ends the present links of all lanes to the dist tier at once, and answers how many these are. */
  public int loseLanes() {
    lanes.values().forEach(Runnable::run);
    return lanes.size();
  }

  /** Ends them as at the end of a leadership, which answers what it has delivered. */
  public int moveLanes() {
    drains.values().forEach(Runnable::run);
    return drains.size();
  }

  /** Ends the present links from the dist tier to event loops, and answers how many these are. */
  public int loseDeliveries() {
    deliveries.values().forEach(Runnable::run);
    return deliveries.size();
  }

  public Tracer tracer() {
    return tracer;
  }

  /** QoS 0 on the way to the dist tier. */
  public UnacknowledgedDrops laneDrops() {
    return laneDrops;
  }

  /** QoS 0 on the way from there to event loops and shards. */
  public UnacknowledgedDrops deliveryDrops() {
    return deliveryDrops;
  }

  /** QoS 0 on the way from the session tier to connections. */
  public UnacknowledgedDrops pushDrops() {
    return pushDrops;
  }

  /** Links for calls that were lost so far. */
  public long lostCalls() {
    return (long) (meters.get("dunlin.retain.links.lost").functionCounters().stream().mapToDouble(FunctionCounter::count).sum()
        + meters.get("dunlin.dist.links.lost").functionCounters().stream().mapToDouble(FunctionCounter::count).sum());
  }

  private synchronized void ends(Runnable caller) {
    callers.add(caller);
  }

  @Override
  public Deliveries onLoops(Frontend frontend, Delivery delivery) {
    var repetitions = new Repetitions();
    return (lane, thread) -> {
      var loop = frontend.onLane(lane);
      var wire =
          wire(
              thread, loop,
              (link, _) -> {
                deliveries.put(lane, () -> loop.execute(link::close));
                return new ReceivingStream(link, loop, new RemoteDeliveries(delivery, repetitions));
              });
      return new RemoteDelivery(wire::dial, thread, System::nanoTime, null, deliveryDrops);
    };
  }

  @Override
  public Deliveries onShards(Delivery delivery) {
    return (lane, thread) -> {
      var there = thread("shards-lane-" + lane);
      var links = LaneLinks.ofLeaders(link -> ends(~lane, link, there, new ReceivingStream(link, there, new RemoteDeliveries(delivery), afterGrace(there))));
      var wire = wire(thread, there, (link, _) -> links.open(link, LaneLinks.opening(1)));
      return new RemoteDelivery(wire::dial, thread, System::nanoTime, repeating(~lane, thread), deliveryDrops);
    };
  }

  private ReceivingStream ends(int lane, Link link, Executor there, ReceivingStream stream) {
    lanes.put(lane, () -> there.execute(link::close));
    drains.put(lane, stream::end);
    return stream;
  }

  private Executor afterGrace(Executor thread) {
    return task -> timer.schedule(() -> thread.execute(task), GRACE_MILLIS, TimeUnit.MILLISECONDS);
  }

  private Repeating repeating(int lane, Executor thread) {
    return new Repeating(lane + 1, TestBroker.SOON, System::nanoTime, (task, millis) -> timer.schedule(() -> thread.execute(task), millis, TimeUnit.MILLISECONDS));
  }

  @Override
  public InboxClient sessions(InboxServer inbox, Frontend frontend) {
    var here = thread("sessions-of-frontend");
    var there = thread("sessions-of-tier");
    var tier = new FrontendLinks(inbox, () -> CompletableFuture.completedFuture(null), there);
    var accepts = InboxCalls.factory(there, RemoteConnections.Bounds.defaults(), pushDrops, tier);
    var wire =
        wire(
            UUID.fromString(frontend.identity().nodeId()), here, there,
            (link, opening) -> {
              lose = () -> there.execute(link::close);
              return accepts.open(link, opening);
            });
    sessions =
        new SessionLinks(
            frontend.identity().nodeId(), frontend.connections(0), () -> frontend.sessionTierLost(0), opening -> handler -> wire.dial(opening.encode(), handler), here,
            RemoteInbox.Bounds.defaults(MESSAGE_MAX));
    return sessions;
  }

  /** Ends the present link between the frontend and the session tier, as a node does that leads no longer. The frontend dials another one. */
  public void loseSessions() {
    lose.run();
  }

  /** Links between them that were lost so far. */
  public long lostSessions() {
    return requireNonNull(sessions).lost();
  }

  /** Ends the frontend's present life, as when no session tier has been there for too long. */
  public void endLife() {
    requireNonNull(sessions).lose("the test says so");
  }

  @Override
  public CompletableFuture<Void> attach(InboxServer inbox, Frontend frontend) {
    return requireNonNull(sessions).begin(frontend.life(0));
  }

  @Override
  public synchronized void close() {
    if (sessions != null) sessions.close();
    for (Runnable ends : callers) ends.run();
    for (Wire wire : wires) wire.close();
    close.run();
    timer.shutdownNow();
    for (ExecutorService thread : threads) thread.shutdownNow();
  }

  private final class WiredDist implements DistClient {
    private final DistClient dist;
    private final RouteClient routes;
    private final SharedWindow window = new SharedWindow(WINDOW_BYTES);

    WiredDist(DistClient dist) {
      this.dist = dist;
      routes = remoteRoutes("frontend", dist);
    }

    @Override
    public Lane openLane(int number, Executor thread, LaneCredit credit) {
      var there = thread("dist-lane-" + number);
      var lane = CompletableFuture.supplyAsync(() -> dist.openLane(number, there, LaneCredit.uncounted()), there);
      var links = LaneLinks.ofCallers(link -> ends(number, link, there, new ReceivingStream(link, there, RemoteLane.into(lane.join(), window), afterGrace(there))));
      var wire = wire(thread, there, links::open);
      return new RemoteLane(wire::dial, thread, credit, repeating(number, thread), laneDrops);
    }

    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      return routes.addRoute(route);
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      return routes.removeRoute(route);
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      return routes.removeRoutesBefore(shard, incarnation);
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      return routes.routes(kind, from);
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      return routes.routesOf(shard, from);
    }
  }
}
