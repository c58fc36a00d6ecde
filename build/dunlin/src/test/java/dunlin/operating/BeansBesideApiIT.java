package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoint.Form;
import dunlin.admin.api.Endpoint.Method;
import dunlin.admin.api.Endpoints;
import dunlin.admin.backup.BackupsMXBean;
import dunlin.admin.busy.QueuesMXBean;
import dunlin.admin.busy.SampledBy;
import dunlin.admin.busy.SamplesMXBean;
import dunlin.admin.doctor.DoctorMXBean;
import dunlin.admin.explain.ExplanationMXBean;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.ledger.LedgerMXBean;
import dunlin.admin.operate.LoggingMXBean;
import dunlin.admin.operate.OperatorsMXBean;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.admin.peers.NodeMXBean;
import dunlin.admin.peers.TracesMXBean;
import dunlin.broker.FrontendMXBean;
import dunlin.broker.LaneFigure;
import dunlin.broker.LanesMXBean;
import dunlin.broker.PublishingMXBean;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.guard.BlockKind;
import dunlin.broker.guard.BlocksMXBean;
import dunlin.broker.listen.ListenerMXBean;
import dunlin.broker.tenant.TenantsMXBean;
import dunlin.broker.access.AccessAction;
import dunlin.broker.users.AccessMXBean;
import dunlin.broker.users.BanKind;
import dunlin.cluster.ClusterMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.Certificates;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.runtime.metrics.SettingsMXBean;
import dunlin.store.raft.RangeMXBean;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.MBeanInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.remote.JMXConnector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever the admin API shows and does, a bean shows and does as well. A new endpoint without a bean fails here, until it has one or a reason why it cannot. The file is
 * long, since each endpoint has a line or two in it.
 */
class BeansBesideApiIT {
  private static final Duration LONG = Duration.ofMinutes(3);
  private static final Gson GSON = new Gson();
  private static final int CONNECTS_MAX = 3;
  private static final String PASSWORD = "a long password";

  /** What changes by itself between two readings. */
  private static final Set<String> MOVING =
      Set.of("uptimeSeconds", "heapUsedBytes", "silentMillis", "ageSeconds", "expirySeconds", "oldestMillis", "finding", "remedy", "committed", "applied", "logBytes");

  /** Endpoints that can have no bean. */
  private static final Map<Endpoint, String> WITHOUT =
      Map.of(
          Endpoints.WATCH_OVERVIEW, "JMX has no streams; its figures are those of the beans Metrics and Latency",
          Endpoints.WATCH_MESSAGES, "JMX has no streams, and no bean may hold what is published",
          Endpoints.FOLLOW_TRACE, "JMX has no streams; the bean Traces reads the same lines");

  /** The bean of each other endpoint, with its operation or attribute. */
  private static final Map<Endpoint, String> BESIDE = beside();

  @TempDir Path directory;

  private BrokerProcess broker;
  private ApiCalls api;
  private JMXConnector connector;
  private MBeanServerConnection jmx;

