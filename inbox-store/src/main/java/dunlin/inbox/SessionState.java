package dunlin.inbox;

import java.util.BitSet;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** One session in memory, as its rows tell. */
final class SessionState {
  /*
   * Owner: the applying thread. What other threads read is volatile or final; they never see a session change half.
   * Bounds: subscriptions by InboxLimits, received packet identifiers 65,535; messages are rows.
   */
  /** Of a session that never expires. */
  static final long NEVER = Long.MAX_VALUE;

  private static final long FIRST_SEQUENCE = 1;

  /** {@code sessionExpirySeconds} that says never. */
  static final long NEVER_SECONDS = 0xFFFF_FFFFL;

  /** What most sessions that end with their connection have. */
  private static final Map<String, Subscriber> NONE = Map.of();

  final SessionKey key;

  /** The epoch in which it began. */
  final long birth;

  final int bucket;

  /** Written by the applying thread alone, as all that is volatile here. */
  volatile long epoch;

  /** The connection that has it, or null. */
  volatile @Nullable ConnectionId owner;

  /** Made for the first message, which a session that ends with its connection never gets. */
  private volatile @Nullable Backlog backlog;

  /**
   * Subscriptions by their filters' texts, in their order; not to be changed but through {@link #subscribe} and {@link #unsubscribe}.
   * Most sessions have one, for which a map of one entry takes a fifth of a tree.
   */
  Map<String, Subscriber> subscriptions = NONE;

  /** Changed by {@link RangeState#stay} alone. */
  long expirySeconds;

  /** When it ends; {@link #NEVER} while it has a connection. */
  long deadline = NEVER;

  /** Its neighbours among the {@link OnlineSessions}, which keep them. */
  @Nullable SessionState previousOnline;

  @Nullable SessionState nextOnline;

  @Nullable PendingWill will;
  @Nullable BitSet receivedPacketIds;

  SessionState(SessionKey key, long birth, int shards) {
    this.key = key;
    this.birth = birth;
    bucket = key.bucket(shards);
  }

  /** Its inbox; by the applying thread only. */
  Backlog backlog() {
    Backlog inbox = backlog;
    if (inbox == null) backlog = inbox = new Backlog(this, FIRST_SEQUENCE);
    return inbox;
  }

  /** Its inbox, or null while there was no message for it. Any thread. */
  @Nullable Backlog backlogIfAny() {
    return backlog;
  }

  /** The sequence of the next message. */
  long nextSequence() {
    Backlog inbox = backlog;
    return inbox == null ? FIRST_SEQUENCE : inbox.next;
  }

  /** Messages with a lower sequence may have been sent by an earlier connection. */
  long sentBelow() {
    Backlog inbox = backlog;
    return inbox == null ? FIRST_SEQUENCE : inbox.sentBelow;
  }

  /** Notes that messages with a lower sequence may have been sent; at most the sequence of the next message. */
  void sentBelow(long sequence) {
    // Without a message yet, this is the first one's sequence.
    if (backlog != null || sequence != FIRST_SEQUENCE) backlog().sentBelow = sequence;
  }

  /** The highest sequence that the present connection was handed. Any thread. */
  long handed() {
    Backlog inbox = backlog;
    return inbox == null ? 0 : inbox.handed();
  }

  /** A connection has come, which was handed nothing yet. */
  void nothingHanded() {
    Backlog inbox = backlog;
    if (inbox != null) inbox.resetHanded(inbox.sentBelow - 1);
  }

  /** How many messages its inbox has. */
  int waiting() {
    Backlog inbox = backlog;
    return inbox == null ? 0 : inbox.count;
  }

  void subscribe(String filter, Subscriber subscriber) {
    if (subscriptions.isEmpty()) {
      subscriptions = Map.of(filter, subscriber);
      return;
    }
    if (subscriptions.size() == 1) subscriptions = new TreeMap<>(subscriptions);
    subscriptions.put(filter, subscriber);
  }

  /** Answers what there was. */
  @Nullable Subscriber unsubscribe(String filter) {
    var removed = subscriptions.get(filter);
    if (removed == null) return null;
    switch (subscriptions.size()) {
      case 1 -> subscriptions = NONE;
      case 2 -> {
        subscriptions.remove(filter);
        subscriptions = Map.copyOf(subscriptions);
      }
      default -> subscriptions.remove(filter);
    }
    return removed;
  }

  void unsubscribeAll() {
    subscriptions = NONE;
  }

  boolean hasReceived(int packetId) {
    return receivedPacketIds != null && receivedPacketIds.get(packetId);
  }

  void addReceived(int packetId) {
    if (receivedPacketIds == null) receivedPacketIds = new BitSet();
    receivedPacketIds.set(packetId);
  }

  void removeReceived(int packetId) {
    if (receivedPacketIds == null) return;
    receivedPacketIds.clear(packetId);
    if (receivedPacketIds.isEmpty()) receivedPacketIds = null;
  }
}
