package dunlin.inbox.state;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.rows.PacketIds;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardCounters;
import java.util.Collection;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The state of one session in memory, derived from its rows. */
public final class SessionState {
  /*
   * Owner: the applying thread. Fields that other threads read are volatile or final; they never see a half-done
   * change.
   * Bounds: subscriptions by InboxLimits, received packet identifiers 65,535; messages are rows.
   */
  /** The deadline of a session that never expires. */
  public static final long NEVER = Long.MAX_VALUE;

  private static final long FIRST_SEQUENCE = 1;

  /** The value of {@code sessionExpirySeconds} for never. */
  public static final long NEVER_SECONDS = 0xFFFF_FFFFL;

  public final SessionKey key;

  /** The epoch in which it began. */
  public final long birth;

  /** The shard of its rows. */
  public final int shard;

  /** The user who created it; no other user may take it over. Empty if the client had no user name. */
  public final String user;

  /** Written by the applying thread only, like all volatile fields here. */
  public volatile long epoch;

  /** The connection that owns the session, or null. */
  public volatile @Nullable ConnectionId owner;

  /** Created for the first message, which a session that ends with its connection never gets. */
  private volatile @Nullable Backlog backlog;

  /** Its subscriptions: null, the only {@link DurableSubscriber}, or several in a map by their filters' texts. Most sessions have one. */
  private @Nullable Object subscriptions;

  /** In seconds, as an unsigned number; changed only by {@link RangeState#stay}. */
  private int expiry;

  /** When the session ends; {@link #NEVER} while it has a connection. */
  public long deadline = NEVER;

  /** Its index in the {@link ExpiryQueue}; -1 while it is not in the queue. */
  public int expiryPlace = -1;

  /** Its place in {@link OnlineSessions}, which sets it; null while it has no connection. */
  OnlineSessions.@Nullable Place online;

  public @Nullable PendingWill will;

  /** The exchanges that its client has begun and not released; null for none. */
  private volatile @Nullable SessionExchanges exchanges;

  public SessionState(SessionKey key, String user, long birth) {
    this.key = key;
    this.user = user;
    this.birth = birth;
    shard = ShardCounters.shardOf(birth);
  }

  /** Its inbox, created if necessary; on the applying thread only. */
  public Backlog backlog() {
    Backlog inbox = backlog;
    if (inbox == null) backlog = inbox = new Backlog(this, FIRST_SEQUENCE);
    return inbox;
  }

  /** Its inbox, or null if there was no message for it yet. Any thread. */
  public @Nullable Backlog backlogIfAny() {
    return backlog;
  }

  /** The sequence of the next message. */
  public long nextSequence() {
    Backlog inbox = backlog;
    return inbox == null ? FIRST_SEQUENCE : inbox.next;
  }

  /** Messages with a lower sequence may have been sent by an earlier connection. */
  public long sentBelow() {
    Backlog inbox = backlog;
    return inbox == null ? FIRST_SEQUENCE : inbox.sentBelow;
  }

  /** Records that messages with a lower sequence may have been sent; at most the sequence of the next message. */
  public void sentBelow(long sequence) {
    // Without a message so far, this is the sequence of the first one.
    if (backlog != null || sequence != FIRST_SEQUENCE) backlog().sentBelow = sequence;
  }

  /** The highest sequence that was handed to the present connection. Any thread. */
  public long handed() {
    Backlog inbox = backlog;
    return inbox == null ? 0 : inbox.handed();
  }

  /** Records that it is unknown what was handed to its connection; it may be everything. */
  public void anyHanded() {
    Backlog inbox = backlog;
    if (inbox != null) inbox.resetHanded(Backlog.ANY);
  }

  /** Records that a new connection was handed nothing yet. */
  public void nothingHanded() {
    Backlog inbox = backlog;
    if (inbox != null) inbox.resetHanded(inbox.sentBelow - 1);
  }

  /** The number of messages in its inbox. */
  public int waiting() {
    Backlog inbox = backlog;
    return inbox == null ? 0 : inbox.count;
  }

  /** How long it outlives its connection; {@link #NEVER_SECONDS} for ever. */
  public long expirySeconds() {
    return Integer.toUnsignedLong(expiry);
  }