  private static Map<Endpoint, String> beside() {
    Map<Endpoint, String> all = new LinkedHashMap<>();
    all.put(Endpoints.STATUS, "Node Unready");
    all.put(Endpoints.SETTINGS, "Settings Effective");
    all.put(Endpoints.LOGGERS, "Logging Levels");
    all.put(Endpoints.SET_LOGGER, "Logging setLevel");
    all.put(Endpoints.LISTENERS, "Listener Connections");
    all.put(Endpoints.OPEN_LISTENER, "Listener open");
    all.put(Endpoints.CLOSE_LISTENER, "Listener close");
    all.put(Endpoints.OPERATORS, "Operators Operators");
    all.put(Endpoints.PUT_OPERATOR, "Operators put");
    all.put(Endpoints.DELETE_OPERATOR, "Operators delete");
    all.put(Endpoints.DOCTOR, "Doctor examine");
    all.put(Endpoints.QUEUES, "Queues Queues");
    all.put(Endpoints.REPLICAS, "Range Role");
    all.put(Endpoints.CLIENTS, "AllNodes clients");
    all.put(Endpoints.CLIENT_DETAILS, "AllNodes client");
    all.put(Endpoints.CLIENT_SUBSCRIPTIONS, "AllNodes subscriptions");
    all.put(Endpoints.CLIENT_IN_FLIGHT, "AllNodes inFlight");
    all.put(Endpoints.CLIENT_QUEUE, "AllNodes queue");
    all.put(Endpoints.DISCONNECT_CLIENT, "AllNodes disconnect");
    all.put(Endpoints.TOP_CLIENTS, "AllNodes top");
    all.put(Endpoints.TOP_LANES, "Lanes top");
    all.put(Endpoints.SESSIONS, "AllSessions list");
    all.put(Endpoints.SESSION, "AllSessions list");
    all.put(Endpoints.SESSION_SUBSCRIPTIONS, "AllSessions subscriptions");
    all.put(Endpoints.SESSION_MESSAGES, "AllSessions messages");
    all.put(Endpoints.SESSION_MESSAGE, "AllSessions message");
    all.put(Endpoints.TOP_SESSIONS, "AllSessions top");
    all.put(Endpoints.DISCONNECT, "AllSessions disconnect");
    all.put(Endpoints.DELETE_SESSION, "AllSessions deleteOne");
    all.put(Endpoints.DELETE_SESSIONS, "AllSessions delete");
    all.put(Endpoints.EXPORT_SESSIONS, "SessionExports exportSessions");
    all.put(Endpoints.IMPORT_SESSIONS, "SessionExports importSessions");
    all.put(Endpoints.RETAINED, "AllRetainedMessages list");
    all.put(Endpoints.RETAINED_MESSAGE, "AllRetainedMessages get");
    all.put(Endpoints.DELETE_RETAINED_MESSAGE, "AllRetainedMessages deleteOne");
    all.put(Endpoints.DELETE_RETAINED, "AllRetainedMessages deleteMatching");
    all.put(Endpoints.EXPORT_RETAINED, "Exports exportRetained");
    all.put(Endpoints.IMPORT_RETAINED, "Exports importRetained");
    all.put(Endpoints.ROUTES, "AllRoutes match");
    all.put(Endpoints.GROUPS, "AllNodes groups");
    all.put(Endpoints.SUBSCRIBERS, "AllNodes receivers");
    all.put(Endpoints.EXPLAIN, "Explanation explain");
    all.put(Endpoints.START_TRACE, "Traces start");
    all.put(Endpoints.STOP_TRACE, "Traces stop");
    all.put(Endpoints.TRACES, "Traces list");
    all.put(Endpoints.READ_TRACE, "Traces read");
    all.put(Endpoints.LEDGER, "Ledger Hops");
    all.put(Endpoints.TOP_MESSAGES, "Samples sample");
    all.put(Endpoints.PUBLISH, "Publishing publish");
    all.put(Endpoints.USERS, "Access users");
    all.put(Endpoints.USER, "Access user");
    all.put(Endpoints.PUT_USER, "Access putUser");
    all.put(Endpoints.DELETE_USER, "Access deleteUser");
    all.put(Endpoints.ROLES, "Access roles");
    all.put(Endpoints.ROLE, "Access role");
    all.put(Endpoints.PUT_ROLE, "Access putRole");
    all.put(Endpoints.DELETE_ROLE, "Access deleteRole");
    all.put(Endpoints.CHECK_ACCESS, "Access check");
    all.put(Endpoints.BANS, "Access bans");
    all.put(Endpoints.BAN, "Access ban");
    all.put(Endpoints.PUT_BAN, "Access putBan");
    all.put(Endpoints.DELETE_BAN, "Access deleteBan");
    all.put(Endpoints.TENANTS, "Tenants tenants");
    all.put(Endpoints.GET_TENANT, "Tenants tenant");
    all.put(Endpoints.PUT_TENANT, "Tenants putTenant");
    all.put(Endpoints.SUSPEND_TENANT, "Tenants suspendTenant");
    all.put(Endpoints.RESUME_TENANT, "Tenants resumeTenant");
    all.put(Endpoints.DELETE_TENANT, "Tenants deleteTenant");
    all.put(Endpoints.BLOCKS, "Blocks blocks");
    all.put(Endpoints.DELETE_BLOCK, "Blocks remove");
    all.put(Endpoints.DRAIN, "Frontend drain");
    all.put(Endpoints.STOP_DRAIN, "Frontend stopDrain");
    all.put(Endpoints.BACKUP, "Backups Last");
    all.put(Endpoints.START_BACKUP, "Backups begin");
    all.put(Endpoints.CANCEL_BACKUP, "Backups cancel");
    all.put(Endpoints.CLUSTER, "Cluster Connected");
    all.put(Endpoints.CLUSTER_NODES, "Cluster Nodes");
    all.put(Endpoints.CLUSTER_HEALTH, "AllNodes health");
    all.put(Endpoints.CLUSTER_RANGES, "Cluster Ranges");
    all.put(Endpoints.CLUSTER_OPERATIONS, "Cluster Operations");
    all.put(Endpoints.ADD_REPLICA, "Cluster addReplica");
    all.put(Endpoints.MOVE_REPLICA, "Cluster moveReplica");
    all.put(Endpoints.REPLACE_REPLICA, "Cluster replaceReplica");
    all.put(Endpoints.TRANSFER_LEADERSHIP, "Cluster transferLeadership");
    all.put(Endpoints.SPLIT, "Cluster split");
    all.put(Endpoints.DRAIN_NODE, "Cluster drainNode");
    all.put(Endpoints.LEAVE_NODE, "Cluster leaveNode");
    all.put(Endpoints.FORGET_NODE, "Cluster forgetNode");
    all.put(Endpoints.CANCEL, "Cluster cancel");
    return all;
  }

