package dunlin.inbox.range;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionFields;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.state.DurableSubscriber;
import dunlin.inbox.state.PendingWill;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a session is created, taken over, kept without a connection, and ended; MQTT 5, sections 3.1.2.4, 3.1.2.11.2 and
 * 4.1.
 */
public final class SessionLife {
  /*
   * Owner: the applying thread.
   * Bounds: ending a session deletes its subscriptions at once; steps of sweep() delete its messages.
   * User: a session belongs to its user from its first CONNECT until it ends, connected or not. This is decided where
   * the log is applied, so if two users connect at the same time, one gets the client identifier and the other is
   * refused before anything changes.
   */
  // The first byte of the row of an exchange.
  private static final int CLOSED_EXCHANGE = 1;
  private static final int OPEN_EXCHANGE = 2;

  private static final byte[] CLOSED = {CLOSED_EXCHANGE};
  private static final int FORMAT = 2;

  private final RangeState state;
  private final Inboxes inboxes;
  private final DurableSubscriptions subscriptions;
  private final Wills wills;

  SessionLife(RangeState state, Inboxes inboxes, DurableSubscriptions subscriptions, Wills wills) {
    this.state = state;
    this.inboxes = inboxes;
    this.subscriptions = subscriptions;
    this.wills = wills;
  }

  Outcome connect(Change change, InboxClient.Connect request) {
    var key = new SessionKey(request.tenant(), request.clientId());
    var before = state.sessions.get(key);
    if (before != null && lives(before, change.now()) && !before.user.equals(request.user())) return new Outcome.OtherUser();
    boolean resumes = before != null && !request.cleanStart() && isResumable(before, change.now());
    boolean adds = request.durable() && (before == null || before.expirySeconds() == 0);
    if (adds && state.durableEverywhere() >= state.limits.sums().sessions()) return new Outcome.Full();
    if (adds && !fitsMemory(key, request.user(), before)) return new Outcome.AllFull();
    var displaced = before != null ? before.owner : null; // also of a session that ends now: what it has published comes first
    if (before != null) {
      if (before.owner != null) {
        change.effects().displace(before.owner);
        if (before.will != null) before.will.displaced = before.owner;
        ownerGoes(change, before);
      }
      settleOldWill(change, before, resumes);
      if (!resumes) end(change, before);
    }
    long epoch = state.counters.nextEpoch(change.out(), state.interval.of(key));
    SessionState session;
    if (before != null && resumes) {
      session = before;
      state.detach(session);
      state.expireAt(session, SessionState.NEVER);
    } else {
      session = new SessionState(state.sharing(key), state.sharedUser(key, request.user()), epoch);
      state.add(session);
    }
    session.epoch = epoch;
    state.stay(session, request.durable() ? request.sessionExpirySeconds() : 0);
    session.nothingHanded();
    state.attach(session, request.connection());
    writeRecord(change, session);
    if (request.will() != null) wills.keep(change, session, request.will());
    if (resumes) subscriptions.online(change, session);
    return new Outcome.Connected(connected(session, resumes, displaced));
  }

  /**
   * Ends the connection of a session that is about to end. It did not report what it was sent, which may be everything.
   */
  private void ownerGoes(Change change, SessionState session) {
    session.sentBelow(session.nextSequence());
    inboxes.connectionEnded(change, session);
  }

  /** Ends a session and its connection; its will becomes due at once. Answers whether there was a session. */
  boolean remove(Change change, SessionKey key) {
    var session = state.sessions.get(key);
    if (session == null) return false;
    if (session.owner != null) {
      change.effects().dismiss(session.owner);
      ownerGoes(change, session);
    }
    settleOldWill(change, session, false);
    end(change, session);
    return true;
  }

  /** Whether there is memory for a new durable session; the memory of the session that it replaces is freed. */
  private boolean fitsMemory(SessionKey key, String user, @Nullable SessionState before) {
    return before != null || state.memoryEverywhere() + RangeState.memoryOf(key, user) <= state.limits.sums().memory();
  }

  /** Whether a session exists. An expired one does not, even if it is not removed yet. */
  static boolean lives(SessionState session, long now) {
    return session.owner != null || session.deadline > now;
  }

  private static boolean isResumable(SessionState session, long now) {
    return session.owner != null ? session.expirySeconds() > 0 : session.deadline > now;
  }

  /** Publishes or discards the will of the previous connection, now that another one has connected. */
  private void settleOldWill(Change change, SessionState session, boolean resumes) {
    var will = session.will;
    if (will == null) return;
    session.will = null;
    boolean waits = will.dueAt != PendingWill.NOT_DUE;
    if (waits && will.dueAt <= change.now()) return;
    boolean publish = !resumes || (!waits && will.delaySeconds == 0);
    if (publish) wills.due(change, will, change.now());
    else wills.discard(change, will);
  }

