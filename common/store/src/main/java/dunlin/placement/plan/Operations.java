package dunlin.placement.plan;

import static java.util.Objects.requireNonNull;

import dunlin.placement.Action;
import dunlin.placement.Action.DropReplica;
import dunlin.placement.Action.StartReplica;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.Intent;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.OperationRules;
import dunlin.placement.PlacedRange;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.Finish;
import dunlin.placement.PlacementCommand.PeersChanged;
import dunlin.placement.Progress;
import dunlin.placement.plan.Step.Do;
import dunlin.placement.plan.Step.Log;
import dunlin.placement.plan.Step.Wait;
import dunlin.store.FieldWriter;
import dunlin.store.RangeDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Decides what the meta group's leader does next, from the map and the nodes' reports alone. So after a crash, or on
 * the next leader, an operation continues where it stands.
 */
public final class Operations {
  /*
   * Owner: any thread; keeps nothing between two decisions.
   * Bounds: at most one step for each operation and each range; at most automaticMax automatic operations.
   */
  private final OperationSettings settings;

  /**
   * Everything that can be done now. Repeating it or changing the order does no harm.
   *
   * @param waiting for each operation that is stalled, why
   * @param indivisible ranges that are too large or too busy and cannot be split
   */
  public record Decision(
      List<PlacementCommand> commands,
      List<Action> actions,
      NavigableMap<UUID, String> waiting,
      NavigableSet<UUID> indivisible) {}

  public Operations(OperationSettings settings) {
    this.settings = settings;
  }

  public Decision decide(ClusterMap map, ClusterObservation observation) {
    var decision = new Decision(new ArrayList<>(), new ArrayList<>(), new TreeMap<>(), new TreeSet<>());
    for (var id : map.ranges().keySet()) {
      learnPeers(id, map, observation, decision);
      start(id, map, observation, decision);
    }
    for (var intent : map.intents().values()) {
      switch (next(intent, map, observation)) {
        case Do(var actions) -> decision.actions.addAll(actions);
        case Log(var command) -> decision.commands.add(command);
        case Wait(var why) -> decision.waiting.put(intent.id(), why);
      }
    }
    for (var id : map.ranges().keySet()) if (map.intentOn(id).isEmpty()) tidy(id, map, observation, decision);
    automatic(map, observation, decision);
    return decision;
  }

  /**
   * How far the operations have come.
   *
   * @param waiting for each one that is stalled, why
   */
  public NavigableMap<UUID, Progress> progress(ClusterMap map, ClusterObservation observation, Map<UUID, String> waiting) {
    var stages = new Stages(map, observation, settings);
    var progress = new TreeMap<UUID, Progress>();
    for (var intent : map.intents().values()) progress.put(intent.id(), stages.of(intent, waiting.getOrDefault(intent.id(), "")));
    return progress;
  }

  /** The next step of one operation. */
  Step next(Intent intent, ClusterMap map, ClusterObservation observation) {
    return switch (intent.operation()) {
      case Split split -> SplitSteps.next(observation, settings, intent.id(), split);
      case AddReplica add -> withLeader(intent, map, observation, add.of(), steps -> steps.move(null, add.to()));
      case MoveReplica move -> withLeader(intent, map, observation, move.of(), steps -> steps.move(move.from(), move.to()));
      case ReplaceReplica replace -> withLeader(intent, map, observation, replace.of(), steps -> steps.replace(replace.node()));
      case TransferLeadership transfer -> transfer(intent, transfer, map, observation);
      case DrainNode(var node) -> empty(intent, node, map, observation);
      case LeaveNode(var node) -> empty(intent, node, map, observation);
    };
  }

  private interface Steps {
    Step of(ReplicaSteps steps);
  }

  private Step withLeader(Intent intent, ClusterMap map, ClusterObservation observation, UUID range, Steps steps) {
    var leader = observation.leader(range).orElse(null);
    if (leader == null) return new Wait("range " + range + " has no leader");
    if (!leader.replica().based()) return new Wait("range " + range + " has just been split off");
    if (outdated(leader, range, map)) return new Wait("the reports of range " + range + " are older than the map");
    return steps.of(new ReplicaSteps(map, observation, settings, intent, leader));
  }

  /** Whether the map has a newer state of a range than its leader has reported, as with a leader that has been deposed. */
  private static boolean outdated(ClusterObservation.Led leader, UUID range, ClusterMap map) {
    var placed = map.ranges().get(range);
    return placed == null || leader.replica().configuration() < placed.configuration();
  }

