package dunlin.tiers;

import dunlin.cluster.Cluster;
import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.links.Whereabouts;
import dunlin.runtime.Surroundings;
import dunlin.store.RangeId;
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
import org.jspecify.annotations.Nullable;

/** Dials links to the nodes that lead the ranges of the tiers, which it finds, and to nodes that a leader names. */
final class LeaderDialler {
  /*
   * Owner: any thread.
   * Failure: while no leader is known, a link waits, as it does for one that does not answer. A node without a replica of a range knows its leader from the
   *   last heartbeat, which may be out of date: it dials that one and the range's voters in turn. Those that do not lead refuse. A link to a leader is given
   *   up once this node's replica follows another one, or a heartbeat names another one than when it was dialled: the old leader may stand still or be cut off,
   *   and would be waited for as long as for a network that is interrupted.
   */
  private final LinkDialler dialler;
  private final Surroundings routes;
  private final Map<UUID, Replica<?, ?>> replicas = new ConcurrentHashMap<>();
  private final AtomicInteger turn = new AtomicInteger();
  private volatile @Nullable Cluster cluster;

  LeaderDialler(LinkDialler dialler, Surroundings routes) {
    this.dialler = dialler;
    this.routes = routes;
  }

  /** Sets the cluster, which knows where nodes are. Called before the first link. */
  void in(Cluster member) {
    cluster = member;
  }

  /** Adds this node's replica of a range; it knows the range's leader. */
  void replica(Replica<?, ?> replica) {
    replicas.put(replica.id().uuid(), replica);
  }

  /** Forgets this node's replica of a range, which is dropped. */
  void forget(UUID range) {
    replicas.remove(range);
  }

  /** Dials a link to the leader of a range. */
  SendingStream.Dialler leader(UUID range, String name, byte[] opening, Executor owner) {
    return leader(range, () -> true, name, opening, owner);
  }

  /** Dials a link to the leader of the only range of a kind. */
  SendingStream.Dialler leader(String kind, String name, byte[] opening, Executor owner) {
    return leader(RangeId.firstOf(kind).uuid(), name, opening, owner);
  }

  /** Dials a link to the leader of a range while a condition holds; else the link waits. */
  SendingStream.Dialler leader(UUID range, BooleanSupplier condition, String name, byte[] opening, Executor owner) {
    return handler -> dialler.dial(new LeaderOf(range, condition), name, opening, owner, handler);
  }

  /** The leader of a range, as one link looks for it. */
  private final class LeaderOf implements Whereabouts {
    /*
     * Owner: the link's thread asks whom to dial; another one asks whether the link should be given up.
     */
    private final UUID range;

    private final BooleanSupplier condition;

    /** The node that the last heartbeat before the present stream named, and the one that was dialled. */
    private volatile @Nullable UUID named;

    private @Nullable UUID dialled;

    LeaderOf(UUID range, BooleanSupplier condition) {
      this.range = range;
      this.condition = condition;
    }

    @Override
    public Optional<LinkPeer> next() {
      if (!condition.getAsBoolean()) return Optional.empty();
      var heard = heardOf();
      named = heard.orElse(null);
      var to = surely().or(() -> heard.filter(node -> !node.equals(dialled))).or(() -> someVoter(range));
      dialled = to.orElse(null);
      return to.flatMap(LeaderDialler.this::peer);
    }

    @Override
    public boolean isNot(UUID node) {
      var followed = surely();
      if (followed.isPresent()) return !followed.get().equals(node);
      return heardOf().filter(leader -> !leader.equals(node) && !leader.equals(named)).isPresent();
    }

    /** The leader that this node's replica follows; empty where there is none, or no more. */
    @Override
    public Optional<UUID> surely() {
      var replica = replicas.get(range);
      return replica == null ? Optional.empty() : replica.leader();
    }

    private Optional<UUID> heardOf() {
      var member = cluster;
      return member == null ? Optional.empty() : member.leader(range);
    }
  }

  /** Dials a link to a node. */
  SendingStream.Dialler node(UUID node, String name, byte[] opening, Executor owner) {
    return handler -> dialler.dial(() -> peer(node), name, opening, owner, handler);
  }

  private Optional<UUID> someVoter(UUID range) {
    var member = cluster;
    if (member == null) return Optional.empty();
    var placed = member.map().ranges().get(range);
    List<UUID> voters = placed == null ? List.of() : placed.range().peers();
    return voters.isEmpty() ? Optional.empty() : Optional.of(voters.get(Math.floorMod(turn.getAndIncrement(), voters.size())));
  }

  /** Where a node accepts links; empty while that is unknown. */
  Optional<LinkPeer> peer(UUID node) {
    return Objects.requireNonNull(cluster).service(node).map(at -> routes.route(at.host(), at.port())).map(at -> new LinkPeer(node, at.getHostString(), at.getPort()));
  }
}
