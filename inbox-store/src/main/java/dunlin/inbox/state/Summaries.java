package dunlin.inbox.state;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.StoredMessage;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Summary rows of the headers of messages: the totals of each inbox, and what each member of a group has not
 * acknowledged. A start reads the summaries and no headers.
 */
public final class Summaries {
  /*
   * Owner: the applying thread.
   * A summary is written in the same write as the other rows, so it is never older or newer than its headers. It costs
   * one row for each inbox that changed since the previous write, however often it changed. It describes the state at
   * that point of the log and nothing else, so replicas that write at different points have the same rows once both
   * have written.
   * Bounds: the inboxes and members that the commands of one write have changed.
   */
  private static final int FORMAT = 1;

  private final RangeState state;
  private List<Backlog> inboxes = new ArrayList<>();
  private List<Touched> members = new ArrayList<>();

  private record Touched(GroupState group, GroupMember member) {}

  Summaries(RangeState state) {
    this.state = state;
  }

  /** Notes that an inbox changes. */
  public void touch(Backlog inbox) {
    if (inbox.touched) return;
    inbox.touched = true;
    inboxes.add(inbox);
  }

  /** Notes that the unacknowledged messages of a member have changed. */
  public void touch(GroupState group, GroupMember member) {
    if (member.touched) return;
    member.touched = true;
    members.add(new Touched(group, member));
  }

  /** Deletes the summary of a member that leaves. */
  public void left(RangeWriter out, GroupState group, GroupMember member) {
    if (member.summed) out.delete(SessionKeys.outstanding(member.session().shard, member.session().key, group.key.filter().text()));
    member.summed = false;
  }

  void clear() {
    inboxes = new ArrayList<>();
    members = new ArrayList<>();
  }

  /** Writes the summaries of everything that has changed. */
  public void write(RangeWriter out) {
    for (Backlog inbox : inboxes) {
      inbox.touched = false;
      write(out, inbox);
    }
    for (Touched each : members) {
      each.member.touched = false;
      write(out, each.group, each.member);
    }
    clear();
    state.references.write(out);
  }

  @SuppressWarnings("ReferenceEquality") // compares identity: not a later inbox with the same key
  private void write(RangeWriter out, Backlog inbox) {
    var reason = inbox.left;
    var session = inbox.session;
    var group = inbox.group;
    if (reason != null) {
      long birth = inbox.birth();
      if (state.leftovers.get(birth) == inbox) out.put(SessionKeys.left(inbox.tenant, birth), leftRow(inbox, reason));
    } else if (inbox instanceof Transfer transfer) {
      var of = Objects.requireNonNull(transfer.group);
      byte[] key = SessionKeys.groupTransfer(of.key, transfer.birth());
      if (of.transfer == transfer) out.put(key, row(transfer));
      else out.delete(key);
    } else if (inbox instanceof MemberQueue queue) {
      byte[] key = SessionKeys.groupQueue(Objects.requireNonNull(queue.group).key, queue.birth());
      if (queue.count > 0) out.put(key, row(queue));
      else out.delete(key);
    } else if (session != null) {
      if (state.sessions.get(session.key) == session) out.put(SessionKeys.inbox(session.shard, session.key), row(inbox));
    } else if (group != null && state.groups.get(group.key) == group) {
      if (inbox.count > 0) out.put(SessionKeys.groupInbox(group.shard, group.key), row(inbox));
      else out.delete(SessionKeys.groupInbox(group.shard, group.key));
    }
  }

  private void write(RangeWriter out, GroupState group, GroupMember member) {
    if (state.groups.get(group.key) != group || group.member(member.session()) != member) return;
    if (member.outstanding.isEmpty()) {
      left(out, group, member);
      return;
    }
    member.summed = true;
    long[] sequences = member.outstanding.stream().mapToLong(Long::longValue).toArray();
    out.put(
        SessionKeys.outstanding(member.session().shard, member.session().key, group.key.filter().text()),
        FieldWriter.bytesOf(
            fields -> {
              fields.octet(FORMAT);
              fields.numbers(sequences);
            }));
  }

  private static byte[] row(Backlog inbox) {
    return FieldWriter.bytesOf(
        fields -> {
          fields.octet(FORMAT);
          write(fields, inbox);
        });
  }

  private static byte[] row(MemberQueue queue) {
    return FieldWriter.bytesOf(
        fields -> {
          fields.octet(FORMAT);
          fields.text(queue.clientId);
          fields.number(queue.goneAt);
          write(fields, queue);
        });
  }

  private static byte[] row(Transfer transfer) {
    return FieldWriter.bytesOf(
        fields -> {
          fields.octet(FORMAT);
          fields.number(transfer.target());
          write(fields, transfer);
        });
  }

  private static byte[] leftRow(Backlog inbox, InboxDropReason reason) {
    return FieldWriter.bytesOf(
        fields -> {
          fields.octet(FORMAT);
          fields.flag(reason == InboxDropReason.GROUP_ENDED);
          fields.bytes(inbox.prefix());
          write(fields, inbox);
        });
  }

  private static void write(FieldWriter fields, Backlog inbox) {
    fields.number(inbox.first);
    fields.number(inbox.next - inbox.first);
    fields.number(inbox.count);
    fields.number(inbox.bytes);
    fields.number(inbox.soonest == Long.MAX_VALUE ? StoredMessage.NEVER : inbox.soonest);
  }

  /** Fills an inbox from its summary. */
  public static void read(byte[] value, Backlog inbox) {
    FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "summary of an inbox");
          return readFields(in, inbox);
        });
  }

  /** Reads the queue of an ordered group's member, present or former. */
  public static MemberQueue readQueue(GroupState group, long birth, byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "summary of a member's queue");
          var queue = new MemberQueue(group, birth, in.text());
          queue.goneAt = in.number();
          readFields(in, queue);
          return queue;
        });
  }

  /** Reads a transfer of a group's messages to another range. */
  public static Transfer readTransfer(GroupState group, long number, byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "summary of a transfer");
          var transfer = new Transfer(group, number, in.count());
          readFields(in, transfer);
          return transfer;
        });
  }

  /** Reads the inbox that an ended session or group has left. */
  public static Backlog readLeft(String tenant, byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "summary of what was left");
          var reason = in.flag() ? InboxDropReason.GROUP_ENDED : InboxDropReason.SESSION_ENDED;
          return readFields(in, new Backlog(tenant, in.bytes(), reason));
        });
  }

  private static Backlog readFields(FieldReader in, Backlog inbox) {
    inbox.first = in.number();
    long length = in.number();
    inbox.next = inbox.first + length;
    inbox.count = in.count();
    inbox.bytes = in.number();
    long soonest = in.number();
    inbox.soonest = soonest == StoredMessage.NEVER ? Long.MAX_VALUE : soonest;
    inbox.expires(soonest);
    if (length < 0 || inbox.count > length || inbox.bytes < 0)
      throw new IllegalStateException(
          "a summary of %d messages with %d bytes in %d sequences from %d".formatted(inbox.count, inbox.bytes, length, inbox.first));
    return inbox;
  }

  /** Reads the sequences that a member has not acknowledged. */
  public static long[] readOutstanding(byte[] value) {
    return FieldReader.read(
        value,
        in -> {
          in.format(FORMAT, "summary of a member");
          return in.numbers();
        });
  }
}