  private Step transfer(Intent intent, TransferLeadership transfer, ClusterMap map, ClusterObservation observation) {
    var leader = observation.leader(transfer.of()).orElse(null);
    var to = map.nodes().get(transfer.to());
    if (leader != null && leader.node().equals(transfer.to())) return new Log(new Finish(intent.id()));
    if (intent.cancelled() || to == null || to.state() != ClusterNode.State.JOINED) return new Log(new Abandon(intent.id()));
    // A leader of the meta group has no reports yet when it is elected. Of a node that is silent for a lease, the map says so.
    if (!observation.heard(transfer.to())) return new Wait("node " + transfer.to() + " has not reported");
    if (observation.replica(transfer.to(), transfer.of()).isEmpty()) return new Log(new Abandon(intent.id()));
    if (leader == null) return new Wait("range " + transfer.of() + " has no leader");
    if (!leader.replica().range().peers().contains(transfer.to())) return new Log(new Abandon(intent.id()));
    if (to.disk() == ClusterNode.Disk.LOW && map.disk(leader.node()) != ClusterNode.Disk.LOW) return new Log(new Abandon(intent.id()));
    // Else it would wait until their network is mended, and keep the leadership from a node that reaches both.
    if (!observation.reach(leader.node(), transfer.to())) return new Log(new Abandon(intent.id()));
    if (!observation.canTakeOver(transfer.to(), leader, settings)) return new Wait("node " + transfer.to() + " has not caught up with range " + transfer.of());
    return new Do(new Action.TransferLeadership(leader.node(), transfer.of(), transfer.to()));
  }

  private Step empty(Intent intent, UUID node, ClusterMap map, ClusterObservation observation) {
    var left = map.rangesOn(node);
    if (left.isEmpty()) {
      boolean drops = observation.heard(node) && map.ranges().keySet().stream().anyMatch(id -> observation.replica(node, id).isPresent());
      return drops ? new Wait("node " + node + " drops its last replicas") : new Log(new Finish(intent.id()));
    }
    for (var range : left) {
      if (map.intentOn(range.id()).isPresent()) continue;
      var to = NodeChoice.replica(range, node, map, observation, List.of()).orElse(null);
      if (to == null) continue;
      var move = new MoveReplica(range.id(), node, to);
      if (OperationRules.refusal(move, map) == null) return new Log(begin(move, map));
    }
    var still = left.stream().filter(range -> map.intentOn(range.id()).isEmpty()).toList();
    return new Wait(left.size() + " replicas are moving or have no place to go" + NodeChoice.withoutRoom(still, map, observation));
  }

  private static void learnPeers(UUID id, ClusterMap map, ClusterObservation observation, Decision to) {
    var placed = map.ranges().get(id);
    var led = observation.leader(id).orElse(null);
    if (placed == null || led == null) return;
    var range = led.replica().range();
    if (range.epoch() == placed.range().epoch() && led.replica().configuration() > placed.configuration())
      to.commands.add(new PeersChanged(id, range.epoch(), led.replica().configuration(), range.peers()));
  }

  /**
   * Starts replicas that are not running: a process that crashed during a split may not have started its own. A node that
   * has applied an old split after it got a replica of the parent may have no part in the child: its rows are tidied up.
   */
  private static void start(UUID id, ClusterMap map, ClusterObservation observation, Decision to) {
    var range = requireNonNull(map.ranges().get(id)).range();
    for (var report : observation.reports().values()) {
      var replica = report.replica(id).filter(each -> each.phase() == Phase.STORED).orElse(null);
      if (replica == null || !observation.heard(report.node())) continue;
      boolean splitOff = replica.creation().equals(NodeReport.ORIGINAL);
      if (!splitOff || range.has(report.node())) to.actions.add(new StartReplica(report.node(), id));
    }
  }

  /** Removes leftovers of cancelled operations and late calls from a range without an operation. */
  private static void tidy(UUID id, ClusterMap map, ClusterObservation observation, Decision to) {
    var led = observation.leader(id).orElse(null);
    if (led == null || !led.replica().based() || outdated(led, id, map)) return;
    var range = led.replica().range();
    for (var report : observation.reports().values()) {
      var replica = report.replica(id).orElse(null);
      if (replica != null && observation.heard(report.node()) && !range.has(report.node()))
        to.actions.add(new DropReplica(report.node(), id, replica.creation()));
    }
  }

