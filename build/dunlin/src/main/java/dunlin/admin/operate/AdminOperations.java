package dunlin.admin.operate;

import dunlin.admin.api.ApiAnswers.Begun;
import dunlin.admin.api.ApiAnswers.ClusterView;
import dunlin.admin.api.ApiAnswers.Deleted;
import dunlin.admin.api.ApiAnswers.Done;
import dunlin.admin.api.ApiAnswers.ListenerRow;
import dunlin.admin.api.ApiAnswers.LoggerRow;
import dunlin.admin.api.ApiAnswers.OperatorRow;
import dunlin.admin.api.ApiAnswers.Published;
import dunlin.admin.api.ApiAnswers.ReplicaRow;
import dunlin.admin.api.ApiAnswers.SettingRow;
import dunlin.admin.api.ApiAnswers.Status;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoint.Page;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Role;
import dunlin.admin.backup.BackupsMXBean;
import dunlin.admin.busy.QueuesMXBean;
import dunlin.admin.busy.QueuesMXBean.QueueRow;
import dunlin.admin.busy.SampledBy;
import dunlin.admin.busy.SamplesMXBean;
import dunlin.admin.doctor.DoctorMXBean;
import dunlin.admin.events.EventSource;
import dunlin.admin.events.MessageEvents;
import dunlin.admin.events.OverviewEvents;
import dunlin.admin.events.TraceLines;
import dunlin.admin.explain.ExplanationMXBean;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.ledger.LedgerMXBean;
import dunlin.admin.ledger.LedgerMXBean.HopRow;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.admin.peers.AllNodesMXBean.LedgerOfNodes;
import dunlin.admin.peers.AllNodesMXBean.NodeFinding;
import dunlin.admin.peers.AllNodesMXBean.NodeHealth;
import dunlin.admin.peers.NodeMXBean;
import dunlin.admin.peers.PeerBeans;
import dunlin.admin.peers.TracesMXBean;
import dunlin.admin.peers.TracesMXBean.TraceList;
import dunlin.admin.peers.TracesMXBean.TracePart;
import dunlin.admin.peers.TracesMXBean.TraceRow;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.broker.FrontendMXBean;
import dunlin.broker.LaneFigure;
import dunlin.broker.LanesMXBean;
import dunlin.broker.MessageWatch;
import dunlin.broker.PublishingMXBean;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.guard.BlocksMXBean;
import dunlin.broker.listen.ListenerMXBean;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.broker.users.AccessMXBean;
import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.cluster.ClusterMXBean.OperationRow;
import dunlin.cluster.ClusterMXBean.RangeRow;
import dunlin.inbox.SessionsMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean.MessagePage;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.retain.RetainReplica;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.runtime.metrics.SettingsMXBean;
import dunlin.store.raft.RangeMXBean;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Does what the endpoints say, by the MXBeans of the node. */
public final class AdminOperations {
  /*
   * Owner: any thread that may block.
   * Bounds: a page has at most its endpoint's limit; the beans bound the rest.
   * Failure: a bean that is missing is a Problem that says why. A bean refuses by IllegalArgumentException and IllegalStateException.
   */
  private static final int WATCH_SECONDS = 10;

  private final NodeBeans beans;
  private final PeerBeans peers;
  private final MeterRegistry registry;
  private final Map<Endpoint, Action> actions = new HashMap<>();

  private volatile @Nullable ApplicationSubscriptions subscriptions; // set once the node serves clients

  /** What an endpoint does for a token of a role. */
  @FunctionalInterface
  private interface Action {
    Object act(Arguments given, Role role);
  }

  public AdminOperations(NodeBeans beans, PeerBeans peers, MeterRegistry registry) {
    this.beans = beans;
    this.peers = peers;
    this.registry = registry;
    node();
    ClientOperations.add(this::nodes, this::on);
    sessions();
    sessionContents();
    SubscriberOperations.add(this::nodes, this::routes, this::on);
    on(Endpoints.EXPLAIN, this::explain);
    traces();
    AccessOperations.add(() -> bean(AccessMXBean.class), this::on);
    AccessOperations.addTenants(() -> bean(TenantsMXBean.class), this::on);
    BlockOperations.add(() -> bean(BlocksMXBean.class), this::on);
    RetainedActions.add(this::retainedMessages, this::on);
    ExportActions.add(() -> bean(ExportsMXBean.class), () -> peers.sessionExports().orElseThrow(() -> missing(SessionExportsMXBean.class)), this::on);
    cluster();
    events();
    if (!actions.keySet().equals(Set.copyOf(Endpoints.ALL))) {
      throw new IllegalStateException("endpoints without an action, or actions without an endpoint");
    }
  }

