package dunlin.broker.listen;

import dunlin.broker.auth.CertificateSubject;
import dunlin.broker.auth.Identity;
import java.security.cert.X509Certificate;
import java.util.Optional;

/**
 * The name in a client's certificate: the most specific common name of its subject; or, of its subject alternative
 * names, the first DNS name, else the first URI, else the first e-mail address; or the whole subject (RFC 2253).
 */
final class TlsIdentity {
  /** In the order of preference; RFC 5280, section 4.2.1.6. */
  private static final int[] ALTERNATIVE_NAMES = {CertificateSubject.DNS, CertificateSubject.URI, CertificateSubject.EMAIL};

  private TlsIdentity() {}

  /**
   * The name; empty if the certificate has no such name, or one that is not valid as a user name: with control
   * characters, or not text.
   */
  static Optional<String> nameOf(X509Certificate certificate, ListenerSettings.Identity identity) {
    Optional<String> name =
        switch (identity) {
          case NONE -> Optional.empty();
          case CN_USER_NAME, CN_CLIENT_ID -> CertificateSubject.value(certificate, "CN");
          case SAN_USER_NAME, SAN_CLIENT_ID -> alternativeName(certificate);
          case SUBJECT_USER_NAME -> Optional.of(certificate.getSubjectX500Principal().getName());
        };
    return name.filter(text -> !text.isEmpty() && Identity.isText(text) && text.chars().noneMatch(Character::isISOControl));
  }

  private static Optional<String> alternativeName(X509Certificate certificate) {
    for (int type : ALTERNATIVE_NAMES) {
      Optional<String> name = CertificateSubject.alternativeName(certificate, type);
      if (name.isPresent()) return name;
    }
    return Optional.empty();
  }
}
