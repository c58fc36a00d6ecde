package dunlin.store;

/**
 * Told once how a proposed command ended. Called on the range's applying thread: must be quick, must not block, must
 * not throw.
 */
public interface Completion<R> {
  /** The command is durable on a majority, applied, and its rows are readable. */
  void done(R result);

  /** The command was not accepted, or its fate is unknown (leader lost, range closed): it may or may not be applied. */
  void failed(StoreException failure);
}
