package dunlin.broker.auth;

import java.util.List;
import java.util.Optional;

/**
 * Adds authenticators to the process: found by {@link java.util.ServiceLoader}, chosen by the setting
 * {@code dunlin.auth.provider}.
 */
public interface AuthenticationProvider extends AutoCloseable {
  /** The name that the setting chooses it by; the class name works as well. */
  String name();

  /**
   * Opens the authenticators; called once, before any client connects.
   *
   * @param options the value of {@code dunlin.auth.provider-options}, in the provider's own format; empty if not set
   * @throws RuntimeException if that fails; the node then does not start and reports the message
   */
  Authenticators open(String options);

  /** Called once when the node stops, or when its start fails. */
  @Override
  default void close() {}

  /**
   * The authenticators of a provider or application.
   *
   * @param authorizer says what clients may do; empty if clients may do everything, or if the setting
   *     {@code dunlin.auth.acl-file} says it
   */
  record Authenticators(Optional<Authenticator> passwords, List<EnhancedAuthenticator> methods, Optional<Authorizer> authorizer) {
    public Authenticators {
      methods = List.copyOf(methods);
    }

    /** Authenticators without an authorizer. */
    public Authenticators(Optional<Authenticator> passwords, List<EnhancedAuthenticator> methods) {
      this(passwords, methods, Optional.empty());
    }

    /** No authenticators. */
    public static Authenticators none() {
      return new Authenticators(Optional.empty(), List.of());
    }
  }
}
