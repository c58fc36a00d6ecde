package dunlin.admin.explain;

import dunlin.admin.explain.ExplanationMXBean.Explanation;
import dunlin.admin.explain.ExplanationMXBean.Step;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientOutlook;
import dunlin.broker.client.ClientsMXBean.Permission;
import dunlin.cluster.ClusterMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.dist.route.RouteReplica;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.GroupOfSessions;
import dunlin.inbox.SessionsMXBean.SessionOutlook;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.inbox.server.SessionReplica;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Follows one message on its way to one client, as far as it comes. */
@SuppressWarnings("AnnotateFormatMethod") // the annotation is of a library that is needed for nothing else
final class Walk {
  /*
   * Owner: its caller; made for one message.
   * Each step notes its outcome, and answers whether the message goes on. A step that stops the message decides, also behind one that is
   * unknown: whatever that one is, the message does not arrive. Else the first unknown step on which the end depends decides.
   */
  private static final int ROUTES_MAX = 1_000;
  private static final int SHOWN_MAX = 5;
  private static final long NEVER_SECONDS = 0xFFFF_FFFFL;
  private static final String DELIVERED = "delivered now";
  private static final String WAITS = "waits until the client takes it";
  private static final String STORED = "stored until the client is back";
  private static final String ONE_MEMBER = "one member of its group gets it";
  private static final String WITHHELD = "withheld";
  private static final String DROPPED = "dropped";
  private static final String NOT_DELIVERED = "not delivered";
  private static final String NOT_KNOWN = "not known on this node";

  private final Known known;
  private final Asked asked;
  private final @Nullable ClientOutlook online;
  private final @Nullable SessionOutlook stored;
  private final List<Step> steps = new ArrayList<>();

  private List<SubscriptionRow> taken = List.of();

  /** Whether it comes by shared subscriptions alone. */
  private boolean shared;

  /** With which it is sent. */
  private int qos;

  private String conclusion = "";
  private String reason = "";

  /** What this node has. */
  record Known(
      String node, Optional<ClientsMXBean> clients, Optional<SessionsMXBean> sessions, Optional<RoutesMXBean> routes, Optional<ClusterMXBean> cluster,
      Map<String, String> settings) {
    String elsewhere(String kind, String what) {
      return cluster.map(present -> Leaders.elsewhere(present, kind, what)).orElse(what + " are not served yet, since the node is starting.");
    }

    boolean withoutRules() {
      return clients.map(bean -> !bean.isRuled()).orElse(false);
    }
  }

  /** The message. */
  record Asked(String tenant, String clientId, String topic, String publisher, int qos, boolean retain) {}

  Walk(Known known, Asked asked, Optional<ClientOutlook> online, Optional<SessionOutlook> stored) {
    this.known = known;
    this.asked = asked;
    this.online = online.orElse(null);
    this.stored = stored.orElse(null);
  }

  Explanation explain() {
    boolean arrives = topic() && publisherRules() && session() && subscription() && routes() && receiveRules() && group() && connection() && inbox() && queue();
    if (arrives && conclusion.isEmpty()) decide(online == null ? STORED : DELIVERED, steps.getLast().finding());
    return new Explanation(conclusion, reason, steps);
  }

  // ---------------------------------------------------------------------------------------------------------------- the publisher

  private boolean topic() {
    if (asked.topic.equals("$SYS") || asked.topic.startsWith("$SYS/")) {
      if (!asked.publisher.isEmpty()) return stops("topic", NOT_DELIVERED, "Only the broker publishes to $SYS; a message of a client there is refused.");
      return passes("topic", "Only the broker itself publishes to %s.", asked.topic);
    }
    int levels = 1 + (int) asked.topic.chars().filter(c -> c == '/').count();
    long levelsMax = setting("dunlin.mqtt.topic-levels-max");
    if (levels > levelsMax) {
      return stops("topic", NOT_DELIVERED, "The topic name has %,d levels, more than the %,d of dunlin.mqtt.topic-levels-max.", levels, levelsMax);
    }
    long qosMax = setting("dunlin.mqtt.maximum-qos");
    if (asked.qos > qosMax) return stops("topic", NOT_DELIVERED, "Nothing may be published with QoS %d: dunlin.mqtt.maximum-qos is %d.", asked.qos, qosMax);
    if (asked.retain && "false".equals(known.settings.get("dunlin.mqtt.retain-available"))) {
      return stops("topic", NOT_DELIVERED, "Retained messages are switched off (dunlin.mqtt.retain-available).");
    }
    return passes("topic", "The topic name %s is valid, and the message has QoS %d%s.", asked.topic, asked.qos, asked.retain ? " and the flag RETAIN" : "");
  }

