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
   * @return false when the bounded queue is full: nothing was queued, the completion will not be called, and the caller
   *     must push back on whoever feeds it
   */
  boolean propose(C command, Completion<R> completion);

  /**
   * The applied rows, as of each call's beginning. Sees every command whose completion was called before. Call it from
   * {@link #readers()} only.
   */
  RangeReader reader();

  /** The range's own platform threads for reading rows. Its queue is bounded: a full one throws RejectedExecutionException. */
  Executor readers();
}
