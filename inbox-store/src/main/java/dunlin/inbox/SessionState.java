package dunlin.inbox;

import java.util.BitSet;
import java.util.Collections;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/** One session in memory; all of it but {@code handed} can be built again from its rows. */
final class SessionState {
  /*
   * Owner: the applying thread. What other threads read is volatile or final; they never see a session change half.
   * Bounds: subscriptions by InboxLimits, received packet identifiers 65,535; messages are rows.
   */
  /** Of a session that never expires. */
  static final long NEVER = Long.MAX_VALUE;

  /** {@code sessionExpirySeconds} that says never. */
  static final long NEVER_SECONDS = 0xFFFF_FFFFL;

  /** What most sessions that end with their connection have. */
  private static final NavigableMap<String, Subscriber> NONE = Collections.emptyNavigableMap();

  private static final AtomicLongFieldUpdater<SessionState> HANDED =
      AtomicLongFieldUpdater.newUpdater(SessionState.class, "handed");

  final SessionKey key;

  /** The epoch in which it began. */
  final long birth;

  final int bucket;

  /** Written by the applying thread alone, as all that is volatile here but {@link #handed}. */
  volatile long epoch;

  /** The connection that has it, or null. */
  volatile @Nullable ConnectionId owner;

  /** Messages with a lower sequence may have been sent by an earlier connection. */
  volatile long sentBelow = 1;

  /** The highest sequence that the present connection was handed, by whichever thread; see {@link #handed(long)}. */
  @SuppressWarnings("unused") // through HANDED
  private volatile long handed;

  final Backlog backlog;

  /** Subscriptions by their filters' texts; not to be changed but through {@link #subscribe} and {@link #unsubscribe}. */
  NavigableMap<String, Subscriber> subscriptions = NONE;

  /** Changed by {@link RangeState#stay} alone. */
  long expirySeconds;

  /** When it ends; {@link #NEVER} while it has a connection. */
  long deadline = NEVER;

  @Nullable PendingWill will;
  @Nullable BitSet receivedPacketIds;

  SessionState(SessionKey key, long birth, int shards) {
    this.key = key;
    this.birth = birth;
    bucket = key.bucket(shards);
    backlog = new Backlog(this, 1);
  }

  /** Notes that the connection was handed a message: it may send it, so a later connection must set DUP. Any thread. */
  void handed(long sequence) {
    long before = HANDED.get(this);
    while (before < sequence && !HANDED.compareAndSet(this, before, sequence)) before = HANDED.get(this);
  }

  /** The highest sequence handed out. Any thread. */
  long handed() {
    return HANDED.get(this);
  }

  void resetHanded(long sequence) {
    HANDED.set(this, sequence);
  }

  void subscribe(String filter, Subscriber subscriber) {
    if (subscriptions.isEmpty()) subscriptions = new TreeMap<>();
    subscriptions.put(filter, subscriber);
  }

  /** Answers what there was. */
  @Nullable Subscriber unsubscribe(String filter) {
    if (subscriptions.isEmpty()) return null;
    var removed = subscriptions.remove(filter);
    if (subscriptions.isEmpty()) subscriptions = NONE;
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
