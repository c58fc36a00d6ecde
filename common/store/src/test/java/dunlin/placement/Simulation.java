package dunlin.placement;

import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.Cancel;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** One run: clients write, an operator splits and moves, everything fails; then the faults stop and the cluster must settle. */
final class Simulation {
  private final SimWorld world;
  private long writes;

  /** The outcome of a run, to check that it has tested something. */
  record Outcome(int acknowledged, int ranges, int ownSplits, int commands, long restedAt) {}

  private Simulation(SimWorld world) {
    this.world = world;
  }

  /** @throws AssertionError that names the seed and, with tracing, all events */
  static Outcome run(long seed, Rules rules, boolean tracing) {
    var world = new SimWorld(seed, rules, tracing);
    try {
      return new Simulation(world).run();
    } catch (RuntimeException | AssertionError e) {
      var story = tracing ? "\n" + String.join("\n", world.trace) : "";
      throw new AssertionError(
          "seed " + seed + " at " + world.millis() + " ms: " + e.getMessage()
              + " (run again: -Ddunlin.test.seed=" + seed + ")" + story,
          e);
    }
  }

  private Outcome run() {
    found();
    world.nodes.forEach(SimNode::begin);
    world.meta.begin();
    for (int i = 0; i < 3; i++) client(i);
    world.every(150, () -> List.copyOf(world.groups.values()).forEach(SimGroup::elections));
    world.every(600, this::operator);
    world.every(4000, this::damage);
    if (world.disksFill) world.every(700, this::disks);
    world.run(SimWorld.FAULTS_UNTIL);
    String unrest = "not looked";
    int quiet = 0;
    while (quiet < 3) {
      world.run(world.millis() + 500);
      unrest = world.checks.unrest();
      quiet = unrest.isEmpty() ? quiet + 1 : 0;
      if (world.millis() > SimWorld.STUCK_AFTER) throw new SimChecks.Violation("stuck: " + unrest);
    }
    world.checks.atTheEnd();
    return new Outcome(
        world.checks.acknowledgements(), world.groups.size(), world.checks.ownSplits(), world.meta.log.size(), world.millis());
  }

  private void found() {
    var first = world.meta.members.getFirst();
    world.meta.leader = first;
    world.meta.propose(first, new FoundCluster(new UUID(7, 7)));
    for (var node : world.nodes) world.meta.propose(first, new RegisterNode(node.row()));
    place(new UUID(1, 1), KeyInterval.all().below(SimNode.key(64)), 0, 1, 2);
    place(new UUID(1, 2), KeyInterval.all().from(SimNode.key(64)), 2, 3, 4);
    world.meta.leader = null;
  }

  private void place(UUID id, KeyInterval keys, int... on) {
    var peers = new ArrayList<UUID>();
    for (int number : on) peers.add(world.nodes.get(number).id);
    var range = new RangeDescriptor(id, "routes", keys, 1, peers, null);
    var group = new SimGroup(world, id, peers);
    world.groups.put(id, group);
    world.checks.founded(range);
    for (int number : on) {
      var node = world.nodes.get(number);
      var replica = new SimReplica(node, group, NodeReport.ORIGINAL, new SimReplica.State(range, true), true);
      replica.running = true;
      node.replicas.put(id, replica);
    }
    world.meta.propose(world.meta.leader, new PlaceRange(range));
  }

  /** Writes by the map that it has, and seldom asks for a newer one; the last client hardly ever. */
  private void client(int number) {
    var cache = new ArrayList<RangeDescriptor>();
    world.every(
        90,
        () -> {
          if (!world.faulty()) return;
          if (cache.isEmpty() || world.random.nextInt(number == 2 ? 60 : 15) == 0) refresh(cache);
          int key = 1 + world.random.nextInt(126);
          var found = cache.stream().filter(range -> range.keys().contains(SimNode.key(key))).findFirst();
          if (found.isEmpty() || found.get().peers().isEmpty()) return;
          var peers = found.get().peers();
          var leader = world.group(found.get().id()).leader;
          var to = leader != null && world.random.nextBoolean()
              ? leader.node
              : world.node(peers.get(world.random.nextInt(peers.size())));
          world.send(
              to,
              () -> {
                long id = ++writes; // a message that arrives twice is two writes
                var replica = to.replicas.get(found.get().id());
                if (replica == null) return;
                replica.write(
                    found.get().epoch(),
                    key,
                    id,
                    applied ->
                        world.reply(
                            () -> {
                              if (applied == null) return;
                              if (applied) world.checks.acknowledged(id, key);
                              else if (number != 2) refresh(cache);
                            }));
              });
        });
  }

  private void refresh(List<RangeDescriptor> cache) {
    cache.clear();
    world.meta.someMap().ranges().values().forEach(placed -> cache.add(placed.range()));
  }

  private void operator() {
    var meta = world.meta.leader;
    if (!world.faulty() || meta == null) return;
    var map = meta.placement.map();
    if (map.ranges().isEmpty()) return;
    if (!map.intents().isEmpty() && world.random.nextInt(4) == 0)
      world.meta.propose(meta, new Cancel(some(List.copyOf(map.intents().keySet()))));
    var range = some(List.copyOf(map.ranges().values())).range();
    var to = some(world.nodes).id;
    var peer = range.peers().isEmpty() ? to : some(range.peers());
    var operation =
        switch (world.random.nextInt(10)) {
          case 0, 1, 2 -> SplitChoice.at(range, SimNode.key(1 + world.random.nextInt(126)));
          case 3, 4, 5 -> new MoveReplica(range.id(), peer, to);
          case 6 -> new TransferLeadership(range.id(), peer);
          case 7 -> range.peers().size() < 4 ? new AddReplica(range.id(), to) : new MoveReplica(range.id(), peer, to);
          case 8 -> new ReplaceReplica(range.id(), peer);
          default -> world.random.nextInt(3) == 0 ? new LeaveNode(to) : new DrainNode(to);
        };
    if (map.ranges().size() > 8 && operation instanceof Operation.Split) return;
    world.meta.propose(meta, new Begin(new UUID(world.random.nextLong(), 3), operation));
  }

  /** Destroys one replica of a range while all others are healthy, as a damaged disk does. */
  private void damage() {
    if (!world.fault(2)) return;
    var group = some(List.copyOf(world.groups.values()));
    var voters = group.peersAt(group.last());
    boolean enough = voters.size() >= 3 && world.checks.whole();
    if (enough) world.node(some(voters)).damage(group.id);
  }

  /** Nodes say that their disks have no room, or have some again; when the faults have stopped, all have room in the end. */
  private void disks() {
    var meta = world.meta.leader;
    if (meta == null) return;
    for (var node : meta.placement.map().nodes().values()) {
      var disk = world.faulty() ? some(List.of(Disk.values())) : Disk.ENOUGH;
      if (node.disk() != disk && (!world.faulty() || world.random.nextInt(5) == 0)) world.meta.propose(meta, new RegisterNode(node.with(disk)));
    }
  }

  private <T> T some(List<T> of) {
    return of.get(world.random.nextInt(of.size()));
  }
}
