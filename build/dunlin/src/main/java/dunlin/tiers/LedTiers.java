package dunlin.tiers;

import dunlin.broker.tenant.TenantLimit;
import dunlin.broker.users.AccessBounds;
import dunlin.broker.users.AccessCalls;
import dunlin.broker.users.AccessReplica;
import dunlin.broker.users.AccessServer;
import dunlin.cluster.Cluster;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.RouteTier;
import dunlin.dist.deliver.DeliverExecutor;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.dist.remote.RemoteDeliveries;
import dunlin.dist.remote.RedealLane;
import dunlin.dist.remote.RemoteDelivery;
import dunlin.dist.remote.RouteCalls;
import dunlin.dist.remote.RouteRouter;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.between.RangeQuestions;
import dunlin.inbox.between.RemoteSessions;
import dunlin.inbox.remote.InboxCalls;
import dunlin.inbox.remote.RemoteConnections;
import dunlin.inbox.server.FrontendLinks;
import dunlin.inbox.server.InboxServer;
import dunlin.inbox.server.SessionReplica;
import dunlin.inbox.server.SessionTier;
import dunlin.links.LinkService;
import dunlin.model.ShardId;
import dunlin.model.TenantQuota;
import dunlin.retain.RetainReplica;
import dunlin.retain.RetainSettings;
import dunlin.retain.RetainTier;
import dunlin.retain.remote.RetainCalls;
import dunlin.retain.remote.RetainRouter;
import dunlin.runtime.LineLimit;
import dunlin.runtime.memory.HeapGuard;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.LaneLinks;
import dunlin.transport.lane.RemoteLane;
import dunlin.transport.lane.SharedWindow;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** Serves the ranges that this node leads, each for one leadership. Links of all nodes lead here. */
final class LedTiers {
  /*
   * Owner: each range has the thread of its WhileLeading. There are as many threads as this node has event loops, on which messages are matched, and as many on
   *   which they arrive at the sessions. The lanes of the cluster share them. Messages with many destinations are delivered by the workers of a DeliverExecutor.
   * Bounds: those of the tiers' servers, and of links.
   * Failure: closing a server ends its links, so that their other sides look for the next leader, and accepts no others: what is sent again must not come here. Lanes with messages have DRAIN_MILLIS to answer what they have
   *   delivered: the rest is sent again to the next leader, from frontends to that of the routes, and from there to that of the sessions.
   */

  /** A look at some nodes in memory: publishers wait for messages to a frontend whose process has ended, until this is seen. */
  private static final long COMPARE_MILLIS = 50;

  private static final long DRAIN_MILLIS = 1_000;
  private static final long ASK_MILLIS = 1_000;

  /** Lines of the log about frontends whose processes have ended: a host may take many with it. */
  private static final int ENDED_LINES = 10;

  private static final Duration ENDED_PERIOD = Duration.ofSeconds(10);
  private static final String SESSIONS = "Sessions";
  private static final String EXPORTS = "SessionExports";
  private static final String RETAINED = "RetainedMessages";
  private static final String ROUTES = "Routes";
  private static final String IN_FLIGHT = "dunlin.dist.in-flight";
  static final CallBounds CALLS = new CallBounds(1 << 20, 1 << 30, 32 << 20);

  /**
   * The bounds of the tiers.
   *
   * @param routesKept the time for which routes of dead frontends are kept
   */
  record Bounds(DistSettings dist, DeliverSettings deliver, InboxSettings inbox, RetainSettings retain, AccessBounds access, Duration routesKept) {}

