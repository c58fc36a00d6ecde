package dunlin.placement;

import static java.util.Objects.requireNonNull;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementResult.Accepted;
import dunlin.placement.SimGroup.Entry;
import dunlin.placement.plan.ClusterObservation;
import dunlin.placement.plan.Operations;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** The invariants after each step and at the end, whatever fails in between. It sees the whole state, which no node does. */
final class SimChecks {
  /** An invariant was violated. */
  static final class Violation extends AssertionError {
    Violation(String what) {
      super(what);
    }
  }

  /** The keys and epoch that a group has from an index of its log on, worked out from the log alone. */
  private record Reign(long from, long epoch, KeyInterval keys) {}

  private static final int REPLICAS = 3;

  private final SimWorld world;
  private final Map<UUID, List<Reign>> reigns = new HashMap<>();
  private final Map<UUID, Origin> origins = new HashMap<>();
  private final Map<UUID, Long> seenUpTo = new HashMap<>();
  private final Map<Long, UUID> servedBy = new HashMap<>();
  private final List<PlacementResult> metaResults = new ArrayList<>();
  private final Map<Long, Integer> acknowledged = new HashMap<>();
  private final Map<Integer, Set<String>> written = new HashMap<>(); // for each key, the entries of its writes
  private final Set<UUID> ownAccord = new HashSet<>(); // automatic operations
  private final Set<String> amnesiacs = new HashSet<>();
  private int ownSplits;

  SimChecks(SimWorld world) {
    this.world = world;
  }

  void founded(RangeDescriptor range) {
    reigns.put(range.id(), new ArrayList<>(List.of(new Reign(0, range.epoch(), range.keys()))));
    seenUpTo.put(range.id(), -1L);
  }

  private Reign reign(SimGroup group, long index) {
    var known = reigns.get(group.id);
    if (known == null) throw new Violation("nothing has created range " + group.id);
    for (long i = seenUpTo.getOrDefault(group.id, -1L) + 1; i <= index; i++) {
      var last = known.getLast();
      if (group.log.get((int) i).entry() instanceof Entry.Cut(var split)
          && split.epoch() == last.epoch
          && last.keys.splitsAt(split.cut()))
        known.add(new Reign(i, last.epoch + 1, last.keys.below(split.cut())));
      seenUpTo.put(group.id, i);
    }
    Reign at = known.getFirst();
    for (var reign : known) if (reign.from <= index) at = reign;
    return at;
  }

  /** A write is being applied, on any replica. */
  void admitted(SimGroup group, long index, long epoch, int key) {
    var reign = reign(group, index);
    if (epoch != reign.epoch) throw new Violation("a write of epoch " + epoch + " is applied in epoch " + reign.epoch);
    if (!reign.keys.contains(SimNode.key(key))) throw new Violation("key " + key + " is applied outside of " + reign.keys);
    written.computeIfAbsent(key, _ -> new HashSet<>()).add(group.id + "@" + index);
    var other = servedBy.putIfAbsent(epoch << 8 | key, group.id);
    if (other != null && !other.equals(group.id))
      throw new Violation("key " + key + " is served by " + other + " and " + group.id + " in epoch " + epoch);
  }

  /** A replica makes the child of a split; answers the child's group. */
  SimGroup child(SimGroup parent, long index, RangeDescriptor upper) {
    reign(parent, index);
    boolean cut = reigns.getOrDefault(parent.id, List.of()).stream().anyMatch(reign -> reign.from == index);
    if (!cut) throw new Violation("entry " + index + " of " + parent.id + " splits nothing");
    var group = world.groups.computeIfAbsent(upper.id(), id -> new SimGroup(world, id, upper.peers()));
    if (!reigns.containsKey(upper.id())) founded(upper);
    origins.put(upper.id(), upper.origin().orElseThrow());
    if (!group.firstPeers.equals(upper.peers())) throw new Violation("replicas make children of different peers");
    return group;
  }

  void elected(SimGroup group, SimReplica candidate) {
    if (candidate.stored < group.last())
      throw new Violation("leader of " + group.id + " has " + candidate.stored + " of the committed " + group.last());
  }

  void dropped(SimReplica replica) {
    if (replica.group.peersAt(replica.group.last()).contains(replica.node.id))
      throw new Violation(replica.node + " drops its replica of " + replica.group.id + ", in which it votes");
  }

  /** A leader is about to exchange peers. */
  void changing(SimGroup group, List<UUID> before, List<UUID> wanted) {
    long had =
        before.stream().filter(voter -> holds(group, voter) && !world.node(voter).justLost(group.id)).count();
    // Data on a node that is down, or has just been lost, counts as there: no node can know.
    long has =
        wanted.stream().filter(voter -> holds(group, voter) || world.node(voter).uncertain(group.id)).count();
    if (has < Math.min(had, Math.min(REPLICAS, world.meta.newestMap().places("routes"))))
      throw new Violation("range " + group.id + " goes from " + had + " voters with rows to " + has);
    for (var voter : wanted)
      if (!before.contains(voter) && !world.node(voter).replicas.containsKey(group.id))
        throw new Violation(world.node(voter) + " gets a vote in " + group.id + " and has no replica");
  }

