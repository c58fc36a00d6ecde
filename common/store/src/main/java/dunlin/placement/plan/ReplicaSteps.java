package dunlin.placement.plan;

import static java.util.Objects.requireNonNull;

import dunlin.placement.Action;
import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Action.CreateReplica;
import dunlin.placement.Action.DropReplica;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.Intent;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.Adding;
import dunlin.placement.PlacementCommand.Finish;
import dunlin.placement.plan.Step.Do;
import dunlin.placement.plan.Step.Log;
import dunlin.placement.plan.Step.Wait;
import dunlin.store.RangeDescriptor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Adds, moves and replaces a replica, in this order: create the new one; add it as a voter, which Raft does once it has
 * nearly caught up; wait for its rows; move the leadership off the old one; remove the old one from the configuration;
 * drop it. So there are never fewer voters than before.
 */
final class ReplicaSteps {
  /*
   * Owner: one decision. Keeps no state between decisions: the progress is read from the leader's configuration.
   *
   * A voter without rows is a danger: it may have lost what it voted for. The only one that is waited for, instead of
   * removed first, is the replica that this operation has had created. It bears the operation's identifier, and no
   * replica that was made where another was lost does (LocalReplicas.create).
   *
   * Raft may give the new replica its vote long after that was asked for. So the meta group's log says first on which
   * configuration the change is based, and nothing is dropped or abandoned before the range has a later one: by then the
   * change has taken effect, or never will.
   */
  private final ClusterMap map;
  private final ClusterObservation observation;
  private final OperationSettings settings;
  private final Intent intent;
  private final ClusterObservation.Led leader;
  private final Replica led;
  private final RangeDescriptor range;

  ReplicaSteps(ClusterMap map, ClusterObservation observation, OperationSettings settings, Intent intent, ClusterObservation.Led leader) {
    this.map = map;
    this.observation = observation;
    this.settings = settings;
    this.intent = intent;
    this.leader = leader;
    this.led = leader.replica();
    this.range = led.range();
  }

  /** @param from the node whose replica is removed, or null */
  Step move(@Nullable UUID from, UUID to) {
    boolean gone = from == null || !range.has(from);
    boolean arrived = range.has(to) && ready(to);
    if (gone && arrived) return from == null ? finish() : drop(from);
    boolean unwanted = !arrived && (map.emptying(to).isPresent() || full(to)); // a full one would never arrive
    if (intent.cancelled() || lost(to) || unwanted) return undo(to);
    if (!arrived) return add(to);
    if (tooFew()) return abandon(); // a voter without rows was removed instead, or there were too few before
    if (emptyVoter().isEmpty() && unheard().isPresent()) return unheard().get();
    return remove(emptyVoter().orElseGet(() -> requireNonNull(from, "no replica to remove")));
  }

  /** Removes a lost replica from the configuration, and creates it again on the same node. */
  Step replace(UUID node) {
    if (range.has(node)) {
      if (!observation.heard(node)) return intent.cancelled() || lost(node) ? abandon() : new Wait("node " + node + " is silent");
      if (ready(node) || !observation.empty(node, range.id())) return finish();
      if (full(node)) return abandon();
      if (own(node)) return new Wait("node " + node + " catches up");
      if (intent.cancelled()) return abandon();
      return awaitsSplit(map, observation, node, range) ? new Wait("node " + node + " has yet to apply a split") : remove(node);
    }
    if (intent.cancelled() || lost(node) || full(node)) return undo(node);
    return add(node);
  }

  /** Whether removing one voter would leave fewer than there were, or than there should and could be. */
  private boolean tooFew() {
    return range.peers().size() <= Math.max(intent.voters(), Math.min(settings.replicas(), map.places(range.kind())));
  }

  /** A voter that has lost its rows. It is removed first, whichever voter was meant: that costs no healthy voter. */
  private Optional<UUID> emptyVoter() {
    return range.peers().stream()
        .filter(voter -> observation.heard(voter) && observation.empty(voter, range.id()))
        .filter(voter -> !awaitsSplit(map, observation, voter, range))
        .findFirst();
  }

  /** Waits for the first report of a voter that seems to be up: it may be without its rows. */
  private Optional<Step> unheard() {
    return range.peers().stream()
        .filter(voter -> map.up(voter) && !observation.heard(voter))
        .findFirst()
        .map(voter -> new Wait("node " + voter + " has not reported yet"));
  }

  /** The replica that this operation has had created. */
  private boolean own(UUID node) {
    return observation.replica(node, range.id()).filter(replica -> replica.creation().equals(intent.id())).isPresent();
  }

  /** Whether the replica that this operation has had created runs and has its rows. */
  private boolean ready(UUID node) {
    return own(node)
        && observation.replica(node, range.id()).filter(replica -> replica.phase() == Phase.RUNNING && replica.based()).isPresent();
  }

  private Step add(UUID to) {
    if (!observation.heard(to)) return new Wait("node " + to + " is silent");
    var replica = observation.replica(to, range.id()).orElse(null);
    if (range.has(to)) return own(to) ? new Wait("node " + to + " catches up") : remove(to);
    if (replica == null) return new Do(new CreateReplica(to, range, intent.id()));
    // A leftover of an operation that has ended, or made where a replica was lost.
    if (!own(to)) return pending() ? change(range.peers()) : drop(to, replica);
    var voters = new ArrayList<>(range.peers());
    voters.add(to);
    if (!map.quorum(voters)) return new Wait("too few voters are up for one more");
    return pending() ? change(voters) : new Log(new Adding(intent.id(), led.configuration()));
  }

