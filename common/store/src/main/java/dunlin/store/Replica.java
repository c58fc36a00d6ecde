package dunlin.store;

import java.time.Duration;
import java.util.List;
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
   * On the leader: lets a voter lead from now on. The range prefers that node until it is transferred again. Nothing
   * happens when it is the leader already.
   */
  void transferLeadership(UUID node, Duration deadline);
}
