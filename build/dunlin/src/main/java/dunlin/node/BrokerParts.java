package dunlin.node;

import static java.util.Objects.requireNonNull;

import dunlin.admin.exports.Exports;
import dunlin.admin.exports.SessionExportsBean;
import dunlin.admin.ledger.Ledger;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.ConnectionEvents;
import dunlin.broker.Frontend;
import dunlin.broker.FrontendIdentity;
import dunlin.broker.SysTopics;
import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.guard.BlocksBean;
import dunlin.broker.limit.MemoryKeys;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.listen.ListenerKeys;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.tenant.TenantsBean;
import dunlin.broker.users.AccessBean;
import dunlin.broker.users.AccessClient;
import dunlin.broker.users.AccessCopy;
import dunlin.broker.users.AccessReplica;
import dunlin.broker.users.UsersSettings;
import dunlin.cluster.Cluster;
import dunlin.dist.DistClient;
import dunlin.dist.DistSettings;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionExports;
import dunlin.model.ShardId;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainSettings;
import dunlin.runtime.DropEvents;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.runtime.StallWatch;
import dunlin.runtime.TierClock;
import dunlin.runtime.memory.HeapGuard;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** What a node has in front of its tiers, whether they are those of one process or of a cluster. */
final class BrokerParts {
  /*
   * Owner: the thread that starts the node. The admin port reads the frontend during the start.
   */
  private static final Logger log = LoggerFactory.getLogger(BrokerParts.class);
  /** At most this much of the time while the node was down counts, whatever the wall clock says. */
  private static final Duration DOWNTIME_MAX = Duration.ofHours(1);

  /** A changed file of access rules is in force after two looks at it, and what follows from it. */
  private static final int RULES_MILLIS = 250;

  /** A small heap can be filled in a second. */
  private static final int HEAP_MILLIS = 100;

  /** Messages that wait for the application's listeners may use one in this many bytes of the heap. */
  private static final int APPLICATION_PART = 16;

  private final Foundation node;
  private final Authenticators authenticators;
  private final AuthenticationSettings authenticationSettings;
  private final FrontendSettings frontendSettings;
  private final LongAdder routesAnnounced = new LongAdder();
  private final InstantSource wall;
  private final TierClock clock;
  private final StartProgress progress;
  private final StallWatch watch;
  private final DistSettings dist;
  private final InboxSettings inbox;
  private final RetainSettings retain;
  private @Nullable AccessCopy copy;
  private @Nullable Authentication authentication; // set with the frontend
  private volatile @Nullable Frontend frontend;

  /**
   * Opens the store, if there is one, and the frontend. No client can connect before {@link #listen}.
   *
   * @param unserved why clients should not be sent to this node of a cluster; empty when they may be
   */
  BrokerParts(Foundation node, NodeRoles roles, Supplier<Optional<String>> unserved) {
    this.node = node;
    Settings settings = node.settings();
    wall = node.embedding().surroundings().wallClock();
    clock = new TierClock(wall, System::nanoTime, DOWNTIME_MAX);
    authenticators = node.embedding().authenticators();
    // Before the store, which takes time and leaves a data directory behind.
    authenticationSettings = AuthenticationSettings.from(settings);
    frontendSettings = FrontendSettings.from(settings, ListenerKeys.read(settings));
    Authentication.check(authenticationSettings);
    if (roles.frontend()) Frontend.check(frontendSettings, Authentication.mayListenAnywhere(authenticationSettings, authenticators));

    if (roles.stores()) node.openStore();
    else node.openWithoutStore();
    ClockFile clockFile = node.opening(ClockFile.open(node.dataDirectory(), clock));
    node.everySeconds(1, clockFile::look);
    progress = new StartProgress(node::progress, routesAnnounced::sum, System::nanoTime);
    node.report(progress);
    watch = new StallWatch(node.stallMax(), progress::moved, System::nanoTime);
    // What a node without clients waits for at its start is other nodes.
    Supplier<String> start = roles.frontend() ? progress::text : () -> unserved.get().orElseGet(progress::text);
    node.openAdmin(start, watch::stalled, this::isDraining, unserved);
    frontend = openFrontend(settings, roles.frontend());

    long heapBytes = Runtime.getRuntime().maxMemory();
    long diskBytes = node.dataDirectory().toFile().getTotalSpace();
    dist = DistSettings.from(settings, heapBytes);
    inbox = InboxSettings.from(settings, settings.get(FrontendSettings.Sessions.SUBSCRIPTIONS_MAX), heapBytes, diskBytes);
    retain = RetainSettings.from(settings, heapBytes, diskBytes);
    checkData();
    if (roles.stores()) SessionLayout.keep(node.dataDirectory(), inbox.layout());
  }

