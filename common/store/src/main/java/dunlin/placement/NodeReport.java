package dunlin.placement;

import dunlin.store.RangeDescriptor;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a node reports in a heartbeat.
 *
 * @param leadership the term of the meta group's leader from which the node has heard last; 0 for none since it started. The
 *     leader answers every report with its term, and takes only reports that name it: a report sent earlier may arrive late,
 *     when the node's replicas are no longer the same
 * @param incarnation rises with each start of the node
 * @param number rises with each report of one incarnation, so that an older report cannot take the place of a newer one
 * @param unreached other nodes of the cluster that this one has called for some time without an answer
 */
public record NodeReport(UUID node, long leadership, long incarnation, long number, List<Replica> replicas, List<UUID> unreached) {
  public static final int REPLICAS_MAX = 1024;
  public static final int UNREACHED_MAX = Placement.NODES_MAX;
  public static final UUID ORIGINAL = new UUID(0, 0);

  public NodeReport {
    replicas = List.copyOf(replicas);
    unreached = List.copyOf(unreached);
    if (unreached.size() > UNREACHED_MAX)
      throw new IllegalArgumentException("node " + node + " reports " + unreached.size() + " nodes that it does not reach, at most " + UNREACHED_MAX);
    if (replicas.size() > REPLICAS_MAX)
      throw new IllegalArgumentException("node " + node + " reports " + replicas.size() + " replicas, at most " + REPLICAS_MAX);
  }

  /** How far a replica has started. */
  public enum Phase {
    /** The rows are there; its member of the Raft group has not been started. */
    STORED,
    /** Takes part in its group. */
    RUNNING
  }

  /** How far behind the leader a follower is, in entries. */
  public record Follower(UUID node, long lag) {}

  /**
   * The size of a replica and the load of its leader. All but {@code unflushed} is 0 or null until the leader has
   * measured the range with its current keys, so no measurement from before a split causes another split.
   *
   * @param middle the key for a split with about half of the bytes below it; null when unknown or not possible
   * @param busiest the key for a split with about half of the operations below it
   * @param indivisible whether it is past a limit and its leader has found no key at which it may be split
   */
  public record Load(
      long bytes,
      long unflushed,
      long operationsPerSecond,
      byte @Nullable [] middle,
      byte @Nullable [] busiest,
      boolean indivisible) {
    public static final Load NONE = unmeasured(0);

    public static Load unmeasured(long unflushed) {
      return new Load(0, unflushed, 0, null, null, false);
    }
  }

  /**
   * A replica on this node.
   *
   * @param range as its own rows say; on a leader, with the peers of its group by the last configuration that is committed
   * @param configuration index of the entry that the peers are from; -1 before the first
   * @param creation the operation that had this replica created; {@link #ORIGINAL} for one that exists since the
   *     founding or came from a split. A replica of an operation that has ended never becomes a voter, so it can be
   *     dropped by this identifier. One that was made where another was lost has an identifier of its own.
   * @param applied index of the last entry applied
   * @param based whether the rows that a split gave it have been confirmed by an entry of its own log
   * @param followers on a leader, all peers but itself
   */
  public record Replica(
      RangeDescriptor range,
      long configuration,
      UUID creation,
      Phase phase,
      boolean leads,
      long term,
      long applied,
      boolean based,
      List<Follower> followers,
      Load load) {
    public Replica {
      followers = List.copyOf(followers);
    }

    public Optional<Long> lagOf(UUID node) {
      return followers.stream().filter(follower -> follower.node().equals(node)).map(Follower::lag).findFirst();
    }
  }

  public Optional<Replica> replica(UUID range) {
    return replicas.stream().filter(replica -> replica.range().id().equals(range)).findFirst();
  }
}
