package dunlin.chaos;

import static dunlin.chaos.Need.DISK;
import static dunlin.chaos.Need.FSYNC;
import static dunlin.chaos.Need.NETWORK;

import dunlin.chaos.Cluster.Node;
import dunlin.store.ReplicaRole;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** The rows of the suite. */
final class Faults {
  private static final Duration STOPS = Duration.ofSeconds(60);
  private static final long MIB = 1024 * 1024;
  private static final long LOW_MARK = 64 * MIB;

  static final List<Fault> ALL =
      List.of(
          Fault.of("kill-leader", "kill -9 of the leader", Set.of(), Faults::killLeader),
          Fault.of("kill-follower", "kill -9 of a follower", Set.of(), Faults::killFollower),
          Fault.of("kill-all", "kill -9 of all nodes at once", Set.of(), Faults::killAll),
          Fault.of("stop-leader", "the leader is told to stop", Set.of(), Faults::stopLeader),
          Fault.of("pause-leader", "SIGSTOP of the leader until others lead, then SIGCONT", Set.of(), Faults::pauseLeader),
          Fault.of("cut-leader", "the leader alone, out of reach of everybody", Set.of(NETWORK), Faults::cutLeader),
          Fault.of("cut-leader-nodes", "the leader out of reach of the other nodes, not of callers", Set.of(NETWORK), Faults::cutLeaderFromNodes),
          Fault.of("deafen-leader", "the leader is heard and hears nothing", Set.of(NETWORK), Faults::deafenLeader),
          Fault.of("cut-follower", "a follower alone", Set.of(NETWORK), Faults::cutFollower),
          Fault.of("cut-all", "every node alone: no majority", Set.of(NETWORK), Faults::cutAll),
          Fault.of("far", "all links take 80 ms", Set.of(NETWORK), Faults::far),
          Fault.of("fsync-fails", "EIO from an fsync of the leader's log", Set.of(FSYNC), Faults::fsyncFails),
          Fault.of("fsync-slow-leader", "fsyncs of the leader take 100 to 500 ms", Set.of(FSYNC), Faults::fsyncSlowOnLeader),
          Fault.of("fsync-slow-follower", "fsyncs of a follower take 100 to 500 ms", Set.of(FSYNC), Faults::fsyncSlowOnFollower),
          new Fault("disk-low", "the leader's disk is below the low-water mark", Set.of(DISK), true, LOW_MARK, Faults::diskLow),
          new Fault("disk-low-all", "all disks are below the low-water mark", Set.of(DISK), true, LOW_MARK, Faults::diskLowOnAll),
          new Fault("disk-full", "no byte is left on the leader's disk", Set.of(DISK), true, 1, Faults::diskFull),
          Fault.of("power-one", "power loss of one node, with slow fsyncs", Set.of(DISK, FSYNC), Faults::powerOfOne),
          Fault.of("power-all", "power loss of all nodes at once, with slow fsyncs", Set.of(DISK, FSYNC), Faults::powerOfAll),
          new Fault("power-all-unsafe", "the same with dunlin.store.fsync=false", Set.of(DISK, FSYNC), false, 0, Faults::powerOfAll),
          Fault.of("corrupt-log", "a bit of a follower's log is flipped", Set.of(), trial -> corrupt(trial, Damage::flipLog)),
          Fault.of("corrupt-rows", "a bit of a follower's rows is flipped", Set.of(), trial -> corrupt(trial, Damage::flipRows)),
          Fault.of("wiped", "a follower loses its disk and is replaced", Set.of(), Faults::wiped));

  private Faults() {}

  // ------------------------------------------------------------------------------------------------------------ processes

  private static void killLeader(Trial trial) {
    var leader = trial.cluster().leader();
    trial.struck();
    leader.kill();
    trial.awaitProgress();
    trial.pause(0, 2000);
    leader.restart();
  }

  private static void killFollower(Trial trial) {
    var follower = follower(trial);
    trial.struck();
    follower.kill();
    trial.pause(2000, 5000);
    follower.restart();
  }

  private static void killAll(Trial trial) {
    trial.struck();
    var nodes = trial.cluster().nodes();
    Cluster.each(nodes, Node::kill);
    Cluster.restart(nodes);
  }

