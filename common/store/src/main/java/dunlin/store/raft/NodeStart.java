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

/** How the declared ranges and what the data directory holds become a Raft server that runs. */
final class NodeStart {
  /*
   * Owner: the store's starting thread.
   * Failure: a range whose files are damaged fails the start of a node that is its only peer; with others it is put aside,
   * and the node starts without it. That is found out by trying, once for each such range: only Ratis reads the logs.
   */
  private final StoreSettings settings;
  private final DataDirectory data;
  private final PeerCallers callers;
  private final Collection<ReplicatedRange<?, ?>> ranges;
  private final BooleanSupplier closed;
  private final Consumer<RaftNode> built;

  /** @param built gets each server before it starts, so that it can be closed before it has started */
  NodeStart(
      StoreSettings settings,
      DataDirectory data,
      PeerCallers callers,
      Collection<ReplicatedRange<?, ?>> ranges,
      BooleanSupplier closed,
      Consumer<RaftNode> built) {
    this.settings = settings;
    this.data = data;
    this.callers = callers;
    this.ranges = ranges;
    this.closed = closed;
    this.built = built;
  }

  /** Makes the directories that new ranges need. */
  void prepare() throws IOException {
    refuseUnknownRanges();
    for (var range : ranges) createIfNew(range);
  }

  /** Ratis would revive a group that was not declared, and we would have no logic for it. */
  private void refuseUnknownRanges() {
    var unknown = new HashSet<>(data.ranges());
    for (var range : ranges) unknown.remove(range.id().uuid());
    if (!unknown.isEmpty())
      throw new StoreException("data directory " + data.path() + " holds ranges that this version does not know: " + unknown);
  }

  private void createIfNew(ReplicatedRange<?, ?> range) throws IOException {
    Path raftLog = data.raft(range.id());
    if (Files.isDirectory(raftLog)) {
      data.notes().write(range.id(), range.replicated());
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
      var gone = new DamagedException("range '" + range.id() + "': " + what);
      if (!range.replicated()) throw gone;
      range.quarantine(gone);
      return;
    }
    GroupStorage.create(raftLog, range.peers().isEmpty() ? List.of(alone()) : range.peers());
    // Not before the log, or a crash in between would look like a loss; and before anything can vote.
    data.notes().write(range.id(), range.replicated());
  }

  private RaftPeer alone() {
    var cluster = settings.cluster();
    var self = data.identity().nodeId();
    if (cluster.hasPeers()) return RatisPeers.voter(new Member(self, cluster.host(), cluster.port()), 0);
    // Without a cluster port there is no address, and Ratis wants one.
    return RaftPeer.newBuilder().setId(RatisPeers.id(self)).setAddress("127.0.0.1:0").build();
  }

  /** Starts Ratis, once the rows of the ranges are being opened. */
  RaftNode start() throws IOException {
    if (settings.cluster().hasPeers())
      for (var range : served()) {
        var damage = range.damage();
        if (damage != null && range.replicated()) range.quarantine(damage);
      }
    while (true) {
      var node = RaftNode.build(data.identity().nodeId(), settings, data, callers, this::stateMachine);
      built.accept(node);
      if (closed.getAsBoolean()) node.close(); // close() may have passed by before there was a server
      try {
        node.start();
        requireAllGroups(node);
        return node;
      } catch (IOException | RuntimeException e) {
        var about = settings.cluster().hasPeers() && !closed.getAsBoolean() ? StartFailure.about(e, served()) : null;
        if (about == null || !StartFailure.damage(e) || !about.replicated()) throw e;
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

  /** A group that Ratis could not load is only logged by it and then missing. */
  private void requireAllGroups(RaftNode started) {
    var groups = started.groups();
    for (var range : served())
      if (!groups.contains(range.group()))
        throw new StoreException("range '" + range.id() + "': its log in " + data.raft(range.id()) + " was not loaded");
  }
}
