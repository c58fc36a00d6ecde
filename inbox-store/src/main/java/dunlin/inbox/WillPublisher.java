package dunlin.inbox;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Publishes wills of sessions whose connection has ended. A frontend implements it; the node connects the two. */
public interface WillPublisher {
  /**
   * Prepares to publish a will. Nothing is published before the first attempt. Any thread.
   *
   * @param will with an {@linkplain Publication#exchange exchange} if its sending is recorded
   * @param user the user whose session has left it; empty for a client without a user
   * @param again whether it may have been sent before, by an earlier leader of the session's range
   */
  Sending prepare(Publication will, String user, boolean again);

  /**
   * The publishing of one will. Remembers which destinations have accepted it, so that a later attempt does not deliver
   * it to them again.
   */
  @FunctionalInterface
  interface Sending {
    /** Publishes the will to all destinations that have not accepted it yet. Any thread; one attempt at a time. */
    CompletableFuture<Outcome> attempt();

    /**
     * Leaves the will to its range, which reports it again: there is no further attempt. Any thread, while there is none.
     *
     * @return what goes on with the will then; empty when it is to be prepared again, since no destination has accepted it
     */
    default Optional<Rest> giveBack() {
      return Optional.empty();
    }
  }

  /** What is left of the publishing of a will that some destinations have accepted: it remembers these, and not the message. */
  @FunctionalInterface
  interface Rest {
    /** Goes on with the will, as {@link #prepare} begins with it. Once. */
    Sending goOn(Publication will);
  }

  /** How an attempt ended. */
  sealed interface Outcome {
    /** The will is stored as safely as a message that is acknowledged with PUBACK. */
    record Published() implements Outcome {}

    /** A destination refuses the will for a reason that another attempt would meet as well; all others have it. */
    record Refused(ReasonCode reason) implements Outcome {}

    /** A destination cannot accept the will now; another attempt may succeed. */
    record NotNow(ReasonCode reason) implements Outcome {}

    /** The outcome that a destination's reason code stands for. */
    static Outcome of(ReasonCode reason) {
      return switch (reason) {
        case UNSPECIFIED_ERROR, IMPLEMENTATION_SPECIFIC_ERROR, SERVER_UNAVAILABLE, SERVER_BUSY, SERVER_SHUTTING_DOWN, SESSION_TAKEN_OVER ->
            new NotNow(reason);
        default -> reason.isError() ? new Refused(reason) : new Published();
      };
    }
  }
}
