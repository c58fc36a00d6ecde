package dunlin.broker.auth;

import dunlin.broker.auth.Authenticator.Credentials;
import dunlin.model.ReasonCode;
import java.util.Objects;
import java.util.concurrent.CompletionStage;

/**
 * One method of enhanced authentication: a client of MQTT 5 and the server exchange AUTH packets until the client is
 * authenticated or refused; MQTT 5, section 4.12.
 *
 * <p>It is called on dedicated threads of the frontend, like {@link Authenticator}, with the same deadline for each
 * step. An exchange has at most 16 rounds. If the client disconnects or violates the protocol, the exchange is dropped
 * without notice.
 */
public interface EnhancedAuthenticator {
  /** The name of the Authentication Method, such as {@code SCRAM-SHA-256}; must not change. */
  String method();

  /**
   * Begins an exchange for a CONNECT, or for the re-authentication of a connected client. A re-authentication has no
   * user name and no password, and must end with the same identity as before.
   */
  Exchange begin(Credentials credentials);

  /** The exchange with one client. Steps are called one after another, on any thread. */
  interface Exchange {
    /**
     * Takes the next step.
     *
     * @param data the Authentication Data of the client's packet; empty if it has none
     */
    CompletionStage<Step> next(byte[] data);
  }

  /** The result of a step. Empty Authentication Data is left out of the packet. */
  sealed interface Step {
    /** The client has to send more: AUTH 0x18. */
    record Continue(byte[] data) implements Step {
      public Continue {
        Objects.requireNonNull(data);
      }
    }

    /**
     * The client is authenticated: CONNACK, or AUTH 0x00 if it is already connected.
     *
     * @param claims what its credentials say beside who it is; they replace those of before
     */
    record Success(byte[] data, Identity identity, Claims claims) implements Step {
      public Success {
        Objects.requireNonNull(data);
        Objects.requireNonNull(identity);
        Objects.requireNonNull(claims);
      }

      /** The client is authenticated, for as long as it likes. */
      public Success(byte[] data, Identity identity) {
        this(data, identity, Claims.none());
      }
    }

    /**
     * The client is refused.
     *
     * @param reason an error of CONNACK that is about the client or the server and not about the packet, such as 0x86,
     *     0x87 or 0x8A; any other is an IllegalArgumentException
     * @param explanation sent to the client as the Reason String, and logged; it should not help an attacker to guess
     */
    record Failure(ReasonCode reason, String explanation) implements Step {
      public Failure {
        Refusal.check(reason);
      }
    }
  }
}
