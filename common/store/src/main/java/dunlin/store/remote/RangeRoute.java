package dunlin.store.remote;

import dunlin.store.serve.RangeLocation;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Chooses the node for the next requests to one range: by its replicas' answers, otherwise by the map. */
final class RangeRoute {
  /*
   * Owner: the client's thread; `current` is read by proposing threads.
   */
  final UUID range;

  private @Nullable UUID leader; // named by a replica, or known because it has served a request
  private @Nullable UUID refusedBy; // the last node that refused because it does not lead
  private int turn;
  private volatile @Nullable NodeLink current; // single writer: the client's thread

  RangeRoute(UUID range) {
    this.range = range;
  }

  @Nullable NodeLink current() {
    return current;
  }

  void use(NodeLink link) {
    if (current != link) current = link;
  }

  /** The node to ask now; empty when all candidates are away. */
  Optional<RangeLocation.Peer> next(RangeLocation location, Predicate<RangeLocation.Peer> away) {
    var hinted = peer(location, leader, away);
    if (hinted.isPresent()) return hinted;
    var known = location.leader();
    if (known != null && !known.equals(refusedBy)) {
      var named = peer(location, known, away);
      if (named.isPresent()) return named;
    }
    int count = location.peers().size();
    RangeLocation.Peer lastResort = null;
    for (int i = 0; i < count; i++) {
      var peer = location.peers().get(Math.floorMod(turn + i, count));
      if (away.test(peer)) continue;
      if (!peer.node().equals(refusedBy)) return Optional.of(peer);
      lastResort = peer;
    }
    return Optional.ofNullable(lastResort);
  }

  private static Optional<RangeLocation.Peer> peer(
      RangeLocation location, @Nullable UUID node, Predicate<RangeLocation.Peer> away) {
    return node == null ? Optional.empty() : location.peer(node).filter(away.negate());
  }

  /** The node has served a request, so it leads. */
  void served(UUID node) {
    leader = node;
    refusedBy = null;
  }

  /** The node does not lead, and may name the leader. */
  void refused(UUID node, @Nullable UUID hint) {
    if (node.equals(leader)) leader = null;
    if (!node.equals(refusedBy)) turn++;
    refusedBy = node;
    if (hint != null && !hint.equals(node)) leader = hint;
  }

  /** The node does not answer, or not for this range. */
  void failed(UUID node) {
    if (node.equals(leader)) leader = null;
    refused(node, null);
  }
}