  /** Called only by {@link RangeState#stay}. */
  public void expirySeconds(long seconds) {
    expiry = (int) Math.min(seconds, NEVER_SECONDS);
  }

  /** Its present subscriptions in the order of their filters' texts; a view that must not be changed. */
  public Collection<DurableSubscriber> subscriptions() {
    var all = subscriptions;
    if (all == null) return List.of();
    return all instanceof DurableSubscriber only ? List.of(only) : several(all).values();
  }

  public int subscriptionCount() {
    var all = subscriptions;
    if (all == null) return 0;
    return all instanceof DurableSubscriber ? 1 : several(all).size();
  }

  /** The subscription of a filter, or null. */
  public @Nullable DurableSubscriber subscription(String filter) {
    var all = subscriptions;
    if (all == null) return null;
    if (all instanceof DurableSubscriber only) return only.filter.text().equals(filter) ? only : null;
    return several(all).get(filter);
  }

  @SuppressWarnings("unchecked") // the field never holds any other map
  private static NavigableMap<String, DurableSubscriber> several(Object subscriptions) {
    return (NavigableMap<String, DurableSubscriber>) subscriptions;
  }

  /** Adds a subscription for a filter that has none yet. */
  public void subscribe(DurableSubscriber subscriber) {
    var before = subscriptions;
    if (before == null) {
      subscriptions = subscriber;
      return;
    }
    NavigableMap<String, DurableSubscriber> all;
    if (before instanceof DurableSubscriber only) {
      all = new TreeMap<>();
      all.put(only.filter.text(), only);
      subscriptions = all;
    } else {
      all = several(before);
    }
    all.put(subscriber.filter.text(), subscriber);
  }

  /** Removes a subscription. Answers the removed one, or null. */
  public @Nullable DurableSubscriber unsubscribe(String filter) {
    var removed = subscription(filter);
    var all = subscriptions;
    if (removed == null || all == null) return null;
    if (all instanceof DurableSubscriber) {
      subscriptions = null;
      return removed;
    }
    several(all).remove(filter);
    if (several(all).size() == 1) subscriptions = several(all).firstEntry().getValue();
    return removed;
  }

  public void unsubscribeAll() {
    subscriptions = null;
  }

  /** The packet identifiers of its exchanges; null for none. */
  public @Nullable PacketIds receivedPacketIds() {
    SessionExchanges all = exchanges;
    return all == null ? null : all.packetIds;
  }

  public boolean hasReceived(int packetId) {
    SessionExchanges all = exchanges;
    return all != null && all.packetIds.contains(packetId);
  }

  /** Estimated memory of its exchanges. Any thread. */
  public int exchangeMemory() {
    SessionExchanges all = exchanges;
    return all == null ? 0 : all.memory();
  }

  /**
   * Called only by {@link RangeState#received}.
   *
   * @param open null when all that was to be delivered is stored
   */
  void received(int packetId, @Nullable OpenExchange open) {
    SessionExchanges all = exchanges;
    if (all == null) exchanges = all = new SessionExchanges();
    all.add(packetId);
    if (open != null) all.open(open);
  }

  /** Called only by {@link RangeState#released}. */
  void released(int packetId) {
    SessionExchanges all = exchanges;
    if (all == null) return;
    all.remove(packetId);
    if (all.packetIds.isEmpty()) exchanges = null;
  }

  /** The exchanges whose messages connected sessions may not have, by packet identifier. */
  public List<OpenExchange> openExchanges() {
    SessionExchanges all = exchanges;
    return all == null ? List.of() : all.open();
  }

  public @Nullable OpenExchange openExchange(int packetId) {
    SessionExchanges all = exchanges;
    return all == null ? null : all.open(packetId);
  }

  /** Called only by {@link RangeState#delivered}. */
  void delivered(int packetId) {
    SessionExchanges all = exchanges;
    if (all != null) all.close(packetId);
  }

  public long birth() {
    return birth;
  }

  public long epoch() {
    return epoch;
  }

  public @Nullable ConnectionId owner() {
    return owner;
  }
}
