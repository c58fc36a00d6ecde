package dunlin.inbox.state;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * How many messages one inbox of a session or group holds, and how far a session's inbox was sent. The messages
 * themselves are rows. Everything but {@code handed} and {@code overtaken} can be derived from these, and a start reads
 * it from a summary row.
 */
public sealed class Backlog permits MemberQueue, Transfer {
  /*
   * Owner: the applying thread.
   * Bounds: messages and bytes by InboxLimits, which Inboxes enforces.
   */
  private static final AtomicLongFieldUpdater<Backlog> HANDED = AtomicLongFieldUpdater.newUpdater(Backlog.class, "handed");
  private static final AtomicLongFieldUpdater<Backlog> EXPIRES_NEXT =
      AtomicLongFieldUpdater.newUpdater(Backlog.class, "expiresNext");

  public final String tenant;

  /**
   * The prefix of the keys of its messages; created for the first message, which many sessions never get. Any thread.
   */
  private volatile byte @Nullable [] prefix;

  /** The session whose inbox it is; null for a group's inbox, and for what an ended session or group has left. */
  public final @Nullable SessionState session;

  /** The group whose inbox it is; null for a session's inbox. */
  final @Nullable GroupState group;

  /** Why the remaining messages are lost, once the session or group has ended; null before that. */
  public @Nullable InboxDropReason left;

  /** Whether {@link Summaries} has to write its row. */
  boolean touched;

  /**
   * Whether a group has a message for its session that did not fit in this inbox; see {@link RangeState#turnedAway}.
   */
  public boolean turnedAway;

  /** No message has a lower sequence; there need not be one with this sequence. */
  public long first;

  /** The sequence of the next message. */
  public long next;

  public int count;
  public long bytes;

  /** No message here expires before this time, derived from the log alone; {@link Long#MAX_VALUE} if none expires. */
  public long soonest = Long.MAX_VALUE;

  /** Messages that have left the inbox but may still be delivered; null while there are none. */
  public @Nullable Overtaken overtaken;

  /** Messages with a lower sequence may have been sent by an earlier connection of the session. Written by the applying thread alone. */
  volatile long sentBelow;

  /** Higher than any sequence. */
  public static final long ANY = Long.MAX_VALUE - 1;

  /** The highest sequence that any thread handed to the session's present connection; see {@link #handed(long)}. */
  @SuppressWarnings("unused") // through HANDED
  private volatile long handed;

  /** No message here expires before this time; see {@link #expires(long)}. */
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

  /** The messages that an ended session or group has left. */
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

  /**
   * Records that a message was handed to the connection, which may send it, so a later connection must set DUP. Any
   * thread.
   */
  public void handed(long sequence) {
    long before = HANDED.get(this);
    while (before < sequence && !HANDED.compareAndSet(this, before, sequence)) before = HANDED.get(this);
  }

  /** The highest sequence handed out. Any thread. */
  public long handed() {
    return HANDED.get(this);
  }

  /**
   * @param sequence {@link #ANY} if it is unknown what was handed to the connection, as after a start; it may be
   *     everything
   */
  public void resetHanded(long sequence) {
    HANDED.set(this, sequence);
  }

  /** Records that a message expires at a time, milliseconds since 1970, or {@link StoredMessage#NEVER}. Any thread. */
  public void expires(long at) {
    if (at != StoredMessage.NEVER) EXPIRES_NEXT.accumulateAndGet(this, at, Math::min);
  }

  /** When the next message may expire; that message may have been removed already. Any thread. */
  public long expiresNext() {
    return EXPIRES_NEXT.get(this);
  }

  /**
   * Resets the next expiry before the inbox is searched for expired messages. The caller then sees all sequences that
   * were given out before.
   */
  public void expiresNoLonger() {
    EXPIRES_NEXT.getAndSet(this, Long.MAX_VALUE);
  }

  public byte[] key(long sequence) {
    return SessionKeys.message(prefix(), sequence);
  }

  /** The prefix of the keys of its messages; it ends with the birth of its session or group. */
  byte[] prefix() {
    byte[] begins = prefix;
    if (begins == null) {
      SessionState owner = Objects.requireNonNull(session);
      prefix = begins = SessionKeys.sessionMessages(owner.key, owner.birth);
    }
    return begins;
  }

  public long birth() {
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
