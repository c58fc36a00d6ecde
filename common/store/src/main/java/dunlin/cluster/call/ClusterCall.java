package dunlin.cluster.call;

import dunlin.placement.Action;
import dunlin.placement.NodeReport;
import dunlin.placement.PlacementCommand;
import java.time.Duration;
import java.util.NavigableMap;
import java.util.UUID;

/** What one node asks of another. */
public sealed interface ClusterCall {
  /** Who are you? The only call that is answered to any caller. */
  record Hello() implements ClusterCall {}

  /**
   * To a member of the cluster, from a node that starts: would I fit?
   *
   * @param run stands for the process: another one with the same identity has another one
   * @param at where the node answers
   * @param noticedWithin after how much silence of the meta group the node disconnects its clients, at most
   * @param downAfter after how much silence it takes another node for dead
   * @param agreed its settings that must be the same on all nodes
   * @param relayed whether a member passes the question on
   */
  record Join(
      UUID node, UUID run, NodeAddress at, Duration noticedWithin, Duration downAfter, NavigableMap<String, String> agreed, boolean relayed)
      implements ClusterCall {
    public Join again() {
      return new Join(node, run, at, noticedWithin, downAfter, agreed, true);
    }
  }

  /** To the meta group's leader: put this into the log. */
  record Propose(PlacementCommand command) implements ClusterCall {}

  /** To the meta group's leader: this node's report. The answer has what changed since this version of the map. */
  record Report(NodeReport report, long known) implements ClusterCall {}

  /** To any node: what is newer than this version of the map? */
  record Watch(long known) implements ClusterCall {}

  /** From the meta group's leader: do this. */
  record CarryOut(Action action, long leadership, Duration deadline) implements ClusterCall {}

  /** To the meta group's leader: how far have the operations come? */
  record AskProgress() implements ClusterCall {}

  /** To the node that leads this range: where can it be split, with about half on each side? */
  record FindCut(UUID range) implements ClusterCall {}
}
