package dunlin;

import dunlin.broker.ApplicationPublisher;
import dunlin.broker.ApplicationSubscription;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;

/** Publishes and subscribes for the application that embeds a node, in the default tenant. */
final class Application {
  /*
   * Owner: any thread. It has no state of its own; the two parts state their bounds.
   */
  private final ApplicationPublisher publisher;
  private final ApplicationSubscriptions subscriptions;

  Application(ApplicationPublisher publisher, ApplicationSubscriptions subscriptions) {
    this.publisher = publisher;
    this.subscriptions = subscriptions;
  }

  CompletableFuture<Boolean> publish(Message message) {
    var publication =
        publisher.message(Publisher.DEFAULT_TENANT, message.topic(), QoS.of(message.qos()), message.retained(), message.payload());
    return publisher
        .publish(publication)
        .thenApply(
            reason -> {
              if (reason.isError()) throw new PublishException(message.topic(), reason);
              return publication.qos() == QoS.AT_MOST_ONCE || reason != ReasonCode.NO_MATCHING_SUBSCRIBERS;
            });
  }

  Subscription subscribe(String filter, Consumer<Message> listener) {
    try {
      var made = subscriptions.subscribe(Publisher.DEFAULT_TENANT, filter, received -> listener.accept(message(received))).join();
      return new Made(made);
    } catch (CompletionException e) {
      throw e.getCause() instanceof IllegalStateException refused ? refused : e;
    }
  }

  private static Message message(ApplicationSubscription.Received received) {
    Publication message = received.message();
    return new Message(message.topic(), message.payload(), message.qos().code(), received.retained());
  }

  private record Made(ApplicationSubscription of) implements Subscription {
    @Override
    public long dropped() {
      return of.dropped();
    }

    @Override
    public void close() {
      of.close();
    }
  }
}
