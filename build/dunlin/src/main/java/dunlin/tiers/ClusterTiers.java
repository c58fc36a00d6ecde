package dunlin.tiers;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.Frontend;
import dunlin.broker.tenant.TenantLimit;
import dunlin.broker.users.AccessClient;
import dunlin.broker.users.AccessReplica;
import dunlin.broker.users.RemoteAccess;
import dunlin.broker.users.UsersSettings;
import dunlin.cluster.Cluster;
import dunlin.cluster.RangeKind;
import dunlin.dist.Delivery;
import dunlin.dist.DistClient;
import dunlin.dist.DistSettings;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.dist.remote.RedealLane;
import dunlin.dist.remote.RemoteDeliveries;
import dunlin.dist.remote.Repetitions;
import dunlin.dist.remote.RouteRouter;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionExports;
import dunlin.inbox.between.RemoteSessions;
import dunlin.inbox.remote.RemoteInbox;
import dunlin.inbox.remote.SessionLinks;
import dunlin.inbox.remote.SessionRouter;
import dunlin.inbox.server.SessionReplica;
import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.links.LinkService;
import dunlin.model.Publication;
import dunlin.model.ShardId;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainReplica;
import dunlin.retain.RetainSettings;
import dunlin.retain.remote.RetainRouter;
import dunlin.runtime.Surroundings;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.serve.WhileLeading;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.call.CallLinks;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.RemoteLane;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Connects a broker with the other brokers of its cluster: serves the ranges that this node leads, and connects its frontend with the leaders of all ranges.
 * Create it, open the {@link Cluster} with its {@link #kinds}, tell it {@link #in} which cluster it is, start the cluster, and {@link #begin}.
 */
public final class ClusterTiers implements AutoCloseable {
  /*
   * There are as many ranges of sessions as the cluster was founded with, and where the setting asks for it one of users, roles and bans. Routes and retained messages have
   * one or more, which are split while the cluster runs. Any node may lead each of them; messages go to the leader of the first range of routes. All that tiers say to each
   * other crosses links, also between tiers of the same node.
   *
   * Owner: any thread. Each kind of link that the frontend opens has a thread of its own.
   * Bounds: those of lanes, calls and links.
   * Failure: while a range has no leader, or its leader does not answer, links wait for ten seconds. Then calls on them fail, and clients get an error.
   *   Messages are sent again to the next leader of the routes, for ten seconds (SendingStream), and what members of groups have left behind for REDEALT_FOR. Calls to the sessions wait; SessionLinks says when clients are
   *   disconnected since no node leads the sessions. Without a leader of the users, clients are judged by what was known of them last.
   */
  /** The word for a node that clients connect to, among the roles in its row of the cluster's map. */
  public static final String FRONTEND = "frontend";

  /** How long a message of a group that is dealt again waits until a leader of the routes has it. No publisher would send it once more. */
  private static final Duration REDEALT_FOR = Duration.ofMinutes(2);

  /** When leaders that have heard nothing of this node have ended its links: what they allow, and two ticks. */
  private static final Duration GIVEN_UP = AcceptedLinks.SILENCE_MAX.plusSeconds(2);

  /** Larger than any message can be. */
  private static final int MESSAGE_MAX = 17 << 20;

  /**
   * The parts of a node that its tiers use.
   *
   * @param routes where this node connects to other nodes
   * @param tracer notes what becomes of messages, for operators
   * @param beans of this node: the operations on sessions and retained messages are registered while it leads them
   * @param tenants gives their limits on what the tiers have
   * @param recordsWills whether all nodes know wills whose sending is recorded
   * @param leaseChecked the time between two checks of the frontend's lease
   * @param announced counts the routes that this node's session tier has announced
   * @param routesKept the time for which routes of dead frontends are kept
   * @param raisesIncarnation raises this node's incarnation, on its disk
   */
  public record Parts(
      Frontend frontend,
      LinkService accepts,
      LinkDialler dials,
      Surroundings routes,
      MeterRegistry meters,
      Tracer tracer,
      NodeBeans beans,
      Function<SessionExports, Object> exports,
      Function<TenantLimit, TenantQuota> tenants,
      BooleanSupplier recordsWills,
      InstantSource clock,
      ScheduledExecutorService timer,
      Duration leaseChecked,
      LongAdder announced,
      Duration routesKept,
      Supplier<CompletableFuture<Long>> raisesIncarnation) {}

  private final Parts parts;
  private final LeaderDialler dialler;
  private final LedTiers led;
  private final AcceptedLinks accepted;
  private final DropMeters drops;
  private final LaneRepeats repeats;
  /** By range. A replica that is made again takes the place of the one before. */
  private final Map<UUID, WhileLeading> serving = new ConcurrentHashMap<>();

  private final InboxSettings.Layout layout;
  private final RedealLane redeals;
  private final RouteRouter routesOfClients;
  private final RouteRouter routesOfSessions;
  private final RouteRouter matches;
  private final RetainRouter retained;
  private final SessionRouter sessions;
  private final List<RemoteLane> lanes = new CopyOnWriteArrayList<>(); // of the event loops
  private final List<RemoteSessions> betweenSessions; // by number; none where there is one range
  private final @Nullable RemoteAccess access; // none where clients are not judged by users
  private volatile @Nullable Cluster cluster;
  private volatile @Nullable FrontendLease lease;

  /** Completes when nothing comes any more of what was sent to the leaders of routes and retained messages before the lease was lost. Written by the timer's thread. */
  private volatile CompletableFuture<Void> givenUp = CompletableFuture.completedFuture(null);

  public ClusterTiers(Parts parts, DistSettings dist, DeliverSettings deliver, InboxSettings inbox, RetainSettings retain, UsersSettings users) {
    this.parts = parts;
    dialler = new LeaderDialler(parts.dials(), parts.routes());
    layout = inbox.layout();
    drops = new DropMeters(parts.meters(), parts.tracer());
    repeats = new LaneRepeats(parts.timer(), RepeatedCalls.LIMIT);
    var refused = new RefusedNodes(dialler::peer, System::nanoTime);
    parts.dials().onRefused(refused::note);
    led =
        new LedTiers(
            parts.accepts(), dialler, parts.frontend().lanes(), new LedTiers.Bounds(dist, deliver, inbox, retain, users.bounds(), parts.routesKept()), parts.meters(), parts.tracer(), drops,
            repeats, refused, parts.beans(), parts.exports(), parts.tenants(), parts.recordsWills(), parts.clock(), parts.timer());
    led.guard(parts.frontend().heap());
    accepted = new AcceptedLinks(parts.accepts());
    String node = parts.frontend().identity().nodeId();
    redeals = redeals(accepted.thread("redeals"));
    routesOfClients = routes("clients", node, LinkNames::routes);
    routesOfSessions = routes("sessions", node, LinkNames::routes);
    matches = routes("matches", node, LinkNames::matches);
    var calls = accepted.thread("retained-of-clients");
    retained =
        new RetainRouter(
            node, parts.frontend().identity().incarnation(),
            range -> opening -> dialler.leader(range, LinkNames.retained(range), opening.encode(), calls), calls, LedTiers.CALLS, MESSAGE_MAX, this::mayHaveClients,
            parts.timer(), parts.meters());
    sessions = new SessionRouter(inbox.layout(), number -> sessions(number, inbox.layout().rangeIds().get(number).uuid()));
    betweenSessions = layout.ranges() == 1 ? List.of() : between(node, accepted.thread("between-sessions"));
    access = users.enabled() ? access(node) : null;
  }

  private RedealLane redeals(Executor thread) {
    var link = dialler.leader(RouteReplica.KIND, LinkNames.REDEALS, new byte[0], thread);
    return new RedealLane(link, thread, new LaneRepeats(parts.timer(), REDEALT_FOR).on(thread), drops.lanes());
  }

  private SessionLinks sessions(int number, UUID range) {
    var frontend = parts.frontend();
    var thread = accepted.thread("sessions-of-clients-" + number);
    return new SessionLinks(
        frontend.identity().nodeId(), frontend.connections(number), () -> frontend.sessionTierLost(number),
        opening -> dialler.leader(range, this::leased, LinkNames.sessions(range), opening.encode(), thread), thread, RemoteInbox.Bounds.defaults(MESSAGE_MAX));
  }

  private List<RemoteSessions> between(String node, Executor thread) {
    return layout.rangeIds().stream().map(range -> between(node, range.uuid(), thread)).toList();
  }

  private RemoteSessions between(String node, UUID range, Executor thread) {
    return new RemoteSessions(
        node, parts.frontend().identity().incarnation(), opening -> dialler.leader(range, LinkNames.between(range), opening.encode(), thread), thread, LedTiers.CALLS);
  }

  private RemoteAccess access(String node) {
    var thread = accepted.thread("users-of-clients");
    return new RemoteAccess(
        node, parts.frontend().identity().incarnation(), network(AccessReplica.KIND, LinkNames.ACCESS, thread), thread, LedTiers.CALLS, parts.meters());
  }

  private RouteRouter routes(String part, String node, Function<UUID, String> names) {
    var thread = accepted.thread("routes-of-" + part);
    return new RouteRouter(
        part, node, parts.frontend().identity().incarnation(), range -> opening -> dialler.leader(range, names.apply(range), opening.encode(), thread), thread,
        LedTiers.CALLS, parts.timer(), parts.meters());
  }

  private CallLinks.Network network(String kind, String name, Executor thread) {
    return opening -> dialler.leader(kind, name, opening.encode(), thread);
  }

  /** The kinds of ranges that every cluster has. */
  public static Set<String> founded() {
    return Set.of(RouteReplica.KIND, RetainReplica.KIND, SessionReplica.KIND);
  }

  /** The kinds of ranges that a cluster may have. */
  public static Set<String> all() {
    return Set.of(RouteReplica.KIND, RetainReplica.KIND, SessionReplica.KIND, AccessReplica.KIND);
  }

  /** The ranges that a cluster may begin with, whose sessions are divided in this way. */
  public static List<RangeId> begins(InboxSettings.Layout sessions) {
    return Stream.concat(all().stream().filter(kind -> !kind.equals(SessionReplica.KIND)).map(RangeId::firstOf), sessions.rangeIds().stream()).toList();
  }

  /**
   * The kinds of ranges that this node may have replicas of.
   *
   * @param names some of {@link #all}
   */
  public List<RangeKind<?, ?, ?>> kinds(Set<String> names) {
    return kinds().stream().filter(kind -> names.contains(kind.name())).toList();
  }

  private List<RangeKind<?, ?, ?>> kinds() {
    return List.of(
        RouteReplica.kind((replica, routes) -> opened(replica, () -> led.serveRoutes(replica, routes, cluster(), routesOfClients, matches))),
        RetainReplica.kind((replica, messages) -> opened(replica, () -> led.serveRetained(replica, messages, retained))),
        SessionReplica.kind(
            layout,
            (replica, sessions) ->
                opened(
                    replica,
                    () ->
                        led.serveSessions(
                            replica, sessions, betweenSessions, routesOfSessions(), parts.frontend().wills()))),
        AccessReplica.kind(
            (replica, rows) -> opened(replica, () -> led.serveAccess(replica, rows, parts.routes().wallClock()))));
  }

  private DistRoutes routesOfSessions() {
    return new DistRoutes(RepeatedCalls.of(routesOfSessions), parts.announced());
  }

  private void opened(Replica<?, ?> replica, WhileLeading.Opener opener) {
    dialler.replica(replica);
    serveNoMore(serving.put(replica.id().uuid(), WhileLeading.of(replica, opener)));
  }

  /** The replica is dropped, and what it had in memory with it. */
  private void dropped(UUID range) {
    dialler.forget(range);
    serveNoMore(serving.remove(range));
  }

  private static void serveNoMore(@Nullable WhileLeading served) {
    if (served != null) Thread.ofPlatform().daemon().name("dunlin-serves-no-more").start(served::close); // this must be quick
  }

  /** Sets the cluster that has these ranges. Called before the cluster starts. */
  public void in(Cluster member) {
    cluster = member;
    dialler.in(member);
    member.whenDropped(this::dropped);
    member.watch(
        map -> {
          retained.ranges(map.rangesOf(RetainReplica.KIND));
          routesOfClients.ranges(map.rangesOf(RouteReplica.KIND));
          routesOfSessions.ranges(map.rangesOf(RouteReplica.KIND));
          matches.ranges(map.rangesOf(RouteReplica.KIND));
        });
  }

  private Cluster cluster() {
    var member = cluster;
    if (member == null) throw new StoreException("this node belongs to no cluster yet");
    return member;
  }

  private boolean leased() {
    var held = lease;
    return held != null && held.held();
  }

  /** Whether this node may have clients: by its clock, and as far as it has heard. Quick; any thread. */
  public boolean mayHaveClients() {
    var held = lease;
    var member = cluster;
    return held == null || member == null || (member.leased() && held.held()); // in this order: a new lease is seen with the loss of the one before
  }

  /** The dist tier, whichever node leads it. */
  public DistClient dist() {
    return new LedDist(RepeatedCalls.of(routesOfClients));
  }

  private final class LedDist implements DistClient {
    private final RouteClient routes;

    LedDist(RouteClient routes) {
      this.routes = routes;
    }

    @Override
    public Lane openLane(int number, Executor thread, LaneCredit credit) {
      var link = dialler.leader(RouteReplica.KIND, LinkNames.lane(number), new byte[0], thread);
      var lane = new RemoteLane(link, thread, credit, repeats.on(thread), drops.lanes(), ClusterTiers.this::mayHaveClients);
      lanes.add(lane);
      return lane;
    }

    @Override
    public void redeal(Publication message, TopicFilter group, Acknowledgement acknowledgement) {
      redeals.redeal(message, group, acknowledgement);
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

  /** The retain tier, whichever nodes lead its ranges. */
  public RetainClient retained() {
    return RepeatedCalls.of(retained);
  }

  /** The session tier, whichever node leads it. */
  public InboxClient sessions() {
    return sessions;
  }

  /** Opens the link to the users, roles and bans, whichever node leads them; empty when clients are not judged by them. Called once, after the cluster has started. */
  public Optional<AccessClient> followAccess() {
    var followed = access;
    if (followed != null) followed.begin();
    return Optional.ofNullable(followed);
  }

  /** Accepts messages for the listeners of the embedding application. */
  public void accept(ApplicationSubscriptions application) {
    acceptLanes(LinkNames::application, application);
  }

  private void acceptLanes(IntFunction<String> name, Delivery delivery) {
    var repetitions = new Repetitions();
    accepted.acceptLanes(
        name, parts.frontend()::onLane, (_, thread) -> link -> new ReceivingStream(link, thread, new RemoteDeliveries(delivery, repetitions)));
  }

  /**
   * Opens the links of this node's frontend. Called once the frontend is open and the cluster has started. Completes when the leaders of all tiers have accepted
   * their links.
   */
  public CompletableFuture<Void> begin() {
    acceptLanes(LinkNames::clients, parts.frontend().delivery());
    Cluster member = cluster();
    var begun =
        new FrontendLease(
            member::leased, member::lostLeases, parts.timer(), parts.leaseChecked(), this::leaseLost,
            () -> CompletableFuture.allOf(parts.raisesIncarnation().get().thenCompose(parts.frontend()::renewRoutes), givenUp));
    lease = begun;
    return CompletableFuture.allOf(routesOfClients.begin(), routesOfSessions.begin(), retained.begin(), sessions.begin(parts.frontend()::life));
  }

  /**
   * Clients go on elsewhere from now on. What they have published here and is on its way must not come behind what they publish there: links are given up, and the frontend has no clients again, and begins no
   * next life, before their leaders have taken the next ones, or have not heard of it for so long that they have ended the last ones.
   */
  private void leaseLost() {
    String reason = "this node has lost its lease in the cluster";
    var renewed = lanes.stream().map(RemoteLane::renew);
    givenUp =
        CompletableFuture.allOf(Stream.concat(renewed, Stream.of(retained.renew(reason))).toArray(CompletableFuture<?>[]::new))
            .completeOnTimeout(null, GIVEN_UP.toMillis(), TimeUnit.MILLISECONDS);
    sessions.lose(reason);
  }

  /** Opens what a node without clients needs of the tiers: sessions that it leads announce routes, and publish wills. */
  public void beginWithoutClients() {
    var _ = routesOfClients.begin();
    var _ = routesOfSessions.begin();
    var _ = retained.begin();
  }

  /** Where a node answers; empty while that is unknown. Any thread, once this belongs to a cluster. */
  public Optional<LinkPeer> peer(UUID node) {
    return dialler.peer(node);
  }

  /** Which tier's leader this node's frontend does not reach; empty when it reaches all. Any thread. */
  public Optional<String> unreached() {
    if (!sessions.isReached()) return Optional.of("the leader of the sessions is not reached");
    if (!routesOfClients.isReached()) return Optional.of("a leader of routes is not reached");
    if (!retained.isReached()) return Optional.of("a leader of retained messages is not reached");
    return Optional.empty();
  }

  @Override
  public void close() {
    if (access != null) access.close();
    sessions.close();
    betweenSessions.forEach(RemoteSessions::close);
    redeals.close();
    retained.close();
    routesOfClients.close();
    routesOfSessions.close();
    matches.close();
    serving.values().forEach(WhileLeading::close);
    accepted.close();
    drops.close();
  }
}
