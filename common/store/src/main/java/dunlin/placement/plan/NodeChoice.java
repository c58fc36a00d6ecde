package dunlin.placement.plan;

import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.Intent;
import dunlin.placement.Operation;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.store.RangeDescriptor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Chooses nodes for replicas and for leaderships. */
final class NodeChoice {
  private NodeChoice() {}

  /**
   * The node for a replica of this range, whose disk has room: in a zone without another replica if possible, then one that prefers such ranges, then with the fewest
   * replicas, then with the lowest identifier.
   *
   * @param leaving the node that loses its replica, so that its zone becomes free, or null
   * @param wanted operations that are about to begin: the replicas that they make count already
   */
  static Optional<UUID> replica(RangeDescriptor range, @Nullable UUID leaving, ClusterMap map, ClusterObservation observation, Collection<Operation> wanted) {
    var zones = zones(range, leaving, map);
    var replicas = replicas(map, wanted);
    return takers(range, map, observation)
        .filter(node -> node.disk() == Disk.ENOUGH)
        .min(
            Comparator.<ClusterNode, Boolean>comparing(node -> zones.contains(zone(node)))
                .thenComparing(node -> !node.prefers(range.kind()))
                .thenComparing(node -> replicas.getOrDefault(node.id(), 0))
                .thenComparing(ClusterNode::id))
        .map(ClusterNode::id);
  }

  private static Stream<ClusterNode> takers(RangeDescriptor range, ClusterMap map, ClusterObservation observation) {
    return map.nodes().values().stream()
        .filter(node -> map.takes(node.id(), range.kind()) && observation.heard(node.id()) && !range.has(node.id()));
  }

  /** Nodes that could take a replica of one of these ranges if their disks had room, in a sentence; empty when there are none. */
  static String withoutRoom(Collection<RangeDescriptor> ranges, ClusterMap map, ClusterObservation observation) {
    var full = ranges.stream().flatMap(range -> takers(range, map, observation)).filter(node -> node.disk() != Disk.ENOUGH).map(ClusterNode::id).collect(Collectors.toCollection(TreeSet::new));
    return full.isEmpty() ? "" : "; none is placed on nodes whose disks have no room: " + full;
  }

  /** The zones of the nodes with a replica, but for one of them. */
  private static Set<String> zones(RangeDescriptor range, @Nullable UUID without, ClusterMap map) {
    return range.peers().stream()
        .filter(node -> !node.equals(without))
        .map(node -> map.nodes().get(node))
        .filter(node -> node != null)
        .map(NodeChoice::zone)
        .collect(Collectors.toSet());
  }

  private static String zone(ClusterNode node) {
    return node.region() + "/" + node.zone();
  }

  /**
   * The move of a replica from a node that only holds such ranges to one that prefers them: such a node may have joined when all replicas had their places.
   * Followers move before the leader, and never to a zone with another replica from a zone without one. Not while anything changes.
   */
  static Optional<MoveReplica> relocation(ClusterMap map, ClusterObservation observation) {
    if (!observation.isCalm()) return Optional.empty();
    for (var placed : map.ranges().values()) {
      var range = placed.range();
      var led = observation.leader(range.id()).orElse(null);
      if (led == null || map.intentOn(range.id()).isPresent()) continue;
      var peers = new ArrayList<>(range.peers());
      peers.sort(Comparator.comparing(led.node()::equals));
      for (UUID peer : peers) {
        var move = relocation(range, peer, map, observation);
        if (move.isPresent()) return move;
      }
    }
    return Optional.empty();
  }

  private static Optional<MoveReplica> relocation(RangeDescriptor range, UUID peer, ClusterMap map, ClusterObservation observation) {
    var from = map.nodes().get(peer);
    if (from == null || from.prefers(range.kind()) || !observation.heard(peer)) return Optional.empty();
    var others = zones(range, peer, map);
    return replica(range, peer, map, observation, List.of())
        .map(map.nodes()::get)
        .filter(to -> to.prefers(range.kind()) && (!others.contains(zone(to)) || others.contains(zone(from))))
        .map(to -> new MoveReplica(range.id(), peer, to.id()));
  }

  /** How many replicas each node has or is getting. */
  private static Map<UUID, Integer> replicas(ClusterMap map, Collection<Operation> wanted) {
    var count = new HashMap<UUID, Integer>();
    for (var placed : map.ranges().values())
      for (UUID node : placed.range().peers()) count.merge(node, 1, Integer::sum);
    Stream.concat(map.intents().values().stream().map(Intent::operation), wanted.stream())
        .forEach(operation -> operation.filled().ifPresent(node -> count.merge(node, 1, Integer::sum)));
    return count;
  }

