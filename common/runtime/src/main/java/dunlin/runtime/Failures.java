package dunlin.runtime;

import java.util.concurrent.CompletionException;

/** What went wrong. */
public final class Failures {
  private Failures() {}

  /** The failure that a dependent future has wrapped into a {@link CompletionException}, or the failure itself. */
  public static Throwable unwrapped(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
  }
}
