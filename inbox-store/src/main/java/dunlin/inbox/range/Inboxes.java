package dunlin.inbox.range;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.rows.BodyReferences;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.Overtaken;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.TenantQuota;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The messages of all inboxes: their headers, their bounds, and the bodies that several inboxes share. */
final class Inboxes {
  /*
   * Owner: the applying thread.
   * Bounds: InboxLimits for each inbox. A full inbox follows its overflow policy; released messages are never dropped
   * for room, because PUBREL is owed for them. Only messages that are given back to a group may exceed the bounds, by
   * at most one window. Room for a message is made among the first ROOM_ROWS_MAX messages; if more of them would have
   * to be dropped, the new message is dropped instead.
   * Costs: the only messages read here are those that are handed on from a group's inbox. Headers that the HeaderCache
   * does not have are read several at a time. A message of one inbox is stored beside its header, under the same
   * sequence; a message of several inboxes, or of a group and so possibly moving between inboxes, is stored in a body
   * row. A step over many headers reads at most SLICE_BYTES_MAX of them. The totals of an inbox are a row of Summaries,
   * which must be told of each inbox that changes.
   */
  private static final int SLICE_BYTES_MAX = 1 << 20;

  static final int ROOM_ROWS_MAX = 4_096;

  private final RangeState state;
  private final HeaderCache headers = new HeaderCache();

  Inboxes(RangeState state) {
    this.state = state;
  }

  /** The header of a message and its sequence. */
  record Row(long sequence, StoredMessage stored) {}

  /** Whether an inbox has room for a message of this size, by its own bounds, that of all inboxes together and the limit of its tenant. */
  boolean fits(Backlog inbox, int size) {
    return fitAll(inbox, 1, size) && inbox.bytes + size <= state.bytesLeftByTenant(inbox.tenant, inbox.bytes, state.elsewhere.tenantBytes());
  }

  /** Whether an inbox has room for all of several messages, whatever the limit of its tenant is. */
  boolean fitAll(Backlog inbox, int messages, long more) {
    long bytes = inbox.bytes + more;
    return inbox.count + messages <= state.limits.messagesMax() && bytes <= state.limits.bytesMax() && bytes <= state.bytesLeftForOne();
  }

  /**
   * Whether so many inboxes of a tenant have room for a message of this size by the bounds that they share, whichever they are and whatever they hold. If not, it matters which of
   * them is asked first.
   */
  boolean fitTogether(String tenant, int inboxes, int size) {
    long all = (long) inboxes * size;
    long tenantBytes = state.elsewhere.tenantBytes();
    return state.bytesLeftForOne() - all >= state.limits.bytesMax() && (tenantBytes == TenantQuota.NONE || tenantBytes - state.queuedByTenant.of(tenant) >= all);
  }

  /** Makes room for a message and reserves it. If there is none, counts the message as dropped or refused. */
  boolean admit(Change change, Backlog inbox, int size, Publication message) {
    change.effects().append();
    if (makeRoom(change, inbox, size)) {
      reserve(inbox, size);
      return true;
    }
    boolean rejects = state.limits.overflow() == OverflowPolicy.REJECT;
    change.effects().drop(rejects ? InboxDropReason.REJECTED : fitAll(inbox, 1, size) ? InboxDropReason.TENANT_FULL : InboxDropReason.NEWEST, inbox, message);
    return false;
  }

  /**
   * Whether there is room, possibly after dropping expired messages at the front, and the oldest ones if the policy
   * says so.
   */
  boolean makeRoom(Change change, Backlog inbox, int size) {
    if (fits(inbox, size)) return true;
    if (size > state.limits.bytesMax()) return false;
    boolean tenantFull = fitAll(inbox, 1, size);
    boolean dropsOldest = state.limits.overflow() == OverflowPolicy.DROP_OLDEST;
    state.summaries.touch(inbox); // the search may move the first sequence
    var row = headers.ceiling(change, inbox, inbox.first);
    for (int rows = 0; rows < ROOM_ROWS_MAX && row != null && !fits(inbox, size); rows++) {
      var stored = row.stored();
      boolean expired = stored.expired(change.now());
      if (!stored.released()) {
        if (!dropsOldest && !expired) break;
        var message = noted(change, inbox, row.sequence(), stored);
        if (expired) change.effects().drop(InboxDropReason.EXPIRED, inbox, message);
        else countOldest(change, inbox, row.sequence(), tenantFull ? InboxDropReason.TENANT_FULL : InboxDropReason.OLDEST, message);
        remove(change, inbox, row.sequence(), stored);
      }
      row = headers.ceiling(change, inbox, row.sequence() + 1);
    }
    boolean fits = fits(inbox, size);
    if (tenantFull && !fits) change.effects().tenantFull();
    return fits;
  }