  /**
   * Does it.
   *
   * @return a record, a {@link Page} of them, or the {@link EventSource} of a stream
   * @throws Problem when it cannot be done
   */
  public Object act(Endpoint endpoint, Arguments given, Role role) {
    Action action = actions.get(endpoint);
    if (action == null) throw new IllegalStateException("no action for " + endpoint.command());
    try {
      return action.act(given, role);
    } catch (IllegalArgumentException refused) {
      throw Problem.invalid(sentence(refused));
    } catch (IllegalStateException refused) {
      throw new Problem(409, sentence(refused));
    } catch (UncheckedIOException silent) {
      throw new Problem(503, sentence(silent));
    }
  }

  private static String sentence(RuntimeException refused) {
    String text = String.valueOf(refused.getMessage());
    String begun = text.isEmpty() ? text : Character.toUpperCase(text.charAt(0)) + text.substring(1);
    return begun.endsWith(".") ? begun : begun + ".";
  }

  private void on(Endpoint endpoint, Function<Arguments, Object> action) {
    actions.put(endpoint, (given, _) -> action.apply(given));
  }

  /** An action that has no answer but that it is done. */
  private void done(Endpoint endpoint, Consumer<Arguments> action) {
    on(
        endpoint,
        given -> {
          action.accept(given);
          return Done.DONE;
        });
  }

  private void node() {
    actions.put(Endpoints.STATUS, (_, role) -> status(role));
    on(Endpoints.SETTINGS, given -> settings(bean(SettingsMXBean.class), given));
    on(Endpoints.LOGGERS, this::loggers);
    on(Endpoints.SET_LOGGER, given -> row(logging().setLevel(given.text("name"), given.text("level"))));
    on(
        Endpoints.LISTENERS,
        given -> page(beans.all(ListenerMXBean.class, "name").values().stream().map(AdminOperations::row).toList(), ListenerRow::name, given));
    listener(Endpoints.OPEN_LISTENER, ListenerMXBean::open);
    listener(Endpoints.CLOSE_LISTENER, ListenerMXBean::close);
    operators();
    on(Endpoints.DOCTOR, given -> page(given.flag("all") ? bean(AllNodesMXBean.class).examine() : examine(), row -> row.node() + ' ' + row.check(), given));
    on(Endpoints.QUEUES, given -> page(bean(QueuesMXBean.class).getQueues(), QueueRow::name, given));
    on(
        Endpoints.TOP_LANES,
        given -> new Page(bean(LanesMXBean.class).top(LaneFigure.valueOf(given.text("by").toUpperCase(Locale.ROOT)), given.number("limit")), ""));
    on(Endpoints.TOP_MESSAGES, this::sample);
    on(
        Endpoints.REPLICAS,
        given ->
            page(
                beans.all(RangeMXBean.class, "range").entrySet().stream().map(each -> row(each.getKey(), each.getValue())).toList(), ReplicaRow::name,
                given));
    on(Endpoints.PUBLISH, this::publish);
    done(Endpoints.DRAIN, given -> bean(FrontendMXBean.class).drain(given.text("serverReference"), given.number("connectionsPerSecond")));
    done(Endpoints.STOP_DRAIN, _ -> bean(FrontendMXBean.class).stopDrain());
    on(Endpoints.BACKUP, _ -> backups().getLast());
    on(Endpoints.START_BACKUP, given -> backups().begin(given.text("name")));
    on(Endpoints.CANCEL_BACKUP, _ -> backups().cancel());
  }

  private BackupsMXBean backups() {
    return beans.find(BackupsMXBean.class).orElseThrow(() -> new Problem(409, "This node makes no backups: it is starting, or has no store (dunlin.roles)."));
  }