  /** A broker that has all that a node can have: a cluster, users, operators, and a place for backups. */
  @BeforeEach
  void start() throws Exception {
    Certificates.Issued issued = new Certificates().server();
    Path certificate = Files.writeString(directory.resolve("admin.pem"), issued.certificatePem());
    Path key = Files.writeString(directory.resolve("admin.key"), issued.keyPem());
    int port = FreePort.any();
    Path data = directory.resolve("data");
    broker =
        BrokerProcess.launchMember(
            data, port, FreePort.any(), "127.0.0.1:" + port, "dunlin.cluster.bootstrap-expect=1", "dunlin.cluster.replicas=1", "dunlin.store.fsync=false",
            "dunlin.auth.users.enabled=true", "dunlin.flapping.connects-max=" + CONNECTS_MAX, "dunlin.admin.tls.port=" + FreePort.any(), "dunlin.admin.tls.host=127.0.0.1",
            "dunlin.admin.tls.certificate=" + certificate, "dunlin.admin.tls.key=" + key, "dunlin.backup.directory=" + directory.resolve("backups"),
            "java.rmi.server.hostname=127.0.0.1");
    broker.awaitStarted(LONG);
    api = ApiCalls.of(data);
    await("ready").atMost(LONG).until(() -> api.get("/status").member("ready").equals("true"));
    connector = broker.jmx();
    jmx = connector.getMBeanServerConnection();
  }

  @AfterEach
  void stop() throws IOException {
    if (connector != null) connector.close();
    if (api != null) api.close();
    if (broker != null) broker.close();
  }

  // -------------------------------------------------------------------------------------------------------------------- beans

  private ObjectName name(String type, String more) throws JMException, IOException {
    Set<ObjectName> names = jmx.queryNames(new ObjectName("dunlin:type=" + type + more + ",*"), null);
    assertThat(names).as(type + more).isNotEmpty();
    return names.iterator().next();
  }

  private <T> T bean(String type, Class<T> shape) throws JMException, IOException {
    return bean(type, "", shape);
  }

  private <T> T bean(String type, String more, Class<T> shape) throws JMException, IOException {
    return JMX.newMXBeanProxy(jmx, name(type, more), shape);
  }

  private SessionsMXBean sessions() throws JMException, IOException {
    return bean("AllSessions", SessionsMXBean.class);
  }

  private RetainedMessagesMXBean retained() throws JMException, IOException {
    return bean("AllRetainedMessages", RetainedMessagesMXBean.class);
  }

  private AllNodesMXBean nodes() throws JMException, IOException {
    return bean("AllNodes", AllNodesMXBean.class);
  }

  private AccessMXBean access() throws JMException, IOException {
    return bean("Access", AccessMXBean.class);
  }

  private TenantsMXBean tenants() throws JMException, IOException {
    return bean("Tenants", TenantsMXBean.class);
  }

  private ClusterMXBean cluster() throws JMException, IOException {
    return bean("Cluster", ClusterMXBean.class);
  }

  private TracesMXBean traces() throws JMException, IOException {
    return bean("Traces", TracesMXBean.class);
  }

  // -------------------------------------------------------------------------------------------------------------------- readings

  /** What a bean answers beside a request of the API. */
  private record Reading(Endpoint endpoint, String path, Callable<Object> byBean) {}

