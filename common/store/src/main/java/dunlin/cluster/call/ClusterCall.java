package dunlin.cluster.call;

import dunlin.placement.Action;
import dunlin.placement.NodeReport;
import dunlin.placement.PlacementCommand;
import java.time.Duration;

/** What one node asks of another. */
public sealed interface ClusterCall {
  /** Who are you? The only call that is answered to any caller. */
  record Hello() implements ClusterCall {}

  /** To the meta group's leader: put this into the log. */
  record Propose(PlacementCommand command) implements ClusterCall {}

  /** To the meta group's leader: this node's report. The answer has what changed since this version of the map. */
  record Report(NodeReport report, long known) implements ClusterCall {}

  /** To any node: what is newer than this version of the map? */
  record Watch(long known) implements ClusterCall {}

  /** From the meta group's leader: do this. */
  record CarryOut(Action action, long leadership, Duration deadline) implements ClusterCall {}
}