  private void operators() {
    on(Endpoints.OPERATORS, given -> page(operatorsBean().getOperators(), OperatorRow::name, given));
    on(Endpoints.PUT_OPERATOR, given -> operatorsBean().put(given.text("name"), given.text("role"), given.text("newPassword")));
    done(Endpoints.DELETE_OPERATOR, given -> operatorsBean().delete(given.text("name")));
  }

  private OperatorsMXBean operatorsBean() {
    return beans
        .find(OperatorsMXBean.class)
        .orElseThrow(() -> new Problem(409, "Operators sign in by the TLS port of the admin API, which this node does not have (dunlin.admin.tls.port)."));
  }

  private Status status(Role role) {
    NodeMXBean node = bean(NodeMXBean.class);
    Optional<FrontendMXBean> frontend = beans.find(FrontendMXBean.class);
    String unhealthy = node.getUnhealthy();
    String unready = node.getUnready();
    Runtime runtime = Runtime.getRuntime();
    return new Status(
        node.getId(), node.getVersion(), role.label(), node.getUptimeSeconds(), unhealthy.isEmpty(), unhealthy.isEmpty() ? "alive" : unhealthy,
        unready.isEmpty(), unready.isEmpty() ? "ready" : unready, frontend.map(FrontendMXBean::getConnections).orElse(0),
        frontend.map(FrontendMXBean::isDraining).orElse(false), sessionsLedHere(),
        beans.find(RetainedMessagesMXBean.class).map(RetainedMessagesMXBean::getTopics).orElse(-1L), runtime.totalMemory() - runtime.freeMemory(),
        runtime.maxMemory());
  }

  /** Of all ranges that this node leads; -1 when it leads none. */
  private int sessionsLedHere() {
    return beans.all(SessionsMXBean.class, SessionsMXBean.RANGE).values().stream().map(SessionsMXBean::getSessions).reduce(Integer::sum).orElse(-1);
  }

  private List<NodeFinding> examine() {
    String node = bean(NodeMXBean.class).getId();
    return bean(DoctorMXBean.class).examine().stream().map(found -> NodeFinding.of(node, found)).toList();
  }

  private Page sample(Arguments given) {
    return new Page(bean(SamplesMXBean.class).sample(given.text("tenant"), SampledBy.of(given.text("by")), given.number("limit")), "");
  }

  private static Page settings(SettingsMXBean settings, Arguments given) {
    Map<String, String> sources = settings.getSources();
    List<SettingRow> rows =
        settings.getEffective().entrySet().stream()
            .map(each -> new SettingRow(each.getKey(), each.getValue(), sources.getOrDefault(each.getKey(), "default")))
            .filter(row -> row.key().startsWith(given.text("prefix")))
            .toList();
    return page(rows, SettingRow::key, given);
  }

  private Page loggers(Arguments given) {
    return page(
        logging().getLevels().stream().filter(level -> level.name().startsWith(given.text("prefix"))).map(AdminOperations::row).toList(), LoggerRow::name, given);
  }

  private LoggingMXBean logging() {
    return beans
        .find(LoggingMXBean.class)
        .orElseThrow(() -> new Problem(409, "The application that embeds this node has its own logging; its levels are not changed here."));
  }

  private static LoggerRow row(LoggingMXBean.LoggerLevel level) {
    return new LoggerRow(level.name(), level.level(), level.effective());
  }

  private static ListenerRow row(ListenerMXBean listener) {
    return new ListenerRow(
        listener.getName(), listener.getType(), listener.getAddress(), listener.isAccepting(), listener.getConnections(), listener.getRefused(), listener.getCertificateExpiry());
  }

  private void listener(Endpoint endpoint, Consumer<ListenerMXBean> change) {
    on(
        endpoint,
        given -> {
          ListenerMXBean listener = beans.all(ListenerMXBean.class, "name").get(given.text("name"));
          if (listener == null) throw new Problem(404, "There is no listener of this name.");
          change.accept(listener);
          return Done.DONE;
        });
  }

  private static ReplicaRow row(String name, RangeMXBean range) {
    return new ReplicaRow(
        name, range.getRole(), range.getLeader(), range.getTerm(), range.getCommittedIndex(), range.getAppliedIndex(), range.getApplyLag(),
        range.getLogBytes(), range.getQueued(), range.getOldestMillis());
  }