  private List<Reading> readings(String trace) {
    List<Reading> all = new ArrayList<>();
    all.add(new Reading(Endpoints.STATUS, "/status", this::status));
    all.add(new Reading(Endpoints.SETTINGS, "/settings?limit=1000", this::settings));
    all.add(new Reading(Endpoints.LOGGERS, "/loggers?limit=1000", () -> bean("Logging", LoggingMXBean.class).getLevels()));
    all.add(new Reading(Endpoints.LISTENERS, "/listeners", () -> List.of(listener(bean("Listener", ",name=tcp", ListenerMXBean.class)))));
    all.add(new Reading(Endpoints.OPERATORS, "/operators", () -> bean("Operators", OperatorsMXBean.class).getOperators()));
    all.add(new Reading(Endpoints.DOCTOR, "/doctor?limit=1000", this::doctor));
    all.add(new Reading(Endpoints.DOCTOR, "/doctor?limit=1000&all=true", () -> sorted(nodes().examine(), "check")));
    all.add(new Reading(Endpoints.QUEUES, "/queues", () -> bean("Queues", QueuesMXBean.class).getQueues()));
    all.add(new Reading(Endpoints.REPLICAS, "/replicas", this::replicas));
    all.add(new Reading(Endpoints.CLIENTS, "/clients", () -> nodes().clients("default", "", "", "", "", 100).clients()));
    all.add(new Reading(Endpoints.CLIENT_DETAILS, "/clients/online", () -> nodes().client("default", "online").getFirst()));
    all.add(new Reading(Endpoints.CLIENT_SUBSCRIPTIONS, "/clients/online/subscriptions", () -> nodes().subscriptions("default", "online", "", 100)));
    all.add(new Reading(Endpoints.CLIENT_IN_FLIGHT, "/clients/online/inflight", () -> nodes().inFlight("default", "online", 0, 100)));
    all.add(new Reading(Endpoints.CLIENT_QUEUE, "/clients/online/queue", () -> nodes().queue("default", "online", 0, 100)));
    all.add(new Reading(Endpoints.TOP_CLIENTS, "/top/clients?by=subscriptions", () -> nodes().top(ClientFigure.SUBSCRIPTIONS, 10).clients()));
    all.add(new Reading(Endpoints.TOP_LANES, "/top/lanes?by=messages", () -> bean("Lanes", LanesMXBean.class).top(LaneFigure.MESSAGES, 10)));
    all.add(new Reading(Endpoints.SESSIONS, "/sessions", () -> sessions().list("default", "", "", 100)));
    all.add(new Reading(Endpoints.SESSION, "/sessions/absent", () -> sessions().list("default", "absent", "", 1).getFirst()));
    all.add(new Reading(Endpoints.SESSION_SUBSCRIPTIONS, "/sessions/absent/subscriptions", () -> sessions().subscriptions("default", "absent", "", 100)));
    all.add(new Reading(Endpoints.SESSION_MESSAGES, "/sessions/absent/messages", () -> sessions().messages("default", "absent", 0, 100).messages()));
    all.add(
        new Reading(
            Endpoints.SESSION_MESSAGE, "/sessions/absent/messages/" + sequence(), () -> sessions().message("default", "absent", sequence()).getFirst()));
    all.add(new Reading(Endpoints.TOP_SESSIONS, "/top/sessions?by=messages", () -> sessions().top(SessionFigure.MESSAGES, 10)));
    all.add(
        new Reading(Endpoints.EXPORT_SESSIONS, "/export/sessions", () -> bean("SessionExports", SessionExportsMXBean.class).exportSessions("default", "", "", 100).lines()));
    all.add(new Reading(Endpoints.RETAINED, "/retained", () -> retained().list("default", "", "", 100)));
    all.add(new Reading(Endpoints.RETAINED_MESSAGE, "/retained/message?topic=kept/1", () -> retained().get("default", "kept/1").getFirst()));
    all.add(
        new Reading(Endpoints.EXPORT_RETAINED, "/retained/export", () -> bean("Exports", ExportsMXBean.class).exportRetained("default", "#", "", 100).messages()));
    all.add(new Reading(Endpoints.ROUTES, "/routes?topic=a/1", () -> bean("AllRoutes", RoutesMXBean.class).match("default", "a/1", "", 100)));
    all.add(new Reading(Endpoints.GROUPS, "/groups", () -> nodes().groups("default", "", 100).groups()));
    all.add(
        new Reading(
            Endpoints.EXPLAIN, "/explain?client=online&topic=a/1&qos=1&bytes=10",
            () -> bean("Explanation", ExplanationMXBean.class).explain("default", "online", "a/1", "", 1, false, 10, -1)));
    all.add(new Reading(Endpoints.SUBSCRIBERS, "/subscribers?topic=a/1", () -> nodes().receivers("default", "a/1", "", 100).subscribers()));
    all.add(new Reading(Endpoints.SUBSCRIBERS, "/subscribers?filter=a/1", () -> nodes().subscribers("default", "a/1", "", 100).subscribers()));
    all.add(new Reading(Endpoints.TRACES, "/traces", () -> traces().list().traces()));
    all.add(new Reading(Endpoints.READ_TRACE, "/traces/" + trace + "/lines", () -> traces().read(trace, "", 100)));
    all.add(new Reading(Endpoints.LEDGER, "/ledger", () -> bean("Ledger", LedgerMXBean.class).getHops()));
    all.add(new Reading(Endpoints.LEDGER, "/ledger?all=true", () -> nodes().ledger().hops()));
    all.add(new Reading(Endpoints.TOP_MESSAGES, "/top/messages", () -> bean("Samples", SamplesMXBean.class).sample("default", SampledBy.TOPIC, 10)));
    all.add(new Reading(Endpoints.USERS, "/users", () -> access().users("", 100)));
    all.add(new Reading(Endpoints.USER, "/users/vera", () -> access().user("vera").getFirst()));
    all.add(new Reading(Endpoints.ROLES, "/roles", () -> access().roles("", 100)));
    all.add(new Reading(Endpoints.ROLE, "/roles/all", () -> access().role("all").getFirst()));
    all.add(
        new Reading(
            Endpoints.CHECK_ACCESS, "/access/check?action=publish&topic=a/1&user=vera&client=online",
            () -> access().check(AccessAction.PUBLISH, "a/1", "vera", "online", "default", 0, false)));
    all.add(new Reading(Endpoints.BANS, "/bans/client", () -> access().bans(BanKind.CLIENT, "", 100)));
    all.add(new Reading(Endpoints.BAN, "/bans/client/banned", () -> access().ban(BanKind.CLIENT, "banned").getFirst()));
    all.add(new Reading(Endpoints.TENANTS, "/tenants", () -> tenants().tenants("", 100)));
    all.add(new Reading(Endpoints.GET_TENANT, "/tenants/blue", () -> tenants().tenant("blue").getFirst()));
    all.add(new Reading(Endpoints.BLOCKS, "/blocks/client", () -> bean("Blocks", BlocksMXBean.class).blocks(BlockKind.CLIENT, "default", "", 100)));
    all.add(new Reading(Endpoints.BACKUP, "/backup", () -> bean("Backups", BackupsMXBean.class).getLast()));
    all.add(new Reading(Endpoints.CLUSTER, "/cluster", this::clusterView));
    all.add(new Reading(Endpoints.CLUSTER_NODES, "/cluster/nodes", () -> cluster().getNodes()));
    all.add(new Reading(Endpoints.CLUSTER_HEALTH, "/cluster/health", () -> nodes().health()));
    all.add(new Reading(Endpoints.CLUSTER_RANGES, "/cluster/ranges", () -> sorted(cluster().getRanges(), "id")));
    all.add(new Reading(Endpoints.CLUSTER_OPERATIONS, "/cluster/operations", () -> cluster().getOperations()));
    return all;
  }

