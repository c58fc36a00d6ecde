package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import java.util.concurrent.CompletableFuture;

/** Publishes wills for sessions whose connection is gone; a frontend, connected by the node. */
public interface WillPublisher {
  /** Prepares to publish a will. Nothing happens before its first attempt. Any thread. */
  Sending prepare(Publication will);

  /** One will on its way. Remembers who has taken it, so that an attempt does not bring it to them again. */
  @FunctionalInterface
  interface Sending {
    /** Publishes to all who have not taken the will yet. Any thread; one attempt at a time. */
    CompletableFuture<Outcome> attempt();
  }

  /** How an attempt ended. */
  sealed interface Outcome {
    /** The will is as safe as a PUBACK of its QoS says. */
    record Published() implements Outcome {}

    /** Somebody does not take it, by a rule that another attempt would meet as well; all others have it. */
    record Refused(ReasonCode reason) implements Outcome {}

    /** Somebody cannot take it now. */
    record NotNow(ReasonCode reason) implements Outcome {}

    /** What the answer of somebody who was to take a will says. */
    static Outcome of(ReasonCode reason) {
      return switch (reason) {
        case UNSPECIFIED_ERROR, IMPLEMENTATION_SPECIFIC_ERROR, SERVER_UNAVAILABLE, SERVER_BUSY, SERVER_SHUTTING_DOWN, SESSION_TAKEN_OVER ->
            new NotNow(reason);
        default -> reason.isError() ? new Refused(reason) : new Published();
      };
    }
  }
}
