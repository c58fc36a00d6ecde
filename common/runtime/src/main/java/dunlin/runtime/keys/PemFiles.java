package dunlin.runtime.keys;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/**
 * Reads certificates and private keys in PEM. A key may be PKCS#8, also encrypted, or in one of the older forms, PKCS#1
 * (BEGIN RSA PRIVATE KEY) and SEC 1 (BEGIN EC PRIVATE KEY), which the JDK does not read and which are converted to
 * PKCS#8 here.
 */
public final class PemFiles {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN ((?:RSA |EC |ENCRYPTED )?)PRIVATE KEY-----([^-]*)-----END \\1PRIVATE KEY-----");
  private static final byte[] VERSION_0 = {0x02, 0x01, 0x00};
  private static final int KEY_MAX = 32 << 10;

  private PemFiles() {}

  /** All certificates of a file, in its order. */
  public static List<X509Certificate> certificates(byte[] pem) throws CertificateException {
    var read = CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem));
    if (read.isEmpty()) throw new CertificateException("it contains no certificate");
    return read.stream().map(X509Certificate.class::cast).toList();
  }

  /**
   * The private key of a certificate. A key that does not match is refused: perhaps only one of two changed files was
   * replaced so far.
   */
  public static PrivateKey key(byte[] pem, String password, X509Certificate certificate) throws GeneralSecurityException, IOException {
    Matcher block = KEY.matcher(new String(pem, StandardCharsets.ISO_8859_1));
    if (!block.find()) throw new InvalidKeyException("it contains no private key");
    byte[] der;
    try {
      der = Base64.getMimeDecoder().decode(block.group(2));
    } catch (IllegalArgumentException e) {
      throw new InvalidKeyException("it is not Base64", e); // an encrypted PKCS#1 key has headers before its bytes
    }
    PublicKey pair = certificate.getPublicKey();
    PKCS8EncodedKeySpec spec =
        switch (block.group(1)) {
          case "" -> new PKCS8EncodedKeySpec(der);
          case "ENCRYPTED " -> decrypted(der, password);
          default -> new PKCS8EncodedKeySpec(inPkcs8(der, pair));
        };
    PrivateKey key = KeyFactory.getInstance(pair.getAlgorithm()).generatePrivate(spec);
    checkPair(key, pair);
    return key;
  }

  private static PKCS8EncodedKeySpec decrypted(byte[] der, String password) throws GeneralSecurityException, IOException {
    if (password.isEmpty()) throw new InvalidKeyException("it is encrypted, and no password is set");
    EncryptedPrivateKeyInfo info = new EncryptedPrivateKeyInfo(der);
    AlgorithmParameters parameters = info.getAlgParameters();
    if (parameters == null) throw new InvalidKeyException("it is encrypted by " + info.getAlgName() + ", which is not supported");
    // The name of the second scheme of PKCS#5 does not include the ciphers; its parameters do.
    String algorithm = info.getAlgName().startsWith("PBEWith") ? info.getAlgName() : parameters.toString();
    Cipher cipher = Cipher.getInstance(algorithm);
    var secret = SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(password.toCharArray()));
    cipher.init(Cipher.DECRYPT_MODE, secret, parameters);
    return info.getKeySpec(cipher);
  }

  /** Converts to PKCS#8: a version, the algorithm, which is that of the public key, and the key in the older form. */
  private static byte[] inPkcs8(byte[] der, PublicKey pair) throws InvalidKeyException {
    if (der.length > KEY_MAX) throw new InvalidKeyException("it has %d bytes, at most %d".formatted(der.length, KEY_MAX));
    byte[] publicKey = pair.getEncoded(); // a sequence of the algorithm, itself a sequence, and the key
    int algorithm = Der.content(publicKey, 0);
    return Der.tagged(
        Der.SEQUENCE, VERSION_0, Arrays.copyOfRange(publicKey, algorithm, Der.end(publicKey, algorithm)), Der.tagged(Der.OCTET_STRING, der));
  }

  /** Refuses a key that does not belong to a public key. */
  static void checkPair(PrivateKey key, PublicKey pair) throws GeneralSecurityException {
    String algorithm =
        switch (pair.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> pair.getAlgorithm();
        };
    byte[] text = "one pair".getBytes(StandardCharsets.US_ASCII);
    Signature signature = Signature.getInstance(algorithm);
    signature.initSign(key);
    signature.update(text);
    byte[] signed = signature.sign();
    signature.initVerify(pair);
    signature.update(text);
    if (!signature.verify(signed)) throw new InvalidKeyException("it is not the key of the certificate");
  }
}
