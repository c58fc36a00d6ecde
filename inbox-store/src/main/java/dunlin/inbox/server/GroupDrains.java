package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.rows.GroupKey;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Proposes the steps that hand messages of groups' inboxes to members with room, one step at a time for each group,
 * until none is left.
 */
final class GroupDrains {
  /*
   * Owner: the applying thread and the timer thread, under this object's lock, which is not held during a proposal.
   * Bounds: one step at a time for each group, and one note for each group that waits. At most AGAIN_MAX steps are
   * proposed again at a time, for the groups that have waited longest.
   * Failure: if the range is full or refuses the step later, the timer proposes it again.
   */
  private static final int AGAIN_MAX = 1_000;

  private final Predicate<GroupKey> proposer;
  @GuardedBy("this")
  private final Set<GroupKey> running = new HashSet<>();
  @GuardedBy("this")
  private final Set<GroupKey> waiting = new LinkedHashSet<>();

  /**
   * @param proposer proposes a step; answers false if the range's queue is full, and then neither {@link #ended} nor
   *     {@link #refused} is called
   */
  GroupDrains(Predicate<GroupKey> proposer) {
    this.proposer = proposer;
  }

  /** Number of groups that wait for their next step. */
  synchronized int waiting() {
    return waiting.size();
  }

  void ask(List<GroupKey> groups) {
    for (GroupKey group : groups) ask(group);
  }

  /** Proposes a step of a group if one is needed. Answers false if the range did not accept it. */
  private boolean ask(GroupKey group) {
    if (!begin(group)) return true;
    if (proposer.test(group)) return true;
    refused(group);
    return false;
  }

  private synchronized boolean begin(GroupKey group) {
    // The present step may have been applied before what asks now, so another one follows.
    if (running.add(group)) return true;
    waiting.add(group);
    return false;
  }

  /** The step was applied. */
  void ended(GroupKey group) {
    if (end(group)) ask(group);
  }

  private synchronized boolean end(GroupKey group) {
    running.remove(group);
    return waiting.remove(group);
  }

  /** The step was not queued, or not applied: the group waits for the timer. */
  synchronized void refused(GroupKey group) {
    running.remove(group);
    waiting.add(group);
  }

  /** Asks again for what was refused. By the timer. */
  void again() {
    boolean takes = true;
    for (GroupKey group : longestWaiting()) {
      if (takes) takes = ask(group);
      else putBack(group);
    }
  }

  private synchronized void putBack(GroupKey group) {
    waiting.add(group);
  }

  private synchronized List<GroupKey> longestWaiting() {
    if (waiting.isEmpty()) return List.of();
    var groups = new ArrayList<GroupKey>();
    for (GroupKey group : waiting) {
      if (groups.size() == AGAIN_MAX) break;
      if (!running.contains(group)) groups.add(group);
    }
    groups.forEach(waiting::remove);
    return groups;
  }
}
