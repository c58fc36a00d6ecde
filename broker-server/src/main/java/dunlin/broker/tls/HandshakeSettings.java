package dunlin.broker.tls;

/**
 * Bounds on the TLS handshakes of all listeners together.
 *
 * @param atOnceMax handshakes that have begun and not ended
 * @param perAddressMax of these, those of one address; an IPv6 address counts as its /64 network
 * @param threads threads for their costly steps
 */
public record HandshakeSettings(int atOnceMax, int perAddressMax, int threads) {
  /** The default number of threads: half of the cores, so that the event loops have the other half. */
  public static final int THREADS = Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, 64);

  /** The default. */
  public static HandshakeSettings defaults() {
    return new HandshakeSettings(8_192, 1_024, THREADS);
  }
}
