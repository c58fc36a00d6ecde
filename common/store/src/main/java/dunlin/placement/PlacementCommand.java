package dunlin.placement;

import dunlin.store.RangeDescriptor;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** An entry of the meta group's log. Everything that depends on time or chance is decided before it is proposed. */
public sealed interface PlacementCommand {
  /** The first entry: gives the cluster its identity. */
  record FoundCluster(UUID cluster) implements PlacementCommand {}

  /** Registers a node: a new one, or one that has another address. */
  record RegisterNode(ClusterNode node) implements PlacementCommand {}

  /** Changes a node's state, provided that it has the expected one. */
  record MarkNode(UUID node, ClusterNode.State from, ClusterNode.State to) implements PlacementCommand {}

  /** Drops the row of a node that has left. */
  record ForgetNode(UUID node) implements PlacementCommand {}

  /** Adds a range that a store begins with; the ranges of splits are added by {@link SplitDone}. */
  record PlaceRange(RangeDescriptor range) implements PlacementCommand {}

  /** The range's own group has changed its peers, by the entry at this index of its log. */
  record PeersChanged(UUID range, long epoch, long configuration, List<UUID> peers)
      implements PlacementCommand {
    public PeersChanged {
      peers = List.copyOf(peers);
    }
  }

  record Begin(UUID intent, Operation operation) implements PlacementCommand {}

  /** Cancels an operation: the steps already done are undone. Not for splits. */
  record Cancel(UUID intent) implements PlacementCommand {}

  /** The leader of an operation's range is about to be asked to add the new replica to this configuration. */
  record Adding(UUID intent, long configuration) implements PlacementCommand {}

  /** An operation has reached its goal. */
  record Finish(UUID intent) implements PlacementCommand {}

  /** An operation can no longer reach its goal, and its steps have been undone. */
  record Abandon(UUID intent) implements PlacementCommand {}

  /** A split is complete: the child has a leader that has found the child's rows in place. */
  record SplitDone(UUID intent, RangeDescriptor child, long configuration) implements PlacementCommand {}

  /** Sets a setting of the whole cluster, or removes it. */
  record Change(String name, @Nullable String value) implements PlacementCommand {}
}