  private long setting(String key) {
    String value = known.settings.getOrDefault(key, "");
    return value.matches("[0-9]{1,9}") ? Long.parseLong(value) : Long.MAX_VALUE;
  }

  private boolean publisherRules() {
    String step = "publisher-rules";
    if (asked.publisher.isEmpty()) return passes(step, "No client is named as the publisher, and access rules do not bind the application.");
    Permission permission =
        known
            .clients
            .flatMap(bean -> bean.mayPublish(asked.tenant, asked.publisher, asked.topic, asked.qos, asked.retain).stream().findFirst())
            .orElse(null);
    if (permission == null && known.withoutRules()) return passes(step, "%s", withoutRules(asked.publisher));
    if (permission == null) {
      return unknown(
          step, "The publisher %s is not connected to this node, so the access rules for it are not known here: ask the node that it is connected to.",
          asked.publisher);
    }
    if (!permission.ruled()) return passes(step, "There are no access rules for the publisher %s.", asked.publisher);
    if (permission.allowed()) return passes(step, "The rule %s allows %s to publish it.", permission.rule(), asked.publisher);
    return stops(step, NOT_DELIVERED, "%s %s to publish it.", denial(permission), asked.publisher);
  }

  private static String withoutRules(String clientId) {
    return "There are no access rules, unless an authenticator gives %s some of its own when it connects.".formatted(clientId);
  }

  private static String denial(Permission permission) {
    return permission.rule().isEmpty() ? "No access rule allows" : "The rule " + permission.rule() + " does not allow";
  }

  // ------------------------------------------------------------------------------------------------------------------- the client

  private boolean durable() {
    return online != null ? online.durable() : stored != null && stored.expirySeconds() > 0;
  }

  private boolean session() {
    if (online == null && stored == null) {
      unknown(
          "session", "The client %s is not connected to this node. %s", asked.clientId,
          known.elsewhere(SessionReplica.KIND, "The sessions"));
      return false;
    }
    if (online == null && stored != null && stored.node().equals(known.node)) {
      unknown("session", "The connection of %s to this node is just beginning or ending; ask again soon.", asked.clientId);
      return false;
    }
    if (!durable()) return passes("session", "The session of %s ends with its connection.", asked.clientId);
    if (stored == null) return passes("session", "The session of %s is durable.", asked.clientId);
    if (stored.expirySeconds() == NEVER_SECONDS) return passes("session", "The session of %s is durable and never expires.", asked.clientId);
    return passes("session", "The session of %s outlives its connection by %,d s.", asked.clientId, stored.expirySeconds());
  }

  private boolean subscription() {
    String step = "subscription";
    int count;
    List<SubscriptionRow> matching;
    List<String> others;
    if (online != null) {
      count = online.subscriptions();
      matching = online.matching();
      others = online.others();
    } else {
      SessionOutlook session = Objects.requireNonNull(stored);
      if (!durable() && !session.node().isEmpty()) {
        unknown(step, "The subscriptions of %s are at the node that it is connected to: ask node %s.", asked.clientId, session.node());
        return false;
      }
      count = session.subscriptions();
      matching = session.matching();
      others = session.others();
    }
    if (matching.isEmpty()) return stops(step, NOT_DELIVERED, "%s", noMatch(count, others));
    boolean own = asked.publisher.equals(asked.clientId);
    List<SubscriptionRow> takers = matching.stream().filter(row -> !(own && row.noLocal())).toList();
    if (takers.isEmpty()) {
      return stops(step, NOT_DELIVERED, "The client %s has published it itself, and has subscribed to %s with No Local.", asked.clientId, filters(matching));
    }
    List<SubscriptionRow> plain = takers.stream().filter(row -> !isShared(row)).toList();
    shared = plain.isEmpty();
    taken = shared ? takers : plain;
    int granted = taken.stream().mapToInt(SubscriptionRow::qos).max().orElse(0);
    qos = Math.min(asked.qos, granted);
    String sent = qos < asked.qos ? ", so that it is sent with QoS %d instead of %d".formatted(qos, asked.qos) : "";
    return passes(step, "The client %s has subscribed to %s with QoS %d%s.", asked.clientId, filters(taken), granted, sent);
  }

  private String noMatch(int count, List<String> others) {
    if (count == 0) return "The client %s has no subscriptions.".formatted(asked.clientId);
    String shown = String.join(", ", others) + (count > others.size() ? String.format(Locale.ROOT, " and %,d more", count - others.size()) : "");
    boolean reserved = asked.topic.startsWith("$") && others.stream().anyMatch(filter -> filter.startsWith("#") || filter.startsWith("+"));
    return "The client %s has no subscription that matches %s; its filters are %s.%s"
        .formatted(asked.clientId, asked.topic, shown, reserved ? " No filter that begins with a wildcard matches a topic that begins with $." : "");
  }