  /** Operations that the cluster begins automatically, the most urgent first. */
  private void automatic(ClusterMap map, ClusterObservation observation, Decision to) {
    var wanted = new ArrayList<Operation>();
    for (var placed : map.ranges().values()) {
      var range = placed.range();
      if (map.intentOn(range.id()).isPresent()) continue;
      var led = observation.leader(range.id()).orElse(null);
      if (led == null || !led.replica().based() || led.replica().range().epoch() != range.epoch()) continue;
      if (!led.replica().range().peers().equals(range.peers())) continue; // the map must be updated first
      for (var voter : range.peers()) repair(range, voter, map, observation, wanted);
      if (range.peers().size() < settings.replicas())
        NodeChoice.replica(range, null, map, observation, wanted).ifPresent(node -> wanted.add(new AddReplica(range.id(), node)));
      split(range, led.replica(), observation, to).ifPresent(wanted::add);
    }
    if (settings.balance()) wanted.addAll(NodeChoice.towardsReach(map, observation, settings));
    if (wanted.isEmpty() && settings.balance()) {
      NodeChoice.relocation(map, observation).<Operation>map(move -> move).or(() -> NodeChoice.balance(map, observation, settings)).ifPresent(wanted::add);
    }
    int free = settings.automaticMax() - map.intents().size();
    int splits = splits(map);
    var seen = new ArrayList<UUID>();
    for (var operation : wanted) {
      var range = operation.range().orElseThrow();
      if (seen.size() >= free || seen.contains(range) || OperationRules.refusal(operation, map) != null) continue;
      if (operation instanceof Split) {
        if (!room(map.ranges().get(range), splits, map)) continue;
        splits++;
      }
      seen.add(range);
      to.commands.add(begin(operation, map));
    }
  }

  private static int splits(ClusterMap map) {
    return (int) map.intents().values().stream().filter(intent -> intent.operation() instanceof Split).count();
  }

  /** The split of a range whose replicas are all healthy: each of its nodes will get one more replica and must flush its rows. */
  private Optional<Split> split(RangeDescriptor range, Replica led, ClusterObservation observation, Decision to) {
    var split = SplitChoice.choose(range, led.load(), settings.splits());
    if (split.isEmpty() && led.load().indivisible()) to.indivisible.add(range.id());
    boolean whole = led.range().peers().stream().allMatch(observation::heard);
    return whole ? split : Optional.empty();
  }

  /** @param splits that are in progress or about to begin, on any nodes */
  private boolean room(@Nullable PlacedRange placed, int splits, ClusterMap map) {
    var limits = settings.splits();
    return placed != null
        && splits < limits.atOnceMax()
        && placed.range().peers().stream().allMatch(node -> map.rangesOn(node).size() + splits < limits.replicasMax());
  }

  private void repair(
      RangeDescriptor range, UUID node, ClusterMap map, ClusterObservation observation, List<Operation> wanted) {
    var known = map.nodes().get(node);
    if (known == null) return;
    if (known.state() == ClusterNode.State.DOWN) {
      if (settings.replaceAfter() == null || observation.silence(node).compareTo(settings.replaceAfter()) < 0) return;
      NodeChoice.replica(range, node, map, observation, wanted).ifPresent(to -> wanted.add(new MoveReplica(range.id(), node, to)));
    } else if (observation.heard(node)
        && observation.empty(node, range.id())
        && !ReplicaSteps.awaitsSplit(map, observation, node, range)) {
      // Its rows were damaged and quarantined, or it never got its part of a split, or its disk had no room for them.
      if (known.disk() == ClusterNode.Disk.ENOUGH) wanted.add(new ReplaceReplica(range.id(), node));
      else NodeChoice.replica(range, node, map, observation, wanted).ifPresent(to -> wanted.add(new MoveReplica(range.id(), node, to)));
    }
  }

  /** An intent whose identifier is derived from the map version: deciding twice makes one operation. */
  private static Begin begin(Operation operation, ClusterMap map) {
    byte[] bytes =
        FieldWriter.bytesOf(
            out -> {
              out.number(map.version());
              operation.writeTo(out);
            });
    return new Begin(UUID.nameUUIDFromBytes(bytes), operation);
  }
}
