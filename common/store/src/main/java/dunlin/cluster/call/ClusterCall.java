package dunlin.cluster.call;

import dunlin.placement.Action;
import dunlin.placement.NodeReport;
import dunlin.placement.PlacementCommand;
import java.time.Duration;

/** What one node asks of another. */
public sealed interface ClusterCall {
  /** Who are you? The only call that a node answers to everybody. */
  record Hello() implements ClusterCall {}

  /** To the meta group's leader: put this into the log. */
  record Propose(PlacementCommand command) implements ClusterCall {}

  /** To the meta group's leader: so it is here; what has changed since this version of the map? */
  record Report(NodeReport report, long known) implements ClusterCall {}

  /** To anybody: what do you know that is newer than this version? */
  record Watch(long known) implements ClusterCall {}

  /** From the meta group's leader: do this. */
  record CarryOut(Action action, long leadership, Duration deadline) implements ClusterCall {}
}
