package dunlin.cluster;

import dunlin.placement.Action;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** What the meta group's leader has asked of the nodes, and has no answer to yet: the same is not asked again meanwhile. */
final class ActionsUnderWay {
  /*
   * Owner: any thread; guarded by itself.
   * Bounds: MAX actions, NODE_MAX of them at one node. The other half of the calls to it is left for reports, which must come
   * through when it begins to lead. Full: the action is not taken, and decided on again.
   */
  static final int MAX = 64;
  static final int NODE_MAX = NodeCalls.CALLS_MAX / 2;

  /** What became of an action that was offered. */
  enum Offered {
    TAKEN,
    /** The node has been asked about this range, and there is no answer yet. */
    ASKED_ALREADY,
    FULL
  }

  private record Asked(UUID node, UUID range) {}

  private final Set<Asked> asked = new HashSet<>();
  private final Map<UUID, Integer> byNode = new HashMap<>();

  synchronized Offered offer(Action action) {
    var what = new Asked(action.node(), action.range());
    if (asked.contains(what)) return Offered.ASKED_ALREADY;
    if (asked.size() >= MAX || byNode.getOrDefault(action.node(), 0) >= NODE_MAX) return Offered.FULL;
    asked.add(what);
    byNode.merge(action.node(), 1, Integer::sum);
    return Offered.TAKEN;
  }

  /** An action that was taken has ended. */
  synchronized void ended(Action action) {
    if (asked.remove(new Asked(action.node(), action.range())))
      byNode.computeIfPresent(action.node(), (_, count) -> count > 1 ? count - 1 : null);
  }
}
