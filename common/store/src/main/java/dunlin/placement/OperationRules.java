package dunlin.placement;

import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.PlacementResult.Reason;
import dunlin.placement.PlacementResult.Refused;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Decides whether an operation may begin. It runs where the command is applied, so no two decisions can race. */
public final class OperationRules {
  private OperationRules() {}

  /** Why the operation may not begin on this map, or null. */
  public static @Nullable Refused refusal(Operation operation, ClusterMap map) {
    var on = operation.range();
    if (on.isEmpty()) return emptying(operation.emptied().orElseThrow(), map);
    var placed = map.ranges().get(on.get());
    if (placed == null) return new Refused(Reason.UNKNOWN_RANGE, "there is no range " + on.get());
    var busy = map.intentOn(on.get());
    if (busy.isPresent())
      return new Refused(Reason.BUSY, "range " + on.get() + " has operation " + busy.get().id() + " already");
    var range = placed.range();
    return switch (operation) {
      case Split split -> split(split, range, map);
      case AddReplica(_, var to) -> {
        var refusal = into(range, to, range.peers(), map);
        yield refusal != null ? refusal : stranded(range, plus(nodes(range), to), null, map);
      }
      case MoveReplica(_, var from, var to) -> move(range, from, to, map);
      case ReplaceReplica(_, var node) -> replace(range, node, map);
      case TransferLeadership(_, var to) -> transfer(range, to, map);
      case DrainNode _, LeaveNode _ -> throw new IllegalStateException(operation + " has no range");
    };
  }

  /**
   * Why the leader of the meta group does not propose an operation that it is asked for, or null: the disk of a node has no room for what it would get. This is not
   * decided where commands are applied: replicas of an earlier version would decide otherwise.
   */
  public static @Nullable Refused withoutRoom(Operation operation, ClusterMap map) {
    if (operation instanceof TransferLeadership(_, var to))
      return map.disk(to) == Disk.LOW ? new Refused(Reason.UNSUITABLE_NODE, "node " + to + " cannot lead now, since its disk " + Disk.LOW) : null;
    var to = operation.filled().orElse(null);
    if (to == null || map.disk(to) == Disk.ENOUGH) return null;
    return new Refused(Reason.UNSUITABLE_NODE, "node " + to + " cannot take a replica now, since its disk " + map.disk(to));
  }

  private static @Nullable Refused split(Split split, RangeDescriptor range, ClusterMap map) {
    if (split.epoch() != range.epoch())
      return new Refused(Reason.STALE, "range " + range.id() + " is at epoch " + range.epoch() + ", not " + split.epoch());
    if (!range.keys().splitsAt(split.cut()))
      return new Refused(
          Reason.UNSUITABLE_CUT,
          "a cut must be inside of " + range.keys() + " and of at most " + KeyInterval.BOUNDARY_BYTES_MAX + " bytes");
    boolean taken =
        map.ranges().containsKey(split.child())
            || map.intents().values().stream()
                .anyMatch(intent -> intent.operation() instanceof Split other && other.child().equals(split.child()));
    if (taken) return new Refused(Reason.CONFLICT, "there is a range " + split.child());
    long coming = map.intents().values().stream().filter(intent -> intent.operation() instanceof Split).count();
    if (map.ranges().size() + coming >= Placement.RANGES_MAX)
      return new Refused(Reason.FULL, "there can be at most " + Placement.RANGES_MAX + " ranges");
    return null;
  }

  private static @Nullable Refused into(RangeDescriptor range, UUID to, List<UUID> voters, ClusterMap map) {
    if (!map.nodes().containsKey(to)) return new Refused(Reason.UNKNOWN_NODE, "there is no node " + to);
    if (range.has(to))
      return new Refused(Reason.UNSUITABLE_NODE, "node " + to + " has a replica of range " + range.id());
    if (!map.takes(to, range.kind()))
      return new Refused(Reason.UNSUITABLE_NODE, "node " + to + " cannot take a replica of " + range.kind() + " now");
    if (range.peers().size() >= RangeDescriptor.PEERS_MAX)
      return new Refused(Reason.FULL, "a range can have at most " + RangeDescriptor.PEERS_MAX + " replicas");
    return withoutMajority(range, voters, map);
  }

