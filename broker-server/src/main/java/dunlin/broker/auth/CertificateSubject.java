package dunlin.broker.auth;

import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;

/** What a client's certificate says of its holder. */
public final class CertificateSubject {
  /** Types of subject alternative names; RFC 5280, section 4.2.1.6. */
  public static final int EMAIL = 1;

  public static final int DNS = 2;
  public static final int URI = 6;

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

  /** The first subject alternative name of a type; empty if there is none. */
  public static Optional<String> alternativeName(X509Certificate certificate, int type) {
    return alternativeNames(certificate, type).stream().findFirst();
  }

  /** All subject alternative names of a type, in their order; none when they cannot be read. */
  public static List<String> alternativeNames(X509Certificate certificate, int type) {
    List<String> found = new ArrayList<>();
    try {
      Collection<List<?>> names = certificate.getSubjectAlternativeNames();
      if (names == null) return found;
      for (List<?> name : names) if (name.get(0).equals(type) && name.get(1) instanceof String text) found.add(text);
    } catch (CertificateParsingException _) {
      // Then it has no names that could be compared.
    }
    return found;
  }

  /** The attributes of a client for access rules, by their names there: those of its certificate, if it has one. */
  static Map<String, String> attributesOf(Peer peer) {
    if (peer.certificates().isEmpty()) return Map.of();
    X509Certificate certificate = peer.certificates().getFirst();
    Map<String, String> attributes = new HashMap<>();
    attributes.put("cert.serial", certificate.getSerialNumber().toString(16));
    alternativeName(certificate, DNS).ifPresent(value -> attributes.put("cert.dns", value));
    alternativeName(certificate, URI).ifPresent(value -> attributes.put("cert.uri", value));
    alternativeName(certificate, EMAIL).ifPresent(value -> attributes.put("cert.email", value));
    for (String type : ATTRIBUTES) {
      value(certificate, type).ifPresent(value -> attributes.put("cert." + type.toLowerCase(Locale.ROOT), value));
    }
    return attributes;
  }
}