  private static InboxClient.Connected connected(
      SessionState session, boolean resumed, @Nullable ConnectionId displaced) {
    var list = new ArrayList<InboxClient.Subscription>(session.subscriptionCount());
    for (DurableSubscriber each : session.subscriptions()) {
      list.add(new InboxClient.Subscription(each.filter, each.options));
    }
    long next = session.nextSequence();
    long first = session.waiting() == 0 ? next : session.backlog().first;
    var received = session.receivedPacketIds();
    return new InboxClient.Connected(
        new SessionRef(session.key.tenant(), session.key.clientId(), session.epoch),
        session.birth,
        resumed,
        List.copyOf(list),
        first,
        next,
        received == null ? new int[0] : received.toArray(),
        session.openExchanges(),
        displaced);
  }

  Outcome disconnect(Change change, SessionState session, boolean publishWill, long wantedExpiry, long handed) {
    if (session.owner == null) return new Outcome.Done();
    // If CONNECT set the Session Expiry Interval to 0, DISCONNECT cannot change it (section 3.14.2.2.2).
    long expirySeconds = session.expirySeconds() == 0 ? 0 : wantedExpiry;
    state.stay(session, expirySeconds);
    session.sentBelow(Math.clamp(handed + 1, session.sentBelow(), session.nextSequence()));
    state.detach(session);
    var will = session.will;
    if (will != null) {
      long delay = Math.min(will.delaySeconds, expirySeconds);
      if (publishWill) {
        wills.due(change, will, change.now() + delay * 1000);
      } else {
        wills.discard(change, will);
        session.will = null;
      }
    }
    if (expirySeconds == 0) {
      end(change, session);
      return new Outcome.Done();
    }
    boolean never = expirySeconds == SessionState.NEVER_SECONDS;
    state.expireAt(session, never ? SessionState.NEVER : change.now() + expirySeconds * 1000);
    writeRecord(change, session);
    subscriptions.offline(change, session);
    inboxes.connectionEnded(change, session);
    return new Outcome.Done();
  }

  /** Removes a session with all its state; a will that is due stays until it is published. */
  private void end(Change change, SessionState session) {
    state.stay(session, 0);
    state.detach(session);
    state.expireAt(session, SessionState.NEVER);
    subscriptions.removeAll(change, session);
    change.out().delete(SessionKeys.record(session.shard, session.key));
    change.out().delete(SessionKeys.inbox(session.shard, session.key));
    var received = session.receivedPacketIds();
    if (received != null) {
      for (int id : received.toArray()) change.out().delete(SessionKeys.exchange(session.shard, session.key, id));
    }
    state.remove(session);
    inboxes.connectionEnded(change, session);
    state.takeTurnedAway(session);
    if (session.waiting() > 0) state.leave(session.backlog(), InboxDropReason.SESSION_ENDED);
  }

  /** Ends expired sessions, in up to {@code max} steps plus those of one session. Answers how many steps are left. */
  int expire(Change change, int max) {
    int left = max;
    while (left > 0) {
      var session = state.expiring.first();
      if (session == null || session.deadline > change.now()) break;
      left -= steps(session);
      end(change, session);
      change.effects().expireSession();
    }
    return left;
  }

  /**
   * The maximum number of rows that it takes to end a session or its connection; each message that is given back to a
   * group takes two.
   */
  private int steps(SessionState session) {
    int steps = 1 + session.subscriptionCount();
    var received = session.receivedPacketIds();
    if (received != null) steps += received.size();
    for (DurableSubscriber each : session.subscriptions()) {
      if (!each.filter.shared()) continue;
      var group = state.groups.get(new GroupKey(session.key.tenant(), each.filter));
      var member = group == null ? null : group.member(session);
      if (member != null) steps += 2 * member.outstanding.size();
    }
    return steps;
  }

  /** Deletes messages that ended sessions and groups have left. */
  void sweep(Change change, int max) {
    int left = max;
    while (left > 0 && !state.leftovers.isEmpty()) {
      var next = state.leftovers.firstEntry().getValue();
      int swept = inboxes.sweep(change, next, left);
      left -= Math.max(1, swept);
      // All messages are deleted, or there were fewer than counted.
      if (next.count > 0 && swept > 0) continue;
      state.leftovers.remove(next.birth());
      change.out().delete(SessionKeys.left(next.tenant, next.birth()));
    }
  }

