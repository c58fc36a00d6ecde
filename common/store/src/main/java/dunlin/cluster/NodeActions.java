package dunlin.cluster;

import dunlin.cluster.LocalReplicas.Hosted;
import dunlin.placement.Action;
import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Action.CreateReplica;
import dunlin.placement.Action.DropReplica;
import dunlin.placement.Action.Elect;
import dunlin.placement.Action.FlushReplica;
import dunlin.placement.Action.ProposeSplit;
import dunlin.placement.Action.StartReplica;
import dunlin.placement.Action.TransferLeadership;
import dunlin.placement.NodeReport;
import dunlin.placement.Operation;
import dunlin.placement.RangeAdmin.Outcome;
import dunlin.placement.RangeAdmin.Outcome.Done;
import dunlin.placement.RangeAdmin.Outcome.Outdated;
import dunlin.placement.RangeAdmin.Outcome.Unknown;
import dunlin.store.Member;
import dunlin.store.OutdatedException;
import dunlin.store.RangeDescriptor;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Carries out on this node the actions of the meta group's leader. Each checks its conditions first, so it may come late or twice. */
final class NodeActions {
  /*
   * Owner: any thread that may block; one action at a time for each range.
   * Bounds: Cluster bounds the calls.
   * Failure: an action that fails may have taken effect or not; the next reports show it.
   */
  private static final Logger log = LoggerFactory.getLogger(NodeActions.class);

  /** A successor that has not answered the leader for longer is not asked to lead. */
  private static final Duration SILENCE_MAX = Duration.ofSeconds(2);

  /** The leader takes no commands while it waits for its successor. A transfer that fails is asked for again. */
  private static final Duration TRANSFER_MAX = Duration.ofSeconds(3);

  /** An election that takes longer has found no majority. */
  private static final Duration ELECTION_MAX = Duration.ofSeconds(1);

  private static final long LOOK_NANOS = 5_000_000;

  private final UUID self;
  private final LocalReplicas replicas;
  private final FollowedTerm followedTerm;
  private final Function<UUID, Optional<Member>> addresses;
  private final Set<UUID> busy = ConcurrentHashMap.newKeySet();

  /** @param addresses the Raft address of a node */
  NodeActions(UUID self, LocalReplicas replicas, FollowedTerm followedTerm, Function<UUID, Optional<Member>> addresses) {
    this.self = self;
    this.replicas = replicas;
    this.followedTerm = followedTerm;
    this.addresses = addresses;
  }

  Outcome carryOut(Action action, long leadership, Duration deadline) {
    if (!action.node().equals(self)) return new Outdated("this is node " + self + ", not " + action.node());
    if (!followedTerm.begin(leadership))
      return new Outdated("node " + self + " follows another leadership of the meta group than " + leadership);
    try {
      if (!busy.add(action.range())) return new Unknown("node " + self + " is busy with range " + action.range());
      try {
        var outcome = carryOut(action, deadline);
        log.info("Node {}: {} ended: {}", self, action, outcome);
        return outcome;
      } finally {
        busy.remove(action.range());
      }
    } catch (OutdatedException e) {
      return new Outdated(String.valueOf(e.getMessage()));
    } catch (StoreException e) {
      log.info("Node {}: {} failed: {}", self, action, e.getMessage());
      return new Unknown(String.valueOf(e.getMessage()));
    } catch (RuntimeException e) { // a bug: the caller asks again, and must not wait for an answer
      log.error("Node {}: {} has failed", self, action, e);
      return new Unknown("node " + self + ": " + e);
    } finally {
      followedTerm.end();
    }
  }

  private Outcome carryOut(Action action, Duration deadline) {
    return switch (action) {
      case CreateReplica create -> create(create, deadline);
      case StartReplica(_, var range) -> start(range, deadline);
      case DropReplica(_, var range, var creation) -> drop(range, creation, deadline);
      case ChangePeers change -> changePeers(change, deadline);
      case TransferLeadership(_, var range, var to) -> transfer(range, to, deadline);
      case Elect(_, var range) -> elect(range, deadline);
      case FlushReplica(_, var range) -> flush(range);
      case ProposeSplit(_, var split) -> split(split, deadline);
    };
  }

  /**
   * Creates the first replica of a range, unless it is here.
   *
   * @throws StoreException when it cannot be created now
   */
  void begin(RangeDescriptor first, Duration deadline) {
    if (!busy.add(first.id())) throw new StoreException("node " + self + " is busy with range " + first.id());
    try {
      if (replicas.find(first.id()).isEmpty()) replicas.createFirst(first, deadline);
    } finally {
      busy.remove(first.id());
    }
  }

