package dunlin.store;

import java.util.concurrent.Executor;

/**
 * One range as the tier that owns it uses it on its leader.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public interface Range<C, R> {
  /**
   * Queues a command for the log. Commands of one calling thread are applied in the order of its calls. Never blocks.
   * The command is encoded later, on another thread, and must not change.
   *
   * <p>What is taken depends on what the codec says that the command is: see {@link CommandKind}. A refused command of one kind may
   * be followed by a command of another that is taken: a caller that needs an order proposes nothing later before the first is taken.
   *
   * @return false when the bounded queue is full for this kind: nothing was queued, the completion will not be called, and the
   *     caller must push back on its own source, until {@link #whenRoom} tells it to go on
   */
  boolean propose(C command, Completion<R> completion);

  /**
   * Tells the caller once when at least half of the queue is free, in number and in bytes; soon, when it is so already. After that a
   * command of any kind and size is taken, unless others have come first: then the caller waits again. Told, too, when the range is
   * closed, has failed or is led elsewhere: to propose then says so. Never told from inside this call while the range is open.
   *
   * @param caller must be quick, must not block, must not throw; runs on the thread that takes from the queue, and usually hands
   *     over to the caller's own. The same object that waits already waits once
   * @return false when 4,096 others are waiting: it will not be told, and tries again by a timer of its own
   */
  boolean whenRoom(Runnable caller);

  /**
   * The applied rows, as of each call's beginning. Sees every command whose completion was called before. Call it from
   * {@link #readers()} only.
   */
  RangeReader reader();

  /** The range's own platform threads for reading rows. Its queue is bounded: a full one throws RejectedExecutionException. */
  Executor readers();
}
