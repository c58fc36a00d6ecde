package dunlin.inbox;

import dunlin.inbox.RangeState.Leftover;
import dunlin.inbox.SessionKeys.Parsed;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Builds a range's memory from its rows, in one pass over them in the order of their keys. */
final class RangeOpening {
  /*
   * Owner: the thread that opens the range; used once. Every message row is read, because nothing else says how often a body
   * is referred to: about a microsecond each.
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
    var bodies = new HashSet<Long>();
    rows.scan(
        new byte[] {0},
        null,
        (key, value) -> {
          take(key, value, bodies);
          return true;
        });
    for (long id : bodies) {
      if (!state.bodyReferences.containsKey(id)) throw new IllegalStateException("message body " + id + " is of no inbox");
    }
    for (GroupState group : state.groups.values()) group.recount(state.limits.groupWindow());
    return routes;
  }

  private void take(byte[] key, byte[] value, Set<Long> bodies) {
    if (key[0] == 0) {
      if (key[1] == SessionKeys.COUNTERS[1]) state.readCounters(value);
      else if (key[1] == SessionKeys.LIMITS[1]) state.readLimits(value);
      else throw new IllegalStateException("row of unknown kind " + key[1]);
      return;
    }
    var parsed = Parsed.of(key);
    switch (parsed.space()) {
      case SessionKeys.BODY -> bodies.add(parsed.rest().getLong());
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
          leftover(group.tenant(), SessionKeys.groupMessages(group, birth), birth, DropReason.GROUP_ENDED, stored);
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
        // Nobody knows what the connection was handed before this process came: everything may have been.
        inbox.resetHanded(Long.MAX_VALUE - 1);
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
        if (session == null || session.birth != birth) {
          leftover(key.tenant(), SessionKeys.sessionMessages(key, birth), birth, DropReason.SESSION_ENDED, stored);
        } else {
          SessionLife.restore(state, session, parsed.rest().getLong(), stored);
        }
      }
      case SessionKeys.WILL -> wills.restore(key, parsed.rest().getLong(), value);
      default -> throw new IllegalStateException("session row of unknown kind " + parsed.kind());
    }
  }

  private StoredMessage count(byte[] value) {
    var stored = StoredMessage.header(value);
    state.queued.incrementAndGet();
    state.queuedBytes.addAndGet(stored.size());
    if (stored.bodyId() != StoredMessage.INLINE) state.bodyReferences.merge(stored.bodyId(), 1, Integer::sum);
    return stored;
  }

  private void leftover(String tenant, byte[] prefix, long birth, DropReason reason, StoredMessage stored) {
    var left =
        state.leftovers.computeIfAbsent(
            birth, _ -> new Leftover(new Backlog(tenant, prefix, GroupState.ORIGIN), reason));
    left.backlog().count++;
    left.backlog().bytes += stored.size();
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
