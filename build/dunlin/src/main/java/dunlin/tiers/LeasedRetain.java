package dunlin.tiers;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient;
import dunlin.store.Replica;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A range of retained messages that this node leads, which is read only while no other node can lead it.
 *
 * @param replica this node's replica of the range
 */
record LeasedRetain(RetainRangeClient led, Replica<?, ?> replica) implements RetainRangeClient {
  @Override
  public CompletableFuture<ReasonCode> set(long epoch, Publication message) {
    return led.set(epoch, message);
  }

  @Override
  public CompletableFuture<Page> find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    return replica.readBarrier().thenCompose(_ -> led.find(epoch, tenant, filter, after, messagesMax, bytesMax));
  }

  @Override
  public CompletableFuture<Listing> list(long epoch, byte[] prefix, byte[] from, int max) {
    return replica.readBarrier().thenCompose(_ -> led.list(epoch, prefix, from, max));
  }

  @Override
  public CompletableFuture<Sums> sums() {
    return led.sums();
  }
}
