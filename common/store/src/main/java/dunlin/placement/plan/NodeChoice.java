package dunlin.placement.plan;

import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.store.RangeDescriptor;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Chooses nodes for replicas and for leaderships. */
final class NodeChoice {
  private NodeChoice() {}

  /**
   * The node for a replica of this range: in a zone without another replica if possible, then with the fewest replicas,
   * then with the lowest identifier.
   *
   * @param leaving the node that loses its replica, so that its zone becomes free, or null
   */
  static Optional<UUID> replica(RangeDescriptor range, @Nullable UUID leaving, ClusterMap map, ClusterObservation observation) {
    var zones =
        range.peers().stream()
            .filter(node -> !node.equals(leaving))
            .map(node -> map.nodes().get(node))
            .filter(node -> node != null)
            .map(node -> node.region() + "/" + node.zone())
            .collect(Collectors.toSet());
    var replicas = replicas(map);
    return map.nodes().values().stream()
        .filter(node -> map.takes(node.id(), range.kind()) && observation.heard(node.id()) && !range.has(node.id()))
        .min(
            Comparator.<ClusterNode, Boolean>comparing(node -> zones.contains(node.region() + "/" + node.zone()))
                .thenComparing(node -> replicas.getOrDefault(node.id(), 0))
                .thenComparing(ClusterNode::id))
        .map(ClusterNode::id);
  }

  /** How many replicas each node has or is getting. */
  private static Map<UUID, Integer> replicas(ClusterMap map) {
    var count = new HashMap<UUID, Integer>();
    for (var placed : map.ranges().values())
      for (UUID node : placed.range().peers()) count.merge(node, 1, Integer::sum);
    for (var intent : map.intents().values())
      intent.operation().filled().ifPresent(node -> count.merge(node, 1, Integer::sum));
    return count;
  }

  /**
   * The next leadership to transfer so that leaders are spread evenly: from a node that leads at least two ranges more
   * than the other, so that the transfer always improves the balance. Not while anything changes: each transfer is a pause
   * for the range's callers, who may just have had one.
   */
  static Optional<TransferLeadership> balance(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
    if (!observation.isCalm()) return Optional.empty();
    var leads = new TreeMap<UUID, Integer>();
    for (var node : map.nodes().values())
      if (node.state() == ClusterNode.State.JOINED && observation.heard(node.id())) leads.put(node.id(), 0);
    for (var id : map.ranges().keySet()) observation.leader(id).ifPresent(led -> leads.computeIfPresent(led.node(), (_, n) -> n + 1));
    for (var intent : map.intents().values())
      if (intent.operation() instanceof TransferLeadership) return Optional.empty(); // one at a time: a transfer changes the counts

    TransferLeadership best = null;
    int bestGain = 1;
    for (var id : map.ranges().keySet()) {
      var led = observation.leader(id).orElse(null);
      if (led == null || map.intentOn(id).isPresent() || !leads.containsKey(led.node())) continue;
      for (UUID voter : led.replica().range().peers()) {
        if (!leads.containsKey(voter) || led.replica().lagOf(voter).orElse(Long.MAX_VALUE) > settings.lagMax()) continue;
        int gain = leads.get(led.node()) - leads.get(voter);
        if (gain > bestGain) {
          bestGain = gain;
          best = new TransferLeadership(id, voter);
        }
      }
    }
    return Optional.ofNullable(best);
  }
}
