package dunlin.inbox;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The message rows of all inboxes: their bounds, and the bodies that several of them share. */
final class Inboxes {
  /*
   * Owner: the applying thread.
   * Bounds: InboxLimits for each inbox. Full: by its policy; released messages are never dropped for room, because PUBREL
   * is owed for them. Only what is given back to a group may go above, by at most one window.
   */
  private static final int FORMAT = 1;

  private final RangeState state;

  Inboxes(RangeState state) {
    this.state = state;
  }

  /** A message row and where it stands. */
  record Row(long sequence, byte[] value) {}

  boolean fits(Backlog inbox, int size) {
    return inbox.count < state.limits.messagesMax() && inbox.bytes + size <= state.limits.bytesMax();
  }

  /** Makes room for a message and reserves it, or counts what did not find any. */
  boolean admit(Change change, Backlog inbox, int size) {
    change.effects().append();
    if (makeRoom(change, inbox, size)) {
      reserve(inbox, size);
      return true;
    }
    boolean rejects = state.limits.overflow() == OverflowPolicy.REJECT;
    change.effects().drop(rejects ? DropReason.REJECTED : DropReason.NEWEST);
    return false;
  }

  /** Whether there is room now; drops expired messages at the front for it, and the oldest where the policy says so. */
  boolean makeRoom(Change change, Backlog inbox, int size) {
    if (fits(inbox, size)) return true;
    if (size > state.limits.bytesMax()) return false;
    boolean dropsOldest = state.limits.overflow() == OverflowPolicy.DROP_OLDEST;
    int[] count = {inbox.count};
    long[] bytes = {inbox.bytes};
    var victims = new ArrayList<Row>();
    change
        .out()
        .scan(
            inbox.key(inbox.first),
            inbox.key(-1),
            (key, value) -> {
              var stored = StoredMessage.header(value);
              if (stored.released()) return true;
              if (!dropsOldest && !stored.expired(change.now())) return false;
              victims.add(new Row(SessionKeys.sequence(key), value));
              count[0]--;
              bytes[0] -= stored.size();
              return count[0] >= state.limits.messagesMax() || bytes[0] + size > state.limits.bytesMax();
            });
    for (Row victim : victims) {
      var stored = StoredMessage.header(victim.value());
      change.effects().drop(stored.expired(change.now()) ? DropReason.EXPIRED : DropReason.OLDEST);
      remove(change, inbox, victim.sequence(), stored);
    }
    return fits(inbox, size);
  }

  void reserve(Backlog inbox, int size) {
    inbox.count++;
    inbox.bytes += size;
    state.queued.incrementAndGet();
    state.queuedBytes.addAndGet(size);
  }

  /** Writes a message behind the others; its room is reserved. */
  long write(Change change, Backlog inbox, StoredMessage stored, byte[] inline) {
    long sequence = inbox.next++;
    change.out().put(inbox.key(sequence), stored.toBytes(inline));
    if (inbox.session != null) writeCursor(change, inbox.session);
    return sequence;
  }

  /** Writes a message in front of the others; its room is reserved. */
  void writeFirst(Change change, Backlog inbox, StoredMessage stored, byte[] inline) {
    change.out().put(inbox.key(--inbox.first), stored.toBytes(inline));
  }

  private static void writeCursor(Change change, SessionState session) {
    change
        .out()
        .put(
            SessionKeys.cursor(session.key),
            FieldWriter.bytesOf(
                fields -> {
                  fields.octet(FORMAT);
                  fields.number(session.nextSequence());
                }));
  }