  private static boolean isShared(SubscriptionRow row) {
    return row.filter().startsWith("$share/") || row.filter().startsWith("$oshare/");
  }

  private static String filters(List<SubscriptionRow> rows) {
    String shown = rows.stream().limit(SHOWN_MAX).map(SubscriptionRow::filter).collect(Collectors.joining(", "));
    return rows.size() > SHOWN_MAX ? shown + String.format(Locale.ROOT, " and %,d more", rows.size() - SHOWN_MAX) : shown;
  }

  private boolean routes() {
    List<RouteRow> rows = known.routes.map(bean -> bean.match(asked.tenant, asked.topic, "", ROUTES_MAX)).orElse(null);
    if (rows == null) return unknown("routes", "%s", known.elsewhere(RouteReplica.KIND, "The routes"));
    List<String> filters = taken.stream().map(SubscriptionRow::filter).toList();
    boolean routed =
        rows.stream()
            .anyMatch(
                row ->
                    filters.contains(row.filter())
                        && (durable() ? row.destination().equals("inbox") : row.destination().equals("frontend") && row.shard().equals(known.node)));
    boolean full = rows.size() == ROUTES_MAX;
    if (routed) return passes("routes", "The topic has %s%s, and one leads to the client.", full ? "at least " : "", some(rows.size(), "route"));
    if (full) return unknown("routes", "The topic has more than %,d routes, which were not all looked through.", rows.size());
    return stops(
        "routes", NOT_DELIVERED, "The topic has %s, and none leads to the client. The node compares routes with subscriptions every %s.", some(rows.size(), "route"),
        known.settings.getOrDefault("dunlin.dist.audit-interval", "dunlin.dist.audit-interval"));
  }

  private boolean receiveRules() {
    String step = "receive-rules";
    if (online != null) {
      Permission permission = online.receiving();
      if (!permission.ruled()) return passes(step, "There are no access rules for the client %s.", asked.clientId);
      if (permission.allowed()) return passes(step, "The rule %s allows %s to receive it.", permission.rule(), asked.clientId);
      return stops(step, WITHHELD, "%s %s to receive it%s.", denial(permission), asked.clientId, shared ? "; another member of the group may get it" : "");
    }
    if (known.withoutRules()) return passes(step, "%s", withoutRules(asked.clientId));
    steps.add(new Step(step, ExplanationMXBean.UNKNOWN, "Access rules are asked when messages are sent, at the node that the client is then connected to."));
    return true; // it is stored whatever they will say, and of a connection elsewhere the step connection tells
  }

  // -------------------------------------------------------------------------------------------------------------------- the group

  private record Members(int here, int durable, boolean all) {
    int count() {
      return here + durable;
    }
  }

  private Members members(String filter) {
    int here = known.clients.map(bean -> bean.members(asked.tenant, filter)).orElse(0);
    int durable = known.sessions.map(bean -> bean.group(asked.tenant, filter).stream().mapToInt(GroupOfSessions::members).sum()).orElse(0);
    boolean others =
        known
            .routes
            .map(bean -> bean.match(asked.tenant, asked.topic, "", ROUTES_MAX))
            .map(
                rows ->
                    rows.size() == ROUTES_MAX
                        || rows.stream()
                            .anyMatch(row -> row.filter().equals(filter) && row.destination().equals("frontend") && !row.shard().equals(known.node)))
            .orElse(true);
    return new Members(here, durable, known.sessions.isPresent() && !others);
  }

  private boolean group() {
    if (!shared) return true;
    boolean alone = false;
    List<String> said = new ArrayList<>();
    for (SubscriptionRow row : taken.subList(0, Math.min(SHOWN_MAX, taken.size()))) {
      Members members = members(row.filter());
      alone |= members.all() && members.count() == 1;
      said.add(
          "%s has %s%s".formatted(row.filter(), members.all() ? "" : "at least ", some(Math.max(1, members.count()), "member")));
    }
    String text = "The shared subscription %s. One member of each gets the message.".formatted(String.join(", ", said));
    passes("group", "%s", text);
    if (alone) return true;
    decide(ONE_MEMBER, text);
    return false;
  }

  // --------------------------------------------------------------------------------------------------------------- where it arrives

  private boolean connection() {
    String step = "connection";
    if (online != null) return passes(step, "The client %s is connected to this node.", asked.clientId);
    SessionOutlook session = Objects.requireNonNull(stored);
    if (!session.node().isEmpty()) {
      return unknown(step, "The client %s is connected to node %s: ask that node what waits for it.", asked.clientId, session.node());
    }
    if (!durable()) return stops(step, NOT_DELIVERED, "The client %s is not connected, and its session ends with its connection.", asked.clientId);
    if (storedQos() == 0) return stops(step, DROPPED, "The client %s is not connected, and a message of QoS 0 is not stored for it.", asked.clientId);
    return passes(step, "The client %s is not connected, so the message is stored for it.", asked.clientId);
  }

