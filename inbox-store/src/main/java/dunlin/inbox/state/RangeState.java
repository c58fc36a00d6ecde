package dunlin.inbox.state;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.rows.AcceptedTransfers;
import dunlin.inbox.rows.BodyReferences;
import dunlin.inbox.rows.DueKey;
import dunlin.inbox.rows.ForeignExchanges;
import dunlin.inbox.rows.ForeignWills;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardCounters;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.FilterIndex;
import dunlin.model.TenantCounts;
import dunlin.model.TenantQuota;
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
import org.jspecify.annotations.Nullable;

/** The state of a session range in memory: sessions, groups, the index of their filters, and queues of due work. */
public final class RangeState {
  /*
   * Owner: the applying thread. Other threads read sessions, groups, index and the counts without a lock.
   * Bounds: by the sessions, subscriptions and groups, and by exchangeMemory(), which the leader keeps below a maximum;
   * stored messages take memory only in caches of fixed size.
   */
  private static final int FORMAT = 1;

  /** The format for the only range of a node, and the format for one of several ranges. */
  private static final int LIMITS_FORMAT = 3;

  private static final int LIMITS_OF_PART_FORMAT = 4;

  private static final int ENTRY_BYTES = 256;
  private static final int PICK_BYTES = 64;
  private static final int NAMES_MAX = 1_024;
  private static final int SHARED_USER_MAX = 64;

  /** The minimum that is left for each inbox, of the maximum for all of them. */
  private static final int SMALL_MAX = 4 * 1_024;
  private static final int SMALLS = 16 * 1_024;

  /** The shards of this range. The rows of the range itself are in the first one. */
  public final ShardInterval interval;

  public final ShardCounters counters = new ShardCounters();
  public final ConcurrentHashMap<SessionKey, SessionState> sessions = new ConcurrentHashMap<>();
  public final ConcurrentHashMap<GroupKey, GroupState> groups = new ConcurrentHashMap<>();

  /** Number of messages in all inboxes, including those that ended sessions have left. */
  public final AtomicLong queued = new AtomicLong();

  /** Bytes of these messages. */
  public final AtomicLong queuedBytes = new AtomicLong();

  /** The same by tenant. */
  public final TenantCounts queuedByTenant = new TenantCounts();

  /** Number of messages that were dropped from full inboxes but may still be delivered. */
  public final AtomicLong overtaken = new AtomicLong();

  public final AtomicLong subscriptions = new AtomicLong();
  public final AtomicLong sharedSubscriptions = new AtomicLong();

  /** Number of subscriptions by tenant. */
  public final TenantCounts subscriptionsByTenant = new TenantCounts();

  /** Memory of sessions and subscriptions, by {@link #memoryOf}. */
  public final AtomicLong memory = new AtomicLong();

  /** Memory of the QoS 2 exchanges of sessions of this range. */
  private final AtomicLong ownExchanges = new AtomicLong();

  /** Number of sessions that have a connection. */
  public final AtomicInteger onlineCount = new AtomicInteger();

  /** Number of durable sessions: those that will outlive their connection, or have. */
  public final AtomicLong durableCount = new AtomicLong();

  /** The same by tenant. */
  public final TenantCounts durableByTenant = new TenantCounts();

  /** The subscribers of non-shared subscriptions; replaced when the range is opened again. */
  public volatile FilterIndex<FilterSubscribers> index = new FilterIndex<>();

  public final BodyReferences references = new BodyReferences();
  public final Summaries summaries = new Summaries(this);
  public final Fences fences = new Fences(this);
  public final ForeignExchanges foreignExchanges = new ForeignExchanges();

  public final ForeignWills foreignWills = new ForeignWills();
  public final AcceptedTransfers acceptedTransfers = new AcceptedTransfers();

  public final OnlineSessions online = new OnlineSessions();

  /** Sessions without a connection that will expire. */
  public final ExpiryQueue expiring = new ExpiryQueue();

  /** Wills to be published, by time and epoch. */
  public final NavigableMap<DueKey, PendingWill> dueWills = new TreeMap<>();

  /** The same wills by epoch. */
  public final Map<Long, PendingWill> willsByEpoch = new HashMap<>();

  /** The inboxes of ended sessions and groups, by birth; their messages are deleted step by step. */
  public final NavigableMap<Long, Backlog> leftovers = new TreeMap<>();

