package dunlin.inbox.range;

import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand.AcceptTransfer;
import dunlin.inbox.rows.SessionCommand.BeginTransfer;
import dunlin.inbox.rows.SessionCommand.EndTransfer;
import dunlin.inbox.rows.SessionKeys;
import dunlin.model.Publication;
import java.util.List;

/**
 * Hands messages that wait in a group of this range on to members in another one, and takes such messages; MQTT 5, section 4.8.2. Each range knows its own
 * members alone, so a message may wait in one that has no member to take it.
 */
public final class Transfers {
  /*
   * Owner: the applying thread.
   *
   * The source puts messages aside under a number, which no other transfer ever has. The target takes them and remembers the number, in one step; from then on it
   * answers the same and does nothing. Then the source lets go of them, and then the target forgets the number. A crash between any two steps leaves rows from which the
   * step before is repeated. What the target refuses waits in front again.
   *
   * A group whose last member has left this range stays, without a route, until what waits in it has been handed on, or no range has a member.
   *
   * Bounds: one transfer at a time for each group, of as many messages as its command says, and at most BYTES_MAX or one message. The target takes only what fits its bounds.
   * Failure: all of it is rows, so every replica does the same.
   */
  private static final int BYTES_MAX = 256 * 1_024;
  private static final Outcome DONE = new Outcome.Done();
  private static final Outcome NOTHING = new Outcome.Stale();

  private final RangeState state;
  private final Inboxes inboxes;
  private final Groups groups;
  private final Appender appender;

  /** Messages of a group that were put aside. Its birth is its number. */
  public static final class Transfer extends Backlog {
    /** The first shard of the range that they go to. */
    final int target;

    Transfer(GroupState group, long number, int target) {
      super(group, number, GroupState.ORIGIN);
      this.target = target;
    }

    public long number() {
      return birth();
    }

    public int target() {
      return target;
    }
  }

  Transfers(RangeState state, Inboxes inboxes, Groups groups, Appender appender) {
    this.state = state;
    this.inboxes = inboxes;
    this.groups = groups;
    this.appender = appender;
  }

  Outcome begin(Change change, BeginTransfer command) {
    var group = state.groups.get(command.group());
    if (group == null || group.transfer != null) return NOTHING;
    groups.giveBackAlone(change, group);
    if (!group.isStuck()) {
      groups.askForDrain(change, group);
      return NOTHING;
    }
    var from = group.nextToHandOn();
    long bytes = 0;
    var transfer = new Transfer(group, state.counters.nextEpoch(change.out(), group.shard), command.target());
    for (Inboxes.Row waiting : Inboxes.first(change, from, command.messagesMax())) {
      var stored = waiting.stored();
      if (bytes > 0 && bytes + stored.size() > BYTES_MAX) break;
      bytes += stored.size();
      if (stored.expired(change.now())) groups.expire(change, from, waiting);
      else move(change, from, waiting, transfer);
    }
    if (transfer.count == 0) {
      groups.endIfEmpty(change, group);
      groups.askForDrain(change, group);
      return NOTHING;
    }
    group.transfer = transfer;
    return DONE;
  }

  private void move(Change change, Backlog from, Inboxes.Row waiting, Backlog to) {
    var stored = waiting.stored();
    inboxes.take(change, from, waiting.sequence(), stored);
    inboxes.reserve(to, stored.size());
    inboxes.write(change, to, stored, stored.toBytes(), null);
  }

  /** Answers whether they are here. */
  Outcome accept(Change change, AcceptTransfer command) {
    if (state.acceptedTransfers.has(command.group(), command.number())) return new Outcome.Existed(List.of(true));
    var group = state.groups.get(command.group());
    long bytes = command.messages().stream().mapToLong(Publication::encodedLength).sum();
    if (group == null || group.size() == 0 || !inboxes.fitAll(group.backlog, command.messages().size(), bytes)) {
      return new Outcome.Existed(List.of(false));
    }
    for (var message : command.messages()) appender.acceptInGroup(change, group, message);
    state.acceptedTransfers.add(change.out(), state.interval, command.group(), command.number());
    return new Outcome.Existed(List.of(true));
  }

  Outcome end(Change change, EndTransfer command) {
    var group = state.groups.get(command.group());
    var transfer = group == null ? null : group.transfer;
    if (group == null || transfer == null || transfer.birth() != command.number()) return DONE;
    var rows = Inboxes.first(change, transfer, transfer.count);
    if (command.accepted()) {
      for (Inboxes.Row each : rows) inboxes.remove(change, transfer, each.sequence(), each.stored());
    } else {
      groups.putBack(change, group, transfer, rows);
    }
    group.transfer = null;
    change.out().delete(SessionKeys.groupTransfer(command.group(), command.number()));
    groups.endIfEmpty(change, group);
    groups.askForDrain(change, group);
    return DONE;
  }

  void forget(Change change, GroupKey group, long number) {
    state.acceptedTransfers.remove(change.out(), state.interval, group, number);
  }

  /** Drops what waits in a group without members. */
  Outcome endGroup(Change change, GroupKey key) {
    var group = state.groups.get(key);
    if (group == null || group.size() > 0 || group.transfer != null) return NOTHING;
    groups.dropAll(change, group);
    return DONE;
  }
}