  /** Whether a node will get its rows by applying the split that the range comes from. */
  private boolean splitToCome(SimGroup group, UUID node) {
    var origin = origins.get(group.id);
    var parent = origin == null ? null : world.node(node).replicas.get(origin.parent());
    return origin != null && parent != null && parent.installed && parent.state.applied < origin.index();
  }

  private boolean holds(SimGroup group, UUID node) {
    var replica = world.node(node).replicas.get(group.id);
    return (replica != null && replica.installed) || splitToCome(group, node);
  }

  /** The meta group's leader asks for other peers. */
  void asks(ChangePeers change, ClusterMap map) {
    var before = change.expected();
    var voters = change.wanted();
    if (!voters.equals(before) && !map.quorum(voters))
      throw new Violation("range " + change.range() + " would have voters of which too few are up");
  }

  /** A node reports a replica that has forgotten what it voted for. */
  void amnesiac(NodeReport report, SimReplica replica) {
    amnesiacs.add(name(report, replica.group.id));
  }

  private static String name(NodeReport report, UUID range) {
    return report.node() + " " + report.incarnation() + " " + report.number() + " " + range;
  }

  /** What the meta group's leader makes of the replicas that operations have had created. */
  void takes(Operations.Decision decision, ClusterMap map, ClusterObservation observation) {
    for (var intent : map.intents().values()) {
      var range = intent.operation().range().orElse(null);
      var to = intent.operation().filled().orElse(null);
      var report = to == null ? null : observation.reports().get(to);
      if (range == null || to == null || report == null) continue;
      boolean own = report.replica(range).filter(replica -> replica.creation().equals(intent.id())).isPresent();
      if (!own) continue;
      if (amnesiacs.contains(name(report, range)))
        throw new Violation(intent + " takes a replica that has lost its vote for the one that it has had created");
      var state = requireNonNull(map.nodes().get(to)).state();
      boolean undone = intent.cancelled() || state == State.DOWN || state == State.LEFT || map.emptying(to).isPresent() || map.disk(to) != Disk.ENOUGH;
      for (var action : decision.actions()) {
        boolean removes = action instanceof ChangePeers change && change.expected().contains(to) && !change.wanted().contains(to);
        if (removes && action.range().equals(range) && !undone)
          throw new Violation(intent + " removes the replica that it has had created");
      }
    }
  }

  /** The meta group's leader changes a node's state. */
  void marks(MarkNode mark, Duration leading) {
    var needed = mark.to() == State.SUSPECT ? Rules.LEASE : mark.to() == State.DOWN ? Rules.DOWN_AFTER : Duration.ZERO;
    if (leading.compareTo(needed) < 0)
      throw new Violation("a leader of " + leading + " declares node " + mark.node() + " " + mark.to());
  }

  void metaApplied(int index, PlacementCommand command, PlacementResult result, ClusterMap map) {
    if (index == metaResults.size()) {
      metaResults.add(result);
      if (map.ranges().size() > 1) covered(map);
      if (command instanceof Begin(var id, Split split) && result instanceof Accepted && ownAccord.remove(id)) splits(split, map);
    }
    if (!metaResults.get(index).equals(result))
      throw new Violation(command + " gives " + result + " here and " + metaResults.get(index) + " there");
    for (var range : map.ranges().keySet()) {
      long open = map.intents().values().stream().filter(i -> i.operation().range().filter(range::equals).isPresent()).count();
      if (open > 1) throw new Violation("range " + range + " has " + open + " operations");
    }
  }

  /** A leader of the meta group begins automatic operations. */
  void decides(List<PlacementCommand> commands, ClusterMap map) {
    var limits = world.settings.splits();
    long splits = map.intents().values().stream().filter(intent -> intent.operation() instanceof Split).count();
    for (var command : commands) {
      if (!(command instanceof Begin(var id, Split split))) continue;
      ownAccord.add(id);
      if (++splits > limits.atOnceMax()) throw new Violation("more than " + limits.atOnceMax() + " splits at a time");
      var range = requireNonNull(map.ranges().get(split.of())).range();
      for (var node : range.peers())
        if (map.rangesOn(node).size() >= limits.replicasMax()) throw new Violation(node + " gets too many replicas by " + split);
    }
  }

  /** An automatic split begins: the range's real load must match what its leader has reported. */
  private void splits(Split split, ClusterMap map) {
    var limits = world.settings.splits();
    var keys = requireNonNull(map.ranges().get(split.of())).range().keys();
    long held = held(keys);
    boolean busy = limits.operationsPerSecond() > 0 && held >= limits.bytesMin();
    if (held <= limits.bytes() && !busy) throw new Violation(keys + " is split with " + held + " writes");
    ownSplits++;
    // Each side of a large range has an eighth of its bytes at least.
    if (limits.operationsPerSecond() == 0 && ownSplits > 8 * held(KeyInterval.all()) / limits.bytes())
      throw new Violation(ownSplits + " automatic splits");
  }

