package dunlin.harness;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Starts nodes of this process again on their data. */
public final class Restarts {
  private static final Duration LONG = Duration.ofMinutes(2);

  private Restarts() {}

  /** Starts a node as soon as its directory is free: a store that is still stopping keeps it for a moment longer than close() waits. */
  public static <T> T again(Callable<T> start) {
    return await().atMost(LONG).ignoreExceptionsMatching(failure -> String.valueOf(failure.getMessage()).contains("in use")).until(start, _ -> true);
  }
}
