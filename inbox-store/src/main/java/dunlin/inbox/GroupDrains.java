package dunlin.inbox;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/** Has the inboxes of groups handed to members with room, one step at a time for each group. */
final class GroupDrains {
  /*
   * Owner: the applying thread and the timer thread, over concurrent sets.
   * Bounds: one proposal under way for each group. Full range: the group is asked for again by the timer.
   */
  private final Predicate<GroupKey> proposer;
  private final Set<GroupKey> running = ConcurrentHashMap.newKeySet();
  private final Set<GroupKey> waiting = ConcurrentHashMap.newKeySet();

  GroupDrains(Predicate<GroupKey> proposer) {
    this.proposer = proposer;
  }

  void ask(List<GroupKey> groups) {
    for (GroupKey group : groups) ask(group);
  }

  private void ask(GroupKey group) {
    // One that is under way may have been applied before what asks now: it is asked for again.
    if (!running.add(group)) {
      waiting.add(group);
      return;
    }
    if (proposer.test(group)) return;
    running.remove(group);
    waiting.add(group);
  }

  void ended(GroupKey group) {
    running.remove(group);
    if (waiting.remove(group)) ask(group);
  }

  /** Asks again for what found the range full. */
  void again() {
    for (GroupKey group : List.copyOf(waiting)) {
      if (!running.contains(group) && waiting.remove(group)) ask(group);
    }
  }
}