  private static void stopLeader(Trial trial) {
    var leader = trial.cluster().leader();
    trial.struck();
    leader.process().ask(STOPS, "stop");
    trial.require(leader.process().exit(STOPS) == 0, "a node that is told to stop ends well");
    trial.awaitProgress();
    leader.restart();
  }

  private static void pauseLeader(Trial trial) {
    var leader = trial.cluster().leader();
    trial.struck();
    leader.process().signal("STOP");
    trial.awaitProgress();
    trial.pause(0, 3000);
    leader.process().signal("CONT");
  }

  // -------------------------------------------------------------------------------------------------------------- network

  private static void cutLeader(Trial trial) {
    cut(trial, trial.cluster().leader(), node -> trial.links().isolate(node.site.port()));
  }

  private static void cutLeaderFromNodes(Trial trial) {
    cut(trial, trial.cluster().leader(), node -> trial.links().isolateFromNodes(node.site.port()));
  }

  private static void deafenLeader(Trial trial) {
    cut(trial, trial.cluster().leader(), node -> trial.links().deafen(node.site.port()));
  }

  private static void cutFollower(Trial trial) {
    cut(trial, follower(trial), node -> trial.links().isolate(node.site.port()));
  }

  private static void cut(Trial trial, Node node, Consumer<Node> how) {
    long before = trial.links().lost();
    trial.struck();
    how.accept(node);
    trial.pause(500, 1000); // requests that the node has sent before may still be answered
    trial.awaitProgress();
    trial.pause(2000, 5000);
    trial.require(trial.links().lost() > before, "the links were really cut");
    trial.links().heal();
  }

  private static void cutAll(Trial trial) {
    trial.struck();
    for (var node : trial.cluster().nodes()) trial.links().isolateFromNodes(node.site.port());
    trial.pause(500, 1000);
    long before = trial.load().placed();
    trial.pause(3000, 6000);
    trial.require(trial.load().placed() == before, "without a majority nothing is acknowledged");
    trial.links().heal();
  }

  private static void far(Trial trial) {
    trial.struck();
    trial.links().slow(80);
    trial.pause(6000, 9000);
    trial.awaitProgress();
    trial.links().heal();
  }

  // ----------------------------------------------------------------------------------------------------------------- disk

  private static void fsyncFails(Trial trial) {
    var leader = trial.cluster().leader();
    trial.struck();
    leader.site.steeredFsync().fail();
    trial.require(leader.process().exit(STOPS) == LedgerNode.FATAL, "a node whose log cannot be written stops");
    leader.site.steeredFsync().none();
    trial.awaitProgress();
    leader.restart();
  }

  private static void fsyncSlowOnLeader(Trial trial) {
    fsyncSlow(trial, trial.cluster().leader());
  }

  private static void fsyncSlowOnFollower(Trial trial) {
    fsyncSlow(trial, follower(trial));
  }

  private static void fsyncSlow(Trial trial, Node node) {
    trial.struck();
    node.site.steeredFsync().slow(trial.random().nextInt(100, 501));
    trial.pause(4000, 7000);
    trial.awaitProgress();
    node.site.steeredFsync().none();
  }

  private static void diskLow(Trial trial) {
    var leader = trial.cluster().leader();
    trial.struck();
    leader.site.ownDisk().fill(LOW_MARK * 3 / 4);
    Cluster.await(
        "give up the leadership on a disk that is nearly full",
        () -> Cluster.leaderAmong(trial.cluster().others(leader)).filter(_ -> !leads(leader)));
    trial.awaitProgress();
    trial.pause(1000, 3000);
    trial.require(leader.alive(), "a node whose disk is nearly full goes on");
    leader.site.ownDisk().empty();
  }

  private static void diskLowOnAll(Trial trial) {
    var nodes = trial.cluster().nodes();
    trial.struck();
    for (var node : nodes) node.site.ownDisk().fill(LOW_MARK * 3 / 4);
    Cluster.await(
        "refuse writes while all disks are nearly full",
        () -> {
          long before = trial.load().placed();
          trial.pause(Duration.ofSeconds(1));
          return trial.load().placed() == before ? Optional.of(true) : Optional.empty();
        });
    for (var node : nodes) {
      trial.require(node.alive(), "a node whose disk is nearly full goes on");
      node.site.ownDisk().empty();
    }
  }

