package dunlin.broker.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import javax.crypto.Cipher;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HandshakeSignaturesTest {
  private static final byte[] TEXT = "of a handshake".getBytes(StandardCharsets.US_ASCII);

  private static SSLEngine engine() throws Exception {
    return SSLContext.getDefault().createSSLEngine();
  }

  private static KeyPair rsa() throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2_048);
    return generator.generateKeyPair();
  }

  @ParameterizedTest
  @CsvSource({"0x0201,SHA1withRSA", "0x0401,SHA256withRSA", "0x0501,SHA384withRSA", "0x0601,SHA512withRSA"})
  void rsaSignaturesHaveTheirNumbers(String number, String algorithm) throws Exception {
    KeyPair keys = rsa();
    Signature check = Signature.getInstance(algorithm);
    check.initVerify(keys.getPublic());
    check.update(TEXT);
    assertThat(check.verify(new HandshakeSignatures(keys.getPrivate()).sign(engine(), Integer.decode(number), TEXT))).isTrue();
  }

  /** The salt is as long as the digest; RFC 8446, section 4.2.3. */
  @ParameterizedTest
  @CsvSource({"0x0804,SHA-256,32", "0x0805,SHA-384,48", "0x0806,SHA-512,64"})
  void soHaveThoseWithASalt(String number, String digest, int salt) throws Exception {
    KeyPair keys = rsa();
    Signature check = Signature.getInstance("RSASSA-PSS");
    check.setParameter(new PSSParameterSpec(digest, "MGF1", new MGF1ParameterSpec(digest), salt, 1));
    check.initVerify(keys.getPublic());
    check.update(TEXT);
    assertThat(check.verify(new HandshakeSignatures(keys.getPrivate()).sign(engine(), Integer.decode(number), TEXT))).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"0x0203,secp256r1,SHA1withECDSA", "0x0403,secp256r1,SHA256withECDSA", "0x0503,secp384r1,SHA384withECDSA", "0x0603,secp521r1,SHA512withECDSA"})
  void andThoseOfCurves(String number, String curve, String algorithm) throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec(curve));
    KeyPair keys = generator.generateKeyPair();
    Signature check = Signature.getInstance(algorithm);
    check.initVerify(keys.getPublic());
    check.update(TEXT);
    assertThat(check.verify(new HandshakeSignatures(keys.getPrivate()).sign(engine(), Integer.decode(number), TEXT))).isTrue();
  }

  @Test
  void aNumberThatIsNotKnownFails() throws Exception {
    var signatures = new HandshakeSignatures(rsa().getPrivate());
    assertThatThrownBy(() -> signatures.sign(engine(), 0xFFFF, TEXT)).isInstanceOf(NoSuchAlgorithmException.class).hasMessageContaining("0xffff");
  }

  @Test
  void whatIsDecryptedKeepsItsPadding() throws Exception {
    KeyPair keys = rsa();
    byte[] block = new byte[256];
    block[1] = 2;
    block[255] = 7;
    Cipher cipher = Cipher.getInstance("RSA/ECB/NoPadding");
    cipher.init(Cipher.ENCRYPT_MODE, keys.getPublic());
    assertThat(new HandshakeSignatures(keys.getPrivate()).decrypt(engine(), cipher.doFinal(block))).isEqualTo(block);
  }
}
