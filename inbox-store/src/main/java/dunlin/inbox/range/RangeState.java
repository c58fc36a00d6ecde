package dunlin.inbox.range;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.rows.AcceptedTransfers;
import dunlin.inbox.rows.BodyReferences;
import dunlin.inbox.rows.DueKey;
import dunlin.inbox.rows.ForeignExchanges;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.rows.ShardCounters;
import dunlin.model.FilterIndex;
import dunlin.model.TopicFilter;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What a session range keeps in memory: sessions, groups, the index of their filters, and queues of what is due. */
public final class RangeState {
  /*
   * Owner: the applying thread. Other threads read sessions, groups, index and the counts without a lock.
   * Bounds: by the sessions, subscriptions and groups; nothing is kept for a stored message but what caches of fixed size have of it.
   */
  private static final int FORMAT = 1;

  /** Of the only range of a node, and of one of several. */
  private static final int LIMITS_FORMAT = 3;

  private static final int LIMITS_OF_PART_FORMAT = 4;

  private static final int ENTRY_BYTES = 256;
  private static final int NAMES_MAX = 1_024;
  private static final int SHARED_USER_MAX = 64;

  /** The shards of this range. Its own rows stand in the first one. */
  public final ShardInterval interval;

  final ShardCounters counters = new ShardCounters();
  public final ConcurrentHashMap<SessionKey, SessionState> sessions = new ConcurrentHashMap<>();
  public final ConcurrentHashMap<GroupKey, GroupState> groups = new ConcurrentHashMap<>();

  /** Messages in all inboxes, also those that ended sessions have left. */
  public final AtomicLong queued = new AtomicLong();

  /** Bytes of these messages. */
  public final AtomicLong queuedBytes = new AtomicLong();

  /** Messages that have left full inboxes and may be delivered yet. */
  public final AtomicLong overtaken = new AtomicLong();

  public final AtomicLong subscriptions = new AtomicLong();
  public final AtomicLong sharedSubscriptions = new AtomicLong();

  /** Memory that sessions and subscriptions take, by {@link #memoryOf}. */
  public final AtomicLong memory = new AtomicLong();

  /** Sessions that have a connection. */
  public final AtomicInteger onlineCount = new AtomicInteger();

  /** Sessions that are to outlive their connection, or have. */
  public final AtomicLong durableCount = new AtomicLong();

  /** Subscribers of plain subscriptions; replaced when the range is opened again. */
  public volatile FilterIndex<FilterSubscribers> index = new FilterIndex<>();

  final BodyReferences references = new BodyReferences();
  final Summaries summaries = new Summaries(this);
  final Fences fences = new Fences(this);
  public final ForeignExchanges foreignExchanges = new ForeignExchanges();
  public final AcceptedTransfers acceptedTransfers = new AcceptedTransfers();

  final OnlineSessions online = new OnlineSessions();

  /** Sessions without a connection that expire. */
  final ExpiryQueue expiring = new ExpiryQueue();

  /** Wills that are to be published, by time and epoch. */
  public final NavigableMap<DueKey, PendingWill> dueWills = new TreeMap<>();

  /** The same wills by epoch. */
  final Map<Long, PendingWill> willsByEpoch = new HashMap<>();

  /** What ended sessions and groups have left, by birth: messages to be deleted step by step. */
  final NavigableMap<Long, Backlog> leftovers = new TreeMap<>();

  /** Groups with a message that did not fit a member's inbox, by the member; only to know whom to ask when it may fit. */
  private final Map<SessionState, Set<GroupState>> turnedAway = new HashMap<>();

  /** Names that many sessions have in common, tenants and frontends, each kept once. */
  private final Map<String, String> names = new HashMap<>();

  /** Users who have many sessions, likewise; apart, since there may be as many users as sessions. */
  private final Map<String, String> users = new HashMap<>();

  InboxLimits limits = InboxSettings.defaults().limits();

  /** While a command is applied: what other ranges have, as the command says. */
  Elsewhere elsewhere = Elsewhere.NOTHING;

  /** What other ranges have of what is bounded for all of them together; see {@link dunlin.inbox.rows.SessionCommand.Beside}. */
  record Elsewhere(long sessions, long memory, long messageBytes) {
    static final Elsewhere NOTHING = new Elsewhere(0, 0, 0);
  }

  public RangeState(ShardInterval interval) {
    this.interval = interval;
  }

  void clear() {
    sessions.clear();
    groups.clear();
    queued.set(0);
    queuedBytes.set(0);
    overtaken.set(0);
    subscriptions.set(0);
    sharedSubscriptions.set(0);
    memory.set(0);
    onlineCount.set(0);
    durableCount.set(0);
    index = new FilterIndex<>();
    references.clear();
    summaries.clear();
    fences.clear();
    foreignExchanges.clear();
    acceptedTransfers.clear();
    online.clear();
    expiring.clear();
    dueWills.clear();
    willsByEpoch.clear();
    leftovers.clear();
    turnedAway.clear();
    names.clear();
    users.clear();
    limits = InboxSettings.defaults().limits();
    counters.clear();
  }

  void writeLimits(RangeWriter out) {
    out.put(
        SessionKeys.limits(interval.from()),
        FieldWriter.bytesOf(
            fields -> {
              fields.octet(interval.isWhole() ? LIMITS_FORMAT : LIMITS_OF_PART_FORMAT);
              fields.number(interval.shards());
              if (!interval.isWhole()) {
                fields.number(interval.from());
                fields.number(interval.to());
              }
              limits.writeTo(fields);
            }));
  }