  private final LinkService links;
  private final LeaderDialler dialler;
  private final int lanes;
  private final Bounds bounds;
  private final MeterRegistry meters;
  private final Tracer tracer;
  private final DropMeters drops;
  private final LaneRepeats repeats;
  private final RefusedNodes refused;
  private final NodeBeans beans;
  private final Function<SessionExports, Object> exports;
  private final Function<TenantLimit, TenantQuota> tenants;
  private volatile HeapGuard heap = HeapGuard.OFF;
  private final BooleanSupplier recordsWills;
  private final ScheduledExecutorService timer;
  private final RouteTier routes;
  private final RetainTier retained;
  private final SessionTier sessions;
  private final Counter endedFrontends;
  private final LineLimit endedLines = new LineLimit(ENDED_LINES, ENDED_PERIOD, System::nanoTime);

  /** Whether the leaders of other ranges of routes are asked what topics match there: since this node has led the first one. */
  private final AtomicBoolean asksOthers = new AtomicBoolean();

  /** Whether the leaders of other ranges of sessions are asked: since this node has led one. */
  private final AtomicBoolean asksSessions = new AtomicBoolean();

  /** Of the ranges of routes that are led here. */
  private final List<CallReceiver> routeCalls = new CopyOnWriteArrayList<>();

  /** Of the ranges of retained messages that are led here. */
  private final List<CallReceiver> retainedCalls = new CopyOnWriteArrayList<>();

  /**
   * @param tracer notes what becomes of messages, for operators
   * @param drops counts the QoS 0 messages that do not reach other nodes
   * @param repeats of the lanes to the leader of the sessions
   * @param refused nodes whose processes have ended
   * @param exports makes the bean that exports and imports the sessions which are led here
   * @param tenants gives their limits
   * @param recordsWills whether all nodes know wills whose sending is recorded
   */
  LedTiers(
      LinkService links, LeaderDialler dialler, int lanes, Bounds bounds, MeterRegistry meters, Tracer tracer, DropMeters drops, LaneRepeats repeats,
      RefusedNodes refused, NodeBeans beans, Function<SessionExports, Object> exports, Function<TenantLimit, TenantQuota> tenants,
      BooleanSupplier recordsWills, InstantSource clock, ScheduledExecutorService timer) {
    this.links = links;
    this.dialler = dialler;
    this.lanes = lanes;
    this.bounds = bounds;
    this.meters = meters;
    this.tracer = tracer;
    this.drops = drops;
    this.repeats = repeats;
    this.refused = refused;
    this.beans = beans;
    this.exports = exports;
    this.timer = timer;
    this.tenants = tenants;
    this.recordsWills = recordsWills;
    routes = new RouteTier(bounds.dist(), tenants.apply(TenantLimit.ROUTES), meters);
    retained = new RetainTier(bounds.retain(), meters, clock, timer);
    retained.limitTenants(tenants.apply(TenantLimit.RETAINED), tenants.apply(TenantLimit.RETAINED_BYTES));
    sessions = new SessionTier(bounds.inbox(), clock, meters, tracer);
    endedFrontends =
        Counter.builder("dunlin.inbox.frontends.ended")
            .description("Nodes whose frontends had clients with sessions that are led here, and whose processes have ended: their hosts refuse connections")
            .register(meters);
    Gauge.builder("dunlin.dist.calls.served", routeCalls, all -> all.stream().mapToInt(CallReceiver::unanswered).sum())
        .description("Calls of all nodes for routes that this node has not answered, as the leader of their ranges")
        .register(meters);
    Gauge.builder("dunlin.retain.calls.served", retainedCalls, all -> all.stream().mapToInt(CallReceiver::unanswered).sum())
        .description("Calls of all nodes about retained messages that this node has not answered, as the leader of their ranges")
        .register(meters);
  }

  /**
   * Serves a range of routes. Messages come to the leader of the first one.
   *
   * @param replica this node's replica of the range
   * @param cluster whose nodes have frontends
   * @param clients to all ranges of routes, for changes
   * @param matches to all ranges of routes, for what topics match there
   */
  AutoCloseable serveRoutes(Replica<?, ?> replica, RouteReplica rows, Cluster cluster, RouteRouter clients, RouteRouter matches) {
    UUID range = replica.id().uuid();
    var led = routes.lead(replica.id().toString(), rows, clients.elsewhere(range));
    var asking = timer.scheduleWithFixedDelay(clients::ask, 0, ASK_MILLIS, TimeUnit.MILLISECONDS);
    boolean first = range.equals(RangeId.firstOf(RouteReplica.KIND).uuid());
    var serves = first ? serveLanes(replica, led, cluster, clients, matches) : serveMatches(replica, led, cluster);
    return () -> {
      serves.close();
      asking.cancel(false);
      led.close();
    };
  }