  private Frontend openFrontend(Settings settings, boolean clients) {
    Authentication authentication = node.opening(Authentication.open(authenticationSettings, authenticators, wall, node.meters()));
    if (clients && !authentication.authenticates()) {
      // An embedding application has chosen this in its own code and needs no warning.
      log.atLevel(node.ownsProcess() ? Level.WARN : Level.INFO)
          .log(
              "No authentication is configured: anyone who reaches a listener can connect with any client identifier and {}",
              authentication.authorization() == null ? "use all topics" : "do what the access rules allow it");
    }
    copy = authentication.users().orElse(null);
    this.authentication = authentication;
    node.everySeconds(1, authentication::refresh);
    if (authentication.authorization() != null) node.everyMillis(RULES_MILLIS, authentication::refreshRules);
    DropEvents drops = node.opening(new DropEvents(node.name()));
    node.everySeconds(1, drops::flush);
    HeapGuard heap = HeapGuard.ofThisProcess(MemoryKeys.livePercent(settings));
    node.everyMillis(HEAP_MILLIS, heap::look);
    NodeBudget budget = new NodeBudget(MemoryKeys.read(settings), heap, node.meters());
    log.info("Memory: {}", budget);
    ConnectionEvents events = node.opening(new ConnectionEvents(node.embedding().listener(), wall, node.meters()));
    FrontendIdentity identity = new FrontendIdentity(node.id(), node.incarnation());
    Frontend opened = node.opening(new Frontend(frontendSettings, budget, authentication, identity, clock, node.meters(), drops, node.tracer(), events));
    if (clients) {
      node.metrics().beans().register("Frontend", opened.bean());
      node.metrics().beans().register("Blocks", new BlocksBean(authentication.guard(), node.name()));
    }
    node.metrics().beans().register("Ledger", new Ledger(node.id(), opened::accounts, opened::retained, node.metrics().beans(), node.meters()));
    opened.latencies().forEach(node.metrics()::show);
    return opened;
  }

  /** The data of a broker that ran alone becomes that of a cluster only when that was asked for, and never the other way round. */
  private void checkData() {
    Path data = node.dataDirectory();
    boolean joined = Cluster.hasJoined(data);
    boolean member = NodeSettings.isInCluster(node.settings());
    if (joined && !member) {
      throw new SettingException("dunlin.cluster.seeds: %s belongs to a node of a cluster; set the seeds of that cluster".formatted(data));
    }
    if (!joined && member && node.stored().filter(store -> !store.stored().isEmpty()).isPresent()) {
      throw new SettingException(
          "dunlin.cluster.seeds: %1$s has the data of a broker that ran alone; a node joins a cluster with an empty directory. bin/dunlin form-cluster %1$s makes it the first node of a new one"
              .formatted(data));
    }
  }

  Frontend frontend() {
    return requireNonNull(frontend);
  }

  private boolean isDraining() {
    Frontend opened = frontend;
    return opened != null && opened.bean().isDraining();
  }

  DistSettings dist() {
    return dist;
  }

  InboxSettings inbox() {
    return inbox;
  }

  RetainSettings retain() {
    return retain;
  }

  TierClock clock() {
    return clock;
  }

