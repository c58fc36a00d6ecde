package dunlin.store.node;

import java.net.InetAddress;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * The subject alternative names of a node's certificate: hosts, by DNS name or IP address, and nodes, by their id as a
 * DNS name or as a URI {@code urn:uuid:id}. A wildcard stands for the first label, as in TLS. The subject itself does
 * not count. URIs {@code urn:dunlin:role:name} are roles that the certificate is for.
 */
public record CertificateNames(Set<String> names, Set<InetAddress> addresses) {
  private static final CertificateNames NONE = new CertificateNames(Set.of(), Set.of());
  private static final String ROLE = "urn:dunlin:role:";
  private static final String FRONTEND = ROLE + "frontend";
  private static final int DNS_NAME = 2;
  private static final int URI = 6;
  private static final int IP_ADDRESS = 7;

  public CertificateNames {
    names = Set.copyOf(names);
    addresses = Set.copyOf(addresses);
  }

  /** The names in the peer's certificate of a connection; empty when it has presented none. */
  public static CertificateNames of(SSLSession session) {
    try {
      return session.getPeerCertificates()[0] instanceof X509Certificate certificate ? of(certificate) : NONE;
    } catch (SSLPeerUnverifiedException e) {
      return NONE;
    }
  }

  static CertificateNames of(X509Certificate certificate) {
    var names = new HashSet<String>();
    var addresses = new HashSet<InetAddress>();
    for (List<?> name : alternatives(certificate)) {
      switch ((Integer) name.getFirst()) {
        case DNS_NAME, URI -> names.add(lowerCase((String) name.get(1)));
        case IP_ADDRESS -> addresses.add(InetAddress.ofLiteral((String) name.get(1)));
        default -> {} // such as mail addresses
      }
    }
    return new CertificateNames(names, addresses);
  }

  private static Iterable<List<?>> alternatives(X509Certificate certificate) {
    try {
      var found = certificate.getSubjectAlternativeNames();
      return found == null ? List.of() : found;
    } catch (CertificateParsingException e) {
      return List.of();
    }
  }

  /** Whether this is the certificate of the node, whose host may be unknown. */
  public boolean belongTo(UUID node, @Nullable String host) {
    return names.contains(node.toString()) || names.contains("urn:uuid:" + node) || (host != null && carry(host));
  }

  /** Whether the only role that the certificate is for is that of a frontend. A certificate without roles is for all of them. */
  public boolean areOfFrontend() {
    return names.contains(FRONTEND) && names.stream().allMatch(name -> !name.startsWith(ROLE) || name.equals(FRONTEND));
  }

  private boolean carry(String host) {
    var address = literal(host);
    if (address != null) return addresses.contains(address);
    String name = lowerCase(host);
    if (names.contains(name)) return true;
    int dot = name.indexOf('.');
    return dot > 0 && names.contains("*" + name.substring(dot));
  }

  private static @Nullable InetAddress literal(String host) {
    try {
      return InetAddress.ofLiteral(host);
    } catch (IllegalArgumentException e) {
      return null; // a name
    }
  }

  /** Lower case, without the dot that ends an absolute name. */
  private static String lowerCase(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    return lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
  }
}