  /** Serves another range than the first: its routes are changed, and matched for the leader of the first. */
  private AutoCloseable serveMatches(Replica<?, ?> replica, RouteTier.Led led, Cluster cluster) {
    UUID range = replica.id().uuid();
    var accepted = new AcceptedLinks(links);
    var calls = accepted.thread(LinkNames.routes(range));
    var questions = accepted.thread(LinkNames.matches(range));
    var rights = new RouteRights(cluster::map);
    var changes = RouteCalls.receiver(calls, CALLS, led.range(), rights);
    var matching = RouteCalls.receiver(questions, CALLS, led.range(), rights);
    routeCalls.addAll(List.of(changes, matching));
    var opening =
        new AfterBarrier(
            replica, timer,
            () -> {
              accepted.accept(LinkNames.routes(range), calls, changes);
              accepted.acceptOfLeaders(LinkNames.matches(range), questions, matching);
            });
    return () -> {
      opening.close();
      accepted.close();
      routeCalls.removeAll(List.of(changes, matching));
    };
  }

  private AutoCloseable serveLanes(Replica<?, ?> replica, RouteTier.Led led, Cluster cluster, RouteRouter clients, RouteRouter matches) {
    if (asksOthers.compareAndSet(false, true)) {
      var _ = matches.begin();
    }
    int shards = bounds.inbox().layout().shards();
    var worker =
        DistWorker.leading(
            led, matches, ShardId.frontend(cluster.self().toString()), drops.lanes()::giveUp, publisher -> InboxServer.shardOf(shards, publisher.tenant(), publisher.clientId()), meters, tracer,
            DeliverExecutor.start(bounds.deliver(), meters));
    byte[] opening = LaneLinks.opening(replica.status().term());
    attachSessions(worker, opening);
    var accepted = new AcceptedLinks(links);
    var threads = accepted.threads("dist", lanes);
    var opened = new ArrayList<CompletableFuture<Lane>>(LinkNames.LANES);
    for (int i = 0; i < LinkNames.LANES; i++) {
      int number = i;
      var thread = threads.get(i % lanes);
      opened.add(CompletableFuture.supplyAsync(() -> worker.openLane(number, thread, LaneCredit.uncounted()), thread));
    }
    var laneOf = opened.stream().map(CompletableFuture::join).toList(); // one after another, each would wait for its thread to wake up
    var window = new SharedWindow(bounds.dist().inFlightMax());
    Gauge.builder(IN_FLIGHT, window, SharedWindow::used)
        .description("Size of the messages that this node is delivering as the leader of the routes; dunlin.dist.in-flight-max bounds it")
        .baseUnit("bytes")
        .register(meters);
    var acceptedCalls = new AcceptedLinks(links);
    var calls = acceptedCalls.thread("routes");
    var changes = RouteCalls.receiver(calls, CALLS, led.range(), new RouteRights(cluster::map));
    routeCalls.add(changes);
    var deadRoutes = new DeadRoutes(clients, cluster::heardSince, System::nanoTime, bounds.routesKept());
    var frontends = new FrontendDirectory(worker, clients, dialler, cluster, refused, opening, drops.deliveries(), deadRoutes);
    var comparing =
        timer.scheduleWithFixedDelay(() -> calls.execute(frontends::compare), 0, COMPARE_MILLIS, TimeUnit.MILLISECONDS);
    var streams = new LedLanes(timer, DRAIN_MILLIS);
    var ready =
        new AfterBarrier(
            replica, timer,
            () -> {
              for (int i = 0; i < LinkNames.LANES; i++) {
                var thread = threads.get(i % lanes);
                var lane = laneOf.get(i);
                accepted.acceptPublished(LinkNames.lane(i), thread, LaneLinks.ofCallers(link -> streams.open(link, thread, RemoteLane.into(lane, window))));
              }
              var thread = threads.getFirst();
              accepted.accept(LinkNames.REDEALS, thread, LaneLinks.ofCallers(link -> streams.open(link, thread, RedealLane.into(laneOf.getFirst(), link.caller()))));
              UUID range = replica.id().uuid();
              acceptedCalls.accept(LinkNames.routes(range), calls, frontends.noting(changes));
              acceptedCalls.acceptOfLeaders(LinkNames.matches(range), calls, changes); // for nodes that have led it before
            });
    beans.register(ROUTES, worker.operations());
    return () -> {
      beans.unregister(ROUTES, Map.of());
      ready.close();
      comparing.cancel(false);
      accepted.acceptNoMore(); // first, since a sender begins its next link at once
      acceptedCalls.end(); // a subscriber waits for the next leader, and not for the messages that are on their way here
      worker.giveUpWaiting();
      streams.drain();
      accepted.end(); // before the worker is closed, so that nothing is appended any more
      worker.close();
      accepted.close();
      acceptedCalls.close();
      routeCalls.remove(changes);
      unregister(IN_FLIGHT);
    };
  }