  private long sequence() {
    try {
      return sessions().messages("default", "absent", 0, 1).messages().getFirst().sequence();
    } catch (JMException | IOException e) {
      throw new AssertionError(e);
    }
  }

  private Object status() throws JMException, IOException {
    NodeMXBean node = bean("Node", NodeMXBean.class);
    FrontendMXBean frontend = bean("Frontend", FrontendMXBean.class);
    JsonObject status = new JsonObject();
    status.addProperty("node", node.getId());
    status.addProperty("version", node.getVersion());
    status.addProperty("role", "admin"); // of the token
    status.addProperty("healthy", node.getUnhealthy().isEmpty());
    status.addProperty("health", node.getUnhealthy().isEmpty() ? "alive" : node.getUnhealthy());
    status.addProperty("ready", node.getUnready().isEmpty());
    status.addProperty("readiness", node.getUnready().isEmpty() ? "ready" : node.getUnready());
    status.addProperty("connections", frontend.getConnections());
    status.addProperty("draining", frontend.isDraining());
    status.addProperty("sessions", sessions().getSessions());
    status.addProperty("retained", retained().getTopics());
    Object heap = attribute(new ObjectName("java.lang:type=Memory"), "HeapMemoryUsage");
    status.addProperty("heapMaxBytes", (Long) ((CompositeData) heap).get("max"));
    return status;
  }

  private Object attribute(ObjectName of, String attribute) throws JMException, IOException {
    return jmx.getAttribute(of, attribute);
  }

  private Object settings() throws JMException, IOException {
    SettingsMXBean settings = bean("Settings", SettingsMXBean.class);
    Map<String, String> sources = settings.getSources();
    JsonArray rows = new JsonArray();
    for (String key : new TreeSet<>(settings.getEffective().keySet())) {
      JsonObject row = new JsonObject();
      row.addProperty("key", key);
      row.addProperty("value", settings.getEffective().get(key));
      row.addProperty("source", sources.getOrDefault(key, "default"));
      rows.add(row);
    }
    return rows;
  }

  private static JsonObject listener(ListenerMXBean listener) {
    JsonObject row = new JsonObject();
    row.addProperty("name", listener.getName());
    row.addProperty("type", listener.getType());
    row.addProperty("address", listener.getAddress());
    row.addProperty("accepting", listener.isAccepting());
    row.addProperty("connections", listener.getConnections());
    row.add("refused", GSON.toJsonTree(listener.getRefused()));
    row.addProperty("certificateExpiry", listener.getCertificateExpiry());
    return row;
  }

