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
 * @param peers the nodes that have a replica, all of them voters, in no particular order; may be empty only before the
 *     range has been placed
 * @param split where this range was split off from another, or null for a range that the store began with
 */
public record RangeDescriptor(
    UUID id, String kind, KeyInterval keys, long epoch, List<UUID> peers, @Nullable Origin split) {
  public static final int PEERS_MAX = 16;
  public static final int KIND_BYTES_MAX = 32;

  private static final int FORMAT = 2;

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
    for (var node : peers) if (!nodes.add(node)) throw new IllegalArgumentException("two replicas on node " + node);
  }

  public Optional<Origin> origin() {
    return Optional.ofNullable(split);
  }

  /** Whether a node has a replica. */
  public boolean has(UUID node) {
    return peers.contains(node);
  }

  public RangeDescriptor withPeers(List<UUID> changed) {
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

  public static void writePeers(List<UUID> peers, FieldWriter out) {
    out.list(peers, (to, node) -> to.uuid(node));
  }

  public static List<UUID> readPeers(FieldReader in) {
    return in.list(FieldReader::uuid);
  }
}