  private Map<Integer, RemoteSessions> others(RangeId range, List<RemoteSessions> between) {
    if (between.isEmpty()) return Map.of();
    if (asksSessions.compareAndSet(false, true)) for (RemoteSessions each : between) begin(each);
    var others = new HashMap<Integer, RemoteSessions>();
    for (int i = 0; i < between.size(); i++) if (!bounds.inbox().layout().rangeIds().get(i).equals(range)) others.put(i, between.get(i));
    return others;
  }

  private static void begin(RemoteSessions range) {
    var _ = range.begin();
  }

  private void attachSessions(DistWorker worker, byte[] opening) {
    var layout = bounds.inbox().layout();
    var ids = layout.rangeIds();
    for (int i = 0; i < ids.size(); i++) {
      UUID range = ids.get(i).uuid();
      int to = i + 1 == ids.size() ? Integer.MAX_VALUE : layout.firstShard(i + 1); // the last range knows routes from a time with more shards
      worker.attachInboxShards(
          layout.firstShard(i), to,
          (lane, thread) ->
              new RemoteDelivery(
                  dialler.leader(range, LinkNames.shards(range, lane), opening, thread), thread, System::nanoTime, repeats.on(thread), drops.deliveries()));
    }
  }

  /** @param router to all ranges of retained messages */
  AutoCloseable serveRetained(Replica<?, ?> replica, RetainReplica messages, RetainRouter router) {
    UUID range = replica.id().uuid();
    var server = retained.lead(messages, router.elsewhere(range));
    var asking = timer.scheduleWithFixedDelay(router::ask, 0, ASK_MILLIS, TimeUnit.MILLISECONDS);
    var accepted = new AcceptedLinks(links);
    var calls = accepted.thread(LinkNames.retained(range));
    var receiver = RetainCalls.receiver(calls, CALLS, server);
    retainedCalls.add(receiver);
    var opening = new AfterBarrier(replica, timer, () -> accepted.acceptPublished(LinkNames.retained(range), calls, receiver));
    boolean first = range.equals(RangeId.firstOf(RetainReplica.KIND).uuid());
    if (first) beans.register(RETAINED, router.operations(bounds.retain().bounds(), retained::isDiskLow)); // one node answers for all ranges
    return () -> {
      if (first) beans.unregister(RETAINED, Map.of());
      opening.close();
      accepted.close();
      asking.cancel(false);
      server.close();
      retainedCalls.remove(receiver);
    };
  }

