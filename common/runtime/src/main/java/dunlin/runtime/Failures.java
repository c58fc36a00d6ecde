package dunlin.runtime;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/** What went wrong. */
public final class Failures {
  private Failures() {}

  /** The failure that a dependent future has wrapped into a {@link CompletionException}, or the failure itself. */
  public static Throwable unwrapped(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
  }

  /** Makes a call whose failures all come with its future, also one that it throws. */
  public static <T> CompletableFuture<T> inFuture(Supplier<CompletableFuture<T>> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }
}
