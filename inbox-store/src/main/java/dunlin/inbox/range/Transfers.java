package dunlin.inbox.range;

import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand.AcceptTransfer;
import dunlin.inbox.rows.SessionCommand.BeginTransfer;
import dunlin.inbox.rows.SessionCommand.EndTransfer;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.Transfer;
import dunlin.model.Publication;
import java.util.List;

/**
 * Transfers messages that wait in a group of this range to members in another range, and accepts such messages; MQTT 5,
 * section 4.8.2. Each range knows only its own members, so a message may wait in a range without a member to take it.
 */
public final class Transfers {
  /*
   * Owner: the applying thread.
   *
   * The source sets messages aside under a unique number. The target accepts or refuses them and remembers the number, in one
   * step; if they arrive again, it gives the same answer and changes nothing. Then the source deletes the messages, and
   * then the target forgets the number. After a crash between two steps, the rows suffice to repeat the previous step.
   * Messages that the target refuses return to the front of the source's group.
   *
   * A group whose last member has left this range stays, without a route, until its waiting messages have been
   * transferred, or no range has a member.
   *
   * Bounds: one transfer at a time for each group, with at most as many messages as its command says, and at most
   * BYTES_MAX or one message. The target accepts only what fits its bounds.
   * Failure: all state is rows, so every replica does the same.
   */
  private static final int BYTES_MAX = 256 * 1_024;
  private static final Outcome DONE = new Outcome.Done();
  private static final Outcome NOTHING = new Outcome.Stale();

  private final RangeState state;
  private final Inboxes inboxes;
  private final Groups groups;
  private final Appender appender;

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

  /** Accepts messages of another range. Answers whether they are stored here, each time the same. */
  Outcome accept(Change change, AcceptTransfer command) {
    var before = state.acceptedTransfers.answerTo(command.group(), command.number());
    if (before.isPresent()) return new Outcome.Existed(List.of(before.get()));
    var group = state.groups.get(command.group());
    long bytes = command.messages().stream().mapToLong(Publication::encodedLength).sum();
    boolean takes = group != null && group.size() > 0 && inboxes.fitAll(group.backlog, command.messages().size(), bytes);
    if (group != null && takes) for (var message : command.messages()) appender.acceptInGroup(change, group, message);
    state.acceptedTransfers.add(change.out(), state.interval, command.group(), command.number(), takes);
    return new Outcome.Existed(List.of(takes));
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

  /** Drops the waiting messages of a group without members. */
  Outcome endGroup(Change change, GroupKey key) {
    var group = state.groups.get(key);
    if (group == null || group.size() > 0 || group.transfer != null) return NOTHING;
    groups.dropAll(change, group);
    return DONE;
  }
}
