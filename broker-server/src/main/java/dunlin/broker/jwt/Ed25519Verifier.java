package dunlin.broker.jwt;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.jca.JCAContext;
import com.nimbusds.jose.util.Base64URL;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.util.HexFormat;
import java.util.Set;

/** Checks signatures of Ed25519 by the JDK; the library's own class for it wants another cryptographic library. RFC 8037. */
final class Ed25519Verifier implements JWSVerifier {
  /*
   * Immutable; any thread.
   */
  static final String ALGORITHM = "Ed25519";
  private static final int KEY_BYTES = 32;

  /** What stands in front of a public key of this curve in its X.509 form; RFC 8410, section 10.1. */
  private static final byte[] X509_FRONT = HexFormat.of().parseHex("302a300506032b6570032100");

  private final PublicKey key;

  Ed25519Verifier(PublicKey key) {
    this.key = key;
  }

  /** @param point the public key as RFC 8032 encodes it */
  static Ed25519Verifier of(byte[] point) throws GeneralSecurityException {
    if (point.length != KEY_BYTES) throw new GeneralSecurityException("a key of " + point.length + " bytes");
    byte[] encoded = new byte[X509_FRONT.length + KEY_BYTES];
    System.arraycopy(X509_FRONT, 0, encoded, 0, X509_FRONT.length);
    System.arraycopy(point, 0, encoded, X509_FRONT.length, KEY_BYTES);
    return new Ed25519Verifier(KeyFactory.getInstance(ALGORITHM).generatePublic(new X509EncodedKeySpec(encoded)));
  }

  @Override
  public boolean verify(JWSHeader header, byte[] signed, Base64URL signature) throws JOSEException {
    try {
      Signature verifier = Signature.getInstance(ALGORITHM);
      verifier.initVerify(key);
      verifier.update(signed);
      return verifier.verify(signature.decode());
    } catch (SignatureException _) {
      return false; // of a wrong length, for example
    } catch (GeneralSecurityException e) {
      throw new JOSEException(String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public Set<JWSAlgorithm> supportedJWSAlgorithms() {
    return Set.of(JWSAlgorithm.EdDSA);
  }

  @Override
  public JCAContext getJCAContext() {
    return new JCAContext();
  }
}
