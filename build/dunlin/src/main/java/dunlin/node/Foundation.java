package dunlin.node;

import static java.util.Objects.requireNonNull;

import dunlin.admin.AdminApi;
import dunlin.admin.AdminBeans;
import dunlin.admin.AdminTokens;
import dunlin.admin.Operators;
import dunlin.admin.PageFiles;
import dunlin.admin.RemoteRequests;
import dunlin.admin.api.Endpoints;
import dunlin.admin.backup.Backups;
import dunlin.admin.doctor.Doctor;
import dunlin.admin.peers.OperatorSharing;
import dunlin.admin.peers.PeerBeans;
import dunlin.admin.peers.PeerCalls;
import dunlin.admin.spans.SpanExporter;
import dunlin.admin.spans.SpanSettings;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.listen.AdminFront;
import dunlin.broker.listen.ListenerException;
import dunlin.inbox.InboxSettings;
import dunlin.runtime.AdminServer;
import dunlin.runtime.Deadlines;
import dunlin.runtime.LogText;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.runtime.metrics.Metrics;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.RangeProgress;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.NodeIdentity;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.trace.Tracer;
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
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a node has whatever its role: its data directory and the identity in it, its store, metrics, threads for housekeeping and
 * timers, and admin ports. It closes all parts of the node, in the reverse order of their opening.
 */
final class Foundation implements AutoCloseable {
  /*
   * Owner: the thread that starts the node; any thread may close it.
   * Failure: a store that fails fences its range, and its listener should stop the node: readiness() says so for good, and a
   * start in progress fails.
   */
  private static final Logger log = LoggerFactory.getLogger(Foundation.class);
  private static final int NAME_LENGTH = 8;
  private static final int REPORT_SECONDS = 5;

  /** How often parts look whether their certificates have changed. */
  static final int RELOAD_SECONDS = 3;

  private final ArrayDeque<AutoCloseable> opened = new ArrayDeque<>();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final AtomicReference<Supplier<List<String>>> remarks = new AtomicReference<>(List::of); // the admin port is open before there is a cluster
  private final Readiness readiness = new Readiness();
  private final CompositeMeterRegistry meters = new CompositeMeterRegistry();
  private final Settings settings;
  private final boolean ownsProcess;
  private final Embedding embedding;
  private final Tracer tracer;

  private @Nullable DataDirectory directory;
  private @Nullable NodeIdentity identity;
  private @Nullable Metrics metrics; // set once the node has a name
  private @Nullable RangeStore store; // none in a node without replicas
  private @Nullable ScheduledExecutorService housekeeping;
  private @Nullable ScheduledExecutorService timer;
  private @Nullable AdminServer admin;
  private @Nullable AdminApi api;
  private @Nullable AdminServer health;
  private @Nullable AdminBeans operating;

  /** @param ownsProcess whether the process runs only this node, so that the process's meters are this node's */
  Foundation(Settings settings, boolean ownsProcess, Embedding embedding) {
    this.settings = settings;
    this.ownsProcess = ownsProcess;
    this.embedding = embedding;
    this.tracer = new Tracer(embedding.surroundings().wallClock(), System::nanoTime);
    opened.push(this::closeMeters);
    if (embedding.registry() != null) meters.add(embedding.registry());
  }

  Settings settings() {
    return settings;
  }

  Path dataDirectory() {
    return settings.get(NodeSettings.DATA_DIR);
  }

  Embedding embedding() {
    return embedding;
  }

  boolean ownsProcess() {
    return ownsProcess;
  }

  /** Notes what becomes of messages, for operators. */
  Tracer tracer() {
    return tracer;
  }

  Readiness readiness() {
    return readiness;
  }

  MeterRegistry meters() {
    return meters;
  }

  /** Logged first, so that the log of a failed start names the version. */
  void introduce() {
    String file = settings.get(Settings.CONFIG);
    log.info(
        "Dunlin {} on Java {}, process {}; data directory {}; {}",
        Node.VERSION, Runtime.version(), ProcessHandle.current().pid(), settings.get(NodeSettings.DATA_DIR).toAbsolutePath().normalize(),
        file.isEmpty() ? "no configuration file" : "configuration file " + file);
  }

  /**
   * Opens the data directory and the store in it, and before these the metrics: Micrometer does not pass earlier counts to a
   * registry that is added later.
   */
  RangeStore openStore() {
    StoreSettings storeSettings = StoreSettings.from(settings, ClusterKeys.read(settings)).in(embedding.surroundings());
    DataDirectory data = openData();
    RangeStore ranges = opening(RangeStore.open(storeSettings, data, meters));
    ranges.onFatal(
        failure -> {
          readiness.failed(failure);
          embedding.onFailure().accept(failure);
        });
    store = ranges;
    return ranges;
  }

  /**
   * Opens the data directory of a node without replicas, which has its identity there.
   *
   * @throws SettingException if there are replicas in it
   */
  void openWithoutStore() {
    DataDirectory data = opening(openData());
    if (!data.ranges().isEmpty()) {
      throw new SettingException(
          "dunlin.roles: %s has replicas of ranges, which other nodes count on; start the node with its former roles, drain it, and then change them".formatted(dataDirectory()));
    }
  }

