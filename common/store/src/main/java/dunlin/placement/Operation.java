package dunlin.placement;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The intended change of a range or a node. It names the goal and not the progress: that is read from the nodes'
 * reports, so a step may be done twice and any leader can continue.
 */
public sealed interface Operation {
  /** Moves all keys from the cut upwards to the child, provided that the range still has this epoch. */
  record Split(UUID of, long epoch, byte[] cut, UUID child) implements Operation {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Split that
          && of.equals(that.of)
          && epoch == that.epoch
          && Arrays.equals(cut, that.cut)
          && child.equals(that.child);
    }

    @Override
    public int hashCode() {
      return Objects.hash(of, epoch, Arrays.hashCode(cut), child);
    }

    @Override
    public String toString() {
      return "Split[of=" + of + ", epoch=" + epoch + ", cut=" + HexFormat.of().formatHex(cut) + ", child=" + child + "]";
    }
  }

  record AddReplica(UUID of, UUID to) implements Operation {}

  /**
   * Works the same whether the node that loses its replica is up or dead. The node keeps its replica when the range
   * would be left with too few voters because others have been lost.
   */
  record MoveReplica(UUID of, UUID from, UUID to) implements Operation {}

  /** Recreates the replica of a healthy node, because its rows or its log are lost: it leaves the configuration and joins again. */
  record ReplaceReplica(UUID of, UUID node) implements Operation {}

  record TransferLeadership(UUID of, UUID to) implements Operation {}

  /** Moves every replica off a node, which stays a member. */
  record DrainNode(UUID node) implements Operation {}

  /** Drains a node, which then leaves for ever. */
  record LeaveNode(UUID node) implements Operation {}

  /** The range that this is about. At most one operation at a time may be about a range. */
  default Optional<UUID> range() {
    return switch (this) {
      case Split split -> Optional.of(split.of);
      case AddReplica add -> Optional.of(add.of);
      case MoveReplica move -> Optional.of(move.of);
      case ReplaceReplica replace -> Optional.of(replace.of);
      case TransferLeadership transfer -> Optional.of(transfer.of);
      case DrainNode _, LeaveNode _ -> Optional.empty();
    };
  }

  /** The node that is to lose all of its replicas. */
  default Optional<UUID> emptied() {
    return switch (this) {
      case DrainNode(var node) -> Optional.of(node);
      case LeaveNode(var node) -> Optional.of(node);
      case Split _, AddReplica _, MoveReplica _, ReplaceReplica _, TransferLeadership _ -> Optional.empty();
    };
  }

  /** The node that a replica is being created on. */
  default Optional<UUID> filled() {
    return switch (this) {
      case AddReplica add -> Optional.of(add.to);
      case MoveReplica move -> Optional.of(move.to);
      case ReplaceReplica replace -> Optional.of(replace.node);
      case Split _, TransferLeadership _, DrainNode _, LeaveNode _ -> Optional.empty();
    };
  }

  default void writeTo(FieldWriter out) {
    switch (this) {
      case Split(var of, var epoch, var cut, var child) -> {
        out.octet(1);
        out.uuid(of);
        out.number(epoch);
        out.bytes(cut);
        out.uuid(child);
      }
      case AddReplica(var of, var to) -> nodes(out, 2, of, to);
      case MoveReplica(var of, var from, var to) -> nodes(out, 3, of, from, to);
      case ReplaceReplica(var of, var node) -> nodes(out, 4, of, node);
      case TransferLeadership(var of, var to) -> nodes(out, 5, of, to);
      case DrainNode(var node) -> nodes(out, 6, node);
      case LeaveNode(var node) -> nodes(out, 7, node);
    }
  }

  private static void nodes(FieldWriter out, int kind, UUID... ids) {
    out.octet(kind);
    for (var id : ids) out.uuid(id);
  }

  static Operation readFrom(FieldReader in) {
    int kind = in.octet();
    return switch (kind) {
      case 1 -> new Split(in.uuid(), in.number(), in.bytes(), in.uuid());
      case 2 -> new AddReplica(in.uuid(), in.uuid());
      case 3 -> new MoveReplica(in.uuid(), in.uuid(), in.uuid());
      case 4 -> new ReplaceReplica(in.uuid(), in.uuid());
      case 5 -> new TransferLeadership(in.uuid(), in.uuid());
      case 6 -> new DrainNode(in.uuid());
      case 7 -> new LeaveNode(in.uuid());
      default -> throw new IllegalStateException("operation of kind " + kind);
    };
  }
}
