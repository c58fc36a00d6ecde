package dunlin.inbox.range;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * How much stands in one inbox, a session's or a group's, and how far a session's is sent; the messages themselves are rows. All of it but
 * {@code handed} and {@code overtaken} can be built again from these, and a start takes it from a row that sums it up.
 */
public sealed class Backlog permits MemberQueue, Transfers.Transfer {
  /*
   * Owner: the applying thread.
   * Bounds: messages and bytes by InboxLimits; Inboxes keeps to them.
   */
  private static final AtomicLongFieldUpdater<Backlog> HANDED = AtomicLongFieldUpdater.newUpdater(Backlog.class, "handed");
  private static final AtomicLongFieldUpdater<Backlog> EXPIRES_NEXT =
      AtomicLongFieldUpdater.newUpdater(Backlog.class, "expiresNext");

  final String tenant;

  /** What the keys of its messages begin with; made for the first message, which many sessions never get. Any thread. */
  private volatile byte @Nullable [] prefix;

  /** Whose inbox it is; null for a group's, and for what an ended session or group has left. */
  final @Nullable SessionState session;

  /** Whose inbox it is; null for a session's. */
  final @Nullable GroupState group;

  /** Why the messages are lost that an ended session or group has left in it; null while that is there. */
  @Nullable InboxDropReason left;

  /** Whether {@link Summaries} is to write its row. */
  boolean touched;

  /** Whether a group has a message for its session that did not fit in here; see {@link RangeState#turnedAway}. */
  boolean turnedAway;

  /** No message has a lower sequence; there may be none with this one. */
  long first;

  /** The sequence of the next message. */
  long next;

  int count;
  long bytes;

  /** No message here expires before this, as the log alone decides; {@link Long#MAX_VALUE} when none does. */
  long soonest = Long.MAX_VALUE;

  /** What may still be delivered although it has left; null while there is nothing. */
  @Nullable Overtaken overtaken;

  /** Messages with a lower sequence may have been sent by an earlier connection of the session. Written by the applying thread alone. */
  volatile long sentBelow;

  /** Higher than any sequence. */
  static final long ANY = Long.MAX_VALUE - 1;

  /** The highest sequence that the session's present connection was handed, by whichever thread; see {@link #handed(long)}. */
  @SuppressWarnings("unused") // through HANDED
  private volatile long handed;

  /** No message here expires before this; see {@link #expires(long)}. */
  @SuppressWarnings("unused") // through EXPIRES_NEXT
  private volatile long expiresNext = Long.MAX_VALUE;

  Backlog(GroupState group, long birth, long origin) {
    tenant = group.key.tenant();
    prefix = SessionKeys.groupMessages(group.key, birth);
    session = null;
    this.group = group;
    first = origin;
    next = origin;
  }

  /** What an ended session or group has left. */
  public Backlog(String tenant, byte[] prefix, InboxDropReason left) {
    this.tenant = tenant;
    this.prefix = prefix;
    this.left = left;
    session = null;
    group = null;
  }

  Backlog(SessionState session, long origin) {
    this.tenant = session.key.tenant();
    this.session = session;
    group = null;
    first = origin;
    next = origin;
    sentBelow = origin;
  }

  /** Notes that the connection was handed a message: it may send it, so a later connection must set DUP. Any thread. */
  public void handed(long sequence) {
    long before = HANDED.get(this);
    while (before < sequence && !HANDED.compareAndSet(this, before, sequence)) before = HANDED.get(this);
  }

  /** The highest sequence handed out. Any thread. */
  public long handed() {
    return HANDED.get(this);
  }

  /** @param sequence {@link #ANY} when it is unknown what the connection was handed, as after a start: that may be everything */
  void resetHanded(long sequence) {
    HANDED.set(this, sequence);
  }

  /** Notes that a message expires at a time, milliseconds since 1970, or {@link StoredMessage#NEVER}. Any thread. */
  public void expires(long at) {
    if (at != StoredMessage.NEVER) EXPIRES_NEXT.accumulateAndGet(this, at, Math::min);
  }

  /** When the next message may expire; that one may be gone. Any thread. */
  public long expiresNext() {
    return EXPIRES_NEXT.get(this);
  }

  /** All that was noted is about to be looked at: who calls this sees all sequences that were given out before. */
  public void expiresNoLonger() {
    EXPIRES_NEXT.getAndSet(this, Long.MAX_VALUE);
  }

  public byte[] key(long sequence) {
    return SessionKeys.message(prefix(), sequence);
  }

  /** What the keys of its messages begin with; it ends with the birth of its session or group. */
  byte[] prefix() {
    byte[] begins = prefix;
    if (begins == null) {
      SessionState owner = Objects.requireNonNull(session);
      prefix = begins = SessionKeys.sessionMessages(owner.key, owner.birth);
    }
    return begins;
  }

  long birth() {
    return SessionKeys.birth(prefix());
  }

  public long first() {
    return first;
  }

  public long next() {
    return next;
  }

  public int count() {
    return count;
  }

  public long bytes() {
    return bytes;
  }

  public long sentBelow() {
    return sentBelow;
  }
}
