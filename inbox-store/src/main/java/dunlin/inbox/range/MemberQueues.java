package dunlin.inbox.range;

import dunlin.inbox.range.GroupState.GroupMember;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The queues of an ordered group's members, and those of members that are gone. */
final class MemberQueues {
  /*
   * Owner: the applying thread.
   * A queue begins when a message must wait for a member that none waits for. One that is empty counts as none: a replica that has just started
   *   does not know of it.
   * Bounds: a queue for each member, by InboxLimits. Queues of members that are gone hold at least a message each, and together not more than
   *   these members' queues and windows held; messages leave them before anything new is taken from the group's inbox.
   */
  private final Map<String, MemberQueue> queues = new HashMap<>();

  /** Members for which something waits, and who have room in their windows. */
  private final NavigableMap<String, GroupMember> ready = new TreeMap<>();

  /** Of members that are gone, by when they went. */
  private final NavigableMap<Long, MemberQueue> gone = new TreeMap<>();

  /** What waits for a member; null when nothing does. */
  @Nullable MemberQueue of(GroupMember member) {
    var queue = queues.get(member.clientId());
    return queue == null || queue.count == 0 ? null : queue;
  }

  /** A queue has begun, or is taken back in. */
  void add(MemberQueue queue) {
    if (queue.goneAt == 0) queues.put(queue.clientId, queue);
    else gone.put(queue.goneAt, queue);
  }

  /** The member of a queue is gone. */
  void gone(MemberQueue queue, long at) {
    queues.remove(queue.clientId);
    queue.goneAt = at;
    gone.put(at, queue);
  }

  /**
   * Of the members that are gone, the queue of the one that went last; null when nothing waits in any. It may hold what had waited for one that
   * went before, and that is older than what still waits there.
   */
  @Nullable MemberQueue lastGone() {
    while (!gone.isEmpty() && gone.lastEntry().getValue().count == 0) gone.pollLastEntry();
    return gone.isEmpty() ? null : gone.lastEntry().getValue();
  }

  /** A member's room, or what waits for it, has changed. */
  void place(GroupMember member, boolean room) {
    if (room && of(member) != null) ready.put(member.clientId(), member);
    else ready.remove(member.clientId());
  }

  void remove(GroupMember member) {
    ready.remove(member.clientId());
    queues.remove(member.clientId());
  }

  boolean anyReady() {
    return !ready.isEmpty();
  }

  /** Up to so many members with room for which something waits, those first whose turn comes after another's. */
  List<GroupMember> ready(String lastTurn, int max) {
    var members = new ArrayList<GroupMember>();
    for (GroupMember member : ready.tailMap(lastTurn, false).values()) if (members.size() < max) members.add(member);
    for (GroupMember member : ready.headMap(lastTurn, true).values()) if (members.size() < max) members.add(member);
    return members;
  }

  /** All in which something waits. */
  List<MemberQueue> all() {
    var all = new ArrayList<MemberQueue>();
    for (MemberQueue queue : queues.values()) if (queue.count > 0) all.add(queue);
    for (MemberQueue queue : gone.values()) if (queue.count > 0) all.add(queue);
    return all;
  }
}
