package dunlin.broker;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import java.util.concurrent.CompletableFuture;

/** A will on its way, published for a session whose connection is gone. */
final class PendingWill extends Acknowledgement {
  private final CompletableFuture<Void> published;

  private PendingWill(CompletableFuture<Void> published) {
    this.published = published;
  }

  /** Publishes on a loop, which must be the calling one. */
  static void publish(Loop loop, Publication will, CompletableFuture<Void> published) {
    PendingWill pending = new PendingWill(published);
    loop.counts().publishes().received();
    if (will.retain()) {
      pending.expect();
      loop.frontend().retain().set(will, pending::answer);
    }
    loop.lane().append(will, pending);
    loop.counts().publishes().delivered();
    pending.answer(ReasonCode.SUCCESS);
  }

  /** Nobody is there to be told, and a will that failed is published to everybody again. */
  @Override
  protected boolean toldOfDrops() {
    return false;
  }

  @Override
  protected void complete(ReasonCode reason) {
    if (reason.isError()) {
      published.completeExceptionally(new IllegalStateException("will not published: " + reason));
    } else {
      published.complete(null);
    }
  }
}
