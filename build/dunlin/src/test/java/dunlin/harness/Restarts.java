package dunlin.harness;

import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;

/** Starts nodes of this process again on their data. A store that is still stopping keeps its directory for a moment longer than close() waits. */
public final class Restarts {
  private static final Duration LONG = Duration.ofMinutes(2);

  private Restarts() {}

  /** Starts a node as soon as its directory is free. */
  public static <T> T again(Callable<T> start) {
    return await().atMost(LONG).ignoreExceptionsMatching(failure -> String.valueOf(failure.getMessage()).contains("in use")).until(start, _ -> true);
  }

  /** Waits after the close() of a node until its directory is free, and may be used by a process or deleted. */
  public static void awaitReleased(Path data) {
    await("the data directory is released")
        .atMost(LONG)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> !Files.exists(data.resolve("lock.owner")));
  }
}
