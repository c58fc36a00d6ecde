package dunlin.broker.auth;

import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;

/** What the subject of a client's certificate says. */
public final class CertificateSubject {
  private static final List<String> ATTRIBUTES = List.of("CN", "O", "OU");

  private CertificateSubject() {}

  /** The most specific value of a type, such as {@code CN}; empty if there is none that is text. */
  public static Optional<String> value(X509Certificate certificate, String type) {
    try {
      List<Rdn> names = new LdapName(certificate.getSubjectX500Principal().getName()).getRdns();
      // The list begins with the most general name.
      for (Rdn name : names.reversed()) {
        if (name.getType().equalsIgnoreCase(type) && name.getValue() instanceof String text) return Optional.of(text);
      }
    } catch (InvalidNameException _) {
      // An invalid subject has no values.
    }
    return Optional.empty();
  }

  /** The attributes of a client for access rules, by their names there: those of its certificate, if it has one. */
  static Map<String, String> attributesOf(Peer peer) {
    if (peer.certificates().isEmpty()) return Map.of();
    Map<String, String> attributes = new HashMap<>();
    for (String type : ATTRIBUTES) {
      value(peer.certificates().getFirst(), type).ifPresent(value -> attributes.put("cert." + type.toLowerCase(Locale.ROOT), value));
    }
    return attributes;
  }
}
