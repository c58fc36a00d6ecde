package dunlin.store;

import java.util.concurrent.Executor;

/**
 * One range, as the tier that owns it uses it on the leader.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public interface Range<C, R> {
  /**
   * Queues a command for the log. Commands of one calling thread are applied in the order of its calls, if they have the same source ({@link CommandCodec#source})
   * or one of them has none. Never blocks.
   * The command is encoded later, on another thread, and must not change.
   *
   * <p>How much of the queue a command may use depends on its {@link CommandKind}. So a command may be refused and the
   * next one, of another kind, accepted: a caller that needs an order proposes nothing else until the first is
   * accepted.
   *
   * @return false when the bounded queue is full for this kind: nothing was queued, the completion will not be called,
   *     and the caller must push back on its own source until {@link #whenRoom} calls it
   */
  boolean propose(C command, Completion<R> completion);

  /** Makes it likely that the commands which a task proposes, on this thread, share a log entry. Without this the first often goes alone. */
  default void together(Runnable proposals) {
    proposals.run();
  }

  /**
   * Calls back once when at least half of the queue is free, in number and in bytes; soon, when that is so already. A
   * command of any kind and size is then accepted, unless others have filled the queue first: then the caller waits
   * again. It also calls back when the range is closed, has failed or is led elsewhere: the next proposal fails with
   * the reason. It never calls back from inside this call while the range is open.
   *
   * @param caller must be quick, must not block, must not throw; runs on the thread that takes from the queue, and
   *     usually hands over to the caller's own thread. An object that is registered already stays registered once
   * @return false when 4,096 others are waiting: there will be no call, and the caller must retry by a timer of its own
   */
  boolean whenRoom(Runnable caller);

  /** Whether the disk of this node has room for commands that need some. Any thread. */
  default boolean hasDiskRoom() {
    return true;
  }

  /**
   * The applied rows, as of each call's beginning. Sees every command whose completion was called before. Call it from
   * {@link #readers()} only.
   */
  RangeReader reader();

  /** The range's own platform threads for reading rows. Its queue is bounded: a full one throws RejectedExecutionException. */
  Executor readers();
}
