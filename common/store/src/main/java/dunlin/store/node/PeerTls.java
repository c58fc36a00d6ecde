package dunlin.store.node;

import dunlin.store.StoreException;
import dunlin.store.settings.PeerSecurity;
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
import java.time.Instant;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.apache.ratis.grpc.GrpcTlsConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The key, certificate and authority of a node for TLS with its peers, read from files and reloaded when these change. */
public final class PeerTls {
  /*
   * Owner: the thread that starts the node reads first; one thread refreshes, for the cluster port the maintenance thread;
   * handshakes ask the managers.
   * Failure: unusable files prevent the start. Later, unusable files, such as after half of a change, are logged once
   * and the former ones stay in use.
   */
  private static final Logger log = LoggerFactory.getLogger(PeerTls.class);
  private static final Pattern KEY = Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]*)-----END PRIVATE KEY-----");
  private static final char[] NO_PASSWORD = new char[0];

  private final PeerSecurity.MutualTls files;
  private final SwappableTls.Keys keys;
  private final SwappableTls.Trust trust;

  private final LongAdder reloads = new LongAdder();
  private final LongAdder failedReloads = new LongAdder();
  private volatile Instant expiry;

  private Content content; // used by the refreshing thread only
  private String refused = ""; // likewise

  /** The contents of the three files, compared to detect a change: mounted files may change without a new modification time. */
  private record Content(String key, String certificates, String authority) {}

  /** @param expiry that of the certificate that expires first */
  private record Managers(X509ExtendedKeyManager keys, X509ExtendedTrustManager trust, Instant expiry) {}

  /** @throws StoreException naming the file that cannot be used */
  public PeerTls(PeerSecurity.MutualTls files) {
    this.files = files;
    content = content();
    var first = managers(content);
    keys = new SwappableTls.Keys(first.keys);
    trust = new SwappableTls.Trust(first.trust);
    expiry = first.expiry;
  }

  GrpcTlsConfig config() {
    return new GrpcTlsConfig(keys, trust, true);
  }

  /** This node's key and certificate, always from the latest files. */
  public X509ExtendedKeyManager keys() {
    return keys;
  }

  /** The trusted authorities, always from the latest files. */
  public X509ExtendedTrustManager trust() {
    return trust;
  }

  /** When the first of the certificates in use expires: the node's own, those sent with it, and the authorities'. */
  public Instant expiry() {
    return expiry;
  }

  /** How often changed files were taken. */
  public long reloads() {
    return reloads.sum();
  }

  /** How often the files could not be used; a problem counts once. */
  public long failedReloads() {
    return failedReloads.sum();
  }

  /** Reloads the files; existing connections stay. */
  public void refresh() {
    try {
      var next = content();
      if (next.equals(content)) return;
      var managers = managers(next);
      keys.replace(managers.keys);
      trust.replace(managers.trust);
      expiry = managers.expiry;
      reloads.increment();
      content = next;
      refused = "";
      log.info("The TLS between nodes has new files: {}", files);
    } catch (StoreException e) {
      if (refused.equals(e.getMessage())) return;
      failedReloads.increment();
      log.error("The previous certificate files remain in use: {}", e.getMessage(), e);
      refused = String.valueOf(e.getMessage());
    }
  }

  private Content content() {
    return new Content(
        text(files.key(), "key"), text(files.certificates(), "certificate"), text(files.authority(), "authority"));
  }

  private Managers managers(Content from) {
    var chain = certificates(from.certificates, files.certificates(), "certificate");
    var key = key(from.key, files.key(), chain.getFirst());
    var authorities = certificates(from.authority, files.authority(), "authority");
    try {
      Instant first =
          Stream.concat(chain.stream(), authorities.stream()).map(each -> each.getNotAfter().toInstant()).min(Comparator.naturalOrder()).orElseThrow();
      return new Managers((X509ExtendedKeyManager) keyManager(key, chain), (X509ExtendedTrustManager) trustManager(authorities), first);
    } catch (GeneralSecurityException | IOException | ClassCastException e) {
      throw new StoreException("the TLS between nodes cannot be set up: " + e.getMessage(), e);
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

  private static List<X509Certificate> certificates(String pem, Path file, String what) {
    try {
      var read = CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(pem.getBytes(StandardCharsets.ISO_8859_1)));
      if (read.isEmpty()) throw new CertificateException("there is none in it");
      return read.stream().map(X509Certificate.class::cast).toList();
    } catch (CertificateException e) {
      throw refused(what, file, e);
    }
  }

  private static PrivateKey key(String text, Path file, X509Certificate certificate) {
    try {
      Matcher pem = KEY.matcher(text);
      if (!pem.find()) throw new InvalidKeyException("there is no PKCS#8 private key in it (BEGIN PRIVATE KEY)");
      var spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
      var key = KeyFactory.getInstance(certificate.getPublicKey().getAlgorithm()).generatePrivate(spec);
      requirePair(key, certificate);
      return key;
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw refused("key", file, e);
    }
  }

  /** Checks that the key belongs to the certificate; otherwise only the first peer would notice. */
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

  private static String text(Path file, String what) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      throw new StoreException("the " + what + " of the TLS between nodes in " + file + " cannot be read: " + e, e);
    }
  }

  private static StoreException refused(String what, Path file, Exception e) {
    return new StoreException("the " + what + " of the TLS between nodes in " + file + " cannot be used: " + e.getMessage(), e);
  }
}