  static long readCursor(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          RangeState.expectFormat(in.octet());
          return in.number();
        });
  }

  byte @Nullable [] get(Change change, Backlog inbox, long sequence) {
    return change.out().get(inbox.key(sequence));
  }

  /** Removes a message and what hangs on it. */
  void remove(Change change, Backlog inbox, long sequence, StoredMessage stored) {
    change.out().delete(inbox.key(sequence));
    inbox.count--;
    inbox.bytes -= stored.size();
    state.queued.decrementAndGet();
    state.queuedBytes.addAndGet(-stored.size());
    if (sequence == inbox.first) inbox.first++;
    if (inbox.count == 0) {
      if (inbox.session == null) inbox.next = GroupState.ORIGIN;
      inbox.first = inbox.next;
    }
    if (stored.bodyId() != StoredMessage.INLINE) releaseBody(change, inbox.tenant, stored.bodyId());
    if (stored.group() != null && inbox.session != null) releaseMember(change, inbox.session, sequence, stored);
  }

  private void releaseMember(Change change, SessionState session, long sequence, StoredMessage stored) {
    if (stored.group() == null) return;
    var group = state.groups.get(new GroupKey(session.key.tenant(), stored.group()));
    var member = group == null ? null : group.member(session);
    if (group == null || member == null) return;
    group.released(member, sequence);
    if (group.backlog.count > 0 && group.hasRoom()) change.effects().drain(group.key);
  }

  /** Stores a message that several rows will refer to. */
  long writeBody(Change change, String tenant, byte[] message, int references) {
    long id = state.nextBody(change.out());
    change.out().put(SessionKeys.body(tenant, id), message);
    state.bodyReferences.put(id, references);
    return id;
  }

  /** One more row refers to a body. */
  void retainBody(long id) {
    if (id != StoredMessage.INLINE) state.bodyReferences.merge(id, 1, Integer::sum);
  }

  private void releaseBody(Change change, String tenant, long id) {
    Integer left = state.bodyReferences.merge(id, -1, (before, step) -> before + step == 0 ? null : before + step);
    if (left == null) change.out().delete(SessionKeys.body(tenant, id));
  }

  /** The bytes of a row's message, wherever they stand. */
  static byte[] messageBytes(Change change, String tenant, StoredMessage.Row row) {
    if (row.stored().bodyId() == StoredMessage.INLINE) return row.inline();
    byte[] body = change.out().get(SessionKeys.body(tenant, row.stored().bodyId()));
    if (body == null) throw new IllegalStateException("message body " + row.stored().bodyId() + " is missing");
    return body;
  }

  /** The first messages of an inbox. */
  static List<Row> first(Change change, Backlog inbox, int max) {
    var rows = new ArrayList<Row>();
    change
        .out()
        .scan(
            inbox.key(inbox.first),
            inbox.key(-1),
            (key, value) -> {
              rows.add(new Row(SessionKeys.sequence(key), value));
              return rows.size() < max;
            });
    return rows;
  }

  /** The client has a message, or it has expired while it waited. One that is not there was done with before. */
  void acknowledge(Change change, SessionState session, long sequence, boolean expired) {
    byte[] value = get(change, session.backlog(), sequence);
    if (value == null) return;
    remove(change, session.backlog(), sequence, StoredMessage.header(value));
    if (expired) change.effects().drop(DropReason.EXPIRED);
    else change.effects().acknowledge();
  }

  /** The client has PUBRECed: from here on only PUBREL is owed. */
  void received(Change change, SessionState session, long sequence) {
    byte[] value = get(change, session.backlog(), sequence);
    if (value == null) return;
    var row = StoredMessage.read(value);
    if (row.stored().released()) return;
    change.out().put(session.backlog().key(sequence), row.stored().withReleased().toBytes(row.inline()));
  }

  /** Deletes up to so many messages that an ended session or group has left. Answers how many there were. */
  int sweep(Change change, Backlog inbox, DropReason reason, int max) {
    var rows = new ArrayList<Row>();
    change
        .out()
        .scan(
            inbox.key(0),
            inbox.key(-1),
            (key, value) -> {
              rows.add(new Row(SessionKeys.sequence(key), value));
              return rows.size() < max;
            });
    for (Row row : rows) {
      remove(change, inbox, row.sequence(), StoredMessage.header(row.value()));
      change.effects().drop(reason);
    }
    return rows.size();
  }
}