  /** Whether a change that adds the new replica may have been asked for and still take effect. */
  private boolean pending() {
    return intent.adding() >= led.configuration();
  }

  private Step remove(UUID from) {
    var rest = without(from);
    if (!map.quorum(rest)) return new Wait("too few voters would be up without node " + from);
    var split = splitToCome(from);
    if (split != null) return split;
    if (leader.node().equals(from)) return handOver(rest);
    return change(rest);
  }

  private Step handOver(List<UUID> rest) {
    return rest.stream()
        .filter(voter -> map.up(voter) && observation.heard(voter) && observation.canTakeOver(voter, leader, settings))
        .filter(voter -> map.disk(voter) != Disk.LOW || map.disk(leader.node()) == Disk.LOW)
        .min(Comparator.comparing(voter -> map.disk(voter) == Disk.LOW))
        .<Step>map(voter -> new Do(new Action.TransferLeadership(leader.node(), range.id(), voter)))
        .orElseGet(() -> new Wait("no other node can take the leadership from node " + leader.node() + (nearlyFull(rest) ? ": there are disks that are nearly full" : "")));
  }

  private boolean nearlyFull(List<UUID> nodes) {
    return nodes.stream().anyMatch(node -> map.disk(node) == Disk.LOW);
  }

  /** Whether a node's disk has no room for the rows of a replica. */
  private boolean full(UUID node) {
    return map.disk(node) != Disk.ENOUGH;
  }

  /**
   * Waits for a node that has yet to apply a split of this range. It gets its part of the child by applying the split;
   * if its replica were removed first, it would be an empty member of the child's group.
   */
  private @Nullable Step splitToCome(UUID from) {
    if (!observation.heard(from)) return null; // a dead node's replica of the child is replaced like this one
    Predicate<RangeDescriptor> childThere =
        child ->
            child.origin().filter(origin -> origin.parent().equals(range.id())).isPresent() && child.has(from);
    for (var placed : map.ranges().values()) {
      var child = placed.range();
      if (childThere.test(child) && awaitsSplit(map, observation, from, child))
        return new Wait("node " + from + " has not applied the split of range " + child.id());
    }
    return null;
  }

  /** Whether a node will still get its replica of a child by applying a split: of the parent, or of the parent's parent. */
  static boolean awaitsSplit(ClusterMap map, ClusterObservation observation, UUID node, RangeDescriptor child) {
    var origin = child.origin().orElse(null);
    if (origin == null || observation.replica(node, child.id()).isPresent()) return false;
    var parent = observation.replica(node, origin.parent()).orElse(null);
    if (parent == null) {
      var known = map.ranges().get(origin.parent());
      return known != null && awaitsSplit(map, observation, node, known.range());
    }
    // A replica that installs a snapshot skips the split, and makes no child.
    boolean applies = parent.based() || parent.creation().equals(NodeReport.ORIGINAL);
    return applies && parent.applied() < origin.index();
  }

  /** The step once the replica has left the configuration: its node may drop it. */
  private Step drop(UUID from) {
    var replica = observation.replica(from, range.id());
    if (observation.heard(from) && replica.isPresent()) return drop(from, replica.get());
    return finish(); // a node that comes back later is told then
  }

  private Step drop(UUID node, Replica replica) {
    return new Do(new DropReplica(node, range.id(), replica.creation()));
  }

  private Step undo(UUID to) {
    if (!range.has(to)) return abandon();
    // It stays, and only this operation knows it for a fresh one. Without room for its rows it would not catch up: it counts as one that has lost them.
    if (tooFew()) return own(to) && !ready(to) && !lost(to) && !full(to) ? new Wait("node " + to + " catches up") : abandon();
    if (emptyVoter().isPresent()) return remove(emptyVoter().get());
    if (unheard().isPresent()) return unheard().get();
    var rest = without(to);
    if (!map.quorum(rest)) return new Wait("too few voters would be up without node " + to);
    if (leader.node().equals(to)) return handOver(rest);
    return change(rest);
  }

  /** Whether a node counts as lost. One that is only suspected may come back soon. */
  private boolean lost(UUID node) {
    var known = map.nodes().get(node);
    return known == null || known.state() == State.DOWN || known.state() == State.LEFT;
  }

  private Step finish() {
    return known() ? new Log(new Finish(intent.id())) : new Wait("the map learns the peers");
  }

  private Step abandon() {
    if (pending()) return change(range.peers()); // refused while the leader still waits for the new replica
    return known() ? new Log(new Abandon(intent.id())) : new Wait("the map learns the peers");
  }

  /** Whether the map has the resulting configuration: only then the operation ends. */
  private boolean known() {
    var placed = map.ranges().get(range.id());
    return placed != null && placed.configuration() >= led.configuration();
  }

  private Step change(List<UUID> wanted) {
    return new Do(new ChangePeers(leader.node(), range.id(), led.configuration(), range.peers(), wanted));
  }

  private List<UUID> without(UUID node) {
    return range.peers().stream().filter(peer -> !peer.equals(node)).toList();
  }
}
