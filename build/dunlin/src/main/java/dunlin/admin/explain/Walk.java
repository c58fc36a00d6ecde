package dunlin.admin.explain;

import dunlin.admin.explain.ExplanationMXBean.Explanation;
import dunlin.admin.explain.ExplanationMXBean.Step;
import dunlin.admin.peers.PeerBeans;
import dunlin.admin.peers.PeerBeans.Gathered;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientOutlook;
import dunlin.broker.client.ClientsMXBean.GroupOutlook;
import dunlin.broker.client.ClientsMXBean.Permission;
import dunlin.broker.client.ClientsMXBean.PublisherOutlook;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.GroupOfSessions;
import dunlin.inbox.SessionsMXBean.SessionOutlook;
import dunlin.inbox.SessionsMXBean.SubscriptionRow;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.retain.RetainedMessagesMXBean.RetainedOutlook;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
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
  private static final String MEMBERS_WAIT = "waits until a member of its group takes it";
  private static final String WITHHELD = "withheld";
  private static final String DROPPED = "dropped";
  private static final String NOT_DELIVERED = "not delivered";
  private static final String NOT_KNOWN = "not known";
  private static final String ORDERED = "$oshare/";
  private static final String RULES = "publisher-rules";
  private static final String LOW_DISK = "The disk of the node that leads the retained messages is nearly full (dunlin.store.disk-free-min)";

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

  /**
   * What the nodes have.
   *
   * @param home the node that the client is connected to; the one that is asked when it is not connected
   * @param silence why a node has not said whether the client is connected to it; else empty
   * @param sessionsSilence why the session is not known; else empty
   * @param clustered whether the node belongs to a cluster, where what is to be retained goes on only once it is
   * @param suspended whether clients of the tenant may not connect
   */
  record Known(
      PeerBeans peers, String home, String silence, String sessionsSilence, Optional<SessionsMXBean> sessions, Optional<RoutesMXBean> routes,
      Optional<RetainedMessagesMXBean> retained, Map<String, String> settings, boolean clustered, boolean suspended) {
    boolean withoutRules() {
      Gathered<Boolean> ruled = peers.ofFrontends(ClientsMXBean.class, ClientsMXBean::isRuled);
      return !ruled.answers().isEmpty() && ruled.unanswered().isEmpty() && !ruled.answers().containsValue(true);
    }
  }

  /** The message. */
  record Asked(String tenant, String clientId, String topic, String publisher, int qos, boolean retain, int bytes, long expirySeconds) {}

  Walk(Known known, Asked asked, Optional<ClientOutlook> online, Optional<SessionOutlook> stored) {
    this.known = known;
    this.asked = asked;
    this.online = online.orElse(null);
    this.stored = stored.orElse(null);
  }

  Explanation explain() {
    boolean leaves = topic() && publisher() && retained();
    boolean arrives = leaves && session() && subscription() && routes() && expiry() && receiveRules() && group() && connection() && inbox();
    if (arrives && online != null && queue(online)) size(online);
    else if (arrives && online == null) decide(STORED, steps.getLast().finding());
    return new Explanation(conclusion, conclusion.equals(WAITS) || conclusion.equals(STORED) ? reason + lifetime() : reason, steps);
  }

  // ---------------------------------------------------------------------------------------------------------------- the publisher

  private boolean topic() {
    if (asked.topic.equals("$SYS") || asked.topic.startsWith("$SYS/")) {
      if (!asked.publisher.isEmpty()) return stops("topic", NOT_DELIVERED, "Only the broker publishes to $SYS; a message of a client there is refused.");
      return passes("topic", "Only the broker itself publishes to %s.", asked.topic);
    }
    long topicBytes = asked.topic.getBytes(StandardCharsets.UTF_8).length;
    long topicBytesMax = setting("dunlin.mqtt.topic-length-max");
    if (topicBytes > topicBytesMax) {
      return stops("topic", NOT_DELIVERED, "The topic name has %,d bytes, more than the %,d of dunlin.mqtt.topic-length-max.", topicBytes, topicBytesMax);
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

  private boolean publisher() {
    if (asked.publisher.isEmpty()) return passes(RULES, "No client is named as the publisher, and access rules do not bind the application.");
    Gathered<List<PublisherOutlook>> gathered =
        known.peers.ofFrontends(
            ClientsMXBean.class, bean -> bean.publisherOutlook(asked.tenant, asked.publisher, asked.topic, asked.qos, asked.retain, asked.bytes));
    Optional<PublisherOutlook> there = gathered.answers().values().stream().flatMap(List::stream).findFirst();
    return there.map(outlook -> limits(outlook) && publisherRules(outlook.publishing())).orElseGet(() -> absentPublisher(gathered.unanswered()));
  }

  /** Its rules may be known all the same; its limits are those of its next connection. */
  private boolean absentPublisher(List<String> unanswered) {
    if (known.withoutRules()) return passes(RULES, "%s", withoutRules(asked.publisher));
    if (known.suspended) {
      return stops(RULES, NOT_DELIVERED, "The tenant %s is suspended or being deleted, so the publisher %s may not connect.", asked.tenant, asked.publisher);
    }
    if (!unanswered.isEmpty()) {
      return unknown(
          RULES, "The publisher %s is not connected to a node that has answered, so the access rules for it are not known: %s.", asked.publisher,
          String.join("; ", unanswered));
    }
    return unknown(RULES, "The publisher %s is not connected, so the access rules for it are not known.", asked.publisher);
  }

  /** What a client publishes beyond these limits ends its connection. */
  private boolean limits(PublisherOutlook outlook) {
    String step = "publisher-limits";
    if (asked.qos > outlook.qosMax()) {
      return stops(step, NOT_DELIVERED, "The client %s may publish with QoS %d at most; its connection is closed with 0x9B.", asked.publisher, outlook.qosMax());
    }
    String text = "The packet has %,d bytes without its properties, and the client %s may send at most %,d";
    if (outlook.packetBytes() <= outlook.packetBytesMax()) return passes(step, text + ".", outlook.packetBytes(), asked.publisher, outlook.packetBytesMax());
    if (mayFit(outlook.aliases(), outlook.packetBytes(), outlook.packetBytesMax())) {
      return passes(step, text + "; with an alias for its topic it may fit.", outlook.packetBytes(), asked.publisher, outlook.packetBytesMax());
    }
    return stops(step, NOT_DELIVERED, text + ": its connection is closed with 0x95.", outlook.packetBytes(), asked.publisher, outlook.packetBytesMax());
  }

  private boolean mayFit(boolean aliases, long packetBytes, long most) {
    return aliases && packetBytes - asked.topic.getBytes(StandardCharsets.UTF_8).length <= most;
  }

  private boolean publisherRules(Permission permission) {
    String step = RULES;
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

  /** A message with the flag RETAIN that cannot become the retained message of its topic is refused to its publisher, and may go no further. */
  private boolean retained() {
    String step = "retained";
    if (!asked.retain) return true;
    Tried<RetainedOutlook> tried =
        known.retained.map(bean -> Tried.of(() -> bean.outlook(asked.tenant, asked.topic))).orElseGet(() -> Tried.failed("this node has none yet"));
    if (tried.answer().isEmpty()) return unknown(step, "The retained messages are not known: %s.", tried.why());
    RetainedOutlook there = tried.answer().get();
    if (there.present() && !there.diskLow()) return passes(step, "It replaces the retained message that %s has.", asked.topic);
    String full = there.diskLow() ? LOW_DISK : full(there);
    String code = there.diskLow() ? "0x80" : "0x97";
    if (full.isEmpty()) {
      return passes(step, "It becomes the retained message of %s; %s of at most %,d have one.", asked.topic, some(there.topics(), "topic"), there.topicsMax());
    }
    if (asked.qos == 0) return passes(step, "%s, so it is not retained; with QoS 0 it goes to the subscribers all the same.", full);
    if (known.clustered) return stops(step, NOT_DELIVERED, "%s, so its publisher gets %s, and it goes to no subscriber.", full, code);
    if (asked.qos == 1) return passes(step, "%s, so it is not retained, and its publisher gets %s; it goes to the subscribers all the same.", full, code);
    return unknown(step, "%s, so its publisher gets %s; of a publisher with a durable session it goes to no subscriber.", full, code);
  }

  /** Why there is no room for a small message of another topic; empty when there is. */
  private static String full(RetainedOutlook there) {
    if (there.topics() >= there.topicsMax()) return noRoom("The retained messages are", there.topics(), there.topicsMax(), "dunlin.retain.messages-max");
    if (there.topicBytes() >= there.topicBytesMax()) {
      return noRoom("The bytes of topics with a retained message are", there.topicBytes(), there.topicBytesMax(), "dunlin.retain.topic-bytes-max");
    }
    return there.bytes() >= there.bytesMax() ? noRoom("The bytes of retained messages are", there.bytes(), there.bytesMax(), "dunlin.retain.bytes-max") : "";
  }

  private static String noRoom(String what, long present, long most, String setting) {
    return String.format(Locale.ROOT, "%s %,d of at most %,d (%s)", what, present, most, setting);
  }

  // ------------------------------------------------------------------------------------------------------------------- the client

  private boolean durable() {
    return online != null ? online.durable() : stored != null && stored.expirySeconds() > 0;
  }

  private boolean session() {
    if (online == null && stored == null) {
      unknown("session", "The client %s is not connected to a node that has answered: %s.", asked.clientId, either(known.silence, known.sessionsSilence));
      return false;
    }
    if (online == null && stored != null && !stored.node().isEmpty() && known.silence.isEmpty()) {
      unknown("session", "The connection of %s to node %s is just beginning or ending; ask again soon.", asked.clientId, stored.node());
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
        unknown(step, "The subscriptions of %s are at the node that it is connected to: %s.", asked.clientId, known.silence);
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
    Tried<List<RouteRow>> tried =
        known.routes.map(bean -> Tried.of(() -> bean.match(asked.tenant, asked.topic, "", ROUTES_MAX))).orElseGet(() -> Tried.failed("this node has none yet"));
    if (tried.answer().isEmpty()) return unknown("routes", "The routes are not known: %s.", tried.why());
    List<RouteRow> rows = tried.answer().get();
    List<String> filters = taken.stream().map(SubscriptionRow::filter).toList();
    boolean routed =
        rows.stream()
            .anyMatch(
                row ->
                    filters.contains(row.filter())
                        && (durable() ? row.destination().equals("inbox") : row.destination().equals("frontend") && row.shard().equals(known.home)));
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

  private boolean expiry() {
    if (asked.expirySeconds < 0) return true;
    if (asked.expirySeconds == 0) return stops("expiry", DROPPED, "With a Message Expiry Interval of 0 it has expired when it arrives.");
    return passes("expiry", "It expires %,d s after it was published; what waits longer is dropped.", asked.expirySeconds);
  }

  private String lifetime() {
    return asked.expirySeconds < 0 ? "" : String.format(Locale.ROOT, " It is dropped if that takes longer than %,d s.", asked.expirySeconds);
  }

  // -------------------------------------------------------------------------------------------------------------------- the group

  /**
   * @param taking of the clients, those that have room for the message
   * @param all whether all nodes have answered
   */
  private record Members(int clients, int taking, int durable, boolean all) {
    int count() {
      return clients + durable;
    }

    /** Whether certainly none takes it now, and none has an inbox for it. */
    boolean refuse() {
      return all && clients > 0 && taking == 0 && durable == 0;
    }
  }

  private Members members(String filter) {
    int size = asked.topic.getBytes(StandardCharsets.UTF_8).length + asked.bytes;
    Gathered<GroupOutlook> gathered = known.peers.ofFrontends(ClientsMXBean.class, bean -> bean.groupOutlook(asked.tenant, filter, asked.qos, size));
    Collection<GroupOutlook> clients = gathered.answers().values();
    Tried<List<GroupOfSessions>> durable = groups(filter);
    return new Members(
        clients.stream().mapToInt(GroupOutlook::members).sum(), clients.stream().mapToInt(GroupOutlook::taking).sum(),
        durable.answer().orElseGet(List::of).stream().mapToInt(GroupOfSessions::members).sum(), gathered.unanswered().isEmpty() && durable.answer().isPresent());
  }

  private Tried<List<GroupOfSessions>> groups(String filter) {
    return known.sessions.map(bean -> Tried.of(() -> bean.group(asked.tenant, filter))).orElseGet(() -> Tried.failed("the sessions are not served yet"));
  }

  private boolean group() {
    if (!shared) return true;
    boolean alone = false;
    boolean refuse = true;
    List<String> said = new ArrayList<>();
    for (SubscriptionRow row : taken.subList(0, Math.min(SHOWN_MAX, taken.size()))) {
      Members members = members(row.filter());
      alone |= members.all() && members.count() == 1;
      refuse &= members.refuse();
      said.add(
          "%s has %s%s".formatted(row.filter(), members.all() ? "" : "at least ", some(Math.max(1, members.count()), "member")));
    }
    String text = "The shared subscription %s. One member of each gets the message.".formatted(String.join(", ", said));
    if (qos > 0 && refuse && taken.size() <= SHOWN_MAX) return membersWait("No member of " + filters(taken) + " has room for it");
    passes("group", "%s", text);
    if (alone) return true;
    decide(ONE_MEMBER, text);
    return false;
  }

  /** None takes it now, and none is durable. */
  private boolean membersWait(String why) {
    String setting = asked.qos == 0 ? "dunlin.shared.wait-qos0" : "dunlin.shared.wait";
    passes(
        "group", "%s. It waits for at most %s (%s); if no member has taken it by then, it is dropped%s.", why, known.settings.getOrDefault(setting, "the time"),
        setting, asked.qos == 0 ? "" : ", and its publisher gets 0x97");
    decide(MEMBERS_WAIT, steps.getLast().finding());
    return false;
  }

  // --------------------------------------------------------------------------------------------------------------- where it arrives

  private boolean connection() {
    String step = "connection";
    if (online != null) return passes(step, "The client %s is connected to %s.", asked.clientId, known.home.equals(known.peers.node()) ? "this node" : "node " + known.home);
    SessionOutlook session = Objects.requireNonNull(stored);
    if (!session.node().isEmpty()) {
      return unknown(step, "What waits for %s is at the node that it is connected to: %s.", asked.clientId, known.silence);
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
    if (stored == null) return unknown("inbox", "The session is not known: %s.", known.sessionsSilence);
    if (!stored.diskRoom()) {
      return stops(
          "inbox", DROPPED,
          "The disk of the node that leads the sessions is nearly full, so it stores nothing new, and the publisher gets 0x80 (dunlin.store.disk-free-min).");
    }
    String whose = "The inbox of the session";
    long messages = stored.messages();
    long bytes = stored.bytes();
    if (shared && stored.node().isEmpty()) {
      whose = "The inbox of the group";
      Tried<List<GroupOfSessions>> tried = groups(taken.getFirst().filter());
      if (tried.answer().isEmpty()) return unknown("inbox", "The group is not known: %s.", tried.why());
      List<GroupOfSessions> groups = tried.answer().get();
      messages = groups.stream().mapToLong(GroupOfSessions::messages).sum();
      bytes = groups.stream().mapToLong(GroupOfSessions::bytes).sum();
      if (taken.getFirst().filter().startsWith(ORDERED)) return unknown("inbox", "What waits for each member of an ordered group is not shown.");
    }
    boolean many = messages >= stored.messagesMax();
    boolean large = bytes + Math.max(1, asked.bytes) > stored.bytesMax();
    if (!many && !large) {
      return passes("inbox", "%s holds %s of at most %,d, and %,d bytes of at most %,d.", whose, some(messages, "message"), stored.messagesMax(), bytes, stored.bytesMax());
    }
    String full =
        many
            ? String.format(Locale.ROOT, "%s holds %s, as many as dunlin.inbox.messages-max allows", whose, some(messages, "message"))
            : String.format(
                Locale.ROOT, "%s holds %,d bytes of at most %,d (dunlin.inbox.bytes-max, dunlin.inbox.total-bytes-max, inbox-bytes of the tenant), too many for %s more",
                whose, bytes, stored.bytesMax(), some(Math.max(1, asked.bytes), "byte"));
    boolean fitsAlone = asked.bytes <= stored.bytesMax();
    return switch (fitsAlone ? stored.overflow() : stored.overflow().replace("DROP_OLDEST", "DROP_NEWEST")) {
      case "DROP_OLDEST" -> passes("inbox", "%s: the oldest is dropped.", full);
      case "REJECT" -> stops("inbox", DROPPED, "%s: the message is stored nowhere, and its publisher gets 0x97 (dunlin.inbox.overflow).", full);
      default -> stops("inbox", DROPPED, "%s: this message is dropped (dunlin.inbox.overflow).", full);
    };
  }

  private boolean queue(ClientOutlook online) {
    String step = "queue";
    if (qos == 0) {
      if (online.writable()) return atOnce(step, "The socket takes a message of QoS 0 now.");
      if (shared && !online.durable()) return membersWait("The only member of the group takes no more on its socket");
      if (!online.tenantMaySend()) {
        return stops(
            step, DROPPED, "The clients of the tenant %s have been sent as much as messages-out and bytes-out allow, and a message of QoS 0 does not wait.",
            asked.tenant);
      }
      return stops(step, DROPPED, "The socket takes no more, since %,d bytes wait for it, and a message of QoS 0 does not wait.", online.socketBytes());
    }
    if (online.sendsAtOnce()) {
      return atOnce(step, "Of at most %,d messages in flight there are %,d, and none waits.", online.receiveMaximum(), online.inFlight());
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

  private boolean atOnce(String step, String finding, Object... values) {
    passes(step, finding, values);
    decide(DELIVERED, steps.getLast().finding());
    return true;
  }

  /** A packet that its client does not take is dropped when it is to be sent, whatever it has waited for. */
  private void size(ClientOutlook online) {
    if (online.packetBytesMax() == 0) return;
    String step = "size";
    if (online.packetBytes() <= online.packetBytesMax()) {
      passes(step, "The client takes packets of up to %,d bytes; this one has %,d and its properties.", online.packetBytesMax(), online.packetBytes());
      return;
    }
    String text = "The packet has %,d bytes and its properties, and the client takes at most %,d (Maximum Packet Size)";
    if (mayFit(online.aliases(), online.packetBytes(), online.packetBytesMax())) passes(step, text + "; with an alias for its topic it may fit.", online.packetBytes(), online.packetBytesMax());
    else stops(step, DROPPED, text + ".", online.packetBytes(), online.packetBytesMax());
  }

  // ------------------------------------------------------------------------------------------------------------------------ notes

  private static String either(String one, String other) {
    return one.isEmpty() ? other : one;
  }

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
