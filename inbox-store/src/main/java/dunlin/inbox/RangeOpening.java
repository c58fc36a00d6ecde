package dunlin.inbox;

import dunlin.inbox.RangeState.Leftover;
import dunlin.inbox.SessionKeys.Parsed;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Builds a range's memory from its rows, in one pass over them in the order of their keys. Messages themselves are not read. */
final class RangeOpening {
  /*
   * Owner: the thread that opens the range; used once. The header of every message is read, because nothing else says how often a
   * body is referred to: about a microsecond each. Bodies and contents are passed over, however large they are.
   * Failure: a row that cannot be read stops the replica.
   */
  private final RangeState state;
  private final SessionLife life;
  private final Subscriptions subscriptions;
  private final Wills wills;
  private final List<RouteKey> routes = new ArrayList<>();

  /** What is kept of the key that the last row had, since many messages follow each other. */
  private @Nullable SessionKey lastSession;

  RangeOpening(RangeState state, SessionLife life, Subscriptions subscriptions, Wills wills) {
    this.state = state;
    this.life = life;
    this.subscriptions = subscriptions;
    this.wills = wills;
  }

  /** Answers the routes that the range needs. */
  List<RouteKey> open(RangeReader rows) {
    state.clear();
    byte[] from = {0};
    while (from != null) from = openFrom(rows, from);
    state.bodyReferences.values().removeIf(references -> references == 1);
    for (GroupState group : state.groups.values()) group.recount(state.limits.groupWindow());
    return routes;
  }

  /** Answers where to go on, or null at the end. */
  private byte @Nullable [] openFrom(RangeReader rows, byte[] from) {
    var next = new AtomicReference<byte @Nullable []>();
    rows.scan(
        from,
        null,
        (key, value) -> {
          byte[] behind = SessionKeys.behindUnread(key);
          next.set(behind);
          if (behind != null) return false;
          take(key, value);
          return true;
        });
    return next.get();
  }

  private void take(byte[] key, byte[] value) {
    if (key[0] == 0) {
      if (key[1] == SessionKeys.COUNTERS[1]) state.readCounters(value);
      else if (key[1] == SessionKeys.LIMITS[1]) state.readLimits(value);
      else throw new IllegalStateException("row of unknown kind " + key[1]);
      return;
    }
    var parsed = Parsed.of(key);
    switch (parsed.space()) {
      case SessionKeys.GROUP -> takeGroup(parsed, value);
      case SessionKeys.SESSION -> takeSession(parsed, value);
      default -> throw new IllegalStateException("row in unknown space " + parsed.space());
    }
  }

  private void takeGroup(Parsed parsed, byte[] value) {
    var group = new GroupKey(parsed.tenant(), filter(parsed.name()));
    switch (parsed.kind()) {
      case SessionKeys.GROUP_RECORD -> state.groups.put(group, Groups.readRecord(group, value, state.limits.groupWindow()));
      case SessionKeys.GROUP_MESSAGE -> {
        var stored = count(value);
        long birth = parsed.rest().getLong();
        long sequence = parsed.rest().getLong();
        var present = state.groups.get(group);
        if (present == null || present.birth != birth) {
          leftover(group.tenant(), SessionKeys.groupMessages(group, birth), birth, sequence, DropReason.GROUP_ENDED, stored);
          return;
        }
        var inbox = present.backlog;
        if (inbox.count == 0) inbox.first = sequence;
        inbox.next = sequence + 1;
        inbox.count++;
        inbox.bytes += stored.size();
      }
      default -> throw new IllegalStateException("group row of unknown kind " + parsed.kind());
    }
  }

  private void takeSession(Parsed parsed, byte[] value) {
    var key = sessionKey(parsed);
    var session = state.sessions.get(key);
    switch (parsed.kind()) {
      case SessionKeys.RECORD -> life.restore(key, value);
      case SessionKeys.CURSOR -> {
        var inbox = present(session, key).backlog();
        inbox.next = Inboxes.readCursor(value);
        inbox.first = inbox.next;
        anyHanded(inbox);
      }
      case SessionKeys.SUBSCRIPTION -> {
        var filter = filter(utf8(parsed.rest()));
        if (subscriptions.restore(present(session, key), filter, value)) {
          routes.add(new RouteKey(present(session, key).bucket, key.tenant(), filter));
        }
      }
      case SessionKeys.EXCHANGE ->
          SessionLife.restoreReceived(present(session, key), Short.toUnsignedInt(parsed.rest().getShort()));
      case SessionKeys.MESSAGE -> {
        var stored = count(value);
        long birth = parsed.rest().getLong();
        long sequence = parsed.rest().getLong();
        if (session == null || session.birth != birth) {
          leftover(key.tenant(), SessionKeys.sessionMessages(key, birth), birth, sequence, DropReason.SESSION_ENDED, stored);
        } else {
          anyHanded(session.backlog());
          SessionLife.restore(state, session, sequence, stored);
        }
      }
      case SessionKeys.WILL -> wills.restore(key, parsed.rest().getLong(), value);
      default -> throw new IllegalStateException("session row of unknown kind " + parsed.kind());
    }
  }

  /** Nobody knows what the connection was handed before this process came: everything may have been. */
  private static void anyHanded(Backlog inbox) {
    inbox.resetHanded(Long.MAX_VALUE - 1);
  }

  private StoredMessage count(byte[] value) {
    var stored = StoredMessage.read(value);
    state.queued.incrementAndGet();
    state.queuedBytes.addAndGet(stored.size());
    if (stored.bodyId() != StoredMessage.OWN) state.bodyReferences.merge(stored.bodyId(), 1, Integer::sum);
    return stored;
  }

  private void leftover(String tenant, byte[] prefix, long birth, long sequence, DropReason reason, StoredMessage stored) {
    var left =
        state.leftovers.computeIfAbsent(
            birth, _ -> new Leftover(new Backlog(tenant, prefix, GroupState.ORIGIN), reason));
    var inbox = left.backlog();
    if (inbox.count == 0) inbox.first = sequence;
    inbox.next = sequence + 1;
    inbox.count++;
    inbox.bytes += stored.size();
  }

  private SessionKey sessionKey(Parsed parsed) {
    var last = lastSession;
    if (last != null && last.clientId().equals(parsed.name()) && last.tenant().equals(parsed.tenant())) return last;
    var key = new SessionKey(parsed.tenant(), parsed.name());
    lastSession = key;
    return key;
  }

  private static SessionState present(@Nullable SessionState session, SessionKey key) {
    if (session == null) throw new IllegalStateException("row of a session that has no record: " + key);
    return session;
  }

  private static TopicFilter filter(String text) {
    return TopicFilter.parse(text).orElseThrow(() -> new IllegalStateException("not a topic filter: " + text));
  }

  private static String utf8(ByteBuffer rest) {
    return StandardCharsets.UTF_8.decode(rest).toString();
  }
}