  private Published publish(Arguments given) {
    String text = given.text("payload");
    String encoded = given.text("payloadBase64");
    if (!text.isEmpty() && !encoded.isEmpty()) throw Problem.invalid("A message has either payload or payloadBase64.");
    String payload = text.isEmpty() ? encoded : Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    PublishingMXBean.Answer answer =
        bean(PublishingMXBean.class).publish(given.text("tenant"), given.text("topic"), given.number("qos"), given.flag("retain"), payload);
    return new Published(answer.reason(), answer.code());
  }

  private void sessions() {
    on(
        Endpoints.SESSIONS,
        given ->
            full(
                allSessions().list(given.text("tenant"), given.text("prefix"), Cursor.read(given), given.number("limit")),
                SessionRow::clientId, given));
    on(Endpoints.SESSION, given -> session(given).orElseThrow(() -> noSession(given)));
    on(
        Endpoints.DISCONNECT,
        given -> {
          if (allSessions().disconnect(given.text("tenant"), given.text("clientId"))) return Done.DONE;
          throw session(given).isPresent() ? new Problem(409, "The client is not connected.") : noSession(given);
        });
    on(
        Endpoints.DELETE_SESSION,
        given -> {
          if (allSessions().deleteOne(given.text("tenant"), given.text("clientId"))) return Done.DONE;
          throw noSession(given);
        });
    on(
        Endpoints.DELETE_SESSIONS,
        given -> new Deleted(allSessions().delete(given.text("tenant"), given.text("prefix"), given.number("max"))));
  }

  private void sessionContents() {
    on(
        Endpoints.SESSION_SUBSCRIPTIONS,
        given -> {
          List<SubscriptionRow> rows =
              allSessions().subscriptions(given.text("tenant"), given.text("clientId"), Cursor.read(given), given.number("limit"));
          if (rows.isEmpty() && session(given).isEmpty()) throw noSession(given);
          return full(rows, SubscriptionRow::filter, given);
        });
    on(
        Endpoints.SESSION_MESSAGES,
        given -> {
          MessagePage page =
              allSessions().messages(given.text("tenant"), given.text("clientId"), Cursor.readNumber(given), given.number("limit"));
          if (page.messages().isEmpty() && session(given).isEmpty()) throw noSession(given);
          return new Page(page.messages(), page.next() == MessagePage.END ? "" : Cursor.after(Long.toString(page.next())));
        });
    on(
        Endpoints.SESSION_MESSAGE,
        given ->
            allSessions().message(given.text("tenant"), given.text("clientId"), given.longNumber("sequence")).stream()
                .findFirst()
                .orElseThrow(() -> new Problem(404, "The session has no such message in its inbox, or there is no such session.")));
    on(Endpoints.TOP_SESSIONS, given -> new Page(allSessions().top(SessionFigure.of(given.text("by")), given.number("limit")), ""));
  }

  /** The first of all sessions with this prefix is the one whose client identifier it is, if there is one. */
  private Optional<SessionRow> session(Arguments given) {
    String clientId = given.text("clientId");
    return allSessions().list(given.text("tenant"), clientId, "", 1).stream().filter(row -> row.clientId().equals(clientId)).findFirst();
  }

  private static Problem noSession(Arguments given) {
    return new Problem(404, "The tenant " + given.text("tenant") + " has no session of this client identifier.");
  }

  private ExplanationMXBean.Explanation explain(Arguments given) {
    try {
      return bean(ExplanationMXBean.class)
          .explain(given.text("tenant"), given.text("client"), given.text("topic"), given.text("publisher"), given.number("qos"), given.flag("retain"),
              given.number("bytes"), given.longNumber("expiry"));
    } catch (NoSuchElementException none) {
      throw new Problem(404, sentence(none));
    }
  }