  private static @Nullable Refused move(RangeDescriptor range, UUID from, UUID to, ClusterMap map) {
    if (!range.has(from))
      return new Refused(Reason.STALE, "node " + from + " has no replica of range " + range.id());
    var refusal = into(range, to, range.peers(), map);
    if (refusal != null) return refusal;
    var between = new ArrayList<>(range.peers());
    between.add(to);
    refusal = withoutMajority(range, between, map);
    if (refusal != null) return refusal;
    between.remove(from);
    refusal = withoutMajority(range, between, map);
    if (refusal != null) return refusal;
    var after = plus(nodes(range), to);
    after.remove(from);
    return stranded(range, after, null, map);
  }

  private static Set<UUID> nodes(RangeDescriptor range) {
    return new TreeSet<>(range.peers());
  }

  /** Where the replicas of a range are once its operation has finished. */
  private static Set<UUID> nodesToBe(RangeDescriptor range, ClusterMap map) {
    var nodes = nodes(range);
    var operation = map.intentOn(range.id()).map(Intent::operation).orElse(null);
    if (operation == null) return nodes;
    operation.filled().ifPresent(nodes::add);
    if (operation instanceof MoveReplica(_, var from, _)) nodes.remove(from);
    return nodes;
  }

  private static Set<UUID> plus(Set<UUID> nodes, UUID node) {
    nodes.add(node);
    return nodes;
  }

  /**
   * A node that is being emptied must find a place for each of its replicas: no other operation may take the last one.
   *
   * @param peers of the range, as they would be
   * @param emptied a node that would be emptied too, or null
   */
  private static @Nullable Refused stranded(RangeDescriptor range, Set<UUID> peers, @Nullable UUID emptied, ClusterMap map) {
    long leaving = peers.stream().filter(node -> node.equals(emptied) || map.emptying(node).isPresent()).count();
    long spare =
        map.nodes().keySet().stream()
            .filter(node -> !node.equals(emptied) && !peers.contains(node) && map.takes(node, range.kind()))
            .count();
    if (spare >= leaving) return null;
    return new Refused(
        Reason.LOSES_QUORUM,
        "no other node could take the replica of range " + range.id() + " (" + range.kind() + "): it would have "
            + (peers.size() - leaving + spare) + " of " + peers.size());
  }

  private static @Nullable Refused replace(RangeDescriptor range, UUID node, ClusterMap map) {
    if (!range.peers().contains(node))
      return new Refused(Reason.STALE, "node " + node + " has no vote in range " + range.id());
    if (!map.takes(node, range.kind()))
      return new Refused(Reason.UNSUITABLE_NODE, "node " + node + " cannot take a replica of " + range.kind() + " now");
    return withoutMajority(range, range.peers().stream().filter(voter -> !voter.equals(node)).toList(), map);
  }

  private static @Nullable Refused transfer(RangeDescriptor range, UUID to, ClusterMap map) {
    if (!range.peers().contains(to))
      return new Refused(Reason.UNSUITABLE_NODE, "node " + to + " has no vote in range " + range.id());
    var node = map.nodes().get(to);
    if (node == null || node.state() != State.JOINED)
      return new Refused(Reason.UNSUITABLE_NODE, "node " + to + " cannot lead now");
    return null;
  }

  private static @Nullable Refused emptying(UUID node, ClusterMap map) {
    var known = map.nodes().get(node);
    if (known == null) return new Refused(Reason.UNKNOWN_NODE, "there is no node " + node);
    if (known.state() == State.LEFT) return new Refused(Reason.STALE, "node " + node + " has left");
    if (map.emptying(node).isPresent()) return new Refused(Reason.BUSY, "node " + node + " is being emptied already");
    for (var placed : map.ranges().values()) {
      var range = placed.range();
      var refusal = stranded(range, nodes(range), node, map);
      if (refusal == null) refusal = stranded(range, nodesToBe(range, map), node, map);
      if (refusal == null && range.has(node)) refusal = withoutMajority(range, range.peers(), map);
      if (refusal != null) return refusal;
    }
    return null;
  }

  private static @Nullable Refused withoutMajority(RangeDescriptor range, List<UUID> voters, ClusterMap map) {
    if (map.quorum(voters)) return null;
    long up = voters.stream().filter(map::up).count();
    return new Refused(
        Reason.LOSES_QUORUM, "range " + range.id() + " would have " + up + " of " + voters.size() + " voters up");
  }
}
