package dunlin.load;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;

/** Waits for what happens at once on a quiet machine: the limit only ends what hangs. */
final class Patience {
  private Patience() {}

  static void until(Callable<Boolean> condition) {
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(condition);
  }
}
