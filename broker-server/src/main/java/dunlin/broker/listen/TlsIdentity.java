package dunlin.broker.listen;

import dunlin.broker.auth.CertificateSubject;
import dunlin.broker.auth.Identity;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * The name in a client's certificate: the most specific common name of its subject; or, of its subject alternative
 * names, the first DNS name, else the first URI, else the first e-mail address.
 */
final class TlsIdentity {
  /** In the order of preference; RFC 5280, section 4.2.1.6. */
  private static final int[] ALTERNATIVE_NAMES = {2, 6, 1};

  private TlsIdentity() {}

  /**
   * The name; empty if the certificate has no such name, or one that is not valid as a user name: with control
   * characters, or not text.
   */
  static Optional<String> nameOf(X509Certificate certificate, ListenerSettings.Identity identity) {
    if (identity == ListenerSettings.Identity.NONE) return Optional.empty();
    Optional<String> name = identity.commonName() ? CertificateSubject.value(certificate, "CN") : alternativeName(certificate);
    return name.filter(text -> !text.isEmpty() && Identity.isText(text) && text.chars().noneMatch(Character::isISOControl));
  }

  private static Optional<String> alternativeName(X509Certificate certificate) {
    Collection<List<?>> names;
    try {
      names = certificate.getSubjectAlternativeNames();
    } catch (CertificateParsingException _) {
      return Optional.empty();
    }
    if (names == null) return Optional.empty();
    for (int type : ALTERNATIVE_NAMES) {
      for (List<?> name : names) {
        if (name.get(0).equals(type) && name.get(1) instanceof String text) return Optional.of(text);
      }
    }
    return Optional.empty();
  }
}
