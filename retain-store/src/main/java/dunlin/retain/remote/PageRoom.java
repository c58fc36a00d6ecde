package dunlin.retain.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The room that pages of all ranges have together: a page that does not fit waits, behind those before it. */
final class PageRoom {
  /*
   * Owner: any thread, under its lock. Pages are asked for outside of it.
   * Bounds: bytesMax, or one page alone. The callers bound the line: a session and an operator have one page each.
   */
  private final long bytesMax;

  @GuardedBy("this")
  private final ArrayDeque<Waiting<?>> line = new ArrayDeque<>();

  @GuardedBy("this")
  private long taken;

  @GuardedBy("this")
  private boolean turning;

  private record Waiting<T>(long bytes, Supplier<CompletableFuture<T>> page, CompletableFuture<T> answer) {}

  PageRoom(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Asks for a page when there is room for it. */
  <T> CompletableFuture<T> when(long bytes, Supplier<CompletableFuture<T>> page) {
    var waiting = new Waiting<>(bytes, page, new CompletableFuture<T>());
    synchronized (this) {
      line.add(waiting);
    }
    turn();
    return waiting.answer;
  }

  /** Asks for the pages that have room, on one thread at a time: a page that fails at once gives its room to the next one. */
  private void turn() {
    synchronized (this) {
      if (turning) return;
      turning = true;
    }
    for (var next = next(); next != null; next = next()) ask(next);
  }

  private synchronized @Nullable Waiting<?> next() {
    var first = line.peek();
    turning = first != null && (taken == 0 || taken + first.bytes <= bytesMax);
    if (!turning || first == null) return null;
    taken += first.bytes;
    return line.remove();
  }

  private <T> void ask(Waiting<T> waiting) {
    var _ =
        waiting.page.get().whenComplete(
            (answer, failure) -> {
              give(waiting.bytes);
              if (failure == null) waiting.answer.complete(answer);
              else waiting.answer.completeExceptionally(failure);
            });
  }

  private void give(long bytes) {
    synchronized (this) {
      taken -= bytes;
    }
    turn();
  }
}
