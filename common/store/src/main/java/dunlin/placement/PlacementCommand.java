package dunlin.placement;

import dunlin.store.RangeDescriptor;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** An entry of the meta group's log. Whatever depends on time or chance has been decided before it is proposed. */
public sealed interface PlacementCommand {
  /** The first entry: gives the cluster its identity. */
  record FoundCluster(UUID cluster) implements PlacementCommand {}

  /** A node says who it is: new, or back at another address. */
  record RegisterNode(ClusterNode node) implements PlacementCommand {}

  /** Moves a node from the state that it is thought to have into another. */
  record MarkNode(UUID node, ClusterNode.State from, ClusterNode.State to) implements PlacementCommand {}

  /** Drops the row of a node that has left. */
  record ForgetNode(UUID node) implements PlacementCommand {}

  /** A range that a store begins with; the ranges of splits come by {@link SplitDone}. */
  record PlaceRange(RangeDescriptor range) implements PlacementCommand {}

  /** The range's own group has changed its peers, by the entry at this index of its log. */
  record PeersChanged(UUID range, long epoch, long configuration, List<RangeDescriptor.Peer> peers)
      implements PlacementCommand {
    public PeersChanged {
      peers = List.copyOf(peers);
    }
  }

  record Begin(UUID intent, Operation operation) implements PlacementCommand {}

  /** Asks for an operation to be undone as far as it has come. Not for splits. */
  record Cancel(UUID intent) implements PlacementCommand {}

  /** An operation has reached what it was for. */
  record Finish(UUID intent) implements PlacementCommand {}

  /** An operation can no longer reach what it was for, and has left nothing behind. */
  record Abandon(UUID intent) implements PlacementCommand {}

  /** A split has reached its end: the child has a leader that found the child's rows in place. */
  record SplitDone(UUID intent, RangeDescriptor child, long configuration) implements PlacementCommand {}

  /** Sets a setting of the whole cluster, or removes it. */
  record Change(String name, @Nullable String value) implements PlacementCommand {}
}
