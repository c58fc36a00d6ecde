package dunlin.placement;

import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.SimGroup.Entry;
import dunlin.placement.plan.CutChoice;
import dunlin.store.RangeDescriptor;
import dunlin.store.raft.RangeFence;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One node's replica of a range: a log that is on disk at once, and rows that are flushed from time to time. */
final class SimReplica {
  /** The rows, and what is written atomically with them. */
  static final class State {
    RangeDescriptor descriptor;
    long configuration = -1;
    long applied = -1;
    boolean based;
    TreeMap<Integer, List<Long>> rows = new TreeMap<>();

    State(RangeDescriptor descriptor, boolean based) {
      this.descriptor = descriptor;
      this.based = based;
    }

    State copy() {
      var copy = new State(descriptor, based);
      copy.configuration = configuration;
      copy.applied = applied;
      rows.forEach((key, ids) -> copy.rows.put(key, new ArrayList<>(ids)));
      return copy;
    }
  }

  /** For how long a leader measures before it reports a load. */
  private static final long SPAN = 2000;

  private record Applied(long at, int key) {}

  final SimNode node;
  final SimGroup group;
  final UUID creation;

  /** Where the log ended when this node lost a replica that voted, in whose place this one is; MAX_VALUE for none. */
  final long lostAt;

  // On disk.
  boolean installed;
  long stored = -1;
  State durable;

  // Lost with the process.
  State state;
  boolean running;
  boolean leads;
  long term;
  private long idleUntil;
  private Load measured = Load.NONE;
  private long measuredSince;
  private long measuredEpoch;
  private long measuredTerm;
  private final List<Applied> lately = new ArrayList<>();
  final Map<Long, Consumer<@Nullable Boolean>> waiting = new HashMap<>();

  SimReplica(SimNode node, SimGroup group, UUID creation, State state, boolean installed) {
    this(node, group, creation, state, installed, Long.MAX_VALUE);
  }

  SimReplica(SimNode node, SimGroup group, UUID creation, State state, boolean installed, long lostAt) {
    this.lostAt = lostAt;
    this.node = node;
    this.group = group;
    this.creation = creation;
    this.durable = state;
    this.state = state.copy();
    this.installed = installed;
  }

  /** Whether it knows that it votes, and so may have voted. */
  boolean knowsItsVote() {
    return installed && stored >= group.peerFrom(node.id);
  }

  /** Whether it is in the place of a voter that was lost and that the group has never removed. */
  boolean amnesiac() {
    long from = group.peerFrom(node.id);
    return lostAt < Long.MAX_VALUE && from <= lostAt;
  }

  void crash() {
    running = false;
    leads = false;
    measuredEpoch = 0;
    waiting.clear();
    state = durable.copy();
    if (group.leader == this) group.leader = null;
  }

  /** Restarts the replica, which may be busy for a while before it applies entries, as with a long log. */
  void restarts(boolean runs) {
    running = runs;
    if (node.world.random.nextInt(3) == 0) idleUntil = node.world.millis() + node.world.random.nextInt(3000);
  }

  /** Another replica leads; this one notices at once or a while later. */
  void deposed() {
    var world = node.world;
    if (world.random.nextBoolean()) leads = false;
    else world.after(world.random.nextInt(3000), () -> leads = leads && group.leader == this);
  }

  /** The regular work of a member: take entries or a snapshot from the leader, apply, flush. */
  void work() {
    if (!running) return;
    var world = node.world;
    var leader = group.leader;
    if (leader != null && leader != this && !world.fault(6)) {
      boolean peer = group.receives(node.id);
      if (peer && !installed && leader.state.based) install(leader);
      else if (peer && installed && stored < group.last()) stored += 1 + world.random.nextLong(group.last() - stored);
    }
    if (!installed || world.millis() < idleUntil) return;
    for (int budget = world.random.nextInt(8); budget > 0 && state.applied < stored; budget--) apply(state.applied + 1);
    if (world.random.nextInt(6) == 0) durable = state.copy();
  }

  private void install(SimReplica leader) {
    node.mayCrash();
    durable = leader.state.copy();
    state = durable.copy();
    stored = state.applied;
    installed = true;
    node.world.trace(node + " installs " + group.name() + " as of " + stored);
  }

  private void apply(long index) {
    var logged = group.log.get((int) index);
    boolean applied = false;
    switch (logged.entry()) {
      case Entry.Write(var epoch, var key, var id) -> {
        if (node.world.rules.admits(state.descriptor, epoch, SimNode.key(key))) {
          node.world.checks.admitted(group, index, epoch, key);
          state.rows.computeIfAbsent(key, _ -> new ArrayList<>()).add(id);
          if (leads) lately.add(new Applied(node.world.millis(), key));
          applied = true;
        }
      }
      case Entry.Cut(var split) -> {
        var outcome = node.world.rules.split(state.descriptor, split, logged.term(), index);
        if (outcome instanceof RangeFence.SplitOutcome.Cut(var lower, var upper)) {
          split(index, lower, upper);
          return;
        }
      }
      case Entry.Configuration(var peers) -> {
        state.descriptor = state.descriptor.withPeers(peers);
        state.configuration = index;
      }
      case Entry.Base(var origin) -> {
        RangeFence.requireOrigin(state.descriptor, origin);
        state.based = true;
      }
    }
    state.applied = index;
    var waits = waiting.remove(index);
    if (waits != null) waits.accept(applied);
  }

