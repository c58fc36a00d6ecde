package dunlin.node;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Whether a node has started and no store has failed since its start began. */
final class Readiness {
  /*
   * Owner: any thread; guarded by itself.
   * Failure: the first failure stays, even if it comes before the start has ended.
   */
  @GuardedBy("this")
  private boolean started;

  @GuardedBy("this")
  private boolean closed;

  @GuardedBy("this")
  private @Nullable RuntimeException failure;

  /** @throws RuntimeException the failure, if there was one during the start */
  synchronized void started() {
    if (failure != null) throw failure;
    started = true;
  }

  synchronized void failed(RuntimeException why) {
    if (failure == null) failure = why;
  }

  synchronized void closed() {
    closed = true;
  }

  synchronized boolean isStarting() {
    return !started && !closed && failure == null;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  synchronized Optional<RuntimeException> failure() {
    return Optional.ofNullable(failure);
  }

  synchronized boolean ready() {
    return started && !closed && failure == null;
  }
}
