package dunlin.load;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;

/** Waits for a condition that a quiet machine fulfils at once: the limit only ends a test that hangs. */
final class Patience {
  private Patience() {}

  static void until(Callable<Boolean> condition) {
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(condition);
  }
}