  private DataDirectory openData() {
    DataDirectory data = DataDirectory.open(dataDirectory());
    try {
      directory = data;
      identity = data.identity();
      openMetrics();
      return data;
    } catch (RuntimeException | Error e) {
      data.close();
      throw e;
    }
  }

  private void openMetrics() {
    Metrics made = opening(Metrics.open(name()));
    metrics = made;
    meters.add(made.registry());
    made.beans().register(settings);
    made.bindBuild(Node.VERSION);
    made.bindClock(InstantSource.system());
    if (ownsProcess) made.bindProcess();
  }

  /** Closes the composite without the application's registry, from which only this node's meters are removed. */
  private void closeMeters() {
    MeterRegistry registry = embedding.registry();
    if (registry != null) {
      List<Meter> all = meters.getMeters();
      meters.remove(registry);
      for (Meter meter : all) registry.remove(meter.getId());
    }
    meters.close();
  }

  /** What the data directory says of this node. Once that is open, like all below. */
  NodeIdentity identity() {
    if (identity == null) throw new IllegalStateException("not started");
    return identity;
  }

  String id() {
    return identity().nodeId().toString();
  }

  /** Larger with each start. */
  long incarnation() {
    return identity().incarnation();
  }

  /** Raises the incarnation on disk, for what this process does from now on, and returns it. Waits for the disk. */
  long raiseIncarnation() {
    return requireNonNull(directory).raiseIncarnation();
  }

  String name() {
    String given = settings.get(NodeSettings.NODE_NAME);
    return given.isEmpty() ? id().substring(0, NAME_LENGTH) : given;
  }

  RangeStore store() {
    return requireNonNull(store);
  }

  /** Empty in a node without replicas. */
  Optional<RangeStore> stored() {
    return Optional.ofNullable(store);
  }

  /** How far each of this node's replicas is. */
  List<RangeProgress> progress() {
    return stored().map(RangeStore::progress).orElseGet(List::of);
  }

  Metrics metrics() {
    return requireNonNull(metrics);
  }

  /** Runs short tasks that may wait for files, one after the other. */
  ScheduledExecutorService housekeeping() {
    if (housekeeping == null) housekeeping = thread("dunlin-housekeeping");
    return housekeeping;
  }

  /** Runs short tasks that wait for nothing, one after the other: also while the disk stands still. */
  ScheduledExecutorService timer() {
    if (timer == null) timer = thread("dunlin-timer");
    return timer;
  }

