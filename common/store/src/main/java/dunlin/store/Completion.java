package dunlin.store;

/**
 * Told once how a proposed command ended. Success comes on the range's applying thread; failure comes on a thread of the
 * store, or on the caller's own, from inside {@link Range#propose}, when it is refused at once. Must be quick, must not
 * block, must not throw.
 */
public interface Completion<R> {
  /** The command is durable on a majority, applied, and its rows are readable. */
  void done(R result);

  /**
   * The command was surely not done and will not be: not led here ({@link NotLeaderException}), too large, range closed or
   * failed, no room on disk ({@link LowDiskException}). Or else, and only then an {@link OutcomeUnknownException}, its fate is
   * unknown: it may or may not be applied.
   */
  void failed(StoreException failure);
}
