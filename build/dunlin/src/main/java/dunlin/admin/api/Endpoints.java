package dunlin.admin.api;

import dunlin.admin.api.ApiAnswers.BanView;
import dunlin.admin.api.ApiAnswers.Begun;
import dunlin.admin.api.ApiAnswers.BlockView;
import dunlin.admin.api.ApiAnswers.Changed;
import dunlin.admin.api.ApiAnswers.ClusterView;
import dunlin.admin.api.ApiAnswers.Deleted;
import dunlin.admin.api.ApiAnswers.Done;
import dunlin.admin.api.ApiAnswers.ListenerRow;
import dunlin.admin.api.ApiAnswers.LoggerRow;
import dunlin.admin.api.ApiAnswers.OperatorRow;
import dunlin.admin.api.ApiAnswers.Overview;
import dunlin.admin.api.ApiAnswers.Published;
import dunlin.admin.api.ApiAnswers.ReplicaRow;
import dunlin.admin.api.ApiAnswers.SeenMessage;
import dunlin.admin.api.ApiAnswers.SettingRow;
import dunlin.admin.api.ApiAnswers.Status;
import dunlin.admin.api.Endpoint.Form;
import dunlin.admin.api.Endpoint.Method;
import dunlin.admin.api.Parameter.Place;
import dunlin.admin.backup.BackupsMXBean.BackupRow;
import dunlin.admin.busy.QueuesMXBean.QueueRow;
import dunlin.admin.busy.SampledBy;
import dunlin.admin.busy.SamplesMXBean.SampledRow;
import dunlin.admin.explain.ExplanationMXBean;
import dunlin.admin.explain.ExplanationMXBean.Explanation;
import dunlin.admin.exports.ExportsMXBean;
import dunlin.admin.exports.ExportsMXBean.Imported;
import dunlin.admin.exports.ExportsMXBean.RetainedExport;
import dunlin.admin.exports.SessionExportsMXBean;
import dunlin.admin.exports.SessionExportsMXBean.ImportedSessions;
import dunlin.admin.exports.SessionExportsMXBean.SessionLine;
import dunlin.admin.ledger.LedgerMXBean.HopRow;
import dunlin.admin.peers.AllNodesMXBean.NodeFinding;
import dunlin.admin.peers.AllNodesMXBean.NodeHealth;
import dunlin.admin.peers.AllNodesMXBean.SharedGroup;
import dunlin.admin.peers.TracesMXBean.TraceLine;
import dunlin.admin.peers.TracesMXBean.TracePart;
import dunlin.admin.peers.TracesMXBean.TraceRow;
import dunlin.admin.peers.TracesMXBean.TraceStarted;
import dunlin.broker.access.AccessAction;
import dunlin.broker.LaneFigure;
import dunlin.broker.LanesMXBean.LaneRow;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean.ClientDetails;
import dunlin.broker.client.ClientsMXBean.ClientRow;
import dunlin.broker.client.ClientsMXBean.InFlightRow;
import dunlin.broker.client.ClientsMXBean.QueuedRow;
import dunlin.broker.guard.BlockKind;
import dunlin.broker.tenant.TenantsMXBean.TenantRow;
import dunlin.broker.users.AccessMXBean.CheckedAccess;
import dunlin.broker.users.AccessMXBean.RoleRow;
import dunlin.broker.users.AccessMXBean.UserRow;
import dunlin.broker.users.BanKind;
import dunlin.cluster.ClusterMXBean.NodeRow;
import dunlin.cluster.ClusterMXBean.OperationRow;
import dunlin.cluster.ClusterMXBean.RangeRow;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.inbox.SessionFigure;
import dunlin.inbox.SessionsMXBean.MessageRow;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.SessionsMXBean.SubscriberRow;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.inbox.SessionsMXBean.WaitingMessage;
import dunlin.retain.RetainedMessagesMXBean.RetainedMessage;
import dunlin.retain.RetainedMessagesMXBean.RetainedRow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The table of endpoints. What is not here, the API cannot do. */
public final class Endpoints {
  /** What all paths begin with. A change that breaks a client gets another number. */
  public static final String PREFIX = "/api/v1";

  /** Where the OpenAPI document is, beside the endpoints that it describes. */
  public static final String DOCUMENT = PREFIX + "/openapi.json";

  /** The parameters of listings: the most rows, and where a page begins. */
  public static final String LIMIT = "limit";
  public static final String CURSOR = "cursor";

  /** What the first line of an export of retained messages is. */
  public static final String EXPORT_HEADER = header(ExportsMXBean.FORMAT, ExportsMXBean.VERSION);

  /** What that of sessions is. */
  public static final String SESSIONS_HEADER = header(SessionExportsMXBean.FORMAT, SessionExportsMXBean.VERSION);

  /** The parameter of imports that says where in a file their lines are. */
  public static final String FIRST_LINE = "firstLine";

  /** The most characters of a payload in a request. */
  public static final int PAYLOAD_MAX = 262_144;

  /** The most rows of a page of an export, which ends before that when its messages are large. */
  public static final int EXPORTS_MAX = 500;

  /** The characters of an operator's password. */
  public static final int PASSWORD_MIN = 12;
  public static final int PASSWORD_MAX = 128;

