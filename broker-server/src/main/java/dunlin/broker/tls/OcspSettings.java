package dunlin.broker.tls;

import java.net.URI;
import java.time.Duration;

/**
 * How a listener asks a responder about certificates of clients.
 *
 * @param responder its URL
 * @param timeout from a question to the end of its answer
 * @param interval how long an answer is used; then it is asked again about those that are connected
 * @param failure what becomes of clients about which there is no answer
 */
public record OcspSettings(URI responder, Duration timeout, Duration interval, Failure failure) {
  /** What becomes of a client when the responder does not say that its certificate is good or revoked. */
  public enum Failure {
    REFUSE,
    ALLOW
  }
}
