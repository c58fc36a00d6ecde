package dunlin;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Whether a node has started and nothing that this stands for has failed since its start began. */
final class Readiness {
  /*
   * Owner: any thread; guarded by itself.
   * Failure: the first one stays, however early it comes: a start that ends after it changes nothing.
   */
  private boolean started;
  private boolean closed;
  private @Nullable RuntimeException failure;

  /** @throws RuntimeException what has failed meanwhile */
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