  public static final List<String> LEVELS = List.of("OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "INHERITED");

  private static final int ROWS_MAX = 1_000;
  /** Topics are made anew for each listing, and may be long. */
  private static final int TOPICS_MAX = 200;
  private static final int DELETIONS_MAX = 1_000_000;
  private static final int TOP_MAX = 100;
  private static final int MESSAGES_MAX = 100;
  /** Each may have 64 Ki characters of rules. */
  private static final int ROLES_MAX = 100;
  private static final int USER_PASSWORD_MAX = 1_024;
  private static final int RULES_MAX = 65_536;
  private static final long SECONDS_MAX = 36_500L * 24 * 3_600;
  private static final long VERSION_MAX = 999_999_999_999_999_999L;
  private static final long SEQUENCE_MAX = 999_999_999_999_999_999L;
  private static final int EVENTS_MAX = 1_000_000;
  private static final int TRACE_MINUTES_MAX = 60;

  private static final Parameter TENANT = Parameter.preset(Place.QUERY, "tenant", "default", "Tenant of the clients");
  private static final Parameter PREFIX_OF_NAMES = Parameter.optional(Place.QUERY, "prefix", "Beginning of the names; none for all");
  private static final Parameter CLIENT = Parameter.path("clientId", "Client identifier");
  private static final Parameter LISTENER = Parameter.path("name", "Name of the listener");
  private static final Parameter OPERATOR = Parameter.path("name", "Name of the operator");
  private static final Parameter TOPIC = Parameter.required(Place.QUERY, "topic", "Topic name");
  private static final Parameter RANGE = Parameter.path("range", "UUID of the range, or at least four characters of its beginning");
  private static final Parameter TRACE = Parameter.path("trace", "Identifier of the trace");
  private static final Parameter NODE = Parameter.path("node", "UUID of the node, or at least four characters of its beginning");
  private static final Parameter USER_NAME = Parameter.path("user", "Name of the user");
  private static final Parameter ROLE_NAME = Parameter.path("role", "Name of the role");
  private static final Parameter TENANT_NAME = Parameter.path("tenant", "Name of the tenant");
  private static final Parameter BAN_KIND = Parameter.choice(Place.PATH, "kind", BanKind.LABELS, "What is banned");
  private static final Parameter BANNED = Parameter.path("value", "A client identifier, a user name, an address, or a network such as 192.0.2.0/24");
  private static final Parameter BLOCK_KIND = Parameter.choice(Place.PATH, "kind", BlockKind.LABELS, "What is blocked");
  private static final Parameter BLOCKED = Parameter.path("value", "An address, an IPv6 network such as 2001:db8::/64, or a client identifier");
  private static final Parameter FIRST_LINE_OF_IMPORT =
      Parameter.integer(
          Place.BODY, FIRST_LINE, 2, 2, SEQUENCE_MAX, "The number in its file of the line behind the one that names the format, to say which one is wrong");
  private static final Parameter DELETIONS =
      Parameter.integer(Place.QUERY, "max", ROWS_MAX, 1, DELETIONS_MAX, "The most that are deleted");

  public static final Endpoint STATUS =
      one("status", Method.GET, "/status", Role.VIEWER, "Says how the node is, and why it is not ready or healthy", Status.class);
  public static final Endpoint SETTINGS =
      listing("settings", "/settings", ROWS_MAX, "Lists the settings in force, with what has set them", SettingRow.class, PREFIX_OF_NAMES);
  public static final Endpoint LOGGERS =
      listing("loggers list", "/loggers", ROWS_MAX, "Lists loggers and their levels", LoggerRow.class, PREFIX_OF_NAMES);
  public static final Endpoint SET_LOGGER =
      one(
          "loggers set", Method.PUT, "/loggers/{name}", Role.OPERATOR, "Sets the level of a logger until the process ends", LoggerRow.class,
          Parameter.path("name", "Name of the logger: a package or class, or ROOT"),
          Parameter.choice(Place.BODY, "level", LEVELS, "The level; INHERITED is that of the parent"));
  public static final Endpoint LISTENERS = listing("listeners list", "/listeners", ROWS_MAX, "Lists the listeners and their connections", ListenerRow.class);
  public static final Endpoint OPEN_LISTENER =
      one(
          "listeners open", Method.POST, "/listeners/{name}/open", Role.OPERATOR, "Lets a listener accept connections again, at the same address", Done.class,
          LISTENER);
  public static final Endpoint CLOSE_LISTENER =
      one(
          "listeners close", Method.POST, "/listeners/{name}/close", Role.OPERATOR,
          "Lets a listener accept no new connections, until it is opened or the node is started again; connected clients stay", Done.class, LISTENER);
  public static final Endpoint OPERATORS =
      listing("operators list", "/operators", Role.ADMIN, ROWS_MAX, "Lists the operators who sign in with a name and a password", OperatorRow.class);
  public static final Endpoint PUT_OPERATOR =
      one(
          "operators set", Method.PUT, "/operators/{name}", Role.ADMIN, "Adds an operator, or changes the role and the password of one", OperatorRow.class, OPERATOR,
          Parameter.choice(Place.BODY, "role", Arrays.stream(Role.values()).map(Role::label).toList(), "What the operator may do"),
          Parameter.requiredSecret("newPassword", PASSWORD_MIN, PASSWORD_MAX, "The operator's password from now on"));
  public static final Endpoint DELETE_OPERATOR =
      one("operators delete", Method.DELETE, "/operators/{name}", Role.ADMIN, "Deletes an operator, who is signed out", Done.class, OPERATOR);
  public static final Endpoint DOCTOR =
      listing(
          "doctor", "/doctor", ROWS_MAX,
          "Looks for what is wrong around the node: process, memory, disk, clock, certificates, ports, kernel, ranges, refusals of the last hour", NodeFinding.class,
          Parameter.flag(Place.QUERY, "all", "Whether all nodes of the cluster are examined, and their clocks compared"));
  public static final Endpoint QUEUES = listing("queues", "/queues", ROWS_MAX, "Lists what waits in this node, and for how long", QueueRow.class);
  public static final Endpoint REPLICAS = listing("replicas", "/replicas", ROWS_MAX, "Lists this node's replicas of ranges", ReplicaRow.class);

  public static final Endpoint CLIENTS =
      listing(
          "clients list", "/clients", ROWS_MAX, "Lists the connected clients of all nodes, in the order of their client identifiers", ClientRow.class,
          TENANT, PREFIX_OF_NAMES, Parameter.optional(Place.QUERY, "user", "User name of the clients; none for all"),
          Parameter.optional(Place.QUERY, "listener", "Name of the listener that they have connected to; none for all"));
  public static final Endpoint CLIENT_DETAILS =
      one("clients get", Method.GET, "/clients/{clientId}", Role.VIEWER, "Shows a connected client, whichever node it is connected to", ClientDetails.class, CLIENT, TENANT);
  public static final Endpoint CLIENT_SUBSCRIPTIONS =
      listing(
          "clients subscriptions", "/clients/{clientId}/subscriptions", ROWS_MAX, "Lists the subscriptions of a connected client, whichever node it is connected to",
          SubscriptionRow.class, CLIENT, TENANT);
  public static final Endpoint CLIENT_IN_FLIGHT =
      listing(
          "clients inflight", "/clients/{clientId}/inflight", TOPICS_MAX,
          "Lists the messages of QoS 1 and 2 between a connected client and its node whose exchanges are not over, by their packet identifiers", InFlightRow.class,
          CLIENT, TENANT);
  public static final Endpoint CLIENT_QUEUE =
      listing(
          "clients queue", "/clients/{clientId}/queue", MESSAGES_MAX,
          "Lists the messages of QoS 1 and 2 that wait on its node for a connected client, the next one first, and leaves them there", QueuedRow.class, CLIENT, TENANT);
  public static final Endpoint DISCONNECT_CLIENT =
      one(
          "clients disconnect", Method.DELETE, "/clients/{clientId}", Role.OPERATOR,
          "Disconnects a client with 0x98, whichever node it is connected to; a durable session stays until it expires, and its will is published", Done.class, CLIENT, TENANT);
  public static final Endpoint TOP_CLIENTS =
      top(
          "clients top", "/top/clients", "Lists the clients of all nodes and tenants that have most of something", ClientRow.class,
          Parameter.choice(Place.QUERY, "by", ClientFigure.LABELS, ClientFigure.QUEUED.label(), "What they are compared by"));

  public static final Endpoint TOP_LANES =
      top(
          "lanes top", "/top/lanes", "Lists the lanes of this node, those with most of something first; a lane takes the messages of one event loop's clients to the routes",
          LaneRow.class, Parameter.choice(Place.QUERY, "by", LaneFigure.LABELS, LaneFigure.LABELS.getFirst(), "What they are compared by"));

  public static final Endpoint SESSIONS =
      listing("sessions list", "/sessions", ROWS_MAX, "Lists sessions, in the order of their client identifiers", SessionRow.class, TENANT, PREFIX_OF_NAMES);
  public static final Endpoint SESSION = one("sessions get", Method.GET, "/sessions/{clientId}", Role.VIEWER, "Shows one session", SessionRow.class, CLIENT, TENANT);
  public static final Endpoint SESSION_SUBSCRIPTIONS =
      listing(
          "sessions subscriptions", "/sessions/{clientId}/subscriptions", ROWS_MAX, "Lists the subscriptions of a durable session", SubscriptionRow.class,
          CLIENT, TENANT);
  public static final Endpoint SESSION_MESSAGES =
      listing(
          "sessions messages", "/sessions/{clientId}/messages", MESSAGES_MAX,
          "Lists the messages in the inbox of a session, the oldest first, and leaves them there; pages end after 4 MiB of messages", MessageRow.class, CLIENT,
          TENANT);
  public static final Endpoint SESSION_MESSAGE =
      one(
          "sessions message", Method.GET, "/sessions/{clientId}/messages/{sequence}", Role.OPERATOR,
          "Shows a message in the inbox of a session with the first 65,536 bytes of its payload", WaitingMessage.class, CLIENT,
          Parameter.path("sequence", 0, SEQUENCE_MAX, "Place of the message in the inbox"), TENANT);
  public static final Endpoint TOP_SESSIONS =
      top(
          "sessions top", "/top/sessions", "Lists the sessions of all tenants that have most of something", SessionRow.class,
          Parameter.choice(Place.QUERY, "by", SessionFigure.LABELS, SessionFigure.MESSAGES.label(), "What they are compared by"));
  public static final Endpoint DISCONNECT =
      one(
          "sessions disconnect", Method.POST, "/sessions/{clientId}/disconnect", Role.OPERATOR,
          "Disconnects a client with 0x98; its session stays until it expires, and its will is published", Done.class, CLIENT, TENANT);
  public static final Endpoint DELETE_SESSION =
      one("sessions delete", Method.DELETE, "/sessions/{clientId}", Role.ADMIN, "Deletes one session and disconnects its client", Done.class, CLIENT, TENANT);
  public static final Endpoint DELETE_SESSIONS =
      one(
          "sessions delete-all", Method.DELETE, "/sessions", Role.ADMIN, "Deletes sessions by the beginning of their client identifiers", Deleted.class,
          TENANT, Parameter.required(Place.QUERY, "prefix", "Beginning of the client identifiers"), DELETIONS);

  public static final Endpoint EXPORT_SESSIONS =
      listing(
          "sessions export", "/export/sessions", Role.OPERATOR, EXPORTS_MAX,
          "Exports durable sessions, whole, and behind them what waits in shared subscriptions; a page ends as well when it has more than 512 KiB", SessionLine.class,
          Parameter.optional(
              Place.QUERY, "prefix", "Beginning of the client identifiers; none for all. With one, what waits in shared subscriptions is left out"),
          TENANT);
  public static final Endpoint IMPORT_SESSIONS =
      one(
          "sessions import", Method.POST, "/import/sessions", Role.ADMIN,
          "Imports sessions that are not there from lines of JSON; when a line is wrong, nothing of the request is done", ImportedSessions.class,
          Parameter.lines("lines", ExportsMXBean.LINES_MAX, "The line that names the format, and lines of sessions, which may go on in the next request"),
          FIRST_LINE_OF_IMPORT, Parameter.preset(Place.BODY, "tenant", "default", "Tenant of the clients"));

  public static final Endpoint RETAINED =
      listing("retained list", "/retained", TOPICS_MAX, "Lists the topics that have a retained message", RetainedRow.class, TENANT, PREFIX_OF_NAMES);
  public static final Endpoint RETAINED_MESSAGE =
      one("retained get", Method.GET, "/retained/message", Role.OPERATOR, "Shows the retained message of a topic", RetainedMessage.class, TOPIC, TENANT);
  public static final Endpoint DELETE_RETAINED_MESSAGE =
      one("retained delete", Method.DELETE, "/retained/message", Role.ADMIN, "Deletes the retained message of a topic", Done.class, TOPIC, TENANT);
  public static final Endpoint DELETE_RETAINED =
      one(
          "retained delete-all", Method.DELETE, "/retained", Role.ADMIN, "Deletes retained messages by the beginning of their topics, or by a topic filter",
          Deleted.class, TENANT, Parameter.optional(Place.QUERY, "prefix", "Beginning of the topics"),
          Parameter.optional(Place.QUERY, "filter", "Topic filter instead of it, without a shared subscription; # matches no topics that begin with $"), DELETIONS);

  public static final Endpoint EXPORT_RETAINED =
      listing(
          "retained export", "/retained/export", Role.OPERATOR, EXPORTS_MAX,
          "Exports the retained messages that a topic filter matches, whole; a page ends as well when its messages have more than 512 KiB", RetainedExport.class,
          Parameter.preset(Place.QUERY, "filter", "#", "Topic filter, without a shared subscription; # matches no topics that begin with $"), TENANT);
  public static final Endpoint IMPORT_RETAINED =
      one(
          "retained import", Method.POST, "/retained/import", Role.ADMIN,
          "Imports retained messages from lines of JSON, and publishes none to subscribers; when a line is wrong, nothing of the request is done", Imported.class,
          Parameter.lines("lines", ExportsMXBean.LINES_MAX, "The line that names the format, and a line for each message"),
          Parameter.choice(
              Place.BODY, "existing", ExportsMXBean.EXISTING, ExportsMXBean.EXISTING.getFirst(), "What becomes of the message that a topic has"),
          FIRST_LINE_OF_IMPORT, Parameter.preset(Place.BODY, "tenant", "default", "Tenant of the publishers"));

  public static final Endpoint ROUTES =
      listing(
          "routes", "/routes", ROWS_MAX,
          "Lists where a message to a topic goes: the matching topic filters with their nodes and shards; of each group one gets it", RouteRow.class, TOPIC,
          TENANT);

  public static final Endpoint GROUPS =
      listing(
          "groups", "/groups", ROWS_MAX, "Lists the shared subscriptions with their members on all nodes, and with durable members",
          SharedGroup.class, TENANT);

  public static final Endpoint SUBSCRIBERS =
      listing(
          "subscribers", "/subscribers", ROWS_MAX,
          "Lists the connected clients of all nodes and the durable sessions that get messages of a topic, or that have subscribed to a topic filter: of a shared one, its members",
          SubscriberRow.class, Parameter.optional(Place.QUERY, "topic", "Topic name; of a group that matches, one member gets each message"),
          Parameter.optional(Place.QUERY, "filter", "Topic filter instead of it, with $share or $oshare and the group if it is shared"), TENANT);

  public static final Endpoint EXPLAIN =
      one(
          "explain", Method.GET, "/explain", Role.VIEWER,
          "Says step by step what would happen now to a message for a client, and which step stops it; nothing is published", Explanation.class,
          Parameter.required(Place.QUERY, "client", "Client identifier of the client that should get it"), TOPIC,
          Parameter.optional(Place.QUERY, "publisher", "Client identifier of the publisher; none for the application or the node"),
          Parameter.integer(Place.QUERY, "qos", 1, 0, 2, "Quality of service of the message"),
          Parameter.flag(Place.QUERY, "retain", "Whether the message has the flag RETAIN"),
          Parameter.integer(Place.QUERY, "bytes", 0, 0, ExplanationMXBean.BYTES_MAX, "Bytes of its payload"),
          Parameter.integer(Place.QUERY, "expiry", -1, -1, ExplanationMXBean.EXPIRY_MAX, "Its Message Expiry Interval in seconds; -1 for none"), TENANT);

  public static final Endpoint START_TRACE =
      one(
          "trace start", Method.POST, "/traces", Role.OPERATOR,
          "Follows messages through all nodes for some minutes: those that meet all of client, topic and remote address that are given, at least one", TraceStarted.class,
          Parameter.optional(Place.BODY, "client", "Client identifier of publisher or subscriber; none for any"),
          Parameter.optional(Place.BODY, "topic", "Topic filter, without a shared subscription; none for any topic"),
          Parameter.optional(Place.BODY, "remoteAddress", "IP address that the client's connection comes from; none for any"),
          Parameter.integer(Place.BODY, "minutes", 5, 1, TRACE_MINUTES_MAX, "Minutes until it ends"),
          Parameter.preset(Place.BODY, "tenant", "default", "Tenant of publisher and subscribers"));
  public static final Endpoint STOP_TRACE =
      one("trace stop", Method.DELETE, "/traces/{trace}", Role.OPERATOR, "Ends a trace before its time; its lines can still be read", Done.class, TRACE);
  public static final Endpoint TRACES =
      listing("trace list", "/traces", ROWS_MAX, "Lists the traces that run, and those that have ended and can still be read", TraceRow.class);
  public static final Endpoint READ_TRACE =
      one(
          "trace read", Method.GET, "/traces/{trace}/lines", Role.VIEWER,
          "Shows what each hop of all nodes did with the messages of a trace, in the order of time; next is the cursor of the lines behind these", TracePart.class,
          TRACE, Parameter.integer(Place.QUERY, LIMIT, 100, 1, ROWS_MAX, "The most lines"),
          Parameter.optional(Place.QUERY, CURSOR, "The member next of the lines before; none for the first lines"));

  public static final Endpoint LEDGER =
      listing(
          "ledger", "/ledger", ROWS_MAX,
          "Shows what has become of messages at each hop since the node started: received = delivered + unmatched + returned + dropped + in flight; -1 for what a hop does not count",
          HopRow.class, Parameter.flag(Place.QUERY, "all", "Whether the hops of all nodes of the cluster are shown"));

  public static final Endpoint TOP_MESSAGES =
      new Endpoint(
          "messages top", Method.GET, "/top/messages", Role.OPERATOR, "Takes for a second a random sample of what clients publish to this node, and lists the busiest topics or clients",
          List.of(
              Parameter.choice(Place.QUERY, "by", SampledBy.LABELS, SampledBy.TOPIC.label(), "What messages are counted by"),
              TENANT, Parameter.integer(Place.QUERY, LIMIT, 10, 1, TOP_MAX, "The most rows")),
          SampledRow.class, Form.LISTING);
  public static final Endpoint PUBLISH =
      one(
          "publish", Method.POST, "/publish", Role.OPERATOR, "Publishes a message; with QoS 1 and 2 it answers when a PUBACK would be sent", Published.class,
          Parameter.required(Place.BODY, "topic", "Topic name"),
          Parameter.large("payload", PAYLOAD_MAX, "The payload, as text"),
          Parameter.large("payloadBase64", PAYLOAD_MAX, "The payload in Base64, instead of payload"),
          Parameter.integer(Place.BODY, "qos", 1, 0, 2, "Quality of service"),
          Parameter.flag(Place.BODY, "retain", "Whether it becomes the retained message of the topic"),
          Parameter.preset(Place.BODY, "tenant", "default", "Tenant of the subscribers"));

  public static final Endpoint USERS = listing("users list", "/users", ROWS_MAX, "Lists users, in the order of their names", UserRow.class);
  public static final Endpoint USER = one("users get", Method.GET, "/users/{user}", Role.VIEWER, "Shows a user; passwords are not shown", UserRow.class, USER_NAME);
  public static final Endpoint PUT_USER =
      one(
          "users put", Method.PUT, "/users/{user}", Role.ADMIN, "Creates or changes a user; without a password the present one stays", Changed.class, USER_NAME,
          Parameter.secret("password", USER_PASSWORD_MAX, "The password"), Parameter.optional(Place.BODY, "roles", "Names of its roles, with commas between them; none takes all away"),
          Parameter.flag(Place.BODY, "disabled", "Whether its clients may not connect; they are disconnected, too"), version(Place.BODY));
  public static final Endpoint DELETE_USER =
      one("users delete", Method.DELETE, "/users/{user}", Role.ADMIN, "Deletes a user, and disconnects its clients", Changed.class, USER_NAME, version(Place.QUERY));

  public static final Endpoint ROLES = listing("roles list", "/roles", ROLES_MAX, "Lists roles of users, in the order of their names", RoleRow.class);
  public static final Endpoint ROLE = one("roles get", Method.GET, "/roles/{role}", Role.VIEWER, "Shows a role of users", RoleRow.class, ROLE_NAME);
  public static final Endpoint PUT_ROLE =
      one(
          "roles put", Method.PUT, "/roles/{role}", Role.ADMIN, "Creates or changes a role of users", Changed.class, ROLE_NAME,
          Parameter.lines("rules", RULES_MAX, "Rules, one in each line, without whom they are about: allow publish devices/%c/up"), version(Place.BODY));
  public static final Endpoint DELETE_ROLE =
      one("roles delete", Method.DELETE, "/roles/{role}", Role.ADMIN, "Deletes a role that no user has", Changed.class, ROLE_NAME, version(Place.QUERY));

  public static final Endpoint CHECK_ACCESS =
      one(
          "access check", Method.GET, "/access/check", Role.VIEWER,
          "Says whether a client may do something, and which rule of the file or of its user's roles decides", CheckedAccess.class,
          Parameter.choice(Place.QUERY, "action", AccessAction.LABELS, "What it wants to do"),
          Parameter.required(Place.QUERY, "topic", "Topic name; to subscribe, a topic filter"),
          Parameter.optional(Place.QUERY, "user", "Authenticated user name; none for a client without one"),
          Parameter.optional(Place.QUERY, "client", "Client identifier"),
          Parameter.integer(Place.QUERY, "qos", 0, 0, 2, "Quality of service of the message or subscription"),
          Parameter.flag(Place.QUERY, "retain", "Whether the message has the flag RETAIN"), TENANT);

  public static final Endpoint BANS = listing("bans list", "/bans/{kind}", ROWS_MAX, "Lists bans of a kind, in the order of what is banned", BanView.class, BAN_KIND);
  public static final Endpoint BAN = one("bans get", Method.GET, "/bans/{kind}/{value}", Role.VIEWER, "Shows a ban", BanView.class, BAN_KIND, BANNED);
  public static final Endpoint PUT_BAN =
      one(
          "bans put", Method.PUT, "/bans/{kind}/{value}", Role.OPERATOR, "Bans clients, and disconnects them", Changed.class, BAN_KIND, BANNED,
          Parameter.integer(Place.BODY, "seconds", 0, 0, SECONDS_MAX, "Seconds from now until the ban ends; 0 for no end"),
          Parameter.optional(Place.BODY, "reason", "Why, for operators"), version(Place.BODY));
  public static final Endpoint DELETE_BAN =
      one("bans delete", Method.DELETE, "/bans/{kind}/{value}", Role.OPERATOR, "Deletes a ban", Changed.class, BAN_KIND, BANNED, version(Place.QUERY));

  public static final Endpoint TENANTS =
      listing("tenants list", "/tenants", ROWS_MAX, "Lists the tenants that have a record, in the order of their names", TenantRow.class);
  public static final Endpoint GET_TENANT =
      one("tenants get", Method.GET, "/tenants/{tenant}", Role.VIEWER, "Shows the record of a tenant", TenantRow.class, TENANT_NAME);
  public static final Endpoint PUT_TENANT =
      one(
          "tenants put", Method.PUT, "/tenants/{tenant}", Role.ADMIN, "Creates a tenant, or replaces its limits", Changed.class, TENANT_NAME,
          Parameter.optional(Place.BODY, "limits", "Its own limits with commas between them, such as connections=1000,packet=64KiB; none for those of the settings"),
          version(Place.BODY));
  public static final Endpoint SUSPEND_TENANT =
      one(
          "tenants suspend", Method.POST, "/tenants/{tenant}/suspend", Role.OPERATOR, "Disconnects the clients of a tenant and refuses them; what it has stays",
          Changed.class, TENANT_NAME, version(Place.BODY));
  public static final Endpoint RESUME_TENANT =
      one(
          "tenants resume", Method.POST, "/tenants/{tenant}/resume", Role.OPERATOR, "Lets the clients of a suspended tenant connect again", Changed.class, TENANT_NAME,
          version(Place.BODY));
  public static final Endpoint DELETE_TENANT =
      one(
          "tenants delete", Method.DELETE, "/tenants/{tenant}", Role.ADMIN,
          "Disconnects the clients of a tenant, and deletes its sessions, its retained messages and then its record", Changed.class, TENANT_NAME, version(Place.QUERY));

  public static final Endpoint BLOCKS =
      listing(
          "blocks list", "/blocks/{kind}", ROWS_MAX,
          "Lists the addresses or clients that this node refuses for a while, after failed authentications or too many connects", BlockView.class, BLOCK_KIND, TENANT);
  public static final Endpoint DELETE_BLOCK =
      one("blocks delete", Method.DELETE, "/blocks/{kind}/{value}", Role.OPERATOR, "Ends a block of this node", Done.class, BLOCK_KIND, BLOCKED, TENANT);

  public static final Endpoint DRAIN =
      one(
          "drain start", Method.PUT, "/drain", Role.OPERATOR, "Sends clients to another server; the node becomes not ready", Done.class,
          Parameter.optional(Place.BODY, "serverReference", "The server for clients of MQTT 5; none for dunlin.drain.server-reference"),
          Parameter.integer(Place.BODY, "connectionsPerSecond", 100, 1, 1_000_000, "Clients to disconnect per second"));
  public static final Endpoint STOP_DRAIN =
      one("drain stop", Method.DELETE, "/drain", Role.OPERATOR, "Ends a drain: clients are served again", Done.class);

  public static final Endpoint BACKUP =
      one("backup status", Method.GET, "/backup", Role.VIEWER, "Shows the last backup that was begun at this node, and how far it is", BackupRow.class);
  public static final Endpoint START_BACKUP =
      one(
          "backup start", Method.POST, "/backup/{name}", Role.ADMIN, "Begins a backup of the data of this node or of its cluster", BackupRow.class,
          Parameter.path("name", "Name of the backup: 1 to 64 letters, digits, dots, - and _"));
  public static final Endpoint CANCEL_BACKUP =
      one("backup cancel", Method.DELETE, "/backup", Role.ADMIN, "Cancels the backup that this node makes", BackupRow.class);

  public static final Endpoint CLUSTER = one("cluster status", Method.GET, "/cluster", Role.VIEWER, "Shows this node's view of the cluster", ClusterView.class);
  public static final Endpoint CLUSTER_NODES = listing("cluster nodes", "/cluster/nodes", ROWS_MAX, "Lists the nodes of the cluster", NodeRow.class);
  public static final Endpoint CLUSTER_HEALTH =
      listing("cluster health", "/cluster/health", ROWS_MAX, "Asks each node how it is, and why it is not ready or healthy", NodeHealth.class);
  public static final Endpoint CLUSTER_RANGES =
      listing("cluster ranges", "/cluster/ranges", ROWS_MAX, "Lists the ranges of the cluster and where their replicas are", RangeRow.class);
  public static final Endpoint CLUSTER_OPERATIONS =
      listing("cluster operations", "/cluster/operations", ROWS_MAX, "Lists operations in progress", OperationRow.class);
  public static final Endpoint ADD_REPLICA =
      change(
          "cluster add-replica", Method.POST, "/cluster/ranges/{range}/add-replica", "Gives a range one more replica", RANGE,
          body("node", "UUID of the node that gets it"));
  public static final Endpoint MOVE_REPLICA =
      change(
          "cluster move-replica", Method.POST, "/cluster/ranges/{range}/move-replica", "Moves a replica to a node that has none", RANGE,
          body("from", "UUID of the node that loses it"), body("to", "UUID of the node that gets it"));
  public static final Endpoint REPLACE_REPLICA =
      change(
          "cluster replace-replica", Method.POST, "/cluster/ranges/{range}/replace-replica", "Creates a damaged replica again", RANGE,
          body("node", "UUID of its node"));
  public static final Endpoint TRANSFER_LEADERSHIP =
      change(
          "cluster transfer-leadership", Method.POST, "/cluster/ranges/{range}/transfer-leadership", "Lets a node lead a range", RANGE,
          body("node", "UUID of the node"));
  public static final Endpoint SPLIT =
      change(
          "cluster split", Method.POST, "/cluster/ranges/{range}/split", "Splits a range into two", RANGE,
          Parameter.optional(Place.BODY, "cut", "The first key of the upper part, in hexadecimal; none for one that the range's leader finds, with about half on each side"),
          Parameter.optional(Place.BODY, "topic", "Instead of a cut, the first topic of the upper part, or of routes the first topic filter, or the beginning of one"),
          Parameter.preset(Place.BODY, "tenant", "default", "Tenant of the topic"));
  public static final Endpoint DRAIN_NODE =
      change("cluster drain-node", Method.POST, "/cluster/nodes/{node}/drain", "Moves everything off a node, which stays a member", NODE);
  public static final Endpoint LEAVE_NODE =
      change("cluster leave-node", Method.POST, "/cluster/nodes/{node}/leave", "Moves everything off a node, which then leaves for good", NODE);
  public static final Endpoint FORGET_NODE =
      one("cluster forget-node", Method.DELETE, "/cluster/nodes/{node}", Role.ADMIN, "Removes a node that has left from the list", Done.class, NODE);
  public static final Endpoint CANCEL =
      one(
          "cluster cancel", Method.DELETE, "/cluster/operations/{operation}", Role.ADMIN, "Cancels an operation and undoes the steps already done", Done.class,
          Parameter.path("operation", "The operation's identifier"));

  public static final Endpoint WATCH_OVERVIEW =
      stream("watch overview", "/events/overview", Role.VIEWER, "Streams each second how the node is and how much it does", Overview.class);
  public static final Endpoint WATCH_MESSAGES =
      stream(
          "watch messages", "/events/messages", Role.OPERATOR,
          "Streams messages as they are published, at most 100 a second; while a filter is watched, its publishers are not told that there are no subscribers",
          SeenMessage.class, Parameter.required(Place.QUERY, "filter", "Topic filter, without a shared subscription"), TENANT);

  public static final Endpoint FOLLOW_TRACE =
      stream(
          "trace follow", "/events/traces/{trace}", Role.VIEWER, "Streams the lines of a trace from its beginning until it has ended", TraceLine.class, TRACE);

  public static final List<Endpoint> ALL =
      List.of(
          STATUS, SETTINGS, LOGGERS, SET_LOGGER, LISTENERS, OPEN_LISTENER, CLOSE_LISTENER, OPERATORS, PUT_OPERATOR, DELETE_OPERATOR, DOCTOR, QUEUES, REPLICAS, CLIENTS, CLIENT_DETAILS, CLIENT_SUBSCRIPTIONS, CLIENT_IN_FLIGHT, CLIENT_QUEUE, DISCONNECT_CLIENT, TOP_CLIENTS, TOP_LANES, SESSIONS, SESSION, SESSION_SUBSCRIPTIONS, SESSION_MESSAGES, SESSION_MESSAGE, TOP_SESSIONS, DISCONNECT, DELETE_SESSION, DELETE_SESSIONS, EXPORT_SESSIONS, IMPORT_SESSIONS, RETAINED,
          RETAINED_MESSAGE, DELETE_RETAINED_MESSAGE, DELETE_RETAINED, EXPORT_RETAINED, IMPORT_RETAINED, ROUTES, GROUPS, SUBSCRIBERS, EXPLAIN, START_TRACE, STOP_TRACE, TRACES, READ_TRACE, LEDGER, TOP_MESSAGES, PUBLISH, USERS, USER, PUT_USER, DELETE_USER, ROLES, ROLE, PUT_ROLE, DELETE_ROLE, CHECK_ACCESS, BANS, BAN, PUT_BAN, DELETE_BAN, TENANTS, GET_TENANT, PUT_TENANT, SUSPEND_TENANT, RESUME_TENANT, DELETE_TENANT, BLOCKS, DELETE_BLOCK, DRAIN, STOP_DRAIN, BACKUP, START_BACKUP, CANCEL_BACKUP, CLUSTER, CLUSTER_NODES, CLUSTER_HEALTH, CLUSTER_RANGES,
          CLUSTER_OPERATIONS, ADD_REPLICA, MOVE_REPLICA, REPLACE_REPLICA, TRANSFER_LEADERSHIP, SPLIT, DRAIN_NODE, LEAVE_NODE, FORGET_NODE, CANCEL,
          WATCH_OVERVIEW, WATCH_MESSAGES, FOLLOW_TRACE);

  private Endpoints() {}

  private static String header(String format, int version) {
    return "{\"format\":\"%s\",\"version\":%d}".formatted(format, version);
  }

  private static Endpoint one(
      String command, Method method, String path, Role role, String summary, Class<? extends Record> answer, Parameter... parameters) {
    return new Endpoint(command, method, path, role, summary, List.of(parameters), answer, Form.ONE);
  }

  private static Endpoint listing(String command, String path, int rowsMax, String summary, Class<? extends Record> row, Parameter... parameters) {
    return listing(command, path, Role.VIEWER, rowsMax, summary, row, parameters);
  }

  private static Endpoint listing(
      String command, String path, Role role, int rowsMax, String summary, Class<? extends Record> row, Parameter... parameters) {
    List<Parameter> all = new ArrayList<>(Arrays.asList(parameters));
    all.add(Parameter.integer(Place.QUERY, LIMIT, 100, 1, rowsMax, "The most rows of a page"));
    all.add(Parameter.optional(Place.QUERY, CURSOR, "The member next of the previous page; none for the first page"));
    return new Endpoint(command, Method.GET, path, role, summary, all, row, Form.LISTING);
  }

  /** A listing of one page. */
  private static Endpoint top(String command, String path, String summary, Class<? extends Record> row, Parameter by) {
    Parameter limit = Parameter.integer(Place.QUERY, LIMIT, 10, 1, TOP_MAX, "The most rows");
    return new Endpoint(command, Method.GET, path, Role.VIEWER, summary, List.of(by, limit), row, Form.LISTING);
  }

  private static Endpoint change(String command, Method method, String path, String summary, Parameter... parameters) {
    return new Endpoint(command, method, path, Role.ADMIN, summary, List.of(parameters), Begun.class, Form.ONE);
  }

  private static Endpoint stream(String command, String path, Role role, String summary, Class<? extends Record> event, Parameter... parameters) {
    List<Parameter> all = new ArrayList<>(Arrays.asList(parameters));
    all.add(Parameter.integer(Place.QUERY, "count", 0, 0, EVENTS_MAX, "The events after which it ends; 0 for no end"));
    return new Endpoint(command, Method.GET, path, role, summary, all, event, Form.STREAM);
  }

  private static Parameter version(Place place) {
    return Parameter.integer(place, "expectedVersion", -1, -1, VERSION_MAX, "The version that it must have; -1 for any, 0 for one that does not exist");
  }

  private static Parameter body(String name, String description) {
    return Parameter.required(Place.BODY, name, description);
  }
}