  private Object doctor() throws JMException, IOException {
    JsonArray found = GSON.toJsonTree(bean("Doctor", DoctorMXBean.class).examine()).getAsJsonArray();
    String node = bean("Node", NodeMXBean.class).getId();
    for (JsonElement each : found) each.getAsJsonObject().addProperty("node", node);
    return sorted(found, "check");
  }

  private Object replicas() throws JMException, IOException {
    JsonArray rows = new JsonArray();
    for (ObjectName name : new TreeSet<>(jmx.queryNames(new ObjectName("dunlin:type=Range,*"), null))) {
      RangeMXBean range = JMX.newMXBeanProxy(jmx, name, RangeMXBean.class);
      JsonObject row = new JsonObject();
      row.addProperty("name", name.getKeyProperty("range"));
      row.addProperty("role", range.getRole());
      row.addProperty("leader", range.getLeader());
      row.addProperty("term", range.getTerm());
      row.addProperty("applyLag", range.getApplyLag());
      row.addProperty("queued", range.getQueued());
      rows.add(row);
    }
    return sorted(rows, "name");
  }

  private Object clusterView() throws JMException, IOException {
    ClusterMXBean cluster = cluster();
    JsonObject view = new JsonObject();
    view.addProperty("node", cluster.getNode());
    view.addProperty("cluster", cluster.getCluster());
    view.addProperty("connected", cluster.isConnected());
    view.addProperty("mapVersion", cluster.getMapVersion());
    view.addProperty("nodes", cluster.getNodes().size());
    view.addProperty("ranges", cluster.getRanges().size());
    view.addProperty("operations", cluster.getOperations().size());
    view.add("missingRoles", json(cluster.getMissingRoles()));
    return view;
  }

  private static JsonArray sorted(Object rows, String member) {
    JsonArray sorted = new JsonArray();
    json(rows).getAsJsonArray().asList().stream()
        .sorted((one, other) -> one.getAsJsonObject().get(member).getAsString().compareTo(other.getAsJsonObject().get(member).getAsString()))
        .forEach(sorted::add);
    return sorted;
  }

  private static JsonElement json(Object answer) {
    return answer instanceof JsonElement already ? already : GSON.toJsonTree(answer);
  }

  /** Without what moves, what only one of the faces has, and the spelling of enums. */
  private static JsonElement comparable(JsonElement of) {
    if (of.isJsonArray()) {
      JsonArray all = new JsonArray();
      of.getAsJsonArray().forEach(each -> all.add(comparable(each)));
      return all;
    }
    if (!of.isJsonObject()) return of;
    JsonObject kept = new JsonObject();
    for (Map.Entry<String, JsonElement> each : of.getAsJsonObject().entrySet()) {
      if (MOVING.contains(each.getKey())) continue;
      boolean kind = each.getKey().equals("kind") && each.getValue().isJsonPrimitive();
      kept.add(each.getKey(), kind ? new JsonPrimitive(each.getValue().getAsString().toLowerCase(Locale.ROOT)) : comparable(each.getValue()));
    }
    kept.remove("next"); // by HTTP it is encoded
    return kept;
  }

  // ----------------------------------------------------------------------------------------------------------------------- tests

  /** The broker has clients, sessions, messages, users and so on, so that no reading is empty that need not be. */
  private void populate() throws JMException, IOException {
    AccessMXBean access = access();
    access.putRole("all", "allow all #", -1);
    access.putRole("none", "deny all #", -1);
    for (String user : List.of("vera", "walter")) access.putUser(user, PASSWORD, "all", true, -1);
    for (String client : List.of("banned", "banned-too")) access.putBan(BanKind.CLIENT, client, 3_600, "of a test", -1);
    for (String tenant : List.of("blue", "green")) tenants().putTenant(tenant, "connections=10", -1);
    for (String operator : List.of("olga", "otto")) bean("Operators", OperatorsMXBean.class).put(operator, "viewer", PASSWORD);
    for (int i = 0; i < CONNECTS_MAX; i++) connected("flapping", 0).disconnect();
    try (RawClient blocked = new RawClient(broker.port())) {
      blocked.send(connect("flapping", 0));
      assertThat(blocked.expect(RawClient.CONNACK).at(1)).isNotZero();
    }
  }

  private static byte[] connect(String clientId, long expirySeconds) {
    byte[] properties = expirySeconds == 0 ? RawClient.noProperties() : RawClient.properties(RawClient.sessionExpiry(expirySeconds));
    return RawClient.connect(5, 0xC0, 0, properties, clientId, "vera", PASSWORD);
  }

  private RawClient connected(String clientId, long expirySeconds) {
    return RawClient.connected(broker.port(), connect(clientId, expirySeconds));
  }