  private void traces() {
    on(
        Endpoints.START_TRACE,
        given ->
            bean(TracesMXBean.class)
                .start(given.text("tenant"), given.text("client"), given.text("topic"), given.text("remoteAddress"), given.number("minutes")));
    on(
        Endpoints.STOP_TRACE,
        given -> {
          if (bean(TracesMXBean.class).stop(given.text("trace"))) return Done.DONE;
          throw new Problem(404, "No trace of this identifier runs.");
        });
    on(
        Endpoints.TRACES,
        given -> {
          TraceList list = bean(TracesMXBean.class).list();
          return page(list.traces(), TraceRow::trace, given, list.unanswered());
        });
    on(Endpoints.LEDGER, this::ledger);
    on(Endpoints.READ_TRACE, given -> tracePart(given.text("trace"), Cursor.read(given), given.number("limit")));
    on(
        Endpoints.FOLLOW_TRACE,
        given -> {
          tracePart(given.text("trace"), "", 1); // refuses one that is not there, while there can still be a status
          return new TraceLines(bean(TracesMXBean.class), given.text("trace"));
        });
  }

  private Page ledger(Arguments given) {
    LedgerOfNodes ledger =
        given.flag("all") ? bean(AllNodesMXBean.class).ledger() : new LedgerOfNodes(bean(LedgerMXBean.class).getHops(), List.of());
    return page(ledger.hops(), (HopRow row) -> row.node() + ' ' + row.hop(), given, ledger.unanswered());
  }

  private TracePart tracePart(String trace, String position, int max) {
    try {
      TracePart part = bean(TracesMXBean.class).read(trace, position, max);
      return new TracePart(part.lines(), Cursor.after(part.next()), part.running(), part.lost(), part.leftOut(), part.unanswered());
    } catch (NoSuchElementException none) {
      throw new Problem(404, sentence(none));
    }
  }

  private void cluster() {
    on(
        Endpoints.CLUSTER,
        _ -> {
          ClusterMXBean cluster = bean(ClusterMXBean.class);
          return new ClusterView(
              cluster.getNode(), cluster.getCluster(), cluster.isConnected(), cluster.getMapVersion(), cluster.getNodes().size(),
              cluster.getRanges().size(), cluster.getOperations().size(), cluster.getMissingRoles());
        });
    on(Endpoints.CLUSTER_NODES, given -> page(bean(ClusterMXBean.class).getNodes(), NodeRow::id, given));
    on(Endpoints.CLUSTER_HEALTH, given -> page(nodes().health(), NodeHealth::node, given));
    on(Endpoints.CLUSTER_RANGES, given -> page(bean(ClusterMXBean.class).getRanges(), RangeRow::id, given));
    on(Endpoints.CLUSTER_OPERATIONS, given -> page(bean(ClusterMXBean.class).getOperations(), OperationRow::id, given));
    change(Endpoints.ADD_REPLICA, (cluster, given) -> cluster.addReplica(given.text("range"), given.text("node")));
    change(Endpoints.MOVE_REPLICA, (cluster, given) -> cluster.moveReplica(given.text("range"), given.text("from"), given.text("to")));
    change(Endpoints.REPLACE_REPLICA, (cluster, given) -> cluster.replaceReplica(given.text("range"), given.text("node")));
    change(Endpoints.TRANSFER_LEADERSHIP, (cluster, given) -> cluster.transferLeadership(given.text("range"), given.text("node")));
    change(Endpoints.SPLIT, AdminOperations::split);
    change(Endpoints.DRAIN_NODE, (cluster, given) -> cluster.drainNode(given.text("node")));
    change(Endpoints.LEAVE_NODE, (cluster, given) -> cluster.leaveNode(given.text("node")));
    done(Endpoints.FORGET_NODE, given -> bean(ClusterMXBean.class).forgetNode(given.text("node")));
    done(Endpoints.CANCEL, given -> bean(ClusterMXBean.class).cancel(given.text("operation")));
  }

  private static String split(ClusterMXBean cluster, Arguments given) {
    if (given.text("topic").isEmpty()) return cluster.split(given.text("range"), given.text("cut"));
    if (!given.text("cut").isEmpty()) throw new Problem(400, "A range is split at a cut or at a topic, not at both.");
    return cluster.splitAtTopic(given.text("range"), given.text("tenant"), given.text("topic"));
  }

  private interface Change {
    String begin(ClusterMXBean cluster, Arguments given);
  }

  private void change(Endpoint endpoint, Change change) {
    on(endpoint, given -> new Begun(change.begin(bean(ClusterMXBean.class), given)));
  }

