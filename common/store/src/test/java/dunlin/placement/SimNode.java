package dunlin.placement;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Action.CreateReplica;
import dunlin.placement.Action.DropReplica;
import dunlin.placement.Action.Elect;
import dunlin.placement.Action.FlushReplica;
import dunlin.placement.Action.ProposeSplit;
import dunlin.placement.Action.StartReplica;
import dunlin.placement.Action.TransferLeadership;
import dunlin.placement.SimGroup.Entry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

/** A process with its disk. */
final class SimNode {
  final SimWorld world;
  final int number;
  final UUID id;
  final Map<UUID, SimReplica> replicas = new TreeMap<>();

  boolean up = true;
  long upSince = -9000;
  private final Map<UUID, Long> lost = new TreeMap<>();
  /** For each range of which a replica was lost and not dropped since: where the log ended if it voted, or MAX_VALUE. */
  private final Map<UUID, Long> notes = new TreeMap<>();
  private long incarnation = 1;
  private long reports;
  private long leadership; // lost with the process

  /** The node that this one does not reach; itself for none. */
  private UUID missed;

  SimNode(SimWorld world, int number) {
    this.world = world;
    this.number = number;
    this.id = new UUID(0, number + 1);
    this.missed = id;
  }

  static byte[] key(int key) {
    return new byte[] {(byte) key};
  }

  ClusterNode row() {
    return ClusterNode.joining(id, "n" + number, Map.of("raft", 7000 + number), Set.of("routes"), "r", "z" + number % 3);
  }

  void begin() {
    world.every(120, () -> whileUp(() -> new ArrayList<>(replicas.values()).forEach(SimReplica::work)));
    world.every(400, () -> whileUp(this::heartbeat));
    world.every(
        6000,
        () -> {
          if (up && world.faulty()) crash();
        });
  }

  /** Runs a task on this node; a crash inside ends the task there. */
  void whileUp(Runnable what) {
    if (!up) return;
    try {
      what.run();
    } catch (SimWorld.Crashed _) {
      // What was done before the crash stays done.
    }
  }

  void mayCrash() {
    if (!world.fault(12)) return;
    crash();
    throw new SimWorld.Crashed();
  }

  private void crash() {
    up = false;
    upSince = Long.MAX_VALUE;
    replicas.values().forEach(SimReplica::crash);
    world.meta.crashed(this);
    world.trace(this + " crashes");
    world.after(world.random.nextInt(world.random.nextInt(4) == 0 ? 8000 : 1500), this::restart);
  }

  private void restart() {
    up = true;
    upSince = world.millis();
    incarnation++;
    reports = 0;
    leadership = 0;
    // A split's child may be left for the meta group's leader to start.
    for (var replica : replicas.values())
      replica.restarts(replica.state.descriptor.origin().isEmpty() || world.random.nextBoolean());
    world.meta.restarted(this);
    world.trace(this + " is back");
  }

  private void heartbeat() {
    var report =
        new NodeReport(id, leadership, incarnation, ++reports, replicas.values().stream().map(SimReplica::report).toList(), unreached());
    replicas.values().stream().filter(SimReplica::amnesiac).forEach(replica -> world.checks.amnesiac(report, replica));
    world.meta.report(report);
  }

  /** For some time, while there are faults, a node does not reach some other one. */
  private List<UUID> unreached() {
    if (world.fault(50)) missed = world.nodes.get(world.random.nextInt(world.nodes.size())).id;
    if (!world.faulty() || world.fault(10)) missed = id;
    return missed.equals(id) ? List.of() : List.of(missed);
  }

  /** Follows the term of a leader of the meta group. */
  void follows(long term) {
    if (term <= leadership) return;
    leadership = term;
    heartbeat();
  }

  /** Carries out an action of the meta group's leader, unless a later term is known. */
  void obey(long term, Action action) {
    follows(term);
    if (term == leadership) carryOut(action);
  }

  /** Carries an action out as a real node does: by comparing first. */
  private void carryOut(Action action) {
    var replica = replicas.get(action.range());
    if (world.tracing) world.trace(this + " is asked " + action);
    switch (action) {
      case CreateReplica(_, var descriptor, var creation) -> {
        if (replica != null) return;
        mayCrash();
        var note = notes.get(descriptor.id());
        var another = new UUID(world.random.nextLong(), 5);
        var made =
            new SimReplica(
                this, world.group(descriptor.id()), world.rules.creation(creation, note != null, another),
                new SimReplica.State(descriptor, false), false, note == null ? Long.MAX_VALUE : note);
        replicas.put(descriptor.id(), made);
        mayCrash();
        made.running = true;
      }
      case StartReplica _ -> {
        if (replica != null) replica.running = true;
      }
      case DropReplica(_, _, var creation) -> {
        if (replica == null || !world.rules.drops(replica.creation, creation)) return;
        world.checks.dropped(replica);
        replica.crash();
        mayCrash();
        replicas.remove(action.range());
        notes.remove(action.range());
      }
      case ChangePeers change -> {
        if (replica == null || !replica.leads || !replica.running || replica.group.leader != replica) return;
        long configuration = replica.group.configurationAt(replica.group.last());
        var peers = replica.group.peersAt(replica.group.last());
        if (!world.rules.exchanges(configuration, peers, change)) return;
        replica.group.change(replica, change.wanted());
      }
      case TransferLeadership(_, _, var to) -> {
        if (replica == null || replica.group.leader != replica) return;
        var target = replica.group.member(to);
        if (target != null && target.stored == replica.group.last()) replica.group.elect(target);
      }
      case Elect _ -> {
        if (replica != null && replica.group.leader == null && replica.group.member(id) == replica) replica.group.elect(replica);
      }
      case FlushReplica _ -> {
        if (replica != null) replica.durable = replica.state.copy();
      }
      case ProposeSplit(_, var split) -> {
        if (replica != null && replica.leads) replica.group.propose(replica, new Entry.Cut(split));
      }
    }
  }

  /** The disk loses one range; the node notices when it starts, and quarantines the rest. */
  void damage(UUID range) {
    var replica = replicas.get(range);
    if (replica == null) return;
    world.trace(this + " loses " + range);
    replica.crash();
    replicas.remove(range);
    lost.put(range, world.millis());
    notes.put(range, replica.amnesiac() ? replica.lostAt : replica.knowsItsVote() ? replica.group.last() : Long.MAX_VALUE);
  }

  /** Whether a range was lost here recently, even if a late message has created a replica again. */
  boolean justLost(UUID range) {
    return world.millis() - lost.getOrDefault(range, -9000L) < 9000;
  }

  /** Whether no other node can know yet that a range is not here: a report may take this long. */
  boolean uncertain(UUID range) {
    return !up || world.millis() - Math.max(lost.getOrDefault(range, -9000L), upSince) < 9000;
  }

  @Override
  public String toString() {
    return "n" + number;
  }
}