  /**
   * Counts the oldest message that was dropped for room as lost, unless it was handed to the connection and its client
   * may still acknowledge it; then it counts as one of the oldest if it is lost.
   */
  private void countOldest(Change change, Backlog inbox, long sequence, InboxDropReason reason, @Nullable Publication message) {
    if (reason == InboxDropReason.TENANT_FULL) change.effects().tenantFull();
    var session = inbox.session;
    if (session == null || session.owner == null || sequence > inbox.handed()) {
      change.effects().drop(reason, inbox, message);
      return;
    }
    var overtaken = inbox.overtaken;
    if (overtaken == null) inbox.overtaken = overtaken = new Overtaken();
    if (overtaken.add(sequence)) change.effects().drop(InboxDropReason.OLDEST, inbox, null); // an earlier one, whose content is gone
    else state.overtaken.incrementAndGet();
  }

  private boolean wasOvertaken(Backlog inbox, long sequence) {
    var overtaken = inbox.overtaken;
    if (overtaken == null || !overtaken.remove(sequence)) return false;
    if (overtaken.size() == 0) inbox.overtaken = null;
    state.overtaken.decrementAndGet();
    return true;
  }

  void reserve(Backlog inbox, int size) {
    state.summaries.touch(inbox);
    inbox.count++;
    inbox.bytes += size;
    state.queued.incrementAndGet();
    state.queuedBytes.addAndGet(size);
    state.queuedByTenant.count(inbox.tenant, size);
  }

  /** Leaves out the sequences below this one, which is at least that of the next message. */
  void skipTo(Backlog inbox, long sequence) {
    state.summaries.touch(inbox);
    if (inbox.count == 0) inbox.first = sequence;
    inbox.next = sequence;
  }

  /** Appends a message, with its content unless that is in a body row; its room must be reserved. */
  long write(Change change, Backlog inbox, StoredMessage stored, byte[] header, byte @Nullable [] content) {
    assert (stored.bodyId() == StoredMessage.OWN) == (content != null) : "a message in two places, or none";
    long sequence = inbox.next++;
    byte[] key = inbox.key(sequence);
    change.out().put(key, header);
    if (content != null) change.out().put(SessionKeys.content(key), content);
    if (stored.expiresAt() != StoredMessage.NEVER) inbox.soonest = Math.min(inbox.soonest, stored.expiresAt());
    // This must follow the write of the row: the expiry sweep learns of the message here and finds the row at its next
    // pass at the latest.
    inbox.expires(stored.expiresAt());
    if (inbox.session != null && inbox.session.owner != null) headers.appended(inbox, sequence, stored);
    return sequence;
  }

  /** Writes a message in front of the others; its room must be reserved. */
  void writeFirst(Change change, Backlog inbox, StoredMessage stored) {
    assert stored.bodyId() != StoredMessage.OWN : "a message without its content";
    long sequence = --inbox.first;
    change.out().put(inbox.key(sequence), stored.toBytes());
    headers.prepended(inbox, sequence, stored);
  }

  /** Rewrites the header of a message. */
  void rewrite(Change change, Backlog inbox, long sequence, StoredMessage stored) {
    change.out().put(inbox.key(sequence), stored.toBytes());
    headers.changed(inbox, sequence, stored);
  }

  /** The header of a message, or null if there is no message with this sequence. */
  @Nullable StoredMessage header(Change change, Backlog inbox, long sequence) {
    return headers.get(change, inbox, sequence);
  }

  /** Notes that the connection has ended: the messages that it was handed can no longer be acknowledged. */
  void connectionEnded(Change change, SessionState session) {
    var inbox = session.backlogIfAny();
    if (inbox == null) return;
    headers.forget(inbox);
    var overtaken = inbox.overtaken;
    if (overtaken == null) return;
    inbox.overtaken = null;
    state.overtaken.addAndGet(-overtaken.size());
    for (int i = overtaken.size(); i > 0; i--) change.effects().drop(InboxDropReason.OLDEST, inbox, null);
  }

  /** Clears the cached headers, because the range is opened again. */
  void clear() {
    headers.clear();
  }

  /** Removes a message with its content or its reference to a body. */
  void remove(Change change, Backlog inbox, long sequence, StoredMessage stored) {
    if (stored.bodyId() == StoredMessage.OWN) change.out().delete(SessionKeys.content(inbox.key(sequence)));
    else releaseBody(change, inbox.tenant, stored.bodyId());
    take(change, inbox, sequence, stored);
  }

