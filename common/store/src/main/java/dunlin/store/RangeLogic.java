package dunlin.store;

import java.util.List;

/**
 * What a range means: a deterministic function from log entries to rows and results.
 *
 * <p>The same log gives the same rows on every replica, so an implementation reads no clock, no random number and no
 * setting while it applies: whatever it needs of these arrives inside the command. A failure of the command itself is a
 * result; an exception says that the replica cannot go on, and stops it.
 *
 * <p>One thread at a time calls these methods, each call happens-before the next. In-memory indexes that an
 * implementation keeps for readers on other threads are its own affair.
 *
 * @param <C> a command
 * @param <R> the result of a command
 */
public interface RangeLogic<C, R> {
  /** Builds the in-memory indexes from the durable copy. Called once at start, and again after a snapshot was installed or the range was split. */
  void open(RangeReader state);

  /** Applies the commands of one log entry in order; as many results, in the same order. */
  List<R> apply(List<C> commands, RangeWriter out);

  /**
   * Adds rows that sum up what {@link #apply} has changed since the last call, so that {@link #open} need not read all that was
   * summed up. Called just before the changes are written, in one write with them: after a crash both are there or neither.
   * Replicas write at other points of the log, so what is added may only say how things stand, never how they came about.
   */
  default void summarize(RangeWriter out) {}
}