  /**
   * The next leadership to transfer: first to a node that prefers such ranges, from one that does not. Otherwise so that leaders are spread evenly, see
   * {@link EvenLeaders}. Not while anything changes: each transfer is a pause for the range's callers, who may just have had one. Only to a node that is in step.
   */
  static Optional<TransferLeadership> balance(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
    if (!observation.isCalm()) return Optional.empty();
    for (var intent : map.intents().values())
      if (intent.operation() instanceof TransferLeadership) return Optional.empty(); // one at a time: a transfer changes the counts

    var leads = leads(map, observation);
    leads.keySet().removeIf(node -> map.disk(node) == Disk.LOW); // it would refuse what needs space
    var possible = new ArrayList<EvenLeaders.Possible>();
    for (var id : map.ranges().keySet()) {
      var led = observation.leader(id).orElse(null);
      if (led == null || !leads.containsKey(led.node())) continue;
      String kind = led.replica().range().kind();
      boolean free = map.intentOn(id).isEmpty();
      boolean preferred = prefers(led.node(), kind, map);
      long now = reached(led.node(), map, observation);
      for (UUID voter : led.replica().range().peers()) {
        if (voter.equals(led.node()) || !leads.containsKey(voter) || !observation.reach(led.node(), voter)) continue;
        if (reached(voter, map, observation) < now) continue;
        var transfer = new TransferLeadership(id, voter);
        boolean ready = free && observation.isInStep(voter, led, settings);
        boolean prefers = prefers(voter, kind, map);
        if (ready && !preferred && prefers) return Optional.of(transfer);
        if (preferred == prefers) possible.add(new EvenLeaders.Possible(transfer, led.node(), ready));
      }
    }
    return EvenLeaders.next(possible, leads);
  }

  private static boolean prefers(UUID node, String kind, ClusterMap map) {
    var known = map.nodes().get(node);
    return known != null && known.prefers(kind);
  }

  /** How many leaderships each node has that may get one. */
  private static Map<UUID, Integer> leads(ClusterMap map, ClusterObservation observation) {
    var leads = new TreeMap<UUID, Integer>();
    for (var node : map.nodes().values())
      if (node.state() == ClusterNode.State.JOINED && observation.heard(node.id())) leads.put(node.id(), 0);
    for (var id : map.ranges().keySet()) observation.leader(id).ifPresent(led -> leads.computeIfPresent(led.node(), (_, n) -> n + 1));
    return leads;
  }

  /** How many other nodes of the cluster a node reaches, and is reached by. */
  private static long reached(UUID node, ClusterMap map, ClusterObservation observation) {
    return map.nodes().values().stream()
        .filter(other -> other.state() != ClusterNode.State.LEFT && !other.id().equals(node) && observation.reach(node, other.id()))
        .count();
  }

  /**
   * The transfers of all leaderships that a voter should have which reaches more nodes than the leader, or has room on its disk while that of the leader is nearly full:
   * first one with room, then one that reaches the most, then one that prefers such ranges, then one with the fewest leaderships. Leaders must reach each other, and all
   * frontends must reach them. A node that no other one reaches is missing to all alike, so its loss moves nothing. A leader hands over by itself when its disk becomes
   * nearly full, but once, and not knowing the disks of others. No leadership goes from a disk with room to one that is nearly full.
   */
  static List<TransferLeadership> towardsReach(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
    if (!observation.isSettled()) return List.of();
    var leads = leads(map, observation);
    var transfers = new ArrayList<TransferLeadership>();
    for (var id : map.ranges().keySet()) {
      var led = observation.leader(id).orElse(null);
      if (led == null || map.intentOn(id).isPresent()) continue;
      String kind = led.replica().range().kind();
      long now = reached(led.node(), map, observation);
      boolean full = map.disk(led.node()) == Disk.LOW;
      led.replica().range().peers().stream()
          .filter(voter -> leads.containsKey(voter) && observation.reach(led.node(), voter)) // else the transfer would be given up at once
          .filter(voter -> observation.canTakeOver(voter, led, settings) && (full || map.disk(voter) != Disk.LOW))
          .filter(voter -> reached(voter, map, observation) > now || (full && map.disk(voter) != Disk.LOW))
          .map(map.nodes()::get)
          .min(
              Comparator.<ClusterNode, Boolean>comparing(node -> node.disk() == Disk.LOW)
                  .thenComparingLong(node -> -reached(node.id(), map, observation))
                  .thenComparing(node -> !node.prefers(kind))
                  .thenComparing(node -> leads.getOrDefault(node.id(), 0))
                  .thenComparing(ClusterNode::id))
          .ifPresent(
              node -> {
                leads.merge(node.id(), 1, Integer::sum);
                transfers.add(new TransferLeadership(id, node.id()));
              });
    }
    return transfers;
  }
}