  /** Removes a message from an inbox and keeps its body, which another inbox takes over. */
  void take(Change change, Backlog inbox, long sequence, StoredMessage stored) {
    state.summaries.touch(inbox);
    change.out().delete(inbox.key(sequence));
    headers.removed(inbox, sequence);
    inbox.count--;
    inbox.bytes -= stored.size();
    state.queued.decrementAndGet();
    state.queuedBytes.addAndGet(-stored.size());
    state.queuedByTenant.count(inbox.tenant, -stored.size());
    if (sequence == inbox.first) inbox.first++;
    var session = inbox.session;
    if (session == null) {
      if (inbox.count > 0) return;
      inbox.next = GroupState.ORIGIN;
      inbox.first = inbox.next;
      inbox.soonest = Long.MAX_VALUE;
      headers.forget(inbox);
      return;
    }
    if (inbox.count == 0) {
      inbox.first = inbox.next; // no sequence is ever used again
      inbox.soonest = Long.MAX_VALUE;
    }
    if (stored.group() != null) releaseMember(change, session, sequence, stored);
    if (inbox.turnedAway) askAgain(change, session);
  }

  /** Asks the groups again whose messages did not fit into an inbox that has room now. */
  private void askAgain(Change change, SessionState session) {
    for (GroupState group : state.takeTurnedAway(session)) {
      if (state.groups.get(group.key) == group && group.drains()) change.effects().drain(group.key);
    }
  }

  private void releaseMember(Change change, SessionState session, long sequence, StoredMessage stored) {
    if (stored.group() == null) return;
    var group = state.groups.get(new GroupKey(session.key.tenant(), stored.group()));
    var member = group == null ? null : group.member(session);
    if (group == null || member == null) return;
    group.released(member, sequence);
    state.summaries.touch(group, member);
    if (group.drains()) change.effects().drain(group.key);
  }

  /** Stores a message body in a shard; this many headers will refer to it. */
  long writeBody(Change change, int shard, String tenant, byte[] message, int references) {
    long id = BodyReferences.id(state.counters.nextBody(change.out(), shard), references > 1);
    change.out().put(SessionKeys.body(tenant, id), message);
    if (references > 1) state.references.begin(tenant, id, references);
    return id;
  }

  private void releaseBody(Change change, String tenant, long id) {
    if (state.references.release(change.out(), tenant, id)) change.out().delete(SessionKeys.body(tenant, id));
  }

  /** The message of a row that is about to be removed, if a trace runs; else null, since reading it costs more than its header. */
  @Nullable Publication noted(Change change, Backlog inbox, long sequence, StoredMessage stored) {
    if (!change.effects().notes()) return null;
    if (stored.bodyId() != StoredMessage.OWN) return body(change, inbox.tenant, stored.bodyId());
    byte[] content = change.out().get(SessionKeys.content(inbox.key(sequence)));
    return content == null ? null : StoredMessage.message(content);
  }

  /** The message of a body row. */
  static Publication body(Change change, String tenant, long id) {
    byte[] body = change.out().get(SessionKeys.body(tenant, id));
    if (body == null) throw new IllegalStateException("message body " + id + " is missing");
    return StoredMessage.message(body);
  }

  /** The first messages of an inbox. */
  static List<Row> first(Change change, Backlog inbox, int max) {
    var rows = new ArrayList<Row>();
    if (inbox.count == 0) return rows;
    int[] bytes = {0};
    change
        .out()
        .scan(
            inbox.key(inbox.first),
            inbox.key(inbox.next),
            (key, value) -> {
              rows.add(new Row(SessionKeys.sequence(key), StoredMessage.read(value)));
              bytes[0] += value.length;
              return rows.size() < max && bytes[0] < SLICE_BYTES_MAX;
            });
    return rows;
  }

  /**
   * Removes a message that its client has acknowledged, or that has expired. A message that is not there was removed
   * before.
   */
  void acknowledge(Change change, SessionState session, long sequence, boolean expired) {
    var stored = header(change, session.backlog(), sequence);
    var message = stored != null && expired ? noted(change, session.backlog(), sequence, stored) : null;
    if (stored != null) remove(change, session.backlog(), sequence, stored);
    else if (!wasOvertaken(session.backlog(), sequence)) return;
    if (expired) change.effects().drop(InboxDropReason.EXPIRED, session.backlog(), message);
    else change.effects().acknowledge();
  }

  /** Records that the client has sent PUBREC: from here on only PUBREL is owed. */
  void received(Change change, SessionState session, long sequence) {
    var stored = header(change, session.backlog(), sequence);
    if (stored != null && !stored.released()) rewrite(change, session.backlog(), sequence, stored.withReleased());
  }

  /** Deletes up to {@code max} messages that an ended session or group has left. Answers how many were deleted. */
  int sweep(Change change, Backlog inbox, int max) {
    var reason = Objects.requireNonNull(inbox.left);
    var rows = first(change, inbox, max);
    for (Row row : rows) {
      var message = noted(change, inbox, row.sequence(), row.stored());
      remove(change, inbox, row.sequence(), row.stored());
      change.effects().drop(reason, inbox, message);
    }
    if (inbox.count > 0 && !rows.isEmpty()) inbox.first = rows.getLast().sequence() + 1;
    return rows.size();
  }
}
