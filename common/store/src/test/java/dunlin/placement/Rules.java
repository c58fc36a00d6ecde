package dunlin.placement;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Operation.Split;
import dunlin.placement.plan.ClusterObservation;
import dunlin.placement.plan.Leases;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.Operations;
import dunlin.store.RangeDescriptor;
import dunlin.store.raft.RangeFence;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The real rules, as the simulation runs them. A mutant overrides one by a wrong one, which must be found. */
class Rules {
  static final Duration LEASE = Duration.ofMillis(1500);
  static final Duration DOWN_AFTER = Duration.ofSeconds(3);

  boolean admits(RangeDescriptor range, long epoch, byte[] key) {
    return new RangeFence(range).admits(epoch, key);
  }

  RangeFence.SplitOutcome split(RangeDescriptor range, Split split, long term, long index) {
    return new RangeFence(range).split(split.epoch(), split.cut(), split.child(), term, index);
  }

  boolean makesChild(@Nullable RangeDescriptor present, RangeDescriptor upper) {
    return RangeFence.makesChild(present, upper);
  }

  /** Whether a change of peers passes its comparison. */
  boolean exchanges(long configuration, List<UUID> peers, ChangePeers action) {
    return configuration == action.configuration() && peers.equals(action.expected());
  }

  /** Whether dropping a replica passes its comparison. */
  boolean drops(UUID present, UUID creation) {
    return present.equals(creation);
  }

  /** The identifier of a replica that an operation has created, maybe where another was lost. */
  UUID creation(UUID operation, boolean lost, UUID another) {
    return lost ? another : operation;
  }

  Leases leases(long term, Duration now) {
    return new Leases(term, LEASE, DOWN_AFTER, now);
  }

  Operations.Decision decide(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
    return new Operations(settings).decide(map, observation);
  }
}
