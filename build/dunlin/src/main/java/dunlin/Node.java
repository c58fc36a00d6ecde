package dunlin;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.ConnectionEvents;
import dunlin.broker.Frontend;
import dunlin.broker.SysTopics;
import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.limit.MemoryKeys;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.listen.ListenerKeys;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Tiers;
import dunlin.cluster.Cluster;
import dunlin.cluster.MemberSettings;
import dunlin.cluster.RangeKind;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.dist.DistClient;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.server.InboxServer;
import dunlin.links.LinkDialler;
import dunlin.links.LinkService;
import dunlin.model.ShardId;
import dunlin.placement.ClusterMap;
import dunlin.retain.RetainServer;
import dunlin.retain.RetainSettings;
import dunlin.runtime.AdminServer;
import dunlin.runtime.DropEvents;
import dunlin.runtime.LogText;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.runtime.StallWatch;
import dunlin.runtime.TierClock;
import dunlin.runtime.metrics.Metrics;
import dunlin.store.StoreException;
import dunlin.store.grpc.PeerService;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.raft.RangeStore;
import dunlin.store.remote.RangeService;
import dunlin.store.remote.RemoteCalls;
import dunlin.store.remote.RemoteCheckpoints;
import dunlin.store.serve.RangeLocation;
import dunlin.store.settings.StoreSettings;
import dunlin.tiers.ClusterTiers;
import dunlin.tiers.DistRoutes;
import dunlin.tiers.InboxDelivery;
import dunlin.transport.link.Link;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Composes a broker, which is all tiers in one process, or a store node. {@link #startBroker} and {@link #startStore},
 * read from top to bottom, show how a node is built. This class is long because every part of a node is opened here, in
 * its order.
 */
final class Node implements AutoCloseable {
  /*
   * Owner: the thread that starts it; any thread may close it.
   * Failure: a start continues as long as it makes progress, which the log and the admin port show; the latter is
   * opened before the stores. A failed start closes all that was opened, in reverse order. A store that fails fences
   * its range, and its listener should stop the node: ready() is false for good, and a start in progress fails. A store
   * node that loses its cluster continues with its replicas.
   */
  private static final Logger log = LoggerFactory.getLogger(Node.class);
  /** At most this much of the time while the node was down counts, whatever the wall clock says. */
  private static final Duration DOWNTIME_MAX = Duration.ofHours(1);

  private static final int NAME_LENGTH = 8;
  private static final int RELOAD_SECONDS = 3;
  private static final int REPORT_SECONDS = 5;

  /** Messages that wait for the application's listeners may use one in this many bytes of the heap. */
  private static final int APPLICATION_PART = 16;

  /** The version in the jar's manifest; there is none when classes are run from a folder. */
  static final String VERSION =
      Objects.requireNonNullElse(Node.class.getPackage().getImplementationVersion(), "of no release");

  private final ArrayDeque<AutoCloseable> opened = new ArrayDeque<>();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Readiness readiness = new Readiness();
  private final Settings settings;

  /** Whether the process runs only this node, so that the process's meters are this node's. */
  private final boolean ownsProcess;

  private final Embedding embedding;

  private @Nullable Application application; // only in a broker
  private @Nullable SessionsMXBean sessions; // only in a broker
  private volatile @Nullable Frontend frontend; // set once; the admin port reads it during the start
  private volatile @Nullable Cluster cluster; // only in a member of one; other nodes ask for it during the start
  private volatile @Nullable ClusterTiers tiers; // only in a broker that is a member of a cluster
  private volatile @Nullable CatchUp catchUp; // only in a member of a cluster
  private @Nullable RangeStore store;
  private @Nullable Metrics metrics; // set once the node has a name
  private @Nullable AdminServer admin;
  private @Nullable AdminServer health;

  private Node(Settings settings, boolean ownsProcess, Embedding embedding) {
    this.settings = settings;
    this.ownsProcess = ownsProcess;
    this.embedding = embedding;
  }

  /** Starts a node; returns when clients can connect, or when a store node belongs to its cluster. */
  static Node start(Settings settings, Embedding embedding) {
    return start(new Node(settings, false, embedding));
  }

  /** The same for a process that only runs this node. */
  static Node startProcess(Settings settings, Consumer<RuntimeException> onFailure) {
    return start(new Node(settings, true, Embedding.none(onFailure)));
  }

  private static Node start(Node node) {
    try {
      node.start();
      return node;
    } catch (RuntimeException | Error e) {
      node.close();
      throw e;
    }
  }

  private void start() {
    NodeSettings.check(settings);
    introduce();
    CompositeMeterRegistry meters = new CompositeMeterRegistry();
    opened.push(() -> close(meters));
    if (embedding.registry() != null) meters.add(embedding.registry());
    if (NodeSettings.isStore(settings)) startStore(meters);
    else startBroker(meters);
    readiness.started();
    log.info("node {} has started", id());
  }

  /** Closes the composite without the application's registry, from which only this node's meters are removed. */
  private void close(CompositeMeterRegistry meters) {
    MeterRegistry registry = embedding.registry();
    if (registry != null) {
      List<Meter> all = meters.getMeters();
      meters.remove(registry);
      for (Meter meter : all) registry.remove(meter.getId());
    }
    meters.close();
  }

  /** Logged first, so that the log of a failed start names the version. */
  private void introduce() {
    String file = settings.get(Settings.CONFIG);
    log.info(
        "Dunlin {} on Java {}, process {}; data directory {}; {}",
        VERSION, Runtime.version(), ProcessHandle.current().pid(), settings.get(NodeSettings.DATA_DIR).toAbsolutePath().normalize(),
        file.isEmpty() ? "no configuration file" : "configuration file " + file);
  }

  private void startBroker(CompositeMeterRegistry meters) {
    Authenticators authenticators = embedding.authenticators();
    // Before any store, which takes time and leaves a data directory behind.
    AuthenticationSettings authenticationSettings = AuthenticationSettings.from(settings);
    FrontendSettings frontendSettings = FrontendSettings.from(settings, ListenerKeys.read(settings));
    Authentication.check(authenticationSettings);
    Frontend.check(frontendSettings, Authentication.mayListenAnywhere(authenticationSettings, authenticators));

    RangeStore ranges = openStore(meters);
    TierClock clock = new TierClock(InstantSource.system(), System::nanoTime, DOWNTIME_MAX);
    ClockFile clockFile = opening(ClockFile.open(settings.get(NodeSettings.DATA_DIR), clock));
    String name = name(ranges.nodeId());
    Metrics metrics = metrics();
    ScheduledExecutorService housekeeping = openHousekeeping();
    LongAdder routesAnnounced = new LongAdder();
    StartProgress progress = new StartProgress(ranges, routesAnnounced::sum, System::nanoTime);
    report(progress, housekeeping);
    StallWatch watch = new StallWatch(stallMax(), progress::moved, System::nanoTime);
    openAdmin(metrics, probes(progress::text, watch::stalled, ranges, this::unserved));
    Authentication authentication = opening(Authentication.open(authenticationSettings, authenticators, meters));
    if (!authentication.authenticates()) {
      // An embedding application has chosen this in its own code and needs no warning.
      log.atLevel(ownsProcess ? Level.WARN : Level.INFO)
          .log("No authentication is configured: anyone who reaches a listener can connect with any client identifier and use all topics");
    }
    DropEvents drops = opening(new DropEvents(name));
    housekeeping.scheduleWithFixedDelay(drops::flush, 1, 1, TimeUnit.SECONDS);
    housekeeping.scheduleWithFixedDelay(authentication::refresh, 1, 1, TimeUnit.SECONDS);
    housekeeping.scheduleWithFixedDelay(clockFile::look, 1, 1, TimeUnit.SECONDS);

    NodeBudget budget = new NodeBudget(MemoryKeys.read(settings), meters);
    log.info("memory: {}", budget);
    ConnectionEvents events = opening(new ConnectionEvents(embedding.listener(), InstantSource.system(), meters));
    Frontend clients =
        opening(
            new Frontend(
                frontendSettings, budget, authentication, ranges.nodeId(), ranges.incarnation(), clock, meters, drops, events));
    frontend = clients;
    metrics.beans().register("Frontend", clients);
    clients.latencies().forEach(metrics::show);
    long heapBytes = Runtime.getRuntime().maxMemory();
    long diskBytes = settings.get(NodeSettings.DATA_DIR).toFile().getTotalSpace();
    InboxSettings inboxSettings = InboxSettings.from(settings, settings.get(FrontendSettings.Sessions.SUBSCRIPTIONS_MAX), heapBytes, diskBytes);
    checkData(ranges);
    SessionLayout.keep(settings.get(NodeSettings.DATA_DIR), inboxSettings.layout());
    TierParts tiers =
        new TierParts(
            DistSettings.from(settings, heapBytes), inboxSettings, RetainSettings.from(settings, heapBytes, diskBytes), ranges, clients, clock, meters, housekeeping,
            routesAnnounced, progress, watch, heapBytes / APPLICATION_PART);
    if (NodeSettings.isMember(settings)) startMember(tiers);
    else startAlone(tiers);
    clients.listen();
    opened.push(clients::disconnectAll);
    clients.showListeners(metrics.beans());
    housekeeping.scheduleWithFixedDelay(
        clients::reloadCertificates, RELOAD_SECONDS, RELOAD_SECONDS, TimeUnit.SECONDS);
  }

  /** The data of a broker that ran alone becomes that of a cluster only when that was asked for, and never the other way round. */
  private void checkData(RangeStore ranges) {
    Path data = settings.get(NodeSettings.DATA_DIR);
    boolean joined = Cluster.hasJoined(data);
    if (joined && !NodeSettings.isMember(settings)) {
      throw new SettingException("dunlin.cluster.seeds: %s belongs to a node of a cluster; set the seeds of that cluster".formatted(data));
    }
    if (!joined && NodeSettings.isMember(settings) && !ranges.stored().isEmpty()) {
      throw new SettingException(
          "dunlin.cluster.seeds: %1$s has the data of a broker that ran alone; a node joins a cluster with an empty directory. bin/dunlin form-cluster %1$s makes it the first node of a new one"
              .formatted(data));
    }
  }

  /** What the tiers behind the frontend are made of. */
  private record TierParts(
      DistSettings dist,
      InboxSettings inbox,
      RetainSettings retain,
      RangeStore ranges,
      Frontend clients,
      TierClock clock,
      CompositeMeterRegistry meters,
      ScheduledExecutorService housekeeping,
      LongAdder routesAnnounced,
      StartProgress progress,
      StallWatch watch,
      long applicationBytes) {}

  /** All tiers of a broker that runs alone, which call each other. */
  private void startAlone(TierParts of) {
    RangeStore ranges = of.ranges();
    Frontend clients = of.clients();
    int shards = of.inbox().layout().shards();
    Seams seams = opening(embedding.seams());
    DistWorker dist =
        DistWorker.create(ranges, of.dist(), p -> InboxServer.shardOf(shards, p.tenant(), p.clientId()), of.meters(), seams.deliveryThreads(of.meters()));
    InboxServer inbox =
        new InboxServer(
            ranges, of.inbox(), new DistRoutes(seams.routesOfSessions(dist), of.routesAnnounced()), clients, of.clock(), of.meters());
    RetainServer retain = RetainServer.on(ranges, of.retain(), of.meters(), of.clock(), of.housekeeping());
    dist.attachFrontend(ranges.nodeId(), seams.onLoops(clients, clients.delivery()));
    dist.attachInboxShards(seams.onShards(new InboxDelivery(inbox)));
    SysTopics sys = sysTopics(clients);

    ranges.start(stallMax());
    ranges.show(metrics().beans());
    DistClient distOfClients = seams.dist(dist);
    clients.open(new Tiers(distOfClients, sys.over(seams.retain(retain)), seams.sessions(inbox, clients, ranges.nodeId()), true));
    opened.push(inbox);
    opened.push(retain);
    retain.start();
    ApplicationSubscriptions subscriptions =
        serveApplication(of, all -> dist.attachFrontend(all.shard().name(), seams.onLoops(clients, all)));
    var _ = inbox.start(); // attach waits for the start, and fails with it
    awaitSessions(seams.attach(inbox, clients, ranges.nodeId()), of.watch(), of.progress());
    of.progress().ended();
    removeEarlierRoutes(of, distOfClients, subscriptions);
    opening(sys).start();
    sessions = inbox.operations();
    metrics().beans().register("Sessions", sessions);
    metrics().beans().register("RetainedMessages", retain.operations());
  }

  /** The part that this broker has in the tiers of a cluster. */
  private void startMember(TierParts of) {
    RangeStore ranges = of.ranges();
    Frontend clients = of.clients();
    @Nullable ServiceTls tls = serviceTls(of.housekeeping());
    UUID self = ranges.member().node();
    LinkDialler dials = opening(new LinkDialler(self, Link.Settings.defaults(), tls, of.meters()));
    LinkService links = opening(new LinkService(self, this::host, of.meters()));
    ClusterTiers tiers =
        opening(
            new ClusterTiers(
                new ClusterTiers.Parts(
                    clients, ranges.incarnation(), clients.lanes(), links, dials, of.meters(), metrics().beans(), of.clock(),
                    of.housekeeping(),
                    settings.get(ClusterKeys.HEARTBEAT), of.routesAnnounced()),
                of.dist(), DeliverSettings.from(settings), of.inbox(), of.retain()));
    Cluster member = joinCluster(ranges, ClusterKeys.member(settings, ClusterTiers.founded()), tiers.kinds(), List.of(links), tls, of.meters());
    tiers.in(member);
    this.tiers = tiers;
    SysTopics sys = sysTopics(clients);

    member.start(settings.get(ClusterKeys.JOIN_TIMEOUT));
    followCatchUp();
    ranges.show(metrics().beans());
    member.awaitVoters(readiness::isStarting);
    DistClient dist = tiers.dist();
    clients.open(new Tiers(dist, sys.over(tiers.retained()), tiers.sessions(), false));
    ApplicationSubscriptions subscriptions = serveApplication(of, tiers::accept);
    awaitSessions(tiers.begin(), of.watch(), of.progress());
    of.progress().ended();
    removeEarlierRoutes(of, dist, subscriptions);
    opening(sys).start();
  }

  private SysTopics sysTopics(Frontend clients) {
    return new SysTopics(clients, InstantSource.system(), VERSION, settings.get(NodeSettings.SYS_INTERVAL));
  }

  private ApplicationSubscriptions serveApplication(TierParts of, Consumer<ApplicationSubscriptions> attach) {
    ApplicationSubscriptions subscriptions = opening(new ApplicationSubscriptions(of.clients(), attach, of.meters(), of.applicationBytes()));
    application = new Application(of.clients().application(), subscriptions);
    return subscriptions;
  }

  private void removeEarlierRoutes(TierParts of, DistClient dist, ApplicationSubscriptions subscriptions) {
    for (ShardId shard : List.of(of.clients().shard(), subscriptions.shard())) {
      dist.removeRoutesBefore(shard, of.ranges().incarnation())
          .whenComplete(
              (removed, failure) -> {
                if (closed.get()) return; // when a listener cannot be bound, the node closes while routes are being removed
                if (failure != null) log.warn("routes from this node's earlier runs could not be removed", failure);
                else if (removed > 0) log.info("removed {} routes from this node's earlier runs", removed);
              });
    }
  }

  private Optional<String> host(UUID node) {
    Cluster member = cluster;
    return member == null ? Optional.empty() : member.service(node).map(NodeAddress::host);
  }

  private @Nullable ServiceTls serviceTls(ScheduledExecutorService housekeeping) {
    @Nullable ServiceTls tls = ServiceTls.of(ClusterKeys.read(settings).security()).orElse(null);
    if (tls != null) housekeeping.scheduleWithFixedDelay(tls::refresh, RELOAD_SECONDS, RELOAD_SECONDS, TimeUnit.SECONDS);
    return tls;
  }

  /** Opens the node's part in its cluster, and the port at which others call it; starts neither the cluster nor the store. */
  private Cluster joinCluster(
      RangeStore ranges,
      MemberSettings settingsOfMember,
      List<RangeKind<?, ?, ?>> kinds,
      List<PeerService> services,
      @Nullable ServiceTls tls,
      CompositeMeterRegistry meters) {
    RemoteCalls calls = opening(new RemoteCalls(tls, meters));
    NodeCalls others = (to, request, deadline) -> calls.call(to.host(), to.port(), to.name(), request, deadline);
    Cluster member = opening(Cluster.open(settingsOfMember, ranges, settings.get(NodeSettings.DATA_DIR), others, kinds, meters));
    cluster = member;
    ranges.fetchCheckpointsBy(opening(new RemoteCheckpoints(node -> serviceOf(member, node), tls)));
    opening(
        RangeService.start(
            ClusterKeys.serviceAddress(settings), member.self(), _ -> Optional.empty(), ranges, member::answer, services,
            ClusterKeys.service(settings), tls, meters, System::nanoTime));
    metrics().beans().register("Cluster", member.bean());
    catchUp = opening(new CatchUp(() -> member.connected() ? member.map() : ClusterMap.empty(), ranges::status, member.self()));
    return member;
  }

  /** Starts a node that keeps replicas for its cluster, without listeners and tiers. */
  private void startStore(CompositeMeterRegistry meters) {
    MemberSettings member = ClusterKeys.member(settings, Set.of());
    RangeStore ranges = openStore(meters);
    Metrics metrics = metrics();
    ScheduledExecutorService housekeeping = openHousekeeping();
    Cluster joined = joinCluster(ranges, member, List.of(), List.of(), serviceTls(housekeeping), meters);
    StartProgress progress = new StartProgress(ranges, () -> 0, System::nanoTime);
    report(progress, housekeeping);
    // Now, since the other nodes may start much later.
    openAdmin(metrics, probes(() -> joined.unserved().orElseGet(progress::text), () -> false, ranges, () -> joined.unserved().or(this::behind)));
    joined.start(settings.get(ClusterKeys.JOIN_TIMEOUT));
    followCatchUp();
    ranges.show(metrics.beans());
    joined.awaitVoters(readiness::isStarting);
  }

  private static Optional<RangeLocation.Peer> serviceOf(Cluster cluster, UUID node) {
    return cluster.service(node).map(at -> new RangeLocation.Peer(node, at.host(), at.port()));
  }

  private RangeStore openStore(CompositeMeterRegistry meters) {
    RangeStore ranges =
        opening(RangeStore.open(StoreSettings.from(settings, ClusterKeys.read(settings)), settings.get(NodeSettings.DATA_DIR), nodeId -> openMetrics(name(nodeId), meters)));
    store = ranges;
    ranges.onFatal(
        failure -> {
          readiness.failed(failure);
          embedding.onFailure().accept(failure);
        });
    return ranges;
  }

  /** Opens the metrics before the first meter exists: Micrometer does not pass earlier counts to a registry that is added later. */
  private MeterRegistry openMetrics(String name, CompositeMeterRegistry meters) {
    Metrics made = opening(Metrics.open(name));
    metrics = made;
    meters.add(made.registry());
    made.beans().register(settings);
    made.bindBuild(VERSION);
    if (ownsProcess) made.bindProcess();
    return meters;
  }

  /** The metrics of a node that has opened its store. */
  private Metrics metrics() {
    return Objects.requireNonNull(metrics);
  }

  private ScheduledExecutorService openHousekeeping() {
    ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor(Node::housekeepingThread);
    opened.push(housekeeping::shutdownNow);
    return housekeeping;
  }

  private Duration stallMax() {
    return settings.get(NodeSettings.START_STALL_MAX);
  }

  private void report(StartProgress progress, ScheduledExecutorService housekeeping) {
    housekeeping.scheduleWithFixedDelay(
        () -> {
          if (readiness.isStarting()) progress.report();
        },
        REPORT_SECONDS,
        REPORT_SECONDS,
        TimeUnit.SECONDS);
  }

  /** @param unserved why the cluster cannot serve, which depends on other nodes */
  private Probes probes(Supplier<String> start, BooleanSupplier stalled, RangeStore ranges, Supplier<Optional<String>> unserved) {
    return new Probes(
        readiness, start, stalled, ranges, settings.get(NodeSettings.READY_COMMAND_AGE_MAX), this::isDraining, unserved);
  }

  /** Why clients should not be sent to a broker of a cluster; empty when they may be, and for a broker that runs alone. */
  private Optional<String> unserved() {
    Cluster member = cluster;
    if (member == null) return Optional.empty();
    if (!member.leased()) return Optional.of("this node has no lease in its cluster: no leader of the meta group answers its heartbeats");
    ClusterTiers reaching = tiers;
    return behind().or(() -> reaching == null ? Optional.empty() : reaching.unreached());
  }

  private Optional<String> behind() {
    CatchUp own = catchUp;
    return own == null ? Optional.empty() : own.behind();
  }

  private void followCatchUp() {
    Objects.requireNonNull(catchUp).follow();
  }

  private boolean isDraining() {
    Frontend clients = frontend;
    return clients != null && clients.isDraining();
  }

  private static void awaitSessions(CompletableFuture<Void> ready, StallWatch watch, StartProgress progress) {
    try {
      watch.await(ready);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new StoreException("the session tier did not start: " + cause.getMessage(), cause);
    } catch (TimeoutException e) {
      throw new StoreException("the session tier does not start: %s; %s".formatted(e.getMessage(), progress.text()), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while the session tier started", e);
    }
  }

  /** Registers a part to be closed by close(), in reverse order. */
  private <T extends AutoCloseable> T opening(T part) {
    opened.push(part);
    return part;
  }

  private static Thread housekeepingThread(Runnable task) {
    Thread thread = new Thread(task, "dunlin-housekeeping");
    thread.setDaemon(true);
    return thread;
  }

  private String name(String nodeId) {
    String given = settings.get(NodeSettings.NODE_NAME);
    return given.isEmpty() ? nodeId.substring(0, Math.min(NAME_LENGTH, nodeId.length())) : given;
  }

  /** Opens the admin port. If the default port is in use, a free one is taken instead of failing the start. */
  private void openAdmin(Metrics metrics, Probes probes) {
    openHealth(probes);
    int port = settings.get(NodeSettings.ADMIN_PORT);
    if (port < 0) return;
    boolean asked = settings.isSet(NodeSettings.ADMIN_PORT);
    try {
      admin = opening(AdminServer.start(loopback(port), probes::unhealthy, probes::unready, metrics::scrape));
    } catch (IllegalStateException e) {
      if (asked) throw new SettingException("%s: %s".formatted(NodeSettings.ADMIN_PORT.key(), e.getMessage()));
      admin = opening(AdminServer.start(loopback(0), probes::unhealthy, probes::unready, metrics::scrape));
      log.warn("port {} is in use, the admin port is {}", port, admin.port());
    }
    log.info("admin port {} on loopback: /health, /ready and /metrics", admin.port());
  }

  /** Opens the health port for probes from other machines, such as a kubelet's. */
  private void openHealth(Probes probes) {
    int port = settings.get(NodeSettings.HEALTH_PORT);
    if (port < 0) return;
    InetSocketAddress address = new InetSocketAddress(settings.get(NodeSettings.HEALTH_HOST), port);
    if (address.isUnresolved()) throw new SettingException("dunlin.health.host: unknown host " + LogText.escaped(address.getHostString()));
    try {
      health = opening(AdminServer.startHealth(address, probes::unhealthy, probes::unready));
    } catch (IllegalStateException e) {
      throw new SettingException("dunlin.health.host, dunlin.health.port: %s".formatted(e.getMessage()), e);
    }
    log.info("health port {} on {}: /health and /ready", health.port(), settings.get(NodeSettings.HEALTH_HOST));
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  Frontend frontend() {
    Frontend clients = frontend;
    if (clients == null) throw new IllegalStateException("this node serves no clients");
    return clients;
  }

  Application application() {
    if (application == null) throw new IllegalStateException("this node serves no clients");
    return application;
  }

  SessionsMXBean sessions() {
    if (sessions == null) {
      boolean member = NodeSettings.isMember(settings);
      throw new IllegalStateException(member ? "the sessions of a cluster are operated by JMX at the node that leads them" : "this node serves no clients");
    }
    return sessions;
  }

  int adminPort() {
    return admin == null ? -1 : admin.port();
  }

  int healthPort() {
    return health == null ? -1 : health.port();
  }

  String id() {
    if (store == null) throw new IllegalStateException("not started");
    return store.nodeId();
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) return;
    boolean served = readiness.ready();
    readiness.closed();
    if (served) log.info("node {} is stopping", id());
    for (AutoCloseable part : opened) {
      try {
        part.close();
      } catch (Exception e) {
        log.warn("closing {} failed", part.getClass().getSimpleName(), e);
      }
    }
    if (served) log.info("node {} has stopped", id());
  }
}
