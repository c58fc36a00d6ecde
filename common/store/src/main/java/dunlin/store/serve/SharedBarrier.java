package dunlin.store.serve;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.Failures;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Read barriers of a range for many readers: those who ask while one is on its way share the next. */
public final class SharedBarrier {
  /*
   * A barrier proves something only for those who asked before it was asked for. So who comes while one is on its way waits for the next, which is asked for once that is
   * answered.
   *
   * Owner: any thread. The lock guards two fields; barriers are asked for and futures completed outside of it.
   * Bounds: one barrier on its way; those who wait are bounded by their callers.
   * Failure: a barrier that fails fails those who wait for it, and none behind.
   */
  private final Supplier<CompletableFuture<@Nullable Void>> barrier;

  /** Of those who wait for the next barrier; null without any. */
  @GuardedBy("this")
  private @Nullable CompletableFuture<@Nullable Void> next;

  @GuardedBy("this")
  private boolean asked;

  /** @param barrier asks for one, as {@code Replica.readBarrier} */
  public SharedBarrier(Supplier<CompletableFuture<@Nullable Void>> barrier) {
    this.barrier = barrier;
  }

  /** Completes behind a barrier that is asked for after this call. What depends on it runs on a thread of the store, and must be quick. */
  public CompletableFuture<@Nullable Void> ask() {
    CompletableFuture<@Nullable Void> mine;
    synchronized (this) {
      mine = next;
      if (mine == null) next = mine = new CompletableFuture<>();
      if (asked) return mine;
      asked = true;
    }
    goOn();
    return mine;
  }

  /** Asks for a barrier for all who wait, until there are none. */
  private void goOn() {
    var waiting = take();
    if (waiting == null) return;
    var _ =
        asked()
            .whenComplete(
                (_, failure) -> {
                  if (failure == null) waiting.complete(null);
                  else waiting.completeExceptionally(Failures.unwrapped(failure));
                  goOn();
                });
  }

  private CompletableFuture<@Nullable Void> asked() {
    try {
      return barrier.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private synchronized @Nullable CompletableFuture<@Nullable Void> take() {
    var waiting = next;
    next = null;
    asked = waiting != null;
    return waiting;
  }
}