  @Test
  void everyEndpointHasABeanOrAReason() throws Exception {
    Set<String> documented = new TreeSet<>();
    for (JsonElement path : api.get("/openapi.json").json().getAsJsonObject("paths").asMap().values()) {
      for (JsonElement operation : path.getAsJsonObject().asMap().values()) {
        if (operation.isJsonObject()) documented.add(operation.getAsJsonObject().get("operationId").getAsString());
      }
    }
    Set<String> known = new TreeSet<>();
    for (Endpoint each : BESIDE.keySet()) known.add(each.operationId());
    for (Endpoint each : WITHOUT.keySet()) known.add(each.operationId());
    assertThat(known).as("give a new endpoint a bean, or say here why it can have none").isEqualTo(documented);
    assertThat(WITHOUT.keySet()).as("only streams").allMatch(each -> each.form() == Form.STREAM).doesNotContainAnyElementsOf(BESIDE.keySet());

    for (Map.Entry<Endpoint, String> each : BESIDE.entrySet()) {
      String[] feature = each.getValue().split(" ", 2);
      MBeanInfo info = jmx.getMBeanInfo(name(feature[0], ""));
      Map<String, String> described =
          Arrays.stream(info.getOperations()).collect(Collectors.toMap(operation -> operation.getName(), operation -> operation.getDescription()));
      for (var attribute : info.getAttributes()) described.put(attribute.getName(), attribute.getDescription());
      assertThat(described).as(each.getKey().command()).containsKey(feature[1]);
      assertThat(described.get(feature[1])).as(each.getValue()).isNotEqualTo(feature[1]).isNotBlank();
    }
  }

  @Test
  void whateverIsReadIsTheSame() throws Exception {
    populate();
    for (String absent : List.of("absent", "absent-too")) {
      connected(absent, 3_600)
          .disconnectAfter(
              client -> {
                client.subscribe("a/+", 1);
                client.subscribe("$share/h/c", 1);
              });
    }
    try (RawClient online = connected("online", 0);
        RawClient _ = connected("online-too", 0)) {
      online.subscribe("a/#", 1);
      online.subscribe("$share/g/b", 1);
      String trace = traces().start("default", "", "a/#", "", 10).trace();
      await().atMost(LONG).until(() -> api.get("/sessions/absent").member("connected").equals("false"));
      for (String topic : List.of("kept/1", "kept/2")) assertThat(online.publishAndWait(topic, "kept", true)).isLessThan(0x80);
      for (String payload : List.of("x", "y")) {
        assertThat(online.publishAndWait("a/1", payload)).isZero();
        assertThat(online.take().text()).isEqualTo(payload);
      }

      List<Reading> readings = readings(trace);
      for (Reading each : readings) await(each.path()).atMost(LONG).untilAsserted(() -> assertSame(each));
      Set<Endpoint> read = readings.stream().map(Reading::endpoint).collect(Collectors.toSet());
      assertThat(read).isEqualTo(Endpoints.ALL.stream().filter(each -> each.method() == Method.GET && !WITHOUT.containsKey(each)).collect(Collectors.toSet()));
      for (Reading each : readings) if (each.endpoint().paged()) await(each.path()).atMost(LONG).untilAsserted(() -> assertSameByPages(each.path()));
    }
  }

  /** Pages of one row, which follow one another by their cursors, have together what one page has. */
  private void assertSameByPages(String path) {
    JsonArray rows = new JsonArray();
    String of = path.replaceAll("([?&])limit=\\d+", "$1limit=1");
    if (!of.contains("limit=")) of += (of.contains("?") ? "&" : "?") + "limit=1";
    String next = "";
    do {
      Answer page = api.get(of + "&cursor=" + next);
      assertThat(page.status()).as(page.text()).isEqualTo(200);
      JsonArray items = page.json().getAsJsonArray("items");
      if (!path.startsWith("/export/")) assertThat(items).as(path).hasSizeLessThanOrEqualTo(1); // a session comes whole
      rows.addAll(items);
      next = page.member("next");
    } while (!next.isEmpty());
    Answer whole = api.get(path);
    assertThat(whole.member("next")).as(path).isEmpty();
    assertThat(comparable(rows)).as(path).isEqualTo(comparable(whole.json().get("items")));
  }

  private void assertSame(Reading reading) throws Exception {
    JsonElement byBean = comparable(json(reading.byBean().call()));
    Answer answer = api.get(reading.path());
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    JsonElement byHttp = comparable(reading.endpoint().form() == Form.LISTING ? answer.json().get("items") : answer.json());
    if (reading.endpoint().equals(Endpoints.DOCTOR) || reading.endpoint().equals(Endpoints.REPLICAS)) {
      byHttp = sorted(byHttp, reading.endpoint().equals(Endpoints.DOCTOR) ? "check" : "name");
    }
    assertThat(byHttp).as(reading.path()).isEqualTo(byBean);
    assertThat(byBean.toString()).as(reading.path()).isNotEqualTo("{}");
  }