  private long held(KeyInterval keys) {
    return written.entrySet().stream()
        .filter(row -> keys.contains(SimNode.key(row.getKey())))
        .mapToLong(row -> row.getValue().size())
        .sum();
  }

  int ownSplits() {
    return ownSplits;
  }

  void acknowledged(long id, int key) {
    if (acknowledged.put(id, key) != null) throw new Violation("write " + id + " is acknowledged twice");
  }

  /** Whether every voter of every range has its rows, also those that it gets by a split. */
  boolean whole() {
    for (var group : world.groups.values()) {
      long cut = -1;
      for (int i = 0; i < group.log.size(); i++) if (group.log.get(i).entry() instanceof Entry.Cut) cut = i;
      for (var voter : group.peersAt(group.last())) {
        var replica = world.node(voter).replicas.get(group.id);
        if (replica == null || !replica.installed || replica.state.applied < cut) return false;
      }
    }
    return true;
  }

  int acknowledgements() {
    return acknowledged.size();
  }

  void afterEachStep() {
    for (var group : world.groups.values()) {
      var leader = group.leader;
      if (leader != null && !leader.installed) throw new Violation("range " + group.id + " is led without rows");
    }
  }

  /** Why the cluster has not settled, or an empty text. */
  String unrest() {
    var meta = world.meta.leader;
    if (meta == null || meta.appliedUpTo < world.meta.log.size()) return "the meta group is behind";
    var map = meta.placement.map();
    if (!map.intents().isEmpty()) {
      var last = world.meta.last;
      return "operations " + map.intents().values() + " wait: " + (last == null ? "" : last.waiting());
    }
    for (var node : map.nodes().values())
      if (node.state() == State.SUSPECT || node.state() == State.DOWN) return "node " + node.id() + " is " + node.state();
    for (var placed : map.ranges().values()) {
      var group = world.group(placed.range().id());
      var leader = group.leader;
      if (leader == null) return "range " + group.id + " has no leader";
      if (!placed.range().peers().equals(group.peersAt(group.last())))
        return "the map has other peers for range " + group.id;
      for (var node : world.nodes) {
        var replica = node.replicas.get(group.id);
        boolean peer = placed.range().has(node.id);
        var row = map.nodes().get(node.id);
        if (row != null && row.state() == State.LEFT) continue; // it keeps its replicas, and no operation touches them
        if (peer != (replica != null)) return node + (peer ? " lacks" : " still has") + " a replica of " + group.id;
        if (replica != null && replica.state.applied < group.last()) return node + " is behind in " + group.id;
      }
    }
    return "";
  }

  /** The invariants of a settled cluster: every key has one range, and every acknowledged write is there once. */
  void atTheEnd() {
    var meta = world.meta.leader;
    if (meta == null) throw new Violation("no meta leader");
    var map = meta.placement.map();
    covered(map);
    var found = new HashMap<Long, Integer>();
    for (var placed : map.ranges().values()) {
      var group = world.group(placed.range().id());
      var leader = group.leader;
      if (leader == null) throw new Violation("range " + group.id + " has no leader");
      var own = leader.state.descriptor;
      if (own.epoch() != placed.range().epoch() || !own.keys().equals(placed.range().keys()))
        throw new Violation("the map has " + placed.range() + ", the range is " + own);
      if (own.peers().size() < REPLICAS) throw new Violation(own + " has too few voters");
      for (var node : world.nodes) {
        var replica = node.replicas.get(group.id);
        boolean peer = own.has(node.id);
        if (peer && replica != null && !replica.state.rows.equals(leader.state.rows))
          throw new Violation(node + " and " + leader.node + " have different rows of range " + group.id);
      }
      leader.state.rows.forEach(
          (key, ids) -> {
            for (long id : ids) if (found.put(id, key) != null) throw new Violation("write " + id + " was applied twice");
          });
    }
    acknowledged.forEach(
        (id, key) -> {
          if (!key.equals(found.get(id))) throw new Violation("acknowledged write " + id + " of key " + key + " is lost");
        });
    for (var member : world.meta.members)
      if (member.appliedUpTo == meta.appliedUpTo && member.placement.map().version() != map.version())
        throw new Violation("members of the meta group have different maps");
  }

  private static void covered(ClusterMap map) {
    var ranges =
        map.ranges().values().stream().map(PlacedRange::range).sorted((a, b) -> a.keys().compareStart(b.keys())).toList();
    if (ranges.getFirst().keys().start().length > 0 || ranges.getLast().keys().end() != null)
      throw new Violation("an end of the key space belongs to no range");
    for (int i = 1; i < ranges.size(); i++)
      if (!ranges.get(i - 1).keys().meets(ranges.get(i).keys()))
        throw new Violation(ranges.get(i - 1) + " and " + ranges.get(i) + " do not meet");
  }
}
