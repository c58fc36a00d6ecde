package dunlin.store;

import java.util.concurrent.CompletableFuture;

/**
 * Called once with the outcome of a proposed command. Success is reported on the range's applying thread; failure on a
 * thread of the store, or on the caller's own from inside {@link Range#propose} when the command is refused at once.
 * Must be quick, must not block, must not throw.
 */
public interface Completion<R> {
  /** The command is durable on a majority, applied, and its rows are readable. */
  void done(R result);

  /**
   * The command was surely not done and will not be: not led here ({@link NotLeaderException}), too large, range closed or
   * failed, no room on disk ({@link LowDiskException}). Only an {@link OutcomeUnknownException} says that its outcome is
   * unknown: it may or may not be applied.
   */
  void failed(StoreException failure);

  /** Completes a future with the outcome. What depends on it runs on the thread that is called here, so it must be quick, too. */
  static <R> Completion<R> of(CompletableFuture<R> outcome) {
    return new Completion<>() {
      @Override
      public void done(R result) {
        outcome.complete(result);
      }

      @Override
      public void failed(StoreException failure) {
        outcome.completeExceptionally(failure);
      }
    };
  }
}