  void readLimits(byte[] value) {
    limits =
        FieldReader.read(
            value,
            in -> {
              var stored = readInterval(in);
              if (stored.shards() != interval.shards())
                throw new IllegalStateException(
                    "dunlin.inbox.shards is %d, but these sessions were stored with %d; it cannot be changed"
                        .formatted(interval.shards(), stored.shards()));
              if (!stored.equals(interval))
                throw new IllegalStateException(
                    "a range of sessions has %s now, but was stored with %s; the number of ranges cannot be changed"
                        .formatted(text(interval), text(stored)));
              return InboxLimits.readFrom(in);
            });
  }

  private static ShardInterval readInterval(FieldReader in) {
    int format = in.octet();
    if (format != LIMITS_FORMAT && format != LIMITS_OF_PART_FORMAT) throw new IllegalStateException("limits of unknown format " + format);
    int shards = in.count();
    return format == LIMITS_FORMAT ? ShardInterval.whole(shards) : new ShardInterval(in.count(), in.count(), shards);
  }

  private static String text(ShardInterval interval) {
    return interval.isWhole() ? "all shards" : "shards %d to %d".formatted(interval.from(), interval.to() - 1);
  }

  /** How many shards the stored sessions have, as the first range says; 0 when none was ever stored. */
  public static int storedShards(RangeReader rows) {
    byte[] limits = rows.get(SessionKeys.limits(0));
    if (limits == null) return 0;
    return FieldReader.read(
        limits,
        in -> {
          int shards = readInterval(in).shards();
          in.skipRest();
          return shards;
        });
  }

  static void expectFormat(int format) {
    if (format != FORMAT) throw new IllegalStateException("row of unknown format " + format);
  }

  /** A subscription has come or gone, which is 1 or -1. */
  void count(TopicFilter filter, int change) {
    subscriptions.addAndGet(change);
    if (filter.shared()) sharedSubscriptions.addAndGet(change);
    memory.addAndGet(change * memoryOf(filter));
  }

  /** About what a subscription takes of the heap: its text stands in the session, in the index, in the range's routes and in the dist tier's. */
  public static long memoryOf(TopicFilter filter) {
    return ENTRY_BYTES + 4L * filter.text().length();
  }

  public static long memoryOf(SessionKey key, String user) {
    return ENTRY_BYTES + 2L * (key.clientId().length() + user.length());
  }

  /** Durable sessions of all ranges, as far as is known while a command is applied. */
  long durableEverywhere() {
    return durableCount.get() + elsewhere.sessions();
  }

  /** Memory of the sessions and subscriptions of all ranges, likewise. */
  long memoryEverywhere() {
    return memory.get() + elsewhere.memory();
  }

  /** Bytes of the messages in the inboxes of all ranges, likewise. */
  long queuedBytesEverywhere() {
    return queuedBytes.get() + elsewhere.messageBytes();
  }

  /** A session has begun, or is taken back in. */
  void add(SessionState session) {
    sessions.put(session.key, session);
    memory.addAndGet(memoryOf(session.key, session.user));
  }

  /** A session has ended. */
  void remove(SessionState session) {
    sessions.remove(session.key);
    memory.addAndGet(-memoryOf(session.key, session.user));
  }

  /** The same session's key, with what it has in common with others shared: every text of a command is a copy of its own. */
  SessionKey sharing(SessionKey key) {
    return new SessionKey(shared(key.tenant()), key.clientId());
  }

  /** A session's user, with what it has in common with others shared: its client identifier, or the name itself when it is short. */
  String sharedUser(SessionKey key, String user) {
    if (user.isEmpty()) return "";
    if (user.equals(key.clientId())) return key.clientId();
    return user.length() <= SHARED_USER_MAX ? sharedIn(users, user) : user;
  }

  private String shared(String name) {
    return sharedIn(names, name);
  }

  private static String sharedIn(Map<String, String> names, String name) {
    if (names.size() >= NAMES_MAX) return names.getOrDefault(name, name);
    return names.computeIfAbsent(name, _ -> name);
  }

  /** The owner of this inbox has ended; what waits in it is deleted step by step. */
  void leave(Backlog inbox, InboxDropReason reason) {
    inbox.left = reason;
    leftovers.put(inbox.birth(), inbox);
    summaries.touch(inbox);
  }

  /** A group's message did not fit a member's inbox. */
  void turnedAway(SessionState session, GroupState group) {
    session.backlog().turnedAway = true;
    turnedAway.computeIfAbsent(session, _ -> new HashSet<>()).add(group);
  }

  /** The groups whose messages did not fit a session's inbox since this was asked last. */
  Set<GroupState> takeTurnedAway(SessionState session) {
    var inbox = session.backlogIfAny();
    if (inbox == null || !inbox.turnedAway) return Set.of();
    inbox.turnedAway = false;
    return Objects.requireNonNullElse(turnedAway.remove(session), Set.of());
  }

  void attach(SessionState session, ConnectionId connection) {
    var owner = new ConnectionId(shared(connection.frontend()), connection.incarnation(), connection.number());
    session.owner = owner;
    onlineCount.incrementAndGet();
    online.add(session, owner);
  }

  void detach(SessionState session) {
    var owner = session.owner;
    if (owner == null) return;
    session.owner = null;
    onlineCount.decrementAndGet();
    online.remove(session, owner);
  }

  /** Says how long a session stays behind its connection, and so whether it counts as durable. */
  void stay(SessionState session, long expirySeconds) {
    if (session.expirySeconds() > 0) durableCount.decrementAndGet();
    session.expirySeconds(expirySeconds);
    if (expirySeconds > 0) durableCount.incrementAndGet();
  }

  void expireAt(SessionState session, long deadline) {
    if (session.deadline != SessionState.NEVER) expiring.remove(session);
    session.deadline = deadline;
    if (deadline != SessionState.NEVER) expiring.add(session);
  }
}