  /** Whether there are users, roles and bans, and their bounds. */
  UsersSettings users() {
    return authenticationSettings.users();
  }

  /** Whether there are users, roles and bans, or there were: a store knows all ranges that are in its directory. */
  boolean hasUsers() {
    return users().enabled() || node.stored().filter(store -> store.stored().contains(RangeId.firstOf(AccessReplica.KIND).uuid())).isPresent();
  }

  /** Lets this node follow users, roles, bans and tenants, and operators change them, if there are any. */
  void serveUsers(AccessClient access) {
    AccessCopy followed = copy;
    if (followed == null) return;
    followed.from(access);
    followed.refresh();
    Authentication clients = requireNonNull(authentication);
    node.metrics().beans().register("Access", new AccessBean(access, followed, requireNonNull(clients.authorization())::policyOf, wall, node.name()));
    TenantsBean records = new TenantsBean(access, followed, node.name(), clients.tenants());
    node.metrics().beans().register("Tenants", records);
    TenantRemoval removal = node.opening(new TenantRemoval(records, node.peers(), node.metrics().beans()));
    node.everySeconds(1, removal::look);
  }

  /** Lets operators export and import what the tiers of the whole broker have, once the frontend is open. */
  void showExports(RetainClient retained) {
    node.metrics().beans().register("Exports", new Exports(frontend().application(), retained, wall));
  }

  /** What operators export and import the sessions of this node's ranges by. */
  SessionExportsBean sessionExports(SessionExports sessions) {
    return new SessionExportsBean(
        frontend().application(), sessions, frontend().subscribeRules(), frontend()::tenant, node.peers()::unreadyForSessionImports);
  }

  /** Why clients cannot be judged yet; empty when they can. */
  Optional<String> unjudged() {
    AccessCopy followed = copy;
    return followed == null || followed.isComplete() ? Optional.empty() : Optional.of("users, roles and bans are not known here yet");
  }

  /** Counts the routes that this node's session tier has announced. */
  LongAdder routesAnnounced() {
    return routesAnnounced;
  }

  SysTopics sysTopics() {
    return new SysTopics(frontend(), wall, Node.VERSION, node.settings().get(SysTopics.INTERVAL));
  }

  /** Opens the subscriptions of the embedding application, by which operators watch messages too, once the frontend is open. */
  ApplicationSubscriptions serveApplication(Consumer<ApplicationSubscriptions> attach) {
    ApplicationSubscriptions opened = node.opening(frontend().subscriptionsOfApplication(attach, Runtime.getRuntime().maxMemory() / APPLICATION_PART));
    node.watchBy(opened);
    return opened;
  }

  /** Waits until the session tier serves this node, for as long as it makes progress. */
  void awaitSessions(CompletableFuture<Void> ready) {
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
    progress.ended();
  }

  /** Removes the routes of earlier runs of this node, in the background. */
  void removeEarlierRoutes(DistClient routes) {
    for (ShardId shard : List.of(frontend().identity().shard(), ApplicationSubscriptions.shardOf(node.id()))) {
      routes.removeRoutesBefore(shard, node.incarnation())
          .whenComplete(
              (removed, failure) -> {
                if (node.readiness().isClosed()) return; // when a listener cannot be bound, the node closes while routes are being removed
                if (failure != null) log.warn("Routes from this node's earlier runs could not be removed", failure);
                else if (removed > 0) log.info("Removed {} routes from this node's earlier runs", removed);
              });
    }
  }

  /** Lets clients connect. */
  void listen() {
    Frontend opened = frontend();
    opened.auditRoutes(node.settings().get(DistSettings.AUDIT_INTERVAL));
    opened.listen();
    node.opening(opened::disconnectAll);
    opened.showListeners(node.metrics().beans());
    node.metrics().beans().register("Publishing", opened.publishing());
    node.metrics().beans().register("Clients", opened.clients());
    node.metrics().beans().register("Lanes", opened.laneFigures());
    node.everySeconds(1, opened::reloadCertificates);
  }
}
