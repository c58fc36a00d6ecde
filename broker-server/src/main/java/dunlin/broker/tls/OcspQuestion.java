package dunlin.broker.tls;

import dunlin.runtime.keys.Der;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.CertPath;
import java.security.cert.CertPathValidator;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateRevokedException;
import java.security.cert.PKIXParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.PKIXRevocationChecker.Option;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What a responder is asked about one certificate, and what its answer means; RFC 6960. Answers are read and verified by the JDK, with their signatures and
 * times.
 */
final class OcspQuestion {
  /** SHA-1, for the names of certificates in questions, as all responders know it. Nothing depends on its strength. */
  private static final byte[] SHA1 = Der.tagged(Der.SEQUENCE, new byte[] {0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00});

  private final List<X509Certificate> path;
  private final List<X509Certificate> authorities;
  private final X509Certificate issuer;

  private OcspQuestion(List<X509Certificate> path, List<X509Certificate> authorities, X509Certificate issuer) {
    this.path = path;
    this.authorities = authorities;
    this.issuer = issuer;
  }

  /**
   * @param chain the client's certificate and those that it has sent with it
   * @return empty if the issuer of the certificate is not known
   */
  static Optional<OcspQuestion> about(List<X509Certificate> chain, List<X509Certificate> authorities) {
    List<X509Certificate> path = chain.stream().takeWhile(each -> !authorities.contains(each)).toList();
    if (path.isEmpty()) return Optional.empty();
    return (path.size() > 1 ? Optional.of(path.get(1)) : authorities.stream().filter(each -> hasIssued(each, path.getFirst())).findFirst())
        .map(issuer -> new OcspQuestion(path, authorities, issuer));
  }

  private static boolean hasIssued(X509Certificate authority, X509Certificate certificate) {
    if (!authority.getSubjectX500Principal().equals(certificate.getIssuerX500Principal())) return false;
    try {
      certificate.verify(authority.getPublicKey());
      return true;
    } catch (GeneralSecurityException _) {
      return false;
    }
  }

  /** The question; section 4.1.1. It has no nonce, so a responder may answer with what it has signed before. */
  byte[] body() {
    byte[] key = issuer.getPublicKey().getEncoded(); // a sequence of the algorithm and the key, a bit string
    int bits = Der.end(key, Der.content(key, 0));
    int from = Der.content(key, bits) + 1; // behind the number of bits that are not used
    MessageDigest ofKey = sha1();
    ofKey.update(key, from, Der.end(key, bits) - from);
    X509Certificate asked = path.getFirst();
    byte[] certificate =
        Der.tagged(
            Der.SEQUENCE,
            SHA1,
            Der.tagged(Der.OCTET_STRING, sha1().digest(asked.getIssuerX500Principal().getEncoded())),
            Der.tagged(Der.OCTET_STRING, ofKey.digest()),
            Der.tagged(Der.INTEGER, asked.getSerialNumber().toByteArray()));
    byte[] list = Der.tagged(Der.SEQUENCE, Der.tagged(Der.SEQUENCE, certificate));
    return Der.tagged(Der.SEQUENCE, Der.tagged(Der.SEQUENCE, list));
  }

  private static MessageDigest sha1() {
    try {
      return MessageDigest.getInstance("SHA-1");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // each Java has it
    }
  }

  /** What an answer says of the certificate. */
  OcspVerdict read(byte[] answer) {
    try {
      CertPathValidator validator = CertPathValidator.getInstance("PKIX");
      PKIXRevocationChecker checker = (PKIXRevocationChecker) validator.getRevocationChecker();
      checker.setOptions(EnumSet.of(Option.ONLY_END_ENTITY, Option.NO_FALLBACK));
      checker.setOcspResponses(Map.of(path.getFirst(), answer)); // so the JDK asks none itself
      PKIXParameters parameters = new PKIXParameters(authorities.stream().map(each -> new TrustAnchor(each, null)).collect(Collectors.toSet()));
      parameters.setRevocationEnabled(false); // but for what this checker does
      parameters.addCertPathChecker(checker);
      validator.validate(certPath(), parameters);
      return OcspVerdict.GOOD;
    } catch (CertPathValidatorException e) {
      if (e.getReason() == CertPathValidatorException.BasicReason.REVOKED || e.getCause() instanceof CertificateRevokedException) return OcspVerdict.REVOKED;
      return OcspVerdict.unknown("its answer does not say that the certificate is good: " + e.getMessage());
    } catch (GeneralSecurityException e) {
      return OcspVerdict.unknown("its answer cannot be used: " + e.getMessage());
    }
  }

  private CertPath certPath() throws CertificateException {
    return CertificateFactory.getInstance("X.509").generateCertPath(path);
  }
}
