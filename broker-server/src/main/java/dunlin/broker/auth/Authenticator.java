package dunlin.broker.auth;

import dunlin.broker.codec.ProtocolVersion;
import dunlin.model.ReasonCode;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Authenticates clients by a user name, a password or a certificate; MQTT 5, sections 3.1.3.5 and 3.1.3.6.
 *
 * <p>It is called on dedicated threads of the frontend ({@code dunlin.auth.threads}), never on an event loop, for
 * several clients at the same time. An implementation that has to wait should complete its answer later rather than
 * block the thread. An exception refuses the client, and so does a missing answer after {@code dunlin.auth.timeout}.
 */
public interface Authenticator {
  /** Decides whether a client may connect, and as whom. It is not called for clients without any credentials. */
  CompletionStage<Decision> authenticate(Credentials credentials);

  /**
   * The credentials of a client.
   *
   * @param peer its address and certificate
   * @param clientId the client identifier in CONNECT; empty if the server has to choose one
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

  /** The decision about a client. */
  sealed interface Decision {
    /**
     * The client may connect.
     *
     * @param claims what its credentials say beside who it is
     */
    record Accepted(Identity identity, Claims claims) implements Decision {
      public Accepted {
        Objects.requireNonNull(identity);
        Objects.requireNonNull(claims);
      }

      /** The client may connect, for as long as it likes. */
      public Accepted(Identity identity) {
        this(identity, Claims.none());
      }
    }

    /**
     * The client may not connect.
     *
     * @param reason an error of CONNACK that is about the client or the server and not about the packet, such as 0x86,
     *     0x87 or 0x8A; any other is an IllegalArgumentException
     * @param explanation sent to MQTT 5 clients as the Reason String, and logged; it should not help an attacker to
     *     guess
     */
    record Refused(ReasonCode reason, String explanation) implements Decision {
      public Refused {
        Refusal.check(reason);
      }
    }
  }
}
