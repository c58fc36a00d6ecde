package dunlin.broker.tls;

import io.netty.handler.ssl.OpenSslPrivateKeyMethod;
import java.security.GeneralSecurityException;
import java.security.NoSuchAlgorithmException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import javax.crypto.Cipher;
import javax.net.ssl.SSLEngine;

/**
 * Signs handshakes of BoringSSL by the JDK, as a step that SslHandler hands over to other threads; BoringSSL by itself signs on the event loop. Algorithms
 * have the numbers of TLS; RFC 8446, section 4.2.3.
 */
public final class HandshakeSignatures implements OpenSslPrivateKeyMethod {
  private static final String PSS = "RSASSA-PSS";
  private static final int TRAILER = 1; // RFC 8017, section A.2.3: the only one that there is

  private final PrivateKey key;

  public HandshakeSignatures(PrivateKey key) {
    this.key = key;
  }

  @Override
  public byte[] sign(SSLEngine engine, int algorithm, byte[] input) throws GeneralSecurityException {
    Signature signature =
        switch (algorithm) {
          case 0x0201 -> Signature.getInstance("SHA1withRSA");
          case 0x0401 -> Signature.getInstance("SHA256withRSA");
          case 0x0501 -> Signature.getInstance("SHA384withRSA");
          case 0x0601 -> Signature.getInstance("SHA512withRSA");
          case 0x0804 -> pss("SHA-256", MGF1ParameterSpec.SHA256, 32);
          case 0x0805 -> pss("SHA-384", MGF1ParameterSpec.SHA384, 48);
          case 0x0806 -> pss("SHA-512", MGF1ParameterSpec.SHA512, 64);
          case 0x0203 -> Signature.getInstance("SHA1withECDSA");
          case 0x0403 -> Signature.getInstance("SHA256withECDSA");
          case 0x0503 -> Signature.getInstance("SHA384withECDSA");
          case 0x0603 -> Signature.getInstance("SHA512withECDSA");
          case 0x0807 -> Signature.getInstance("Ed25519");
          default -> throw new NoSuchAlgorithmException("signature scheme 0x%04x of TLS".formatted(algorithm));
        };
    signature.initSign(key);
    signature.update(input);
    return signature.sign();
  }

  private static Signature pss(String digest, MGF1ParameterSpec mask, int salt) throws GeneralSecurityException {
    Signature signature = Signature.getInstance(PSS);
    signature.setParameter(new PSSParameterSpec(digest, "MGF1", mask, salt, TRAILER));
    return signature;
  }

  /** For suites of TLS 1.2 without forward secrecy. BoringSSL looks at the padding itself, in constant time. */
  @Override
  public byte[] decrypt(SSLEngine engine, byte[] input) throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("RSA/ECB/NoPadding");
    cipher.init(Cipher.DECRYPT_MODE, key);
    return cipher.doFinal(input);
  }
}