  @Test
  void whatBeansDoTheApiShows() throws Exception {
    populate();
    assertThat(api.get("/roles/all").member("rules")).isEqualTo("allow all #");
    assertThat(api.get("/bans/client/banned").member("reason")).isEqualTo("of a test");
    assertThat(api.get("/tenants/blue").member("limits")).isEqualTo("connections=10");
    assertThat(api.get("/operators").members("name")).contains("olga");
    bean("Operators", OperatorsMXBean.class).delete("olga");
    assertThat(api.get("/operators").members("name")).doesNotContain("olga");
    tenants().suspendTenant("blue", -1);
    assertThat(api.get("/tenants/blue").member("state")).isEqualTo("suspended");
    access().deleteBan(BanKind.CLIENT, "banned", -1);
    assertThat(api.get("/bans/client/banned").status()).isEqualTo(404);

    bean("Logging", LoggingMXBean.class).setLevel("dunlin.connections", "DEBUG");
    assertThat(api.get("/loggers?prefix=dunlin.connections").members("level")).containsExactly("DEBUG");
    ListenerMXBean listener = bean("Listener", ",name=tcp", ListenerMXBean.class);
    listener.close();
    assertThat(api.get("/listeners").members("accepting")).containsExactly("false");
    listener.open();
    assertThat(api.get("/listeners").members("accepting")).containsExactly("true");

    connected("absent", 3_600).disconnectAfter(client -> client.subscribe("a", 1));
    RawClient online = connected("online", 0);
    PublishingMXBean publishing = bean("Publishing", PublishingMXBean.class);
    String payload = Base64.getEncoder().encodeToString(new byte[] {'x'});
    assertThat(publishing.publish("default", "a", 1, true, payload).code()).isZero();
    assertThat(api.get("/sessions/absent").member("messages")).isEqualTo("1");
    assertThat(api.get("/retained").members("topic")).containsExactly("a");
    assertThat(retained().deleteOne("default", "a")).isTrue();
    assertThat(api.get("/retained").members("topic")).isEmpty();
    assertThat(nodes().disconnect("default", "online")).isTrue();
    assertThat(online.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x98);
    assertThat(sessions().deleteOne("default", "absent")).isTrue();
    assertThat(api.get("/sessions/absent").status()).isEqualTo(404);

    bean("Backups", BackupsMXBean.class).begin("of-jmx");
    await().atMost(LONG).untilAsserted(() -> assertThat(api.get("/backup").member("state")).isEqualTo("complete"));
    FrontendMXBean frontend = bean("Frontend", FrontendMXBean.class);
    frontend.drain("", 100);
    assertThat(api.get("/status").member("draining")).isEqualTo("true");
    frontend.stopDrain();
    assertThat(api.get("/status").member("draining")).isEqualTo("false");
    String trace = traces().start("default", "", "t", "", 1).trace();
    assertThat(traces().stop(trace)).isTrue();
    assertThat(api.get("/traces").members("running")).containsExactly("false");
  }

  @Test
  void whatBeansRefuseTheApiRefusesWithTheSameSentence() throws Exception {
    ClusterMXBean cluster = cluster();
    String node = cluster.getNode();
    Map<String, Runnable> refused = new LinkedHashMap<>();
    refused.put("/cluster/ranges/ffffffff/split {\"cut\":\"00\"}", () -> cluster.split("ffffffff", "00"));
    refused.put("/cluster/ranges/ffffffff/add-replica {\"node\":\"" + node + "\"}", () -> cluster.addReplica("ffffffff", node));
    refused.put("/cluster/ranges/ffffffff/transfer-leadership {\"node\":\"" + node + "\"}", () -> cluster.transferLeadership("ffffffff", node));
    refused.put("/cluster/nodes/ffffffff/drain {}", () -> cluster.drainNode("ffffffff"));
    refused.put("/cluster/nodes/" + node + "/leave {}", () -> cluster.leaveNode(node));
    for (Map.Entry<String, Runnable> each : refused.entrySet()) {
      String[] request = each.getKey().split(" ", 2);
      Answer byHttp = api.post(request[0], request[1]);
      assertThat(byHttp.status()).as(each.getKey()).isIn(400, 409);
      assertThatThrownBy(each.getValue()::run).as(each.getKey()).satisfies(thrown -> assertThat(byHttp.member("detail")).containsIgnoringCase(thrown.getMessage()));
    }
  }
}
