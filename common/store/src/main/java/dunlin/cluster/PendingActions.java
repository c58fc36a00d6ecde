package dunlin.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.Action;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * The actions that the meta group's leader has sent to nodes and that are not answered yet. None is sent twice at a time, and no two nodes are asked to be elected for a
 * range at the same time: each would refuse the other its vote.
 */
final class PendingActions {
  /*
   * Owner: any thread; guarded by itself.
   * Bounds: MAX actions, NODE_MAX of them at one node. The other half of the calls to it is left for reports, which
   * must get through when it becomes the leader. Full: the action is refused, and decided on again.
   */
  static final int MAX = 64;
  static final int NODE_MAX = NodeCalls.CALLS_MAX / 2;

  /** What happened to an action that was offered. */
  enum Offered {
    TAKEN,
    /** An action on this range is pending at the node, or an election of the range at any node. */
    ASKED_ALREADY,
    FULL
  }

  private record Asked(UUID node, UUID range) {}

  @GuardedBy("this")
  private final Set<Asked> asked = new HashSet<>();

  /** The node that is asked to be elected for a range. */
  @GuardedBy("this")
  private final Map<UUID, UUID> electing = new HashMap<>();

  synchronized Offered offer(Action action) {
    var what = new Asked(action.node(), action.range());
    boolean elects = action instanceof Action.Elect;
    if (asked.contains(what) || (elects && electing.containsKey(action.range()))) return Offered.ASKED_ALREADY;
    if (asked.size() >= MAX || at(action.node()) >= NODE_MAX) return Offered.FULL;
    asked.add(what);
    if (elects) electing.put(action.range(), action.node());
    return Offered.TAKEN;
  }

  @GuardedBy("this")
  private long at(UUID node) {
    return asked.stream().filter(what -> what.node.equals(node)).count();
  }

  /** An action that was taken has its outcome. The node is asked for nothing else until it has ended, but another one may be elected. */
  synchronized void answered(Action action) {
    if (action instanceof Action.Elect) electing.remove(action.range(), action.node());
  }

  /** An action that was taken has ended. */
  synchronized void ended(Action action) {
    answered(action);
    asked.remove(new Asked(action.node(), action.range()));
  }
}
