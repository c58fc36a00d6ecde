package dunlin.broker.auth;

import dunlin.broker.codec.ProtocolVersion;
import dunlin.model.ReasonCode;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Decides about clients by what their CONNECT carries: a user name, a password, a certificate; MQTT 5, sections 3.1.3.5 and
 * 3.1.3.6.
 *
 * <p>Called on threads of the frontend's own ({@code dunlin.auth.threads}), never on an event loop, for several clients at a time.
 * An implementation that has to wait for something should answer later rather than keep the thread. An exception, and no answer
 * within {@code dunlin.auth.timeout}, refuse the client.
 */
public interface Authenticator {
  /** Decides whether a client may connect, and as whom. Clients that show nothing at all are not asked about. */
  CompletionStage<Decision> authenticate(Credentials credentials);

  /**
   * What a client has shown of itself.
   *
   * @param peer where it comes from, and its certificate
   * @param clientId as CONNECT says it: empty when the server is to choose one
   * @param password its bytes, overwritten as soon as there is a decision; must not be logged or kept
   */
  record Credentials(
      Peer peer, ProtocolVersion version, String clientId, Optional<String> userName, Optional<byte[]> password) {

    /** Without the password. */
    @Override
    public String toString() {
      return "Credentials[peer=" + peer + ", version=" + version + ", clientId=" + clientId + ", userName=" + userName + ']';
    }
  }

  /** Whether a client may connect. */
  sealed interface Decision {
    /** It may. */
    record Accepted(Identity identity) implements Decision {
      public Accepted {
        Objects.requireNonNull(identity);
      }
    }

    /**
     * It may not.
     *
     * @param reason an error of CONNACK that is about the client or the server and not about the packet, such as 0x86, 0x87 or
     *     0x8A; any other is an IllegalArgumentException
     * @param explanation sent to clients of MQTT 5 as the Reason String, and logged; it should not help an attacker who guesses
     */
    record Refused(ReasonCode reason, String explanation) implements Decision {
      public Refused {
        Refusal.check(reason);
      }
    }
  }
}
