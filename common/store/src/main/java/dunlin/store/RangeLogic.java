package dunlin.store;

import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The state machine of a kind of ranges: a deterministic function from log entries to rows and results.
 *
 * <p>The same log gives the same rows on every replica, so an implementation reads no clock, no random number and no
 * setting while it applies: the command carries whatever it needs of these. A failure of the command itself is a
 * result; an exception says that the replica cannot go on, and stops it.
 *
 * <p>One thread at a time calls these methods but for {@link #settle}, each call happens-before the next. An implementation synchronizes the
 * in-memory indexes that it keeps for readers on other threads itself.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public interface RangeLogic<C, R> {
  /** Builds the in-memory indexes from the durable rows. Called once at start, and again after a snapshot was installed. */
  void open(RangeReader state);

  /**
   * Adapts the in-memory indexes after the range was split: the rows from a key on are another range's. No command is applied and no read barrier is granted until it returns, so
   * an implementation with many rows takes what remains from its indexes rather than from the rows, and leaves to {@link #settle} what can be done later.
   *
   * @param state the rows that remain
   */
  default void cut(RangeReader state, byte[] from) {
    open(state);
  }

  /**
   * Builds the in-memory indexes of what was split off from another range of this process from what that range's logic
   * has kept of it in {@link #cut}, without reading the rows. Nothing was applied to these rows since. A logic that can
   * do this hands over what it has kept only once, to any thread.
   *
   * @param start the first key of this range, where the other one was cut
   * @return whether that was possible; otherwise {@link #open} is called
   */
  default boolean openSplit(RangeLogic<?, ?> parent, byte[] start) {
    return false;
  }

  /**
   * Does what {@link #cut} or {@link #openSplit} has left for later. Called after each of them, on a thread of its own and beside all other methods, which an
   * implementation synchronizes itself. It may come late, also after the next cut.
   *
   * @param over whether the replica has failed or is closed; what is left to do is not done then
   */
  default void settle(BooleanSupplier over) {}

  /** Applies the commands of one log entry in order, and returns a result for each, in the same order. */
  List<R> apply(List<C> commands, RangeWriter out);

  /**
   * Adds rows that sum up what {@link #apply} has changed since the last call, so that {@link #open} can read these
   * rows instead. They are written atomically with the changes. Replicas write at different points of the log, so the
   * rows may only depend on the state, never on the entries that led to it.
   */
  default void summarize(RangeWriter out) {}
}
