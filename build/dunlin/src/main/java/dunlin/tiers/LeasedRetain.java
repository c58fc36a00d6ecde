package dunlin.tiers;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainServer;
import dunlin.store.Replica;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The retained messages of a leader, which are read only while no other node can lead them. */
final class LeasedRetain implements RetainClient {
  private final RetainServer server;
  private final Replica<?, ?> messages;

  /** @param messages this node's replica of the range of retained messages */
  LeasedRetain(RetainServer server, Replica<?, ?> messages) {
    this.server = server;
    this.messages = messages;
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    server.set(message, answer);
  }

  @Override
  public CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    return messages.readBarrier().thenCompose(_ -> server.find(tenant, filter, after, messagesMax, bytesMax));
  }

  @Override
  public CompletableFuture<Long> count() {
    return server.count();
  }
}
