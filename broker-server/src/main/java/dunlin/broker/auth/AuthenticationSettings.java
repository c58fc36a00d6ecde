package dunlin.broker.auth;

import java.time.Duration;

/**
 * Who may connect, and what it may cost to find out.
 *
 * @param anonymous whether clients that show nothing are let in where they otherwise would not be
 * @param clientIds template of the client identifiers that a user may have, {@code *} for any
 * @param passwordFile the password file, empty for none
 * @param passwordCache how long a password of the file that was found right is known again without a look at it; zero for not at all
 * @param provider name or class name of an {@link AuthenticationProvider}, empty for none
 * @param providerOptions what it is told
 * @param timeout how long an authenticator may take for one answer, its time in the queue included
 * @param threads threads that call authenticators
 * @param queueMax clients that may wait for one of these threads
 * @param failuresMax refused attempts of one address in a minute, after which further ones are not looked at; 0 for no limit
 */
public record AuthenticationSettings(
    boolean anonymous,
    String clientIds,
    String passwordFile,
    Duration passwordCache,
    String provider,
    String providerOptions,
    Duration timeout,
    int threads,
    int queueMax,
    int failuresMax) {

  /** Nobody is asked for anything; and so, nobody is let in from afar. */
  public static AuthenticationSettings defaults() {
    int cores = Runtime.getRuntime().availableProcessors();
    return new AuthenticationSettings(
        false, "*", "", Duration.ofMinutes(5), "", "", Duration.ofSeconds(5), Math.clamp(cores, 2, 64), 10_000, 300);
  }
}
