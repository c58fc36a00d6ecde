package dunlin.store;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.apache.ratis.grpc.GrpcTlsConfig;

/** Reads what a node needs to know the others and to be known by them, so that Ratis can be given it. */
final class PeerTls {
  private static final Pattern KEY = Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]*)-----END PRIVATE KEY-----");
  private static final char[] NO_PASSWORD = new char[0];

  private PeerTls() {}

  /** @throws StoreException naming the file that cannot be used */
  static GrpcTlsConfig read(PeerSecurity.MutualTls files) {
    var chain = certificates(files.certificates(), "certificate");
    var key = key(files.key(), chain.getFirst());
    var authorities = certificates(files.authority(), "authority");
    try {
      return new GrpcTlsConfig(keyManager(key, chain), trustManager(authorities), true);
    } catch (GeneralSecurityException | IOException e) {
      throw new StoreException("the TLS of the cluster port cannot be set up: " + e.getMessage(), e);
    }
  }

  private static KeyManager keyManager(PrivateKey key, List<X509Certificate> chain) throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    store.setKeyEntry("node", key, NO_PASSWORD, chain.toArray(X509Certificate[]::new));
    var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, NO_PASSWORD);
    return factory.getKeyManagers()[0];
  }

  private static TrustManager trustManager(List<X509Certificate> authorities) throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    for (int i = 0; i < authorities.size(); i++) store.setCertificateEntry("authority-" + i, authorities.get(i));
    var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers()[0];
  }

  private static List<X509Certificate> certificates(Path file, String what) {
    try {
      var read = CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(bytes(file, what)));
      if (read.isEmpty()) throw new CertificateException("there is none in it");
      return read.stream().map(X509Certificate.class::cast).toList();
    } catch (CertificateException e) {
      throw refused(what, file, e);
    }
  }

  private static PrivateKey key(Path file, X509Certificate certificate) {
    try {
      Matcher pem = KEY.matcher(new String(bytes(file, "key"), StandardCharsets.ISO_8859_1));
      if (!pem.find()) throw new InvalidKeyException("there is no PKCS#8 private key in it (BEGIN PRIVATE KEY)");
      var spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
      var key = KeyFactory.getInstance(certificate.getPublicKey().getAlgorithm()).generatePrivate(spec);
      requirePair(key, certificate);
      return key;
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw refused("key", file, e);
    }
  }

  /** A key of another certificate would be found out by the first peer only. */
  private static void requirePair(PrivateKey key, X509Certificate certificate) throws GeneralSecurityException {
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> key.getAlgorithm();
        };
    byte[] proof = "dunlin".getBytes(StandardCharsets.US_ASCII);
    var signer = Signature.getInstance(algorithm);
    signer.initSign(key);
    signer.update(proof);
    var verifier = Signature.getInstance(algorithm);
    verifier.initVerify(certificate.getPublicKey());
    verifier.update(proof);
    if (!verifier.verify(signer.sign())) throw new InvalidKeyException("it is the key of another certificate");
  }

  private static byte[] bytes(Path file, String what) {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new StoreException("the " + what + " of the cluster port's TLS in " + file + " cannot be read: " + e, e);
    }
  }

  private static StoreException refused(String what, Path file, Exception e) {
    return new StoreException("the " + what + " of the cluster port's TLS in " + file + " cannot be used: " + e.getMessage(), e);
  }
}