  /** Applies a split in the order in which it reaches the disk: first the child, then this range's own rows. */
  private void split(long index, RangeDescriptor lower, RangeDescriptor upper) {
    node.mayCrash();
    var present = node.replicas.get(upper.id());
    boolean beingInstalled = present != null && !present.installed;
    if (!beingInstalled && node.world.rules.makesChild(present == null ? null : present.state.descriptor, upper)) {
      var child = new State(upper, false);
      state.rows.forEach((key, ids) -> {
        if (upper.keys().contains(SimNode.key(key))) child.rows.put(key, new ArrayList<>(ids));
      });
      var replica = new SimReplica(node, node.world.checks.child(group, index, upper), NodeReport.ORIGINAL, child, true);
      if (present != null) replica.takesTheLogOf(present);
      node.replicas.put(upper.id(), replica);
      node.world.trace(node + " makes child " + upper.id() + " at " + index);
    }
    node.mayCrash();
    state.rows.keySet().removeIf(key -> upper.keys().contains(SimNode.key(key)));
    state.descriptor = lower;
    state.applied = index;
    durable = state.copy();
  }

  /** Only a mutant makes rows where there are some, whose entries have been truncated by then. */
  private void takesTheLogOf(SimReplica present) {
    stored = present.stored;
    state.applied = present.durable.applied;
    state.based = present.durable.based;
    durable = state.copy();
    running = present.running;
    present.crash();
  }

  NodeReport.Replica report() {
    var range = leads ? state.descriptor.withPeers(group.peersAt(stored)) : state.descriptor;
    var followers = new ArrayList<Follower>();
    if (leads) {
      for (var peer : range.peers()) {
        var member = peer.equals(node.id) ? null : group.member(peer);
        if (!peer.equals(node.id))
          followers.add(new Follower(peer, member == null ? Long.MAX_VALUE : group.last() - member.stored));
      }
    }
    long unflushed = state.applied - durable.applied;
    return new NodeReport.Replica(
        range,
        leads ? group.configurationAt(stored) : state.configuration,
        creation,
        running ? Phase.RUNNING : Phase.STORED,
        leads,
        term,
        state.applied,
        installed && state.based,
        followers,
        leads ? load(unflushed) : Load.unmeasured(unflushed));
  }

  /** The load as a leader measures it: from the start for each term and set of keys, and only at intervals. */
  private Load load(long unflushed) {
    var world = node.world;
    if (measuredEpoch != state.descriptor.epoch() || measuredTerm != term) {
      measured = Load.NONE;
      measuredSince = world.millis();
      lately.clear();
    }
    measuredEpoch = state.descriptor.epoch();
    measuredTerm = term;
    if (world.millis() - measuredSince >= SPAN && world.random.nextInt(3) == 0) measured = measure();
    return new Load(
        measured.bytes(), unflushed, measured.operationsPerSecond(), measured.middle(), measured.busiest(),
        measured.indivisible());
  }

  private Load measure() {
    var world = node.world;
    lately.removeIf(write -> write.at < world.millis() - SPAN);
    var choice = new CutChoice(state.descriptor.keys(), key -> key.length);
    long bytes = state.rows.values().stream().mapToLong(List::size).sum();
    byte[] half = null;
    for (int key : state.rows.keySet()) if (half == null && 2 * bytesBelow(SimNode.key(key + 1)) >= bytes) half = SimNode.key(key);
    var middle = half == null ? null : choice.byBytes(half, this::bytesBelow, bytes).orElse(null);
    var sample = lately.stream().map(write -> SimNode.key(write.key)).toList();
    var splits = world.settings.splits();
    return new Load(
        bytes, 0, lately.size() * 1000L / SPAN, middle, choice.byLoad(sample).orElse(null), middle == null && splits.large(bytes));
  }

  private long bytesBelow(byte[] cut) {
    return state.rows.headMap(cut[0] & 0xFF).values().stream().mapToLong(List::size).sum();
  }

  /** Proposes a client's write; the answer comes when this replica has applied it. */
  void write(long epoch, int key, long id, Consumer<@Nullable Boolean> answer) {
    if (!leads || !running) {
      answer.accept(null);
      return;
    }
    long index = group.propose(this, new Entry.Write(epoch, key, id));
    if (index < 0) answer.accept(null);
    else waiting.put(index, answer);
  }
}
