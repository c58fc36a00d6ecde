package dunlin.cluster;

import dunlin.cluster.LocalReplicas.Hosted;
import dunlin.cluster.call.NodeReach;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeStatus;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Builds the report on this node's replicas for the meta group. */
final class NodeReporter {
  /*
   * Owner: the heartbeat's thread.
   * Bounds: NodeReport.REPLICAS_MAX; the store holds far fewer.
   */
  /** The peers of a committed configuration. */
  private record Settled(long configuration, List<UUID> peers) {}

  private final UUID self;
  private final long incarnation;
  private final LocalReplicas replicas;
  private final RangeLoads loads;
  private final NodeReach reach;
  private final Map<UUID, Settled> settled = new HashMap<>();
  private long number;

  NodeReporter(UUID self, long incarnation, LocalReplicas replicas, RangeLoads loads, NodeReach reach) {
    this.self = self;
    this.incarnation = incarnation;
    this.replicas = replicas;
    this.loads = loads;
    this.reach = reach;
  }

  /** @param leadership the term followed before any replica was looked at */
  NodeReport report(long leadership) {
    var reported = new ArrayList<NodeReport.Replica>();
    var unstarted = replicas.unstarted(); // first: one whose start ends in between is reported as running
    var running = new HashSet<UUID>();
    for (var hosted : replicas.all()) {
      running.add(hosted.replica().id().uuid());
      report(hosted).ifPresent(reported::add);
    }
    for (var waits : unstarted)
      if (!running.contains(waits.id()))
        reported.add(
            new NodeReport.Replica(
                waits, -1, NodeReport.ORIGINAL, Phase.STORED, false, 0, -1, false, List.of(), Load.NONE));
    settled.keySet().removeIf(range -> replicas.find(range).isEmpty());
    return new NodeReport(self, leadership, incarnation, ++number, reported, reach.unreached());
  }

  private Optional<NodeReport.Replica> report(Hosted hosted) {
    var status = hosted.replica().status();
    if (status.role() == ReplicaRole.QUARANTINED) return Optional.empty(); // its rows are gone, and so is its vote
    var range = hosted.replica().descriptor().orElse(hosted.note().range());
    var now = settled(range.id(), status);
    // While the peers are being changed, the configuration before counts; a leader that has not seen it does not report
    // that it leads.
    boolean leads = now.isPresent() && status.leader().filter(self::equals).isPresent();
    return Optional.of(
        new NodeReport.Replica(
            now.map(known -> range.withPeers(known.peers)).orElse(range),
            now.map(Settled::configuration).orElse(-1L),
            hosted.note().creation(),
            Phase.RUNNING,
            leads,
            status.term(),
            status.applied(),
            hosted.replica().based() && hosted.replica().descriptor().isPresent(),
            leads ? followers(status) : List.of(),
            load(hosted, range, leads, status.term())));
  }

  private Load load(Hosted hosted, RangeDescriptor range, boolean leads, long term) {
    try {
      long unflushed = hosted.replica().unflushedBytes();
      return leads ? loads.of(range, term, unflushed) : Load.unmeasured(unflushed);
    } catch (StoreException e) { // the replica is being closed
      return Load.NONE;
    }
  }

  private Optional<Settled> settled(UUID range, RangeStatus status) {
    if (status.configuration() >= 0) settled.put(range, new Settled(status.configuration(), peers(status)));
    return Optional.ofNullable(settled.get(range));
  }

  private static List<UUID> peers(RangeStatus status) {
    return status.peers().stream().map(peer -> peer.member().node()).toList();
  }

  private List<Follower> followers(RangeStatus status) {
    return status.peers().stream()
        .filter(peer -> !peer.member().node().equals(self))
        .map(peer -> new Follower(peer.member().node(), peer.lag() < 0 ? Long.MAX_VALUE : peer.lag()))
        .toList();
  }
}
