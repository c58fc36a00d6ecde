package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.CarriedOut;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterCall.CarryOut;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.Action;
import dunlin.placement.RangeAdmin;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;

/** Carries out an action on this node, or calls the node that it names. */
final class NodeAdmin implements RangeAdmin {
  /** The time that a call takes on top of the action itself. */
  private static final Duration ON_THE_WAY = Duration.ofSeconds(2);

  private final UUID self;
  private final UUID cluster;
  private final NodeActions here;
  private final KnownMap known;
  private final NodeCalls calls;

  NodeAdmin(UUID self, UUID cluster, NodeActions here, KnownMap known, NodeCalls calls) {
    this.self = self;
    this.cluster = cluster;
    this.here = here;
    this.known = known;
    this.calls = calls;
  }

  @Override
  public Outcome carryOut(Action action, long leadership, Duration deadline) {
    if (action.node().equals(self)) return here.carryOut(action, leadership, deadline);
    var address = known.service(action.node());
    if (address.isEmpty()) return new Outcome.Unknown("the address of node " + action.node() + " is unknown");
    try {
      var sent = new ClusterWire.Sent(cluster, new CarryOut(action, leadership, deadline));
      return switch (MetaClient.exchange(calls, address.get(), sent, deadline.plus(ON_THE_WAY))) {
        case CarriedOut(var outcome) -> outcome;
        case Refused(var sentence) -> new Outcome.Outdated(sentence);
        case ClusterAnswer other -> new Outcome.Unknown("node " + action.node() + " answers " + other);
      };
    } catch (IOException e) {
      return new Outcome.Unknown("node " + action.node() + ": " + e.getMessage());
    }
  }
}
