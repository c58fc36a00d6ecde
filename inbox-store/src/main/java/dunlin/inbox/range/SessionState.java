package dunlin.inbox.range;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.rows.PacketIds;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardCounters;
import java.util.Collection;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** One session in memory, as its rows tell. */
public final class SessionState {
  /*
   * Owner: the applying thread. What other threads read is volatile or final; they never see a session change half.
   * Bounds: subscriptions by InboxLimits, received packet identifiers 65,535; messages are rows.
   */
  /** Of a session that never expires. */
  static final long NEVER = Long.MAX_VALUE;

  private static final long FIRST_SEQUENCE = 1;

  /** {@code sessionExpirySeconds} that says never. */
  static final long NEVER_SECONDS = 0xFFFF_FFFFL;

  public final SessionKey key;

  /** The epoch in which it began. */
  final long birth;

  /** Where its rows stand. */
  final int shard;

  /** Who made it and alone may have it; empty when that was a client without a name. */
  public final String user;

  /** Written by the applying thread alone, as all that is volatile here. */
  volatile long epoch;

  /** The connection that has it, or null. */
  volatile @Nullable ConnectionId owner;

  /** Made for the first message, which a session that ends with its connection never gets. */
  private volatile @Nullable Backlog backlog;

  /** Its subscriptions: null, the only {@link DurableSubscriber}, or several in a map by their filters' texts. Most sessions have one. */
  private @Nullable Object subscriptions;

  /** In seconds, as an unsigned number; changed by {@link RangeState#stay} alone. */
  private int expiry;

  /** When it ends; {@link #NEVER} while it has a connection. */
  long deadline = NEVER;

  /** Its place in the {@link ExpiryQueue}; -1 while it is not in it. */
  int expiryPlace = -1;

  /** Its place among the {@link OnlineSessions}, which keep it; null while it has no connection. */
  OnlineSessions.@Nullable Place online;

  @Nullable PendingWill will;
  @Nullable PacketIds receivedPacketIds;

  SessionState(SessionKey key, String user, long birth) {
    this.key = key;
    this.user = user;
    this.birth = birth;
    shard = ShardCounters.shardOf(birth);
  }

  /** Its inbox; by the applying thread only. */
  public Backlog backlog() {
    Backlog inbox = backlog;
    if (inbox == null) backlog = inbox = new Backlog(this, FIRST_SEQUENCE);
    return inbox;
  }

  /** Its inbox, or null while there was no message for it. Any thread. */
  public @Nullable Backlog backlogIfAny() {
    return backlog;
  }

  /** The sequence of the next message. */
  long nextSequence() {
    Backlog inbox = backlog;
    return inbox == null ? FIRST_SEQUENCE : inbox.next;
  }

  /** Messages with a lower sequence may have been sent by an earlier connection. */
  public long sentBelow() {
    Backlog inbox = backlog;
    return inbox == null ? FIRST_SEQUENCE : inbox.sentBelow;
  }

  /** Notes that messages with a lower sequence may have been sent; at most the sequence of the next message. */
  public void sentBelow(long sequence) {
    // Without a message yet, this is the first one's sequence.
    if (backlog != null || sequence != FIRST_SEQUENCE) backlog().sentBelow = sequence;
  }

  /** The highest sequence that the present connection was handed. Any thread. */
  public long handed() {
    Backlog inbox = backlog;
    return inbox == null ? 0 : inbox.handed();
  }

  /** It is unknown what its connection was handed: that may be everything. */
  void anyHanded() {
    Backlog inbox = backlog;
    if (inbox != null) inbox.resetHanded(Backlog.ANY);
  }

  /** A connection has come, which was handed nothing yet. */
  void nothingHanded() {
    Backlog inbox = backlog;
    if (inbox != null) inbox.resetHanded(inbox.sentBelow - 1);
  }

  /** How many messages its inbox has. */
  public int waiting() {
    Backlog inbox = backlog;
    return inbox == null ? 0 : inbox.count;
  }

  /** How long it stays behind its connection; {@link #NEVER_SECONDS} for ever. */
  public long expirySeconds() {
    return Integer.toUnsignedLong(expiry);
  }

  /** By {@link RangeState#stay} alone. */
  public void expirySeconds(long seconds) {
    expiry = (int) Math.min(seconds, NEVER_SECONDS);
  }

  /** Its subscriptions in the order of their filters' texts; as they are now, and not to be changed. */
  Collection<DurableSubscriber> subscriptions() {
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
  @Nullable DurableSubscriber subscription(String filter) {
    var all = subscriptions;
    if (all == null) return null;
    if (all instanceof DurableSubscriber only) return only.filter.text().equals(filter) ? only : null;
    return several(all).get(filter);
  }

  @SuppressWarnings("unchecked") // nothing else is ever put there
  private static NavigableMap<String, DurableSubscriber> several(Object subscriptions) {
    return (NavigableMap<String, DurableSubscriber>) subscriptions;
  }

  /** Adds a subscription, of a filter that has none. */
  void subscribe(DurableSubscriber subscriber) {
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

  /** Answers what there was. */
  @Nullable DurableSubscriber unsubscribe(String filter) {
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

  void unsubscribeAll() {
    subscriptions = null;
  }

  boolean hasReceived(int packetId) {
    return receivedPacketIds != null && receivedPacketIds.contains(packetId);
  }

  void addReceived(int packetId) {
    if (receivedPacketIds == null) receivedPacketIds = new PacketIds();
    receivedPacketIds.add(packetId);
  }

  void removeReceived(int packetId) {
    if (receivedPacketIds == null) return;
    receivedPacketIds.remove(packetId);
    if (receivedPacketIds.isEmpty()) receivedPacketIds = null;
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
