package dunlin.store.serve;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Where a range is and which keys it has.
 *
 * @param epoch grows with every change of the interval, not with changes of peers or leader
 * @param from the first key
 * @param to the exclusive end, null when the range has no end
 * @param peers the nodes with a replica, at most 16
 * @param leader the node that is believed to lead, null when none is known
 */
public record RangeLocation(
    UUID range, long epoch, byte[] from, byte @Nullable [] to, List<Peer> peers, @Nullable UUID leader) {
  public static final int PEERS_MAX = 16;

  /** A node with the address of its store service. */
  public record Peer(UUID node, String host, int port) {
    public Peer {
      if (host.isEmpty() || host.length() > 255) throw new IllegalArgumentException("host of " + host.length() + " characters");
      if (port < 1 || port > 65_535) throw new IllegalArgumentException("port " + port);
    }
  }

  // Not the compact form: javac keeps no annotations of its array parameters.
  public RangeLocation(
      UUID range, long epoch, byte[] from, byte @Nullable [] to, List<Peer> peers, @Nullable UUID leader) {
    if (epoch < 0) throw new IllegalArgumentException("epoch " + epoch);
    if (peers.size() > PEERS_MAX) throw new IllegalArgumentException(peers.size() + " peers, " + PEERS_MAX + " are possible");
    this.range = range;
    this.epoch = epoch;
    this.from = from;
    this.to = to;
    this.peers = List.copyOf(peers);
    this.leader = leader;
  }

  public boolean contains(byte[] key) {
    return Arrays.compareUnsigned(from, key) <= 0 && (to == null || Arrays.compareUnsigned(key, to) < 0);
  }

  public Optional<Peer> peer(UUID node) {
    for (var peer : peers) if (peer.node().equals(node)) return Optional.of(peer);
    return Optional.empty();
  }
}
