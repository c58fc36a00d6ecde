package dunlin.inbox.range;

import dunlin.inbox.rows.ForeignWills;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys.Parsed;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.inbox.state.Summaries;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Builds the state of a range in memory from its rows, in one pass in the order of their keys. Neither messages nor
 * their headers are read.
 */
final class RangeOpening {
  /*
   * Owner: the thread that opens the range; used once.
   * Bounds: a few rows for each session, subscription and group. The totals of their inboxes are read from Summaries,
   * however many messages there are. Rows of shared subscriptions are kept until all groups have been read.
   * Failure: a row that cannot be read stops the replica. A summary that contradicts the headers is not noticed here,
   * but by `dunlin repair`, which reads all headers.
   */
  private final RangeState state;
  private final SessionLife life;
  private final DurableSubscriptions subscriptions;
  private final Wills wills;
  private final List<Membership> memberships = new ArrayList<>();

  /**
   * A row of a session's membership in a group: its subscription, or the summary of what it has not acknowledged. The
   * group's rows may be in a later shard.
   */
  private record Membership(SessionState session, TopicFilter filter, int kind, byte[] value) {}

  /** The session of the last row, kept because a session has several rows. */
  private @Nullable SessionKey lastSession;

  RangeOpening(RangeState state, SessionLife life, DurableSubscriptions subscriptions, Wills wills) {
    this.state = state;
    this.life = life;
    this.subscriptions = subscriptions;
    this.wills = wills;
  }

  void open(RangeReader rows) {
    state.clear();
    byte[] from = {0};
    while (from != null) from = openFrom(rows, from);
    for (Membership each : memberships) take(each);
    for (GroupState group : state.groups.values()) group.recount(state.limits.groupWindow());
  }

  /** Answers the key to continue at, or null at the end. */
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
    int shard = SessionKeys.shard(key);
    if (shard >= state.interval.shards())
      throw new IllegalStateException("dunlin.inbox.shards is %d, but there is a row of shard %d".formatted(state.interval.shards(), shard));
    if (!state.interval.contains(shard))
      throw new IllegalStateException("a row of shard %d in a range with %d to %d".formatted(shard, state.interval.from(), state.interval.to() - 1));
    byte space = SessionKeys.space(key);
    if (SessionKeys.isOfShard(key)) takeOfShard(shard, space, key, value);
    else takeOfTenant(space, key, value);
  }

  private void takeOfShard(int shard, byte space, byte[] key, byte[] value) {
    switch (space) {
      case SessionKeys.COUNTERS -> state.counters.restore(shard, value);
      case SessionKeys.FENCE -> state.fences.restore(key, value);
      case SessionKeys.LIMITS -> state.readLimits(value);
      default -> throw new IllegalStateException("row of a shard in unknown space " + space);
    }
  }

  private void takeOfTenant(byte space, byte[] key, byte[] value) {
    switch (space) {
      case SessionKeys.LEFT -> {
        var left = Summaries.readLeft(SessionKeys.tenant(key), value);
        state.leftovers.put(SessionKeys.birth(key), left);
        count(left);
      }
      case SessionKeys.GROUP -> takeGroup(Parsed.of(key), value);
      case SessionKeys.SESSION -> takeSession(Parsed.of(key), value);
      case SessionKeys.ACCEPTED_TRANSFER -> {
        var parsed = Parsed.of(key);
        state.acceptedTransfers.restore(new GroupKey(parsed.tenant(), filter(parsed.name())), parsed.rest().getLong(), value);
      }
      case SessionKeys.FOREIGN_EXCHANGE -> {
        var parsed = Parsed.of(key);
        long birth = parsed.rest().getLong();
        int packetId = Short.toUnsignedInt(parsed.rest().getShort());
        if (packetId == 0) state.foreignExchanges.restoreEpoch(sessionKey(parsed), birth, value);
        else state.foreignExchanges.restore(sessionKey(parsed), birth, packetId, value);
      }
      case SessionKeys.FOREIGN_WILL -> {
        var parsed = Parsed.of(key);
        state.foreignWills.restore(new ForeignWills.Will(sessionKey(parsed), parsed.rest().getLong()), value);
      }
      default -> throw new IllegalStateException("row in unknown space " + space);
    }
  }

  private void takeGroup(Parsed parsed, byte[] value) {
    var group = new GroupKey(parsed.tenant(), filter(parsed.name()));
    switch (parsed.kind()) {
      case SessionKeys.GROUP_RECORD -> state.groups.put(group, Groups.readRecord(group, value, state.limits.groupWindow(), state.interval.isWhole()));
      case SessionKeys.GROUP_INBOX -> {
        var inbox = group(group).backlog;
        Summaries.read(value, inbox);
        count(inbox);
      }
      case SessionKeys.GROUP_QUEUE -> {
        var present = group(group);
        if (present.queues == null) throw new IllegalStateException("a member's queue in a group that is not ordered: " + group);
        var queue = Summaries.readQueue(present, parsed.rest().getLong(), value);
        present.queues.add(queue);
        count(queue);
      }
      case SessionKeys.GROUP_TRANSFER -> {
        var present = group(group);
        present.transfer = Summaries.readTransfer(present, parsed.rest().getLong(), value);
        count(present.transfer);
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
        inbox.resetHanded(Backlog.ANY);
      }
      case SessionKeys.SUBSCRIPTION -> {
        var filter = filter(utf8(parsed.rest()));
        if (filter.shared()) memberships.add(new Membership(present(session, key), filter, parsed.kind(), value));
        else subscriptions.restore(present(session, key), filter, value);
      }
      case SessionKeys.EXCHANGE ->
          SessionLife.restoreReceived(state, present(session, key), Short.toUnsignedInt(parsed.rest().getShort()), value);
      case SessionKeys.OUTSTANDING ->
          memberships.add(new Membership(present(session, key), filter(utf8(parsed.rest())), parsed.kind(), value));
      case SessionKeys.WILL -> wills.restore(key, parsed.rest().getLong(), value);
      default -> throw new IllegalStateException("session row of unknown kind " + parsed.kind());
    }
  }

  /**
   * Restores a membership row. Called in the order of the rows, so that a session is a member of its group before its
   * outstanding messages are restored.
   */
  private void take(Membership row) {
    if (row.kind == SessionKeys.SUBSCRIPTION) {
      subscriptions.restore(row.session, row.filter, row.value);
      return;
    }
    var member = group(new GroupKey(row.session.key.tenant(), row.filter)).member(row.session);
    if (member == null) throw new IllegalStateException("messages of a group that the session has left: " + row.session.key);
    for (long sequence : Summaries.readOutstanding(row.value)) member.outstanding.add(sequence);
    member.summed = true;
  }

  private void count(Backlog inbox) {
    state.queued.addAndGet(inbox.count);
    state.queuedBytes.addAndGet(inbox.bytes);
    state.queuedByTenant.count(inbox.tenant, inbox.bytes);
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