  private Outcome create(CreateReplica create, Duration deadline) {
    var range = create.descriptor();
    var there = replicas.find(range.id());
    if (there.isPresent() && there.get().replica().status().role() != ReplicaRole.QUARANTINED) return new Done();
    if (!replicas.knows(range.kind())) return new Outdated("ranges of kind '" + range.kind() + "' are not known here");
    return withMembers(range.peers(), members -> replicas.create(range, create.creation(), members, deadline));
  }

  private Outcome start(UUID range, Duration deadline) {
    if (replicas.find(range).isPresent()) return new Done();
    var waits = replicas.unstarted().stream().filter(each -> each.id().equals(range)).findFirst();
    if (waits.isEmpty()) return new Outdated("range " + range + " was not split off on node " + self);
    if (!waits.get().has(self)) return new Outdated("node " + self + " has no part in range " + range);
    return withMembers(waits.get().peers(), members -> replicas.start(waits.get(), members, deadline));
  }

  /** Does something with the addresses of these nodes, when all of them are known. */
  private Outcome withMembers(List<UUID> nodes, Consumer<List<Member>> what) {
    var members = new ArrayList<Member>();
    for (UUID node : nodes) {
      var member = addresses.apply(node);
      if (member.isEmpty()) return new Unknown("node " + self + " does not know yet where node " + node + " is");
      members.add(member.get());
    }
    what.accept(members);
    return new Done();
  }

  private Outcome flush(UUID range) {
    var there = replicas.find(range);
    if (there.isEmpty()) return new Outdated("node " + self + " has no replica of range " + range);
    there.get().replica().flush();
    replicas.tell(); // a split waits for the report of it
    return new Done();
  }

  /** Waits for the outcome: during an election, another one would end both without a leader. */
  private Outcome elect(UUID range, Duration deadline) {
    var there = replicas.find(range);
    if (there.isEmpty()) return new Outdated("node " + self + " has no replica of range " + range);
    var replica = there.get().replica();
    replica.elect();
    long until = System.nanoTime() + (deadline.compareTo(ELECTION_MAX) < 0 ? deadline : ELECTION_MAX).toNanos();
    while (replica.leader().isEmpty() && System.nanoTime() - until < 0 && !Thread.currentThread().isInterrupted()) LockSupport.parkNanos(LOOK_NANOS);
    return new Done();
  }

  private Outcome split(Operation.Split split, Duration deadline) {
    var leading = leading(split.of());
    if (leading.isEmpty()) return new Outdated("node " + self + " does not lead range " + split.of());
    leading.get().replica().split(split.epoch(), split.cut(), split.child(), deadline);
    return new Done();
  }

  private Outcome drop(UUID range, UUID creation, Duration deadline) {
    var there = replicas.find(range);
    if (there.isEmpty() && !creation.equals(NodeReport.ORIGINAL)) return new Done();
    if (there.isPresent() && !there.get().note().creation().equals(creation))
      return new Outdated("the replica of range " + range + " is of operation " + there.get().note().creation());
    replicas.drop(range, deadline);
    return new Done();
  }

  private Outcome changePeers(ChangePeers change, Duration deadline) {
    var leading = leading(change.range());
    if (leading.isEmpty()) return new Outdated("node " + self + " does not lead range " + change.range());
    var replica = leading.get().replica();
    return withMembers(change.wanted(), members -> replica.changePeers(change.configuration(), members, deadline));
  }

  private Outcome transfer(UUID range, UUID to, Duration deadline) {
    var leading = leading(range);
    if (leading.isEmpty()) return new Outdated("node " + self + " does not lead range " + range);
    var successor = leading.get().replica().status().peer(to);
    if (successor.isEmpty()) return new Outdated("node " + to + " has no vote in range " + range);
    // The range serves nobody while it waits for a successor.
    if (successor.flatMap(peer -> peer.silence()).filter(silence -> silence.compareTo(SILENCE_MAX) > 0).isPresent())
      return new Outdated("node " + to + " does not answer the leader of range " + range);
    leading.get().replica().transferLeadership(to, deadline.compareTo(TRANSFER_MAX) < 0 ? deadline : TRANSFER_MAX);
    return new Done();
  }

  private Optional<Hosted> leading(UUID range) {
    return replicas.find(range).filter(hosted -> hosted.replica().leader().filter(self::equals).isPresent());
  }
}
