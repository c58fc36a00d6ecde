package dunlin.broker.session;

import dunlin.broker.loop.Loop;
import dunlin.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A subscription's wait for the route of its filter. */
final class Routing {
  /*
   * Owner: the event loop of the session.
   * Bounds: one for each subscription that waits. The filter's table refers to it until the route is set or has failed, which may be long after the
   * subscription has ended, if others have the filter as well: so nothing of the session can be reached from here by then.
   */
  /** Completes on the session's loop. */
  final CompletableFuture<Void> done = new CompletableFuture<>();

  /** Null once the subscription has ended. */
  private @Nullable Consumer<@Nullable Throwable> arrived;

  /** @param arrived learns that the route is set, or why it is not */
  Routing(Consumer<@Nullable Throwable> arrived) {
    this.arrived = arrived;
  }

  void arrived(@Nullable Throwable failure) {
    if (arrived != null) arrived.accept(failure);
  }

  /** The subscription has ended. Its SUBSCRIBE fails soon, if it still waits. */
  void end(Loop loop) {
    arrived = null;
    loop.post(() -> done.completeExceptionally(new StoreException("the subscription has ended")));
  }
}
