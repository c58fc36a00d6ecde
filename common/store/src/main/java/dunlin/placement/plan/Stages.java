package dunlin.placement.plan;

import dunlin.placement.ClusterMap;
import dunlin.placement.Intent;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.Progress;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * How far an operation has come, for operators: read from the map and the nodes' reports, as its next step is. So it is as old as the last heartbeats, and
 * what has been done in between is shown a moment later.
 */
final class Stages {
  private static final String ENTRIES = "entries";
  private static final String BYTES = "bytes";
  private static final String REPLICAS = "replicas";

  private final ClusterMap map;
  private final ClusterObservation observation;
  private final OperationSettings settings;

  /** One of the steps of an operation, and how much is left of it. */
  private record Stage(int step, int steps, String doing, long left, String unit) {
    Stage(int step, int steps, String doing) {
      this(step, steps, doing, -1, "");
    }
  }

  Stages(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
    this.map = map;
    this.observation = observation;
    this.settings = settings;
  }

  /** @param waiting why it is stalled, or empty */
  Progress of(Intent intent, String waiting) {
    var stage = intent.cancelled() ? new Stage(1, 1, "undo the steps already done") : stage(intent);
    return new Progress(stage.step, stage.steps, stage.doing, stage.left, stage.unit, waiting, observation.age(intent.id()));
  }

  private Stage stage(Intent intent) {
    return switch (intent.operation()) {
      case Split split -> split(split);
      case AddReplica(var of, var to) -> added(intent, of, to, 0, 3);
      case MoveReplica(var of, var from, var to) -> moved(intent, of, from, to);
      case ReplaceReplica(var of, var node) -> replaced(intent, of, node);
      case TransferLeadership(_, var to) -> new Stage(1, 1, "node " + to + " takes the leadership");
      case DrainNode(var node) -> emptied(node);
      case LeaveNode(var node) -> emptied(node);
    };
  }

  /**
   * The three steps in which a node gets a replica.
   *
   * @param before how many steps of the operation come before them
   */
  private Stage added(Intent intent, UUID of, UUID to, int before, int steps) {
    var replica = own(intent, of, to).orElse(null);
    if (replica == null) return new Stage(before + 1, steps, "node " + to + " creates its replica");
    if (!peers(of).contains(to)) return new Stage(before + 2, steps, "node " + to + " catches up, and gets its vote", behind(of, replica), ENTRIES);
    return new Stage(before + 3, steps, "node " + to + " has its vote, and completes its rows", behind(of, replica), ENTRIES);
  }

  private Stage moved(Intent intent, UUID of, UUID from, UUID to) {
    int steps = 6;
    if (!peers(of).contains(to) || !ready(intent, of, to)) return added(intent, of, to, 0, steps);
    if (!peers(of).contains(from)) return new Stage(6, steps, "node " + from + " drops its replica");
    boolean leads = observation.leader(of).filter(leader -> leader.node().equals(from)).isPresent();
    return leads ? new Stage(4, steps, "node " + from + " hands over the leadership") : new Stage(5, steps, "node " + from + " loses its vote");
  }

  private Stage replaced(Intent intent, UUID of, UUID node) {
    boolean old = peers(of).contains(node) && own(intent, of, node).isEmpty();
    return old ? new Stage(1, 4, "node " + node + " loses the vote of its old replica") : added(intent, of, node, 1, 4);
  }

  private Stage emptied(UUID node) {
    int left = map.rangesOn(node).size();
    if (left > 0) return new Stage(1, 2, "replicas move to other nodes", left, REPLICAS);
    long drops = map.ranges().keySet().stream().filter(id -> observation.replica(node, id).isPresent()).count();
    return new Stage(2, 2, "node " + node + " drops its last replicas", drops, REPLICAS);
  }

  private Stage split(Split split) {
    int steps = 4;
    var parent = observation.leader(split.of()).map(ClusterObservation.Led::replica).orElse(null);
    if (parent == null || parent.range().epoch() <= split.epoch()) {
      long unflushed = peers(split.of()).stream().mapToLong(node -> unflushed(node, split.of())).sum();
      if (unflushed > 0) return new Stage(1, steps, "rows are written to disk before the cut", unflushed, BYTES);
      return new Stage(2, steps, "the range is cut");
    }
    var peers = parent.range().peers();
    long stored = peers.stream().filter(node -> observation.replica(node, split.child()).filter(part -> part.phase() == Phase.RUNNING).isEmpty()).count();
    if (stored > 0) return new Stage(3, steps, "replicas of the upper part start", stored, REPLICAS);
    return new Stage(4, steps, "the upper part gets a leader");
  }

  /** What a replica has in memory only, where that is too much for a split. */
  private long unflushed(UUID node, UUID range) {
    long bytes = observation.replica(node, range).map(replica -> replica.load().unflushed()).orElse(0L);
    return bytes > settings.unflushedMax() ? bytes : 0;
  }

  /** The replica that this operation has had created. */
  private Optional<Replica> own(Intent intent, UUID range, UUID node) {
    return observation.replica(node, range).filter(replica -> replica.creation().equals(intent.id()));
  }

  private boolean ready(Intent intent, UUID range, UUID node) {
    return own(intent, range, node).filter(replica -> replica.phase() == Phase.RUNNING && replica.based()).isPresent();
  }

  /** The voters, as the leader has reported them last, or as the map has them. */
  private List<UUID> peers(UUID range) {
    var led = observation.leader(range).map(leader -> leader.replica().range());
    return led.or(() -> Optional.ofNullable(map.ranges().get(range)).map(placed -> placed.range())).map(known -> known.peers()).orElse(List.of());
  }

  /** How many entries of the log a replica has not applied that its leader has; -1 without a leader. */
  private long behind(UUID range, Replica replica) {
    var leader = observation.leader(range).orElse(null);
    return leader == null ? -1 : Math.max(0, leader.replica().applied() - replica.applied());
  }
}