  private static void diskFull(Trial trial) {
    var leader = trial.cluster().leader();
    trial.struck();
    int[] exit = {-1};
    Cluster.await(
        "stop on a full disk",
        STOPS,
        () -> {
          if (leader.alive()) leader.site.ownDisk().fill(0); // fill the space that it has freed in the meantime
          else exit[0] = leader.process().exit(STOPS);
          return leader.alive() ? Optional.empty() : Optional.of(true);
        });
    trial.require(exit[0] == LedgerNode.FATAL, "a node that cannot write stops by itself: " + exit[0]);
    trial.awaitProgress();
    leader.site.ownDisk().empty();
    leader.restart();
    if (putAside(leader)) replaceHere(trial, leader); // Ratis may have emptied its file of term and vote
  }

  private static void powerOfOne(Trial trial) {
    var nodes = trial.cluster().nodes();
    powerLoss(trial, List.of(nodes.get(trial.random().nextInt(nodes.size()))));
  }

  private static void powerOfAll(Trial trial) {
    powerLoss(trial, trial.cluster().nodes());
  }

  /**
   * Cuts the power of nodes. Only writes that are acknowledged and not on disk at that instant can be lost: hence slow
   * fsyncs and many writes in flight.
   */
  private static void powerLoss(Trial trial, List<Node> nodes) {
    for (var node : nodes) node.site.steeredFsync().slow(trial.random().nextInt(300, 501));
    trial.pause(1500, 2500);
    trial.require(trial.load().inFlight() > 0 || nodes.size() < Cluster.NODES, "writes are under way when the power is cut");
    trial.struck();
    Cluster.each(nodes, node -> node.site.ownDisk().cutPower());
    Cluster.each(nodes, Node::kill);
    for (var node : nodes) {
      node.site.steeredFsync().none();
      node.site.ownDisk().restorePower();
    }
    if (nodes.size() < Cluster.NODES) trial.awaitProgress();
    Cluster.restart(nodes);
  }

  // --------------------------------------------------------------------------------------------------------------- damage

  /** Damages the files of a stopped node, and returns a description. */
  private interface Damaging {
    String damage(Trial trial, Node node) throws IOException;
  }

  private static void corrupt(Trial trial, Damaging damaging) {
    var follower = follower(trial);
    trial.struck();
    follower.kill();
    String damaged;
    try {
      damaged = damaging.damage(trial, follower);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    follower.restart();
    if (!putAside(follower)) {
      if (readsEverything(follower)) return; // the bit is in a part without rows, or in a file that was deleted
      trial.require(follower.process().exit(STOPS) == LedgerNode.FATAL, "a node that reads damaged files stops: " + damaged);
      follower.restart();
    }
    boolean putAside = putAside(follower);
    trial.require(putAside, "damaged files are put aside: " + damaged);
    if (putAside) replaceHere(trial, follower);
  }

  /** Replaces a quarantined replica, as an operator does. */
  private static void replaceHere(Trial trial, Node node) {
    trial.cluster().takeOut(node.place().node());
    trial.cluster().takeIn(node);
  }

  private static boolean putAside(Node node) {
    return node.statusIfAny().filter(status -> status.is(ReplicaRole.QUARANTINED)).isPresent();
  }

  /** Reads all rows, which compares the checksum of each block. */
  private static boolean readsEverything(Node node) {
    try {
      Cluster.rows(node);
      return true;
    } catch (TrialException e) {
      return false;
    }
  }

  private static void wiped(Trial trial) {
    var follower = follower(trial);
    var before = follower.place().node();
    trial.struck();
    follower.kill();
    Damage.wipe(follower.site.data());
    follower.restartAsAnother();
    trial.cluster().takeIn(follower);
    trial.cluster().takeOut(before);
  }

  private static Node follower(Trial trial) {
    var followers = trial.cluster().followers();
    return followers.get(trial.random().nextInt(followers.size()));
  }

  private static boolean leads(Node node) {
    return node.statusIfAny().filter(status -> status.is(ReplicaRole.LEADER)).isPresent();
  }
}