  private ScheduledExecutorService thread(String name) {
    ScheduledExecutorService made = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name(name).factory());
    opened.push(made::shutdownNow);
    return made;
  }

  void everySeconds(int seconds, Runnable task) {
    housekeeping().scheduleWithFixedDelay(task, seconds, seconds, TimeUnit.SECONDS);
  }

  void everyMillis(int millis, Runnable task) {
    housekeeping().scheduleWithFixedDelay(task, millis, millis, TimeUnit.MILLISECONDS);
  }

  Duration stallMax() {
    return settings.get(NodeSettings.START_STALL_MAX);
  }

  /** Logs the progress of the start, while it lasts. */
  void report(StartProgress progress) {
    everySeconds(
        REPORT_SECONDS,
        () -> {
          if (readiness.isStarting()) progress.report();
        });
  }

  /**
   * Opens the admin port and the health port.
   *
   * @param unserved why the cluster cannot serve, which depends on other nodes
   */
  void openAdmin(Supplier<String> start, BooleanSupplier stalled, BooleanSupplier draining, Supplier<Optional<String>> unserved) {
    Probes probes = new Probes(readiness, start, stalled, stored(), settings.get(NodeSettings.READY_COMMAND_AGE_MAX), draining, unserved, () -> remarks.get().get());
    metrics().bindReady(() -> probes.unready().isEmpty());
    openHealth(probes);
    openAdmin(probes);
  }

  private void openAdmin(Probes probes) {
    NodeBeans beans = metrics().beans();
    var node = new AdminBeans.Of(id(), Node.VERSION, ownsProcess, dataDirectory(), diskFreeMin(), InboxSettings.layout(settings), probes::unhealthy, probes::unready);
    AdminBeans shown = new AdminBeans(beans, node, tracer, meters);
    operating = shown;
    everySeconds(1, tracer::endDue);
    everySeconds(Doctor.LOOK_SECONDS, shown::look);
    SpanSettings.from(settings).ifPresent(spans -> opening(SpanExporter.start(spans, tracer, id(), Node.VERSION, embedding.surroundings().wallClock(), meters)));
    if (settings.get(NodeSettings.ADMIN_PORT) < 0) return;
    Operators operators = AdminKeys.opened(settings) ? Operators.open(dataDirectory()) : null;
    if (operators != null) everySeconds(OperatorSharing.TURN_SECONDS, shown.share(operators));
    String tokenFile = settings.get(NodeSettings.ADMIN_TOKEN_FILE);
    AdminTokens tokens = AdminTokens.open(tokenFile.isEmpty() ? null : Path.of(tokenFile));
    Deadlines deadlines = opening(new Deadlines("dunlin-admin-deadlines"));
    AdminApi made = opening(new AdminApi(shown, tokens, operators, metrics()::scrape, Node.VERSION, meters, deadlines));
    AdminServer opened = openAdminPort(probes);
    opened.sayWhenReady(probes::ready);
    opened.whenClosing(made::countClosed);
    opened.serve(Endpoints.PREFIX, made);
    opened.serveOthers(new PageFiles(deadlines));
    api = made;
    admin = opened;
    tokens.leaveAccess(dataDirectory(), "http://127.0.0.1:" + opened.port());
    log.info(
        "Admin port {} on loopback: /health, /ready, /metrics, the API at {}, and the operations page at http://127.0.0.1:{}/", opened.port(),
        Endpoints.PREFIX, opened.port());
    if (operators != null) openToOthers(made, probes, deadlines);
  }

  /** Opens the admin API's port for other machines: TLS in front of an HTTP server on loopback, which answers only what comes that way. */
  private void openToOthers(AdminApi made, Probes probes, Deadlines deadlines) {
    AdminServer behind = opening(AdminServer.startHealth(loopback(0), probes::unhealthy, probes::unready));
    AdminFront front;
    try {
      front = opening(AdminFront.open(AdminKeys.address(settings), AdminKeys.keys(settings), behind.port(), meters));
    } catch (ListenerException e) {
      throw new SettingException(String.valueOf(e.getMessage()), e);
    }
    Set<String> names = AdminKeys.names(settings);
    behind.whenClosing(made::countClosed);
    behind.serveAll(
        new RemoteRequests(
            made, name -> names.contains(name) || front.names().contains(name), front::clientAt, probes::unhealthy, probes::unready, probes::ready, deadlines));
    everySeconds(RELOAD_SECONDS, front::reloadCertificate);
    log.info("Admin port {} on {}, with TLS: the API, the operations page, /health, /ready, /metrics", front.port(), settings.get(AdminKeys.HOST));
  }

  /** Sets what {@code /ready} says beside that this node is ready, in sentences without a point. */
  void remarkBy(Supplier<List<String>> said) {
    remarks.set(said);
  }

  /** Lets operators make backups of these ranges. */
  void backUp(BackupRanges ranges) {
    Path directory = settings.isSet(NodeSettings.BACKUP_DIRECTORY) ? settings.get(NodeSettings.BACKUP_DIRECTORY) : null;
    var of =
        new Backups.Of(
            id(), Node.VERSION, directory, settings.get(NodeSettings.BACKUP_RATE), diskFreeMin(), dataDirectory(), BackupRanges.FILES,
            embedding.surroundings().wallClock());
    metrics().beans().register("Backups", opening(new Backups(of, ranges, meters)));
  }

  private long diskFreeMin() {
    return StoreSettings.from(settings, ClusterKeys.read(settings)).disk().freeMin();
  }

  /** Lets operators ask for what other nodes have, once this one belongs to a cluster. */
  void askBy(PeerCalls carrier) {
    requireNonNull(operating).askBy(carrier);
  }

  /** The beans of all nodes. */
  PeerBeans peers() {
    return requireNonNull(operating).peers();
  }

  /** Lets operators watch messages by the admin API, if there is one. */
  void watchBy(ApplicationSubscriptions subscriptions) {
    if (api != null) api.watchBy(subscriptions);
  }

  /** If the default port is in use, a free one is taken instead of failing the start. */
  private AdminServer openAdminPort(Probes probes) {
    int port = settings.get(NodeSettings.ADMIN_PORT);
    try {
      return opening(AdminServer.start(loopback(port), probes::unhealthy, probes::unready, metrics()::scrape));
    } catch (IllegalStateException e) {
      if (settings.isSet(NodeSettings.ADMIN_PORT)) throw new SettingException("%s: %s".formatted(NodeSettings.ADMIN_PORT.key(), e.getMessage()));
      AdminServer other = opening(AdminServer.start(loopback(0), probes::unhealthy, probes::unready, metrics()::scrape));
      log.warn("Port {} is in use, the admin port is {}", port, other.port());
      return other;
    }
  }

  /** Opens the port for probes from other machines, such as a kubelet's. */
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
    health.sayWhenReady(probes::ready);
    log.info("Health port {} on {}: /health and /ready", health.port(), settings.get(NodeSettings.HEALTH_HOST));
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** -1 when there is none. */
  int adminPort() {
    return admin == null ? -1 : admin.port();
  }

  /** -1 when there is none. */
  int healthPort() {
    return health == null ? -1 : health.port();
  }

  /** Registers a part to be closed, before all that were opened earlier. */
  <T extends AutoCloseable> T opening(T part) {
    opened.push(part);
    return part;
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) return;
    boolean served = readiness.ready();
    readiness.closed();
    if (served) log.info("Node {} is stopping", id());
    for (AutoCloseable part : opened) {
      try {
        part.close();
      } catch (Exception e) {
        log.warn("Closing {} failed", part.getClass().getSimpleName(), e);
      }
    }
    if (served) log.info("Node {} has stopped", id());
  }
}
