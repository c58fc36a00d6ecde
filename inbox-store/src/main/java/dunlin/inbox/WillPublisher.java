package dunlin.inbox;

import dunlin.model.Publication;
import java.util.concurrent.CompletableFuture;

/** Publishes a will for a session whose connection is gone; a frontend, connected by the node. */
public interface WillPublisher {
  /** Completes when the message is as safe as a PUBACK of its QoS says; fails when it must be tried again. */
  CompletableFuture<Void> publish(Publication will);
}
