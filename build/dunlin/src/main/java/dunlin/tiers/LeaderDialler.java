package dunlin.tiers;

import dunlin.cluster.Cluster;
import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.placement.PlacedRange;
import dunlin.store.Replica;
import dunlin.transport.lane.SendingStream;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Dials links to the nodes that lead the ranges of the tiers, which it finds, and to nodes that a leader names. */
final class LeaderDialler {
  /*
   * Owner: any thread.
   * Failure: while no leader is known, a link waits, as it does for one that does not answer. A node without a replica of a range dials its voters in turn:
   *   those that do not lead refuse. A link to a leader is given up once this node's replica follows another one: the old leader may stand still or be cut off, and
   *   would be waited for as long as for a network that is interrupted.
   */
  private final LinkDialler dialler;
  private final Map<String, Replica<?, ?>> replicas = new ConcurrentHashMap<>();
  private final AtomicInteger turn = new AtomicInteger();
  private volatile @Nullable Cluster cluster;

  LeaderDialler(LinkDialler dialler) {
    this.dialler = dialler;
  }

  /** Sets the cluster, which knows where nodes are. Called before the first link. */
  void in(Cluster member) {
    cluster = member;
  }

  /** Adds this node's replica of the only range of a kind; it knows the range's leader. */
  void replica(String kind, Replica<?, ?> replica) {
    replicas.put(kind, replica);
  }

  /** Dials a link to the leader of the only range of a kind. */
  SendingStream.Dialler leader(String kind, String name, byte[] opening, Executor owner) {
    return leader(kind, () -> true, name, opening, owner);
  }

  /** The same, while a condition holds; else the link waits. */
  SendingStream.Dialler leader(String kind, BooleanSupplier condition, String name, byte[] opening, Executor owner) {
    Supplier<Optional<LinkPeer>> to = () -> condition.getAsBoolean() ? leaderOf(kind).flatMap(this::peer) : Optional.empty();
    return handler -> dialler.dial(to, node -> isLedElsewhere(kind, node), name, opening, owner, handler);
  }

  private boolean isLedElsewhere(String kind, UUID node) {
    var replica = replicas.get(kind);
    return replica != null && replica.status().leader().filter(leader -> !leader.equals(node)).isPresent();
  }

  /** Dials a link to a node. */
  SendingStream.Dialler node(UUID node, String name, byte[] opening, Executor owner) {
    Supplier<Optional<LinkPeer>> to = () -> peer(node);
    return handler -> dialler.dial(to, name, opening, owner, handler);
  }

  private Optional<UUID> leaderOf(String kind) {
    var replica = replicas.get(kind);
    var led = replica == null ? Optional.<UUID>empty() : replica.status().leader();
    return led.or(() -> someVoter(kind));
  }

  private Optional<UUID> someVoter(String kind) {
    var member = cluster;
    if (member == null) return Optional.empty();
    List<UUID> voters =
        member.map().ranges().values().stream().map(PlacedRange::range).filter(range -> range.kind().equals(kind)).flatMap(range -> range.peers().stream()).toList();
    return voters.isEmpty() ? Optional.empty() : Optional.of(voters.get(Math.floorMod(turn.getAndIncrement(), voters.size())));
  }

  /** Where a node accepts links; empty while that is unknown. */
  Optional<LinkPeer> peer(UUID node) {
    return Objects.requireNonNull(cluster).service(node).map(at -> new LinkPeer(node, at.host(), at.port()));
  }
}