  /** @param wall by which bans end */
  AutoCloseable serveAccess(Replica<?, ?> replica, AccessReplica rows, InstantSource wall) {
    var server = AccessServer.leading(rows, bounds.access(), wall, timer);
    server.start();
    var accepted = new AcceptedLinks(links);
    var calls = accepted.thread("access");
    var leased = new LeasedAccess(server, replica);
    var opening = new AfterBarrier(replica, timer, () -> accepted.accept(LinkNames.ACCESS, calls, AccessCalls.receiver(calls, CALLS, leased, meters)));
    return () -> {
      opening.close();
      accepted.close();
      server.close();
      unregister(AccessCalls.SERVED);
    };
  }

  private void unregister(String gauge) {
    var registered = meters.find(gauge).gauge();
    if (registered != null) meters.remove(registered);
  }

  private static EndedFrontends.Awaited awaited(InboxServer server) {
    return new EndedFrontends.Awaited() {
      @Override
      public Map<String, Long> frontends() {
        return server.awaited();
      }

      @Override
      public void isGone(String frontend, long incarnation) {
        var _ = server.detach(frontend, incarnation); // it is tried again while they are waited for
      }
    };
  }

  /** Refuses what would stay on this heap while it is full, in ranges that are led from now on. */
  void guard(HeapGuard of) {
    heap = of;
    retained.guard(of);
  }

  /**
   * @param replica this node's replica of the range
   * @param between links to the leaders of all ranges of sessions, by number; none where there is one range
   */
  AutoCloseable serveSessions(
      Replica<?, ?> replica, SessionReplica rows, List<RemoteSessions> between, InboxRoutes routes, WillPublisher wills) {
    RangeId range = replica.id();
    var server = sessions.lead(rows, others(range, between), routes, wills);
    server.limitTenants(tenants.apply(TenantLimit.SESSIONS)::max, tenants.apply(TenantLimit.ALL_SUBSCRIPTIONS), tenants.apply(TenantLimit.INBOX_BYTES));
    server.guard(heap);
    server.recordWills(recordsWills);
    var _ = server.start(); // a frontend is attached when this has ended
    var accepted = new AcceptedLinks(links);
    var calls = accepted.thread(range.toString());
    var ended = new EndedFrontends(refused, awaited(server), endedFrontends, endedLines);
    var accepts = InboxCalls.factory(calls, RemoteConnections.Bounds.defaults(), drops.pushes(), new FrontendLinks(server, replica::readBarrier, calls));
    accepted.accept(LinkNames.sessions(range.uuid()), calls, ended.watching(accepts));
    var comparing = timer.scheduleWithFixedDelay(() -> calls.execute(ended::compare), COMPARE_MILLIS, COMPARE_MILLIS, TimeUnit.MILLISECONDS);
    if (!between.isEmpty()) accepted.acceptOfLeaders(LinkNames.between(range.uuid()), calls, RangeQuestions.receiver(calls, CALLS, server.asked()));
    var threads = accepted.threads("shards-" + range, lanes);
    var delivery = new InboxDelivery(server);
    var streams = new LedLanes(timer, DRAIN_MILLIS);
    accepted.acceptLanes(
        lane -> LinkNames.shards(range.uuid(), lane), lane -> threads.get(lane % lanes),
        (_, thread) -> link -> streams.open(link, thread, new RemoteDeliveries(delivery)));
    Map<String, String> key = between.isEmpty() ? Map.of() : Map.of(SessionsMXBean.RANGE, range.uuid().toString());
    beans.register(SESSIONS, key, server.operations());
    beans.register(EXPORTS, key, exports.apply(server.exports()));
    return () -> {
      beans.unregister(EXPORTS, key);
      beans.unregister(SESSIONS, key);
      comparing.cancel(false);
      accepted.acceptNoMore();
      streams.drain();
      accepted.close();
      server.close();
    };
  }
}
