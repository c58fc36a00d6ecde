package dunlin.broker.tls;

/**
 * What is known of a certificate.
 *
 * @param explanation why nothing is known; else empty
 */
public record OcspVerdict(Status status, String explanation) {
  /** Nothing speaks against the certificate. */
  public static final OcspVerdict GOOD = new OcspVerdict(Status.GOOD, "");
  static final OcspVerdict REVOKED = new OcspVerdict(Status.REVOKED, "");

  /** What a responder has said. */
  public enum Status {
    GOOD,
    REVOKED,
    /** Nothing that can be used. */
    UNKNOWN
  }

  static OcspVerdict unknown(String explanation) {
    return new OcspVerdict(Status.UNKNOWN, explanation);
  }
}