  /** Lets operators watch messages, from now on. */
  public void watchBy(ApplicationSubscriptions serving) {
    subscriptions = serving;
  }

  /** Streams are no operations of beans, since JMX has no streams; their figures are those of the beans and meters. */
  private void events() {
    actions.put(Endpoints.WATCH_OVERVIEW, (_, role) -> new OverviewEvents(() -> status(role), registry, beans));
    on(Endpoints.WATCH_MESSAGES, this::watch);
  }

  private EventSource watch(Arguments given) {
    ApplicationSubscriptions serving = subscriptions;
    if (serving == null) throw missing(ApplicationSubscriptions.class);
    CompletableFuture<MessageWatch> watch = serving.watch(given.text("tenant"), given.text("filter"), MessageEvents.MESSAGES_MAX, MessageEvents.BYTES_MAX);
    try {
      return new MessageEvents(watch.get(WATCH_SECONDS, TimeUnit.SECONDS));
    } catch (ExecutionException refused) {
      if (refused.getCause() instanceof IllegalStateException why) throw why;
      throw new IllegalStateException("the topic filter cannot be watched", refused);
    } catch (InterruptedException | TimeoutException late) {
      watch.thenAccept(MessageWatch::close);
      throw new IllegalStateException("the topic filter cannot be watched yet", late);
    }
  }

  /** @throws Problem saying why the node has no such bean now */
  private <T> T bean(Class<T> shape) {
    return beans.find(shape).orElseThrow(() -> missing(shape));
  }

  /** The clients of all nodes, as soon as this one serves clients or belongs to a cluster. */
  private AllNodesMXBean nodes() {
    if (beans.find(ClientsMXBean.class).isEmpty() && beans.find(ClusterMXBean.class).isEmpty()) throw missing(ClientsMXBean.class);
    return bean(AllNodesMXBean.class);
  }

  private SessionsMXBean allSessions() {
    return peers.sessions().orElseThrow(() -> missing(SessionsMXBean.class));
  }

  private RetainedMessagesMXBean retainedMessages() {
    return led(RetainedMessagesMXBean.class, RetainReplica.KIND, "The retained messages");
  }

  private RoutesMXBean routes() {
    return led(RoutesMXBean.class, RouteReplica.KIND, "The routes");
  }

  /** @throws Problem when this node neither leads them nor belongs to a cluster */
  private <T> T led(Class<T> shape, String kind, String what) {
    return peers.led(shape, kind, what).orElseThrow(() -> missing(shape));
  }

  private Problem missing(Class<?> shape) {
    if (shape == ClusterMXBean.class) return new Problem(409, "This node belongs to no cluster.");
    boolean started = beans.find(NodeMXBean.class).map(node -> node.getUnready().isEmpty()).orElse(false);
    if (started && (shape == AccessMXBean.class || shape == TenantsMXBean.class)) {
      return new Problem(409, "This node has no users, roles, bans and records of tenants; dunlin.auth.users.enabled brings them.");
    }
    return started ? new Problem(409, "This node serves no clients.") : new Problem(503, "The node is starting, or it serves no clients.");
  }

  private static <T extends Record> Page page(List<T> all, Function<T, String> name, Arguments given) {
    return page(all, name, given, List.of());
  }

  /** A page of rows that are all there already. */
  private static <T extends Record> Page page(List<T> all, Function<T, String> name, Arguments given, List<String> unanswered) {
    String after = Cursor.read(given);
    List<T> rows =
        all.stream()
            .filter(row -> name.apply(row).compareTo(after) > 0)
            .sorted(Comparator.comparing(name))
            .limit(given.number("limit"))
            .toList();
    return full(rows, name, given, unanswered);
  }

  /** A page that a bean has cut. One that is full may have another behind it. */
  static <T extends Record> Page full(List<T> rows, Function<T, String> name, Arguments given) {
    return full(rows, name, given, List.of());
  }

  /** The same of rows of several nodes. */
  static <T extends Record> Page full(List<T> rows, Function<T, String> name, Arguments given, List<String> unanswered) {
    return new Page(rows, rows.size() < given.number("limit") ? "" : Cursor.after(name.apply(rows.getLast())), unanswered);
  }
}
