package dunlin.broker.auth;

import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.model.ReasonCode;
import java.util.Objects;
import java.util.concurrent.CompletionStage;

/**
 * One method of enhanced authentication: a client of MQTT 5 and the server exchange AUTH packets until the server knows who the
 * client is, or that it does not; MQTT 5, section 4.12.
 *
 * <p>Called on threads of the frontend's own, as {@link Authenticator} is, with the same deadline for each step. An exchange has at
 * most 16 rounds. One that is not needed any more, because its client has gone or has broken the protocol, is just dropped.
 */
public interface EnhancedAuthenticator {
  /** The Authentication Method that clients ask for it by, such as {@code SCRAM-SHA-256}; always the same. */
  String method();

  /**
   * Begins an exchange: for a CONNECT, or for a client that is connected and proves itself again. In the latter case there is no
   * user name and no password, and the exchange must end with the same identity as the one before.
   */
  Exchange begin(Credentials credentials);

  /** What one client and the server say to each other. Steps come one after another, on any thread. */
  interface Exchange {
    /**
     * Takes the next step.
     *
     * @param data the Authentication Data of the client's packet, empty when it has none
     */
    CompletionStage<Step> next(byte[] data);
  }

  /** How an exchange goes on. Authentication Data that is empty is left out of the packet. */
  sealed interface Step {
    /** The client is to send more: AUTH 0x18. */
    record Continue(byte[] data) implements Step {
      public Continue {
        Objects.requireNonNull(data);
      }
    }

    /** The client has proven who it is: CONNACK, or AUTH 0x00 when it is connected. */
    record Success(byte[] data, Identity identity) implements Step {
      public Success {
        Objects.requireNonNull(data);
        Objects.requireNonNull(identity);
      }
    }

    /**
     * The client has not.
     *
     * @param reason an error of CONNACK that is about the client or the server and not about the packet, such as 0x86, 0x87 or
     *     0x8A; any other is an IllegalArgumentException
     * @param explanation sent to the client as the Reason String, and logged; it should not help an attacker who guesses
     */
    record Failure(ReasonCode reason, String explanation) implements Step {
      public Failure {
        Refusal.check(reason);
      }
    }
  }
}
