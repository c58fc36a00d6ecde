package dunlin.placement;

import dunlin.store.RangeDescriptor;
import java.util.List;
import java.util.UUID;

/**
 * What one node is asked to do for an operation. It may arrive late, twice, or after its operation has ended. So it
 * carries the state that it was decided on, and the node does nothing when that state has changed.
 */
public sealed interface Action {
  /** The node that is asked. */
  UUID node();

  /** The range that the action is about. */
  UUID range();

  /**
   * Create an empty replica, which the range's leader will add. Does nothing when the node has a replica of this range.
   *
   * @param descriptor with all peers; the node itself is not one yet
   * @param creation the operation; kept with the replica, and reported, unless it takes the place of one that was lost
   */
  record CreateReplica(UUID node, RangeDescriptor descriptor, UUID creation) implements Action {
    @Override
    public UUID range() {
      return descriptor.id();
    }
  }

  /** Start the group's member on existing rows. Does nothing when there are none, or it runs. */
  record StartReplica(UUID node, UUID range) implements Action {}

  /** Stop the replica and delete it, provided that it is the one of this creation and not a later one. */
  record DropReplica(UUID node, UUID range, UUID creation) implements Action {}

  /**
   * As leader, change the group's peers, provided that the configuration in force is this one. A new peer gets its vote
   * once it has nearly all entries, which may be long after this call has ended. The
   * same peers make a new configuration, so that an earlier call can take effect no more.
   *
   * @param expected the peers of that configuration, for the comparison that Raft's own library makes
   */
  record ChangePeers(
      UUID node, UUID range, long configuration, List<UUID> expected, List<UUID> wanted) implements Action {
    public ChangePeers {
      expected = List.copyOf(expected);
      wanted = List.copyOf(wanted);
    }
  }

  /** As leader, transfer the leadership. Does nothing when the other has no vote or lags behind. */
  record TransferLeadership(UUID node, UUID range, UUID to) implements Action {}

  /** Ask the others for their votes now, without waiting for a timeout. Does nothing when there is a leader, or is about to be one. */
  record Elect(UUID node, UUID range) implements Action {}

  /** Flush rows that are only in memory, so that a split need not wait for that. */
  record FlushReplica(UUID node, UUID range) implements Action {}

  /** As leader, propose the split, which is decided by epoch where it is applied. */
  record ProposeSplit(UUID node, Operation.Split split) implements Action {
    @Override
    public UUID range() {
      return split.of();
    }
  }
}
