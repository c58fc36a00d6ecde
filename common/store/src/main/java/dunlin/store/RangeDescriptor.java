package dunlin.store;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The descriptor of one range: its keys, their epoch, and its replicas. The one in the range's own rows is
 * authoritative; every other, including the meta group's, serves to find the range and may be outdated.
 *
 * @param id also the range's Raft group and directory
 * @param epoch rises with each change of {@code keys}; peers change under Raft's own rules and leave it alone
 * @param peers in no particular order, each node once; may be empty only before the range has been placed
 * @param split where this range was split off from another, or null for a range that the store began with
 */
public record RangeDescriptor(
    UUID id, String kind, KeyInterval keys, long epoch, List<Peer> peers, @Nullable Origin split) {
  public static final int PEERS_MAX = 16;
  public static final int KIND_BYTES_MAX = 32;

  private static final int FORMAT = 1;

  /** The role of a replica in its group. */
  public enum Role {
    VOTER(1),
    /** Receives the log and has no vote: the role of every new replica. */
    LISTENER(2);

    private final int code;

    Role(int code) {
      this.code = code;
    }
  }

  /** A node that has a replica. */
  public record Peer(UUID node, Role role) {
    public boolean votes() {
      return role == Role.VOTER;
    }
  }

  /**
   * The entry of the parent's log at which a range was split off. It is the same on each replica, so it proves where
   * the rows come from.
   */
  public record Origin(UUID parent, long term, long index) {
    public Origin {
      if (term < 0 || index < 0) throw new IllegalArgumentException("origin at term " + term + ", index " + index);
    }
  }

  public RangeDescriptor {
    peers = List.copyOf(peers);
    if (!kind.matches("[a-z][a-z0-9-]{0,31}"))
      throw new IllegalArgumentException("kind of a range is '" + kind + "', must be a short lower-case word");
    if (epoch < 1) throw new IllegalArgumentException("epoch " + epoch + ", the first is 1");
    if (peers.size() > PEERS_MAX) throw new IllegalArgumentException(peers.size() + " replicas, at most " + PEERS_MAX);
    var nodes = new HashSet<UUID>();
    for (var peer : peers)
      if (!nodes.add(peer.node())) throw new IllegalArgumentException("two replicas on node " + peer.node());
  }

  public Optional<Origin> origin() {
    return Optional.ofNullable(split);
  }

  public List<UUID> voters() {
    return peers.stream().filter(Peer::votes).map(Peer::node).toList();
  }

  /** The replica on a node, or empty. */
  public Optional<Peer> peer(UUID node) {
    return peers.stream().filter(peer -> peer.node().equals(node)).findFirst();
  }

  public RangeDescriptor withPeers(List<Peer> changed) {
    return new RangeDescriptor(id, kind, keys, epoch, changed, split);
  }

  /** This range after everything from the cut upwards has been split off. */
  public RangeDescriptor lower(byte[] cut) {
    return new RangeDescriptor(id, kind, keys.below(cut), epoch + 1, peers, split);
  }

  /** The range that is split off, on the same nodes. */
  public RangeDescriptor upper(byte[] cut, UUID child, Origin at) {
    return new RangeDescriptor(child, kind, keys.from(cut), epoch + 1, peers, at);
  }

  /** One row or field: a format byte, then the fields in the order in which they are declared. */
  public byte[] toBytes() {
    return FieldWriter.bytesOf(this::writeTo);
  }

  /** @throws IllegalStateException when the format of the bytes is unknown */
  public static RangeDescriptor parse(byte[] bytes) {
    return FieldReader.read(ByteBuffer.wrap(bytes), RangeDescriptor::readFrom);
  }

  public void writeTo(FieldWriter out) {
    out.octet(FORMAT);
    out.uuid(id);
    out.text(kind);
    keys.writeTo(out);
    out.number(epoch);
    writePeers(peers, out);
    out.flag(split != null);
    if (split != null) {
      out.uuid(split.parent());
      out.number(split.term());
      out.number(split.index());
    }
  }

  public static RangeDescriptor readFrom(FieldReader in) {
    in.format(FORMAT, "descriptor of a range");
    return new RangeDescriptor(
        in.uuid(),
        in.text(),
        KeyInterval.readFrom(in),
        in.number(),
        readPeers(in),
        in.flag() ? new Origin(in.uuid(), in.number(), in.number()) : null);
  }

  public static void writePeers(List<Peer> peers, FieldWriter out) {
    out.list(
        peers,
        (to, peer) -> {
          to.uuid(peer.node());
          to.octet(peer.role().code);
        });
  }

  public static List<Peer> readPeers(FieldReader in) {
    return in.list(from -> new Peer(from.uuid(), role(from.octet())));
  }

  private static Role role(int code) {
    for (var role : Role.values()) if (role.code == code) return role;
    throw new IllegalStateException("role " + code);
  }
}