  /**
   * Treats connections of earlier lives of a frontend as lost, in up to {@code max} steps plus those of one session.
   * Answers whether there are more.
   */
  boolean frontendGone(Change change, String frontend, long incarnation, int max) {
    int left = max;
    while (left > 0) {
      var session = state.online.ofEarlierLife(frontend, incarnation);
      if (session == null) return false;
      left -= steps(session);
      lost(change, session);
    }
    return state.online.ofEarlierLife(frontend, incarnation) != null;
  }

  /** Treats a connection as lost if it still has the session. */
  void connectionGone(Change change, SessionKey key, ConnectionId connection) {
    var session = state.sessions.get(key);
    if (session != null && connection.equals(session.owner)) lost(change, session);
  }

  /** Treats the session's connection as lost. It did not report what it was sent, which may be everything. */
  private void lost(Change change, SessionState session) {
    disconnect(change, session, true, session.expirySeconds(), session.nextSequence() - 1);
  }

  /**
   * Records an exchange.
   *
   * @param open null when all that was to be delivered is stored
   */
  static void received(RangeState state, Change change, SessionState session, int packetId, @Nullable OpenExchange open) {
    state.received(session, packetId, open);
    change.out().put(SessionKeys.exchange(session.shard, session.key, packetId), open == null ? CLOSED : row(open));
  }

  private static byte[] row(OpenExchange open) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(OPEN_EXCHANGE);
          out.number(open.epoch());
          SessionFields.writeOrigin(out, open.origin());
        });
  }

  /** Connected sessions have the messages of exchanges that a connection of this epoch, or an earlier one, has recorded. */
  void delivered(Change change, SessionRef ref, List<Integer> packetIds) {
    var session = state.sessions.get(SessionKey.of(ref));
    if (session == null) return;
    for (int packetId : packetIds) {
      var open = session.openExchange(packetId);
      if (open == null || open.epoch() > ref.epoch()) continue; // a later message with the same packet identifier
      state.delivered(session, packetId);
      change.out().put(SessionKeys.exchange(session.shard, session.key, packetId), CLOSED);
    }
  }

  Outcome released(Change change, SessionState session, int packetId) {
    state.released(session, packetId);
    change.out().delete(SessionKeys.exchange(session.shard, session.key, packetId));
    return new Outcome.Done();
  }

  static void writeRecord(Change change, SessionState session) {
    change
        .out()
        .put(
            SessionKeys.record(session.shard, session.key),
            FieldWriter.bytesOf(
                fields -> {
                  fields.octet(FORMAT);
                  fields.number(session.birth);
                  fields.text(session.user);
                  fields.number(session.epoch);
                  fields.number(session.expirySeconds());
                  fields.number(session.deadline);
                  fields.number(session.sentBelow());
                  var owner = session.owner;
                  fields.flag(owner != null);
                  if (owner != null) SessionFields.writeConnection(fields, owner);
                }));
  }

  private static void expectFormat(int format) {
    if (format != FORMAT) throw new IllegalStateException("session record of unknown format " + format);
  }

  /**
   * What a session's record says.
   *
   * @param deadline when it ends, in milliseconds since 1970; {@link SessionState#NEVER} while it has a connection, and when it never expires
   * @param owner its connection; null while it has none
   */
  public record Stored(long birth, String user, long epoch, long expirySeconds, long deadline, long sentBelow, @Nullable ConnectionId owner) {
    /** Whether the session exists. An expired one does not, even if it is not removed yet. */
    public boolean lives(long now) {
      return owner != null || deadline > now;
    }
  }

  /** Reads a record. */
  public static Stored read(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          expectFormat(in.octet());
          return new Stored(
              in.number(), in.text(), in.number(), in.number(), in.number(), in.number(), in.flag() ? SessionFields.readConnection(in) : null);
        });
  }

  /** Restores a session from its record. */
  void restore(SessionKey key, byte[] value) {
    Stored stored = read(value);
    var session = new SessionState(state.sharing(key), state.sharedUser(key, stored.user()), stored.birth());
    session.epoch = stored.epoch();
    state.stay(session, stored.expirySeconds());
    state.expireAt(session, stored.deadline());
    session.sentBelow(stored.sentBelow());
    if (stored.owner() != null) state.attach(session, stored.owner());
    state.add(session);
  }

  static void restoreReceived(RangeState state, SessionState session, int packetId, byte[] value) {
    FieldReader.read(
        value,
        in -> {
          int kind = in.octet();
          if (kind == OPEN_EXCHANGE) state.received(session, packetId, new OpenExchange(packetId, in.number(), SessionFields.readOrigin(in)));
          else if (kind == CLOSED_EXCHANGE) state.received(session, packetId, null);
          else throw new IllegalStateException("an exchange of unknown kind " + kind);
          return session;
        });
  }
}
