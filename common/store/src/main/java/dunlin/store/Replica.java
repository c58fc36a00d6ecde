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
 * A range as the node that has a replica of it uses it. Commands are taken on the leader only: elsewhere they fail at
 * once, with a {@link NotLeaderException} that says where to go.
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

  /**
   * What the range is, by the rows of this replica: its keys and epoch, and the peers of the last configuration applied
   * here. Empty for a range that was not placed, which has all keys and no epoch.
   */
  Optional<RangeDescriptor> descriptor();

  /** Whether the rows are known to be those of the range: not yet, on one that was split off and whose leader has not said so. */
  boolean based();

  /** Bytes of rows that are not on disk but for the log, about. */
  long unflushedBytes();

  /** How much this replica holds and does. */
  RangeLoad load();

  /** Brings the rows to disk. Blocks. */
  void flush();

  /**
   * Like {@link #propose}, by a caller who knows the range as of this epoch; plain propose is of the first. Refused with
   * {@link WrongEpochException} when the range is of another one, be it that it has become so before the command is applied.
   */
  boolean propose(long epoch, C command, Completion<R> completion);

  /**
   * On the leader: splits the range, so that it ends at the cut and the child has the rest. Each replica makes the child's
   * rows as it applies this; {@link RangeStore#startSplit} then begins its group.
   *
   * @throws OutdatedException when the range is of another epoch, or cannot be split there: nothing has changed
   */
  void split(long epoch, byte[] cut, UUID child, Duration deadline);

  /** Tells whether this replica leads, now and with each change; on a thread of the store that must not be held up. */
  void onLeadership(Consumer<Boolean> listener);

  /**
   * On the leader: takes a new replica in, without a vote. The node must have created it ({@link RangeStore#createReplica}).
   * Returns when it has all but the newest entries. Blocks; so do the others below.
   *
   * @throws NotLeaderException when this replica does not lead
   * @throws StoreException when it is refused, or has not come about in time; what was begun may come about later
   */
  void addListener(Member member, Duration deadline);

  /**
   * On the leader: exchanges the peers, in one step. A new listener must have been created on its node; when this returns
   * it has all but the newest entries. This node itself stays a voter.
   *
   * @param configuration the one that was decided on, by {@link RangeStatus#configuration()}
   * @throws OutdatedException when another configuration is in force: nothing has changed
   */
  void changePeers(long configuration, List<Member> voters, List<Member> listeners, Duration deadline);

  /** On the leader: gives a listener its vote, once it has nearly caught up. */
  void promote(UUID node, Duration deadline);

  /** On the leader: takes a replica out. Never the leader itself: transfer first. The node may drop its replica then. */
  void remove(UUID node, Duration deadline);

  /**
   * Lets this replica ask for votes now, when it has one itself and there is no leader, instead of at some time within the election
   * timeout. Two that ask at the same time may both get too few. Returns before it is known what has come of it.
   *
   * @throws StoreException when it cannot now: most of all when it has asked before and got too few, and then asks again by itself
   */
  void elect();

  /**
   * On the leader: lets a voter lead from now on. The range prefers that node until it is transferred again. Nothing
   * happens when it is the leader already.
   */
  void transferLeadership(UUID node, Duration deadline);
}