  /**
   * Groups with a message that did not fit into a member's inbox, by the member. Used only to find the groups to drain
   * when there is room again.
   */
  private final Map<SessionState, Set<GroupState>> turnedAway = new HashMap<>();

  /** Names that many sessions share, tenants and frontends; each is kept once. */
  private final Map<String, String> names = new HashMap<>();

  /**
   * User names that many sessions share, each kept once. Separate from {@link #names}, because there may be as many
   * users as sessions.
   */
  private final Map<String, String> users = new HashMap<>();

  public InboxLimits limits = InboxSettings.defaults().limits();

  /** What other ranges hold, as the command says that is being applied. */
  public Elsewhere elsewhere = Elsewhere.NOTHING;

  /**
   * What other ranges hold of the quantities that are bounded for all ranges together, and what a tenant's limit leaves for this one; see
   * {@link dunlin.inbox.rows.SessionCommand.Beside}.
   */
  public record Elsewhere(long sessions, long memory, long messageBytes, long tenantBytes) {
    public static final Elsewhere NOTHING = new Elsewhere(0, 0, 0, TenantQuota.NONE);
  }

  public RangeState(ShardInterval interval) {
    this.interval = interval;
  }

  public void clear() {
    sessions.clear();
    groups.clear();
    queued.set(0);
    queuedBytes.set(0);
    queuedByTenant.clear();
    overtaken.set(0);
    subscriptions.set(0);
    sharedSubscriptions.set(0);
    subscriptionsByTenant.clear();
    memory.set(0);
    ownExchanges.set(0);
    onlineCount.set(0);
    durableCount.set(0);
    durableByTenant.clear();
    index = new FilterIndex<>();
    references.clear();
    summaries.clear();
    fences.clear();
    foreignExchanges.clear();
    foreignWills.clear();
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

  public void writeLimits(RangeWriter out) {
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

  public void readLimits(byte[] value) {
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

  /** The number of shards that the sessions were stored with, as the first range says; 0 if none was ever stored. */
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

  public static void expectFormat(int format) {
    if (format != FORMAT) throw new IllegalStateException("row of unknown format " + format);
  }

  /** Counts a subscription of a tenant that was added (1) or removed (-1). */
  public void count(String tenant, TopicFilter filter, int change) {
    subscriptions.addAndGet(change);
    subscriptionsByTenant.count(tenant, change);
    if (filter.shared()) sharedSubscriptions.addAndGet(change);
    memory.addAndGet(change * memoryOf(filter));
  }

  /**
   * Estimates the heap that a subscription takes: its text is in the session, in the index, and in the routes of this
   * range and of the dist tier.
   */
  public static long memoryOf(TopicFilter filter) {
    return ENTRY_BYTES + 4L * filter.text().length();
  }

  public static long memoryOf(SessionKey key, String user) {
    return ENTRY_BYTES + 2L * (key.clientId().length() + user.length());
  }

  /**
   * Estimates the heap that an open exchange takes: its entry here, and a copy at the frontend that its client connects
   * to.
   */
  public static int memoryOf(OpenExchange open) {
    return ENTRY_BYTES + PICK_BYTES * open.origin().picked().size();
  }

  /**
   * Estimated memory of all QoS 2 exchanges that this range knows of, those of other ranges' sessions included. It
   * follows from the rows. No command's outcome depends on it: the leader looks before it proposes, so replicas of
   * versions that do not count it apply the same.
   */
  public long exchangeMemory() {
    return ownExchanges.get() + foreignExchanges.memory();
  }

  /** Number of durable sessions of all ranges, as far as is known while a command is applied. */
  public long durableEverywhere() {
    return durableCount.get() + elsewhere.sessions();
  }

  /** Memory of the sessions and subscriptions of all ranges, likewise. */
  public long memoryEverywhere() {
    long all = memory.get() + elsewhere.memory();
    return all < 0 ? Long.MAX_VALUE : all; // a command may say that nothing is left of a bound that is none
  }

  /** Bytes of the messages in the inboxes of all ranges, likewise. */
  public long queuedBytesEverywhere() {
    return queuedBytes.get() + elsewhere.messageBytes();
  }

  /**
   * The maximum of bytes for one inbox: none may hold more than is left for all others, so the largest ones are full
   * first. A small minimum is left for each, so that new inboxes can hold something.
   */
  public long bytesLeftForOne() {
    return Math.max(small(), limits.sums().messageBytes() - queuedBytesEverywhere());
  }

  /**
   * The maximum of bytes for an inbox beside all others of its tenant: what it holds and what the tenant's limit leaves. The same small minimum is left for each.
   *
   * @param held bytes of its messages
   * @param tenantBytes what all inboxes of the tenant may hold in this range
   */
  public long bytesLeftByTenant(String tenant, long held, long tenantBytes) {
    return tenantBytes == TenantQuota.NONE ? TenantQuota.NONE : Math.max(small(), held + tenantBytes - queuedByTenant.of(tenant));
  }

  private long small() {
    return Math.min(limits.sums().messageBytes() / SMALLS, SMALL_MAX);
  }

  /** Adds a session that was created or restored. */
  public void add(SessionState session) {
    sessions.put(session.key, session);
    memory.addAndGet(memoryOf(session.key, session.user));
  }

  /** Removes a session that has ended. */
  public void remove(SessionState session) {
    sessions.remove(session.key);
    memory.addAndGet(-memoryOf(session.key, session.user));
    ownExchanges.addAndGet(-session.exchangeMemory());
  }

  /**
   * Adds an exchange of a session, or changes what is known of it.
   *
   * @param open null when all that was to be delivered is stored
   */
  public void received(SessionState session, int packetId, @Nullable OpenExchange open) {
    int before = session.exchangeMemory();
    session.received(packetId, open);
    ownExchanges.addAndGet(session.exchangeMemory() - before);
  }

  /** Connected sessions have the message of an exchange. */
  public void delivered(SessionState session, int packetId) {
    int before = session.exchangeMemory();
    session.delivered(packetId);
    ownExchanges.addAndGet(session.exchangeMemory() - before);
  }

  /** Removes an exchange that its client has released. */
  public void released(SessionState session, int packetId) {
    int before = session.exchangeMemory();
    session.released(packetId);
    ownExchanges.addAndGet(session.exchangeMemory() - before);
  }

  /**
   * An equal key whose texts are shared with other sessions where possible: decoding a command creates a new copy of
   * every text.
   */
  public SessionKey sharing(SessionKey key) {
    return new SessionKey(shared(key.tenant()), key.clientId());
  }

  /**
   * An equal user name, shared where possible: with the client identifier if they are equal, or with other sessions if
   * it is short.
   */
  public String sharedUser(SessionKey key, String user) {
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

  /** Takes over the inbox of an ended session or group; its messages are deleted step by step. */
  public void leave(Backlog inbox, InboxDropReason reason) {
    inbox.left = reason;
    leftovers.put(inbox.birth(), inbox);
    summaries.touch(inbox);
  }

  /** Notes that a group's message did not fit into a member's inbox. */
  public void turnedAway(SessionState session, GroupState group) {
    session.backlog().turnedAway = true;
    turnedAway.computeIfAbsent(session, _ -> new HashSet<>()).add(group);
  }

  /** The groups whose messages did not fit into a session's inbox since the last call. */
  public Set<GroupState> takeTurnedAway(SessionState session) {
    var inbox = session.backlogIfAny();
    if (inbox == null || !inbox.turnedAway) return Set.of();
    inbox.turnedAway = false;
    return Objects.requireNonNullElse(turnedAway.remove(session), Set.of());
  }

  public void attach(SessionState session, ConnectionId connection) {
    var owner = new ConnectionId(shared(connection.frontend()), connection.incarnation(), connection.number());
    session.owner = owner;
    onlineCount.incrementAndGet();
    online.add(session, owner);
  }

  public void detach(SessionState session) {
    var owner = session.owner;
    if (owner == null) return;
    session.owner = null;
    onlineCount.decrementAndGet();
    online.remove(session, owner);
  }

  /** Sets how long a session outlives its connection, and so whether it counts as durable. */
  public void stay(SessionState session, long expirySeconds) {
    boolean was = session.expirySeconds() > 0;
    session.expirySeconds(expirySeconds);
    if (was != expirySeconds > 0) countDurable(session.key.tenant(), was ? -1 : 1);
  }

  private void countDurable(String tenant, int step) {
    durableCount.addAndGet(step);
    durableByTenant.count(tenant, step);
  }

  public void expireAt(SessionState session, long deadline) {
    if (session.deadline != SessionState.NEVER) expiring.remove(session);
    session.deadline = deadline;
    if (deadline != SessionState.NEVER) expiring.add(session);
  }
}
