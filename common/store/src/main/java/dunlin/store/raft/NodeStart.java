package dunlin.store.raft;

import dunlin.store.DamagedException;
import dunlin.store.Member;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.RatisPeers;
import dunlin.store.disk.RocksRange;
import dunlin.store.node.PeerCallers;
import dunlin.store.node.RaftNode;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.statemachine.StateMachine;

/** Starts a Raft server with the declared ranges and the contents of the data directory. */
final class NodeStart {
  /*
   * Owner: the store's starting thread.
   * Failure: a range with damaged files fails the start of a node that is its only peer; with other peers it is
   * quarantined, and the node starts without it. Only the last file of a log is looked at before Ratis reads it, so each log that is damaged elsewhere costs one attempt
   * to start.
   */
  private final StoreSettings settings;
  private final DataDirectory data;
  private final PeerCallers callers;
  private final MeterRegistry meters;
  private final Collection<ReplicatedRange<?, ?>> ranges;
  private final BooleanSupplier closed;
  private final Consumer<RaftNode> built;

  /** @param built receives each server before it starts, so that it can be closed during the start */
  NodeStart(
      StoreSettings settings,
      DataDirectory data,
      PeerCallers callers,
      MeterRegistry meters,
      Collection<ReplicatedRange<?, ?>> ranges,
      BooleanSupplier closed,
      Consumer<RaftNode> built) {
    this.settings = settings;
    this.data = data;
    this.callers = callers;
    this.meters = meters;
    this.ranges = ranges;
    this.closed = closed;
    this.built = built;
  }

  /** Creates the directories of new ranges. */
  void prepare() throws IOException {
    refuseUnknownRanges();
    for (var range : ranges) createIfNew(range);
  }

  /** Refuses ranges that were not declared: Ratis would start their groups, and there would be no logic for them. */
  private void refuseUnknownRanges() {
    var unknown = new HashSet<>(data.ranges());
    for (var range : ranges) unknown.remove(range.id().uuid());
    if (!unknown.isEmpty())
      throw new StoreException("data directory " + data.path() + " holds ranges that this version does not know: " + unknown);
  }

  private void createIfNew(ReplicatedRange<?, ?> range) throws IOException {
    Path raftLog = data.raft(range.id());
    if (Files.isDirectory(raftLog)) {
      if (GroupStorage.lacksEntries(raftLog, true)) damaged(range, "its log in " + raftLog + " lacks entries: its last file was cut short");
      else data.notes().write(range.id(), range.replicated());
      return;
    }
    if (data.quarantined(range.id())) {
      range.stayInQuarantine();
      return;
    }
    Path rows = data.rows(range.id());
    boolean holdsRows = RocksRange.holdsTables(range.id(), rows);
    if (holdsRows || data.notes().has(range.id())) {
      String what =
          holdsRows
              ? "it has rows in " + rows + " but its log in " + raftLog + " is gone"
              : "it had a replica here, and both its log in " + raftLog + " and its rows in " + rows + " are gone";
      damaged(range, what);
      return;
    }
    GroupStorage.create(raftLog, range.peers().isEmpty() ? List.of(alone()) : range.peers());
    // After the log, or a crash in between would look like a loss; and before the replica can vote.
    data.notes().write(range.id(), range.replicated());
  }

  /** Puts a replica aside that others have, too, and refuses the start otherwise. */
  private static void damaged(ReplicatedRange<?, ?> range, String what) {
    var damage = new DamagedException("range '" + range.id() + "': " + what);
    if (!range.replicated()) throw damage;
    range.quarantine(damage);
  }

  private RaftPeer alone() {
    var cluster = settings.cluster();
    var self = data.identity().nodeId();
    if (cluster.hasPeers()) return RatisPeers.voter(new Member(self, cluster.host(), cluster.port()), 0);
    return RatisPeers.alone(self);
  }

  /** Starts Ratis, after the ranges have begun to open their rows. */
  RaftNode start() throws IOException {
    if (settings.cluster().hasPeers())
      for (var range : served()) {
        var damage = range.damage();
        if (damage != null && range.replicated()) range.quarantine(damage);
      }
    while (true) {
      var node = RaftNode.build(data.identity().nodeId(), settings, data, callers, meters, this::stateMachine);
      built.accept(node);
      if (closed.getAsBoolean()) node.close(); // close() may have run before there was a server
      try {
        node.start();
        requireAllGroups(node);
        return node;
      } catch (IOException | RuntimeException e) {
        boolean goesOn = settings.cluster().hasPeers() && !closed.getAsBoolean() && StartFailure.damage(e);
        var about = goesOn ? StartFailure.about(e, served(), data) : null;
        if (about == null || !about.replicated()) throw e;
        node.close();
        for (var range : served()) if (range != about) range.renew();
        about.quarantine(new DamagedException("range '" + about.id() + "': its log cannot be loaded", e));
      }
    }
  }

  List<ReplicatedRange<?, ?>> served() {
    return ranges.stream().filter(range -> !range.quarantined()).toList();
  }

  private StateMachine stateMachine(RaftGroupId group) {
    for (var range : ranges) if (range.group().equals(group)) return range.stateMachine();
    throw new IllegalStateException("no range for " + group);
  }

  /** Checks that all groups are there: Ratis only logs that it could not load one. */
  private void requireAllGroups(RaftNode started) {
    var groups = started.groups();
    for (var range : served())
      if (!groups.contains(range.group()))
        throw new StoreException("range '" + range.id() + "': its log in " + data.raft(range.id()) + " was not loaded");
  }
}
