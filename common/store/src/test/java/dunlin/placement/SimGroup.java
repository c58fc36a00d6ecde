package dunlin.placement;

import dunlin.placement.Operation.Split;
import dunlin.store.RangeDescriptor.Origin;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A simplified Raft group: one list of committed entries, of which each member has a prefix. An entry is committed once
 * a majority stores it; a leader is elected by a majority that stores no more than it does. Both go by the
 * configuration that the member knows. So a protocol that breaks majorities elects leaders that lack committed entries,
 * and that is checked.
 */
final class SimGroup {
  sealed interface Entry {
    record Write(long epoch, int key, long id) implements Entry {}

    record Cut(Split split) implements Entry {}

    record Configuration(List<UUID> peers) implements Entry {}

    record Base(Origin origin) implements Entry {}
  }

  record Logged(long term, Entry entry) {}

  /** A change that waits for new peers, in the memory of the leader. */
  private record Staging(SimReplica leader, long term, List<UUID> wanted) {}

  /** A new peer may lack so many entries when it gets its vote. */
  private static final long GAP = 2;

  final UUID id;
  final List<UUID> firstPeers;
  final List<Logged> log = new ArrayList<>();
  private final TreeSet<Long> configurations = new TreeSet<>(); // where in the log
  private final SimWorld world;

  long term;
  @Nullable SimReplica leader; // the one of the highest term, if its node is up
  private @Nullable Staging staging;

  SimGroup(SimWorld world, UUID id, List<UUID> firstPeers) {
    this.world = world;
    this.id = id;
    this.firstPeers = firstPeers;
  }

  long last() {
    return log.size() - 1L;
  }

  /** The index of the newest configuration among the first entries, or -1. */
  long configurationAt(long index) {
    var before = configurations.floor(index);
    return before == null ? -1 : before;
  }

  /** The index from which on, up to now, a node is a peer by each configuration; -1 for the beginning; MAX_VALUE for none. */
  long peerFrom(UUID node) {
    long from = Long.MAX_VALUE;
    for (long at : configurations.descendingSet()) {
      if (!peersAt(at).contains(node)) return from;
      from = at;
    }
    return firstPeers.contains(node) ? -1 : from;
  }

  List<UUID> peersAt(long index) {
    long at = configurationAt(index);
    return at < 0 ? firstPeers : ((Entry.Configuration) log.get((int) at).entry).peers;
  }

  private static boolean majority(List<UUID> voters, Set<UUID> of) {
    return voters.stream().filter(of::contains).count() > voters.size() / 2;
  }

  /** A member that takes part: up, running, with rows. */
  @Nullable SimReplica member(UUID node) {
    var at = world.node(node);
    var replica = at.replicas.get(id);
    return at.up && replica != null && replica.running && replica.installed ? replica : null;
  }

  /** Lets some member become a candidate when there is no leader, or as a fault. */
  void elections() {
    if (leader != null) base(leader);
    stage();
    if (leader != null && !world.fault(60)) return;
    var candidates = world.nodes.stream().map(node -> member(node.id)).filter(replica -> replica != null).toList();
    if (!candidates.isEmpty()) elect(candidates.get(world.random.nextInt(candidates.size())));
  }

  /** Elects a member if a majority of the voters that it knows vote for it. */
  boolean elect(SimReplica candidate) {
    var voters = peersAt(candidate.stored);
    var votes = new HashSet<UUID>();
    for (var voter : voters) {
      var member = member(voter);
      if (member != null && member.stored <= candidate.stored && (member == candidate || !world.fault(8))) votes.add(voter);
    }
    if (!voters.contains(candidate.node.id) || !majority(voters, votes)) return false;
    world.checks.elected(this, candidate);
    var old = leader;
    if (old != null && old != candidate) old.deposed();
    term++;
    leader = candidate;
    candidate.leads = true;
    candidate.term = term;
    world.trace("group " + name() + " elects " + candidate.node + " in term " + term);
    base(candidate);
    return true;
  }

  /**
   * Begins to change the peers. As in Ratis, new ones get entries without a vote until they have nearly all; so the change
   * may take effect long after it was asked for. There is one change at a time, and none outlives its leader.
   */
  void change(SimReplica by, List<UUID> wanted) {
    if (leader != by || staged() != null) return;
    var before = peersAt(last());
    if (before.containsAll(wanted)) {
      world.checks.changing(this, before, wanted);
      propose(by, new Entry.Configuration(wanted));
      return;
    }
    staging = new Staging(by, term, wanted);
    stage();
  }

  private @Nullable Staging staged() {
    return staging != null && staging.leader == leader && staging.term == term ? staging : null;
  }

  /** Whether the leader sends its entries to a node. */
  boolean receives(UUID node) {
    var now = staged();
    return peersAt(last()).contains(node) || (now != null && now.wanted.contains(node));
  }

  /** Continues the change that waits for new peers. */
  private void stage() {
    var now = staged();
    if (now == null) return;
    var before = peersAt(last());
    for (var node : now.wanted) {
      if (before.contains(node)) continue;
      var at = world.node(node);
      var replica = at.replicas.get(id);
      if (!at.up || replica == null || !replica.running) {
        if (world.random.nextInt(10) == 0) staging = null; // the leader has given it up
        return;
      }
      // Ratis counts entries: the rows may come later.
      if (last() - replica.stored > GAP && world.random.nextInt(8) > 0) return;
    }
    if (world.fault(4)) return;
    world.checks.changing(this, before, now.wanted);
    if (propose(now.leader, new Entry.Configuration(now.wanted)) >= 0) staging = null;
  }

  /** A child's leader first confirms where the rows came from. */
  private void base(SimReplica by) {
    var origin = by.state.descriptor.origin();
    if (origin.isPresent() && log.isEmpty()) propose(by, new Entry.Base(origin.get()));
  }

  /** Commits an entry if the member leads and majorities store it; answers its index, or -1, after which the outcome is unknown. */
  long propose(SimReplica by, Entry entry) {
    if (leader != by || !by.running || !by.node.up) return -1;
    var before = peersAt(last());
    var after = entry instanceof Entry.Configuration(var peers) ? peers : before;
    var able = new ArrayList<SimReplica>();
    for (var node : world.nodes) {
      boolean peer = before.contains(node.id) || after.contains(node.id);
      var member = member(node.id);
      if (peer && member != null && (member == by || !world.fault(10))) able.add(member);
    }
    var storing = new HashSet<UUID>();
    able.forEach(member -> storing.add(member.node.id));
    if (!majority(before, storing) || !majority(after, storing)) return -1;
    for (var member : able) {
      if (member == by || world.random.nextBoolean()) continue; // gets it later, when two majorities do without
      storing.remove(member.node.id);
      if (!majority(before, storing) || !majority(after, storing)) storing.add(member.node.id);
    }
    log.add(new Logged(term, entry));
    if (entry instanceof Entry.Configuration) configurations.add(last());
    if (world.tracing) world.trace("group " + name() + " commits " + last() + " " + entry + " on " + storing.size());
    for (var member : able) if (storing.contains(member.node.id)) member.stored = last();
    if (!after.contains(by.node.id)) {
      by.deposed();
      leader = null;
    }
    return last();
  }

  String name() {
    return id.toString().substring(19);
  }
}
