package dunlin.placement;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.plan.Leases;
import dunlin.placement.plan.Operations;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The meta group: a list of committed commands in their binary form, and a real {@link Placement} on each of its nodes. */
final class SimMeta {
  /** One node's replica, and its work while it believes that it leads. */
  static final class Member {
    final SimNode node;
    MemoryRows durable = new MemoryRows();
    int durableUpTo;

    Placement placement = new Placement(_ -> {});
    MemoryRows rows = new MemoryRows();
    int appliedUpTo;

    boolean leads;
    int readyFrom;
    Duration since = Duration.ZERO;
    @Nullable Leases leases;

    Member(SimNode node) {
      this.node = node;
    }
  }

  private static final PlacementCodec CODEC = new PlacementCodec();

  final List<Member> members = new ArrayList<>();
  final List<byte[]> log = new ArrayList<>();
  private final SimWorld world;
  private long term;
  @Nullable Member leader;
  Operations.@Nullable Decision last;

  SimMeta(SimWorld world) {
    this.world = world;
    for (var node : world.nodes.subList(0, SimWorld.META)) members.add(new Member(node));
  }

  void begin() {
    world.every(250, this::elections);
    for (var member : members) {
      world.every(80, () -> member.node.whileUp(() -> work(member)));
      world.every(250, () -> member.node.whileUp(() -> drive(member)));
    }
  }

  void crashed(SimNode node) {
    for (var member : members) {
      if (member.node != node) continue;
      member.leads = false;
      if (leader == member) leader = null;
    }
  }

  void restarted(SimNode node) {
    for (var member : members) {
      if (member.node != node) continue;
      member.rows = member.durable.copy();
      member.appliedUpTo = member.durableUpTo;
      member.placement = new Placement(_ -> {});
      member.placement.open(member.rows);
    }
  }

  private boolean majorityUp() {
    return members.stream().filter(member -> member.node.up).count() > members.size() / 2;
  }

  private void elections() {
    if (!majorityUp() || (leader != null && !world.fault(20))) return;
    var next = members.get(world.random.nextInt(members.size()));
    if (!next.node.up || next == leader) return;
    var old = leader;
    if (old != null) {
      // It still sends actions to nodes for a while, but can commit nothing.
      world.after(world.random.nextInt(4000), () -> old.leads = old.leads && leader == old);
    }
    leader = next;
    next.leads = true;
    next.readyFrom = log.size();
    next.since = world.now();
    next.leases = world.rules.leases(++term, world.now());
    world.trace("meta: " + next.node + " leads");
  }

  boolean propose(@Nullable Member by, PlacementCommand command) {
    if (by == null || leader != by || !majorityUp()) return false;
    byte[] bytes = new byte[CODEC.encodedLength(command)];
    CODEC.encode(command, ByteBuffer.wrap(bytes));
    log.add(bytes);
    if (world.tracing) world.trace("meta: " + log.size() + " " + command);
    return true;
  }

  private void work(Member member) {
    for (int budget = world.random.nextInt(12); budget > 0 && member.appliedUpTo < log.size(); budget--) {
      var command = CODEC.decode(ByteBuffer.wrap(log.get(member.appliedUpTo)));
      var result = member.placement.apply(List.of(command), member.rows).getFirst();
      world.checks.metaApplied(member.appliedUpTo, command, result, member.placement.map());
      member.appliedUpTo++;
    }
    if (world.random.nextInt(5) == 0) {
      member.durable = member.rows.copy();
      member.durableUpTo = member.appliedUpTo;
    }
  }

  private void drive(Member member) {
    var leases = member.leases;
    if (!member.leads || leases == null || member.appliedUpTo < member.readyFrom) return;
    var map = member.placement.map();
    for (MarkNode mark : leases.due(map, world.now())) {
      world.checks.marks(mark, world.now().minus(member.since));
      propose(member, mark);
    }
    var observation = leases.observation(map, world.now());
    var decision = world.rules.decide(map, observation, world.settings);
    if (leader == member) last = decision;
    world.checks.decides(decision.commands(), map);
    world.checks.takes(decision, map, observation);
    decision.commands().forEach(command -> propose(member, command));
    for (var action : decision.actions()) {
      if (action instanceof ChangePeers change) world.checks.asks(change, map);
      var to = world.node(action.node());
      world.send(to, () -> to.obey(leases.leadership(), action));
    }
  }

  void report(NodeReport report) {
    for (var member : members) {
      world.send(
          member.node,
          () -> {
            var leases = member.leases;
            if (!member.leads || leases == null) return;
            leases.heard(report, member.placement.map(), world.now());
            var from = world.node(report.node());
            world.send(from, () -> from.follows(leases.leadership()));
          });
    }
  }

  /** The map of the member that has applied most. */
  ClusterMap newestMap() {
    return members.stream().max(Comparator.comparingInt(member -> member.appliedUpTo)).orElseThrow().placement.map();
  }

  /** The map of a random member, which may be old. */
  ClusterMap someMap() {
    return members.get(world.random.nextInt(members.size())).placement.map();
  }
}
