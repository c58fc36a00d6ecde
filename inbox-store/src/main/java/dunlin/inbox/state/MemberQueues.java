package dunlin.inbox.state;

import dunlin.inbox.state.GroupState.GroupMember;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/** The queues of an ordered group's present and former members. */
public final class MemberQueues {
  /*
   * Owner: the applying thread; any thread may ask what waits.
   * A queue is created when the first message has to wait for a member. An empty queue counts as absent, because a
   * replica that has just started does not have it.
   * Bounds: a queue for each member, by InboxLimits. Queues of former members hold at least one message each, and
   * together no more than these members' queues and windows held; they are emptied before further messages are taken
   * from the group's inbox.
   */
  private final Map<String, MemberQueue> queues = new ConcurrentHashMap<>();

  /** Members with waiting messages and room in their windows. */
  private final NavigableMap<String, GroupMember> ready = new TreeMap<>();

  /** The queues of former members, by when they left. */
  private final NavigableMap<Long, MemberQueue> gone = new ConcurrentSkipListMap<>();

  /** The queue of a member; null if no message waits for it. */
  public @Nullable MemberQueue of(GroupMember member) {
    var queue = queues.get(member.clientId());
    return queue == null || queue.count == 0 ? null : queue;
  }

  /** Adds a queue that was created or restored. */
  public void add(MemberQueue queue) {
    if (queue.goneAt == 0) queues.put(queue.clientId, queue);
    else gone.put(queue.goneAt, queue);
  }

  /** Notes that the member of a queue has left. */
  public void gone(MemberQueue queue, long at) {
    queues.remove(queue.clientId);
    queue.goneAt = at;
    gone.put(at, queue);
  }

  /**
   * The queue of the former member that left last; null if no message waits in any. It may hold messages that had
   * waited for a member who left before, which are older than those that still wait in that member's queue.
   */
  public @Nullable MemberQueue lastGone() {
    while (!gone.isEmpty() && gone.lastEntry().getValue().count == 0) gone.pollLastEntry();
    return gone.isEmpty() ? null : gone.lastEntry().getValue();
  }

  /** Updates a member whose room or waiting messages have changed. */
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

  /** Up to {@code max} members with room and waiting messages, starting behind the member whose turn was last. */
  public List<GroupMember> ready(String lastTurn, int max) {
    var members = new ArrayList<GroupMember>();
    for (GroupMember member : ready.tailMap(lastTurn, false).values()) if (members.size() < max) members.add(member);
    for (GroupMember member : ready.headMap(lastTurn, true).values()) if (members.size() < max) members.add(member);
    return members;
  }

  /** How many messages wait for a member. Any thread, of about this moment. */
  int messages(GroupMember member) {
    var queue = queues.get(member.clientId());
    return queue == null ? 0 : queue.count();
  }

  /** How many messages wait in all queues. Any thread, of about this moment. */
  int messages() {
    return queues.values().stream().mapToInt(Backlog::count).sum() + gone.values().stream().mapToInt(Backlog::count).sum();
  }

  /** Bytes of these messages. */
  long bytes() {
    return queues.values().stream().mapToLong(Backlog::bytes).sum() + gone.values().stream().mapToLong(Backlog::bytes).sum();
  }

  /** All queues that hold messages. */
  public List<MemberQueue> all() {
    var all = new ArrayList<MemberQueue>();
    for (MemberQueue queue : queues.values()) if (queue.count > 0) all.add(queue);
    for (MemberQueue queue : gone.values()) if (queue.count > 0) all.add(queue);
    return all;
  }
}
