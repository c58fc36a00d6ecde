package dunlin.inbox.range;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.GroupState.GroupMember;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.MemberQueue;
import dunlin.inbox.state.MemberQueues;
import dunlin.inbox.state.RangeState;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Ordered shared subscriptions with durable members: each publisher's messages go to one member, in their order. Each
 * member has a queue, so a member that acknowledges nothing delays only its own publishers.
 */
final class OrderedGroups {
  /*
   * Owner: the applying thread.
   *
   * A message goes to its publisher's member at once if that member has room in its window and an empty queue, and else
   * to the end of that member's queue. Messages wait in the group's inbox while no member is connected, or while queues
   * of former members must be emptied first. Such a queue begins with the messages that were not sent to its member. A
   * step first hands on from the queues of members with room. Then it takes from the queue of the member that left
   * last, then from the group's inbox, and gives each message to its publisher's present member, or to that member's
   * queue. A new member does not move messages that already wait.
   *
   * Bounds: a queue has the bounds of an inbox. A full queue follows the overflow policy, like a full inbox. Under
   *   "reject", a message that was accepted before is not lost: it and all messages behind it wait where they are until
   *   there is room. A step moves at most as many messages as its command says, and at most STEP_BYTES_MAX or one
   *   message. It reads the bodies of messages that are sent, and of those whose member is picked again.
   * Failure: all state is rows and their Summaries, so every replica does the same.
   */
  private static final int STEP_BYTES_MAX = 256 * 1_024;

  private final RangeState state;
  private final Inboxes inboxes;
  private final Groups groups;

  OrderedGroups(RangeState state, Inboxes inboxes, Groups groups) {
    this.state = state;
    this.inboxes = inboxes;
    this.groups = groups;
  }

  /** What the current step may still move. */
  private static final class Step {
    private int messages;
    private long bytes;
    private boolean moved;

    Step(int messages) {
      this.messages = messages;
    }

    boolean takes(int size) {
      if (messages == 0 || (bytes > 0 && bytes + size > STEP_BYTES_MAX)) return false;
      messages--;
      bytes += size;
      moved = true;
      return true;
    }
  }

  private static MemberQueues queues(GroupState group) {
    return Objects.requireNonNull(group.queues);
  }

  /** The member that takes a publisher's message now; null if the message has to wait. */
  @Nullable GroupMember pick(GroupState group, String publisher, int size) {
    var member = group.ordered(publisher);
    return member != null && takes(group, member, size) ? member : null;
  }

  private boolean takes(GroupState group, GroupMember member, int size) {
    return queues(group).of(member) == null && group.room(member) > 0 && groups.fits(group, member, size);
  }

  /** Where a publisher's message has to wait. */
  Backlog waitsIn(Change change, GroupState group, String publisher) {
    var member = group.waits() ? null : group.ordered(publisher);
    return member == null ? group.backlog : queue(change, group, member);
  }

  private MemberQueue queue(Change change, GroupState group, GroupMember member) {
    var queue = queues(group).of(member);
    if (queue != null) return queue;
    queue = new MemberQueue(group, state.counters.nextEpoch(change.out(), group.shard), member.clientId());
    queues(group).add(queue);
    return queue;
  }

  /** Puts messages that a member gives back at the front of its queue. */
  void giveBack(Change change, GroupState group, GroupMember member, List<Inboxes.Row> given) {
    if (!given.isEmpty()) groups.putInFront(change, queue(change, group, member), member, given);
  }

  /** Removes a member: the messages that wait for it go to others. */
  void gone(Change change, GroupState group, GroupMember member) {
    var queue = queues(group).of(member);
    if (queue == null) return;
    queues(group).gone(queue, state.counters.nextEpoch(change.out(), group.shard));
    state.summaries.touch(queue);
    group.changed(member);
  }

  /** A queue whose messages are handed on before all waiting ones. */
  MemberQueue front(Change change, GroupState group) {
    var queue = new MemberQueue(group, state.counters.nextEpoch(change.out(), group.shard), "");
    queues(group).gone(queue, state.counters.nextEpoch(change.out(), group.shard));
    return queue;
  }

  /** Drops the waiting messages, because the last member has left. */
  void end(Change change, GroupState group) {
    for (MemberQueue queue : queues(group).all()) {
      change.out().delete(SessionKeys.groupQueue(group.key, queue.birth()));
      state.leave(queue, InboxDropReason.GROUP_ENDED);
    }
  }

  /** Hands on waiting messages, in order, as far as members and their queues have room. */
  void drain(Change change, GroupState group, int max) {
    var step = new Step(max);
    for (GroupMember member : queues(group).ready(group.lastTurn(), max)) handOut(change, group, member, step);
    boolean flows = true;
    while (flows && step.messages > 0 && group.waits()) {
      var gone = queues(group).lastGone();
      flows = spread(change, group, gone == null ? group.backlog : gone, step);
    }
    if (step.moved) groups.askForDrain(change, group);
  }

  /** Hands a member the messages of its queue. */
  private void handOut(Change change, GroupState group, GroupMember member, Step step) {
    var queue = queues(group).of(member);
    if (queue != null) handOut(change, group, member, queue, step);
    group.changed(member);
  }

  private void handOut(Change change, GroupState group, GroupMember member, MemberQueue queue, Step step) {
    for (Inboxes.Row waiting : Inboxes.first(change, queue, Math.min(step.messages, group.room(member)))) {
      var stored = waiting.stored();
      boolean expired = stored.expired(change.now());
      if (!expired && !groups.fits(group, member, stored.size())) break;
      if (!step.takes(stored.size())) break;
      if (expired) groups.expire(change, queue, waiting);
      else groups.give(change, group, member, queue, waiting, groups.message(change, group, waiting));
    }
  }

  /**
   * Hands messages to their publishers' present members, or to these members' queues. Answers whether the step can
   * continue.
   */
  private boolean spread(Change change, GroupState group, Backlog from, Step step) {
    for (Inboxes.Row waiting : Inboxes.first(change, from, step.messages)) {
      var stored = waiting.stored();
      boolean movedBefore = step.moved;
      if (!step.takes(stored.size())) return false;
      if (stored.expired(change.now())) {
        groups.expire(change, from, waiting);
        continue;
      }
      var message = groups.message(change, group, waiting);
      var member = group.ordered(message.publisher().clientId());
      if (member != null && takes(group, member, stored.size())) {
        groups.give(change, group, member, from, waiting, message);
      } else if (member == null || !enqueue(change, group, member, from, waiting)) {
        step.moved = movedBefore;
        return false;
      }
    }
    return true;
  }

  /** Moves a message to the end of a member's queue. Answers false if the message has to stay where it is. */
  private boolean enqueue(Change change, GroupState group, GroupMember member, Backlog from, Inboxes.Row waiting) {
    var queue = queue(change, group, member);
    var stored = waiting.stored();
    if (queue.count > 0 && !inboxes.makeRoom(change, queue, stored.size())) {
      if (state.limits.overflow() == OverflowPolicy.REJECT) return false;
      var message = inboxes.noted(change, from, waiting.sequence(), stored);
      inboxes.remove(change, from, waiting.sequence(), stored);
      change.effects().drop(InboxDropReason.NEWEST, queue, message);
      return true;
    }
    inboxes.take(change, from, waiting.sequence(), stored);
    inboxes.reserve(queue, stored.size());
    inboxes.write(change, queue, stored, stored.toBytes(), null);
    group.changed(member);
    return true;
  }
}
