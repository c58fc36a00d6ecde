package dunlin.broker.listen;

import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.cert.CRL;
import java.security.cert.CRLException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509CRL;
import java.security.cert.X509CRLEntry;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.security.auth.x500.X500Principal;

/**
 * Which certificates are revoked, as signed lists of their authorities say; RFC 5280, section 5. Complete lists only: a
 * list with a critical extension, such as one that has only changes or only some certificates, is refused.
 *
 * @param nextUpdate when the first of the lists should have a successor; {@link Instant#MAX} if none of them says so
 */
record RevocationLists(Set<Revoked> revoked, Instant nextUpdate) {
  static final RevocationLists NONE = new RevocationLists(Set.of(), Instant.MAX);

  /** A revoked certificate: serial numbers are unique for their issuer. */
  record Revoked(X500Principal issuer, BigInteger serial) {}

  RevocationLists {
    revoked = Set.copyOf(revoked);
  }

  /** @throws GeneralSecurityException if a list cannot be read, or is not signed by one of the authorities */
  static RevocationLists read(byte[] file, List<X509Certificate> authorities) throws GeneralSecurityException {
    Collection<? extends CRL> lists = CertificateFactory.getInstance("X.509").generateCRLs(new ByteArrayInputStream(file));
    if (lists.isEmpty()) throw new CRLException("it contains no revocation list");
    Set<Revoked> revoked = new HashSet<>();
    Instant nextUpdate = Instant.MAX;
    for (CRL each : lists) {
      X509CRL list = (X509CRL) each;
      check(list, authorities);
      if (list.getNextUpdate() != null && list.getNextUpdate().toInstant().isBefore(nextUpdate)) nextUpdate = list.getNextUpdate().toInstant();
      if (list.getRevokedCertificates() == null) continue;
      for (X509CRLEntry entry : list.getRevokedCertificates()) {
        if (entry.hasUnsupportedCriticalExtension()) throw new CRLException("an entry has a critical extension, which is not supported");
        revoked.add(new Revoked(list.getIssuerX500Principal(), entry.getSerialNumber()));
      }
    }
    return new RevocationLists(revoked, nextUpdate);
  }

  private static void check(X509CRL list, List<X509Certificate> authorities) throws CRLException {
    String issuer = list.getIssuerX500Principal().getName();
    Set<String> critical = list.getCriticalExtensionOIDs();
    if (critical != null && !critical.isEmpty()) throw new CRLException("the list of %s has the critical extension %s, which is not supported".formatted(issuer, critical.iterator().next()));
    if (list.getThisUpdate().toInstant().isAfter(Instant.now())) throw new CRLException("the list of %s is valid only from %s".formatted(issuer, list.getThisUpdate().toInstant()));
    if (authorities.stream().noneMatch(authority -> hasSigned(authority, list))) {
      throw new CRLException("the list of %s is not signed by an authority in tls.client-ca".formatted(issuer));
    }
  }

  private static boolean hasSigned(X509Certificate authority, X509CRL list) {
    if (!authority.getSubjectX500Principal().equals(list.getIssuerX500Principal())) return false;
    try {
      list.verify(authority.getPublicKey());
      return true;
    } catch (GeneralSecurityException _) {
      return false;
    }
  }

  /** Whether a certificate of a chain is revoked: the client's own, or one that it depends on. */
  boolean has(List<X509Certificate> chain) {
    return chain.stream().anyMatch(each -> revoked.contains(new Revoked(each.getIssuerX500Principal(), each.getSerialNumber())));
  }
}