  /** A message that waits in the inbox of a group for any member keeps its QoS. */
  private int storedQos() {
    return shared && online == null ? asked.qos : qos;
  }

  private boolean inbox() {
    if (!durable() || storedQos() == 0) return true;
    if (stored == null) return unknown("inbox", "%s", known.elsewhere(SessionReplica.KIND, "The sessions"));
    String whose = "The inbox of the session";
    long messages = stored.messages();
    long bytes = stored.bytes();
    if (shared && stored.node().isEmpty()) {
      whose = "The inbox of the group";
      List<GroupOfSessions> groups = known.sessions.map(bean -> bean.group(asked.tenant, taken.getFirst().filter())).orElseGet(List::of);
      messages = groups.stream().mapToLong(GroupOfSessions::messages).sum();
      bytes = groups.stream().mapToLong(GroupOfSessions::bytes).sum();
      if (messages < 0) return unknown("inbox", "What waits for each member of an ordered group is not shown.");
    }
    boolean many = messages >= stored.messagesMax();
    boolean large = bytes >= stored.bytesMax();
    if (!many && !large) {
      return passes("inbox", "%s holds %s of at most %,d, and %,d bytes of at most %,d.", whose, some(messages, "message"), stored.messagesMax(), bytes, stored.bytesMax());
    }
    String full =
        many
            ? String.format(Locale.ROOT, "%s holds %s, as many as dunlin.inbox.messages-max allows", whose, some(messages, "message"))
            : String.format(Locale.ROOT, "%s holds %,d bytes, as many as dunlin.inbox.bytes-max and dunlin.inbox.total-bytes-max allow", whose, bytes);
    return switch (stored.overflow()) {
      case "DROP_OLDEST" -> passes("inbox", "%s: the oldest is dropped.", full);
      case "REJECT" -> stops("inbox", DROPPED, "%s: the message is stored nowhere, and its publisher gets 0x97 (dunlin.inbox.overflow).", full);
      default -> stops("inbox", DROPPED, "%s: this message is dropped (dunlin.inbox.overflow).", full);
    };
  }

  private boolean queue() {
    String step = "queue";
    if (online == null) return true;
    if (qos == 0) {
      if (online.writable()) return passes(step, "The socket takes a message of QoS 0 now.");
      return stops(step, DROPPED, "The socket takes no more, since %,d bytes wait for it, and a message of QoS 0 does not wait.", online.socketBytes());
    }
    if (online.sendsAtOnce()) {
      return passes(step, "Of at most %,d messages in flight there are %,d, and none waits.", online.receiveMaximum(), online.inFlight());
    }
    if (!online.durable() && !online.queueTakes()) {
      return stops(
          step, DROPPED, "%s with %,d bytes wait for the client, of at most %,d and %,d bytes, or the node has no more memory for them: this message is dropped.",
          some(online.queued(), "message"), online.queuedBytes(), online.queuedMax(), online.queuedBytesMax());
    }
    passes(
        step, "Of at most %,d messages in flight there are %,d, and there wait %,d more on this node and %,d bytes for the socket: the message waits behind them.",
        online.receiveMaximum(), online.inFlight(), online.queued(), online.socketBytes());
    decide(WAITS, steps.getLast().finding());
    return true;
  }

  // ------------------------------------------------------------------------------------------------------------------------ notes

  private static String some(long count, String what) {
    return String.format(Locale.ROOT, count == 1 ? "%,d %s" : "%,d %ss", count, what);
  }

  private boolean passes(String step, String finding, Object... values) {
    steps.add(new Step(step, ExplanationMXBean.PASSES, String.format(Locale.ROOT, finding, values)));
    return true;
  }

  private boolean unknown(String step, String finding, Object... values) {
    String text = String.format(Locale.ROOT, finding, values);
    steps.add(new Step(step, ExplanationMXBean.UNKNOWN, text));
    decide(NOT_KNOWN, text);
    return true;
  }

  private boolean stops(String step, String as, String finding, Object... values) {
    String text = String.format(Locale.ROOT, finding, values);
    steps.add(new Step(step, ExplanationMXBean.STOPS, text));
    conclusion = as;
    reason = text;
    return false;
  }

  /** Unless an unknown step has decided. */
  private void decide(String as, String why) {
    if (!conclusion.isEmpty()) return;
    conclusion = as;
    reason = why;
  }
}
