package dunlin.store;

import dunlin.store.raft.RangeStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A range, as a node with a replica uses it. Only the leader accepts commands: on other replicas they fail at once,
 * with a {@link NotLeaderException} that names the leader.
 */
public interface Replica<C, R> extends Range<C, R> {
  RangeId id();

  /**
   * Completes when the rows show everything that was done before this call, on any node, provided that this replica
   * leads; else fails with {@link NotLeaderException}. One barrier serves any number of reads that follow it. Never
   * blocks.
   */
  CompletableFuture<@Nullable Void> readBarrier();

  RangeStatus status();

  /** The leader that this replica knows, which may be itself: that of the {@link #status}, without the cost of the rest. */
  Optional<UUID> leader();

  /**
   * The range's descriptor by the rows of this replica: its keys and epoch, and the peers of the last configuration
   * applied here. Empty for a range that was not placed, which has all keys and no epoch.
   */
  Optional<RangeDescriptor> descriptor();

  /** Whether the rows are confirmed to be those of the range. A range that was split off waits for its leader to confirm them. */
  boolean based();

  /** The approximate bytes of rows that are in the log but not flushed. */
  long unflushedBytes();

  /** The size and load of this replica. */
  RangeLoad load();

  /** Flushes the rows to disk. Blocks. */
  void flush();

  /**
   * Like {@link #propose}, for a caller that knows the range at this epoch; plain propose assumes the first epoch.
   * Refused with {@link WrongEpochException} when the range has another epoch, also when it changes before the command
   * is applied.
   */
  boolean propose(long epoch, C command, Completion<R> completion);

  /**
   * On the leader: splits the range, so that it ends at the cut and the child has the rest. Each replica creates the
   * child's rows when it applies this; {@link RangeStore#startSplit} then starts the child's group.
   *
   * @throws OutdatedException when the range has another epoch, or cannot be split there: nothing has changed
   */
  void split(long epoch, byte[] cut, UUID child, Duration deadline);

  /** Calls the listener with whether this replica leads, now and at each change, on a thread of the store that must not be blocked. */
  void onLeadership(Consumer<Boolean> listener);

  /**
   * On the leader: adds a new replica as a voter. The node must have created it ({@link RangeStore#createReplica}). It
   * gets its vote once it has all but the newest entries; this returns when it has it. Blocks, as the methods below do.
   *
   * @throws NotLeaderException when this replica does not lead
   * @throws StoreException when it is refused or the deadline passes; a change in progress may still complete later
   */
  void add(Member member, Duration deadline);

  /**
   * On the leader: changes the peers in one step, which waits for new ones as {@link #add} does. This node itself stays
   * a peer. The same peers make a new configuration, too: what is based on the present one can change nothing afterwards.
   *
   * @param configuration the {@link RangeStatus#configuration()} that the change is based on
   * @throws OutdatedException when another configuration is in force: nothing has changed
   */
  void changePeers(long configuration, List<Member> members, Duration deadline);

  /**
   * On the leader: removes a replica from the group, never the leader's own: transfer the leadership first. The node
   * may then drop its replica.
   */
  void remove(UUID node, Duration deadline);

  /**
   * Makes this replica a candidate now, if it is a voter and there is no leader, instead of after the election timeout.
   * Two candidates at a time may both get too few votes. Returns before the outcome is known.
   *
   * @throws StoreException when that is not possible now, mostly because it is a candidate already
   */
  void elect();

  /**
   * On the leader: transfers the leadership to a voter. The range prefers that node until the next transfer. Does
   * nothing when it is the leader already.
   */
  void transferLeadership(UUID node, Duration deadline);
}
