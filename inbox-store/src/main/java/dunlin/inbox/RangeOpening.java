package dunlin.inbox;

import dunlin.inbox.SessionKeys.Parsed;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Builds a range's memory from its rows, in one pass over them in the order of their keys. Neither messages nor their headers are read. */
final class RangeOpening {
  /*
   * Owner: the thread that opens the range; used once.
   * Bounds: a few rows for each session, subscription and group. What waits in their inboxes is taken from Summaries, however much it is.
   * Failure: a row that cannot be read stops the replica. A summary that says something else than the headers is not noticed here, but
   * by `dunlin repair`, which reads all of them.
   */
  private final RangeState state;
  private final SessionLife life;
  private final DurableSubscriptions subscriptions;
  private final Wills wills;
  private final List<RouteKey> routes = new ArrayList<>();

  /** What is kept of the key that the last row had, since a session has several. */
  private @Nullable SessionKey lastSession;

  RangeOpening(RangeState state, SessionLife life, DurableSubscriptions subscriptions, Wills wills) {
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
      else if (key[1] == SessionKeys.FENCE) state.fences.restore(key, value);
      else throw new IllegalStateException("row of unknown kind " + key[1]);
      return;
    }
    byte space = SessionKeys.space(key);
    switch (space) {
      case SessionKeys.LEFT -> {
        var left = Summaries.readLeft(SessionKeys.tenant(key), value);
        state.leftovers.put(SessionKeys.birth(key), left);
        count(left);
      }
      case SessionKeys.GROUP -> takeGroup(Parsed.of(key), value);
      case SessionKeys.SESSION -> takeSession(Parsed.of(key), value);
      default -> throw new IllegalStateException("row in unknown space " + space);
    }
  }

  private void takeGroup(Parsed parsed, byte[] value) {
    var group = new GroupKey(parsed.tenant(), filter(parsed.name()));
    switch (parsed.kind()) {
      case SessionKeys.GROUP_RECORD -> state.groups.put(group, Groups.readRecord(group, value, state.limits.groupWindow()));
      case SessionKeys.GROUP_INBOX -> {
        var inbox = group(group).backlog;
        Summaries.read(value, inbox);
        count(inbox);
      }
      case SessionKeys.GROUP_QUEUE -> {
        var present = group(group);
        if (present.queues == null) throw new IllegalStateException("a member's queue in a group without order: " + group);
        var queue = Summaries.readQueue(present, parsed.rest().getLong(), value);
        present.queues.add(queue);
        count(queue);
      }
      default -> throw new IllegalStateException("group row of unknown kind " + parsed.kind());
    }
  }

  private void takeSession(Parsed parsed, byte[] value) {
    var key = sessionKey(parsed);
    var session = state.sessions.get(key);
    switch (parsed.kind()) {
      case SessionKeys.RECORD -> life.restore(key, value);
      case SessionKeys.INBOX -> {
        var inbox = present(session, key).backlog();
        Summaries.read(value, inbox);
        count(inbox);
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
      case SessionKeys.OUTSTANDING -> {
        var member = group(new GroupKey(key.tenant(), filter(utf8(parsed.rest())))).member(present(session, key));
        if (member == null) throw new IllegalStateException("messages of a group that the session has left: " + key);
        for (long sequence : Summaries.readOutstanding(value)) member.outstanding.add(sequence);
        member.summed = true;
      }
      case SessionKeys.WILL -> wills.restore(key, parsed.rest().getLong(), value);
      default -> throw new IllegalStateException("session row of unknown kind " + parsed.kind());
    }
  }

  /** Nobody knows what the connection was handed before this process came: everything may have been. */
  private static void anyHanded(Backlog inbox) {
    inbox.resetHanded(Long.MAX_VALUE - 1);
  }

  private void count(Backlog inbox) {
    state.queued.addAndGet(inbox.count);
    state.queuedBytes.addAndGet(inbox.bytes);
  }

  private GroupState group(GroupKey key) {
    var group = state.groups.get(key);
    if (group == null) throw new IllegalStateException("row of a group that has no record: " + key);
    return group;
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
