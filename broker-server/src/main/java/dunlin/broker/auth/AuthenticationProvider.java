package dunlin.broker.auth;

import java.util.List;
import java.util.Optional;

/**
 * Brings authenticators into the process: found by {@link java.util.ServiceLoader}, chosen by the setting {@code
 * dunlin.auth.provider}.
 */
public interface AuthenticationProvider extends AutoCloseable {
  /** The name that the setting chooses it by; its class name does as well. */
  String name();

  /**
   * Begins to work, once, before any client connects.
   *
   * @param options the value of {@code dunlin.auth.provider-options}, in a form of the provider's own; empty when not set
   * @throws RuntimeException when it cannot; the node does not start, and says the message
   */
  Authenticators open(String options);

  /** Called once when the node stops, or when its start fails. */
  @Override
  default void close() {}

  /** What there is to authenticate clients with. */
  record Authenticators(Optional<Authenticator> passwords, List<EnhancedAuthenticator> methods) {
    public Authenticators {
      methods = List.copyOf(methods);
    }

    /** Nothing. */
    public static Authenticators none() {
      return new Authenticators(Optional.empty(), List.of());
    }
  }
}
