package dunlin.store.node;

import dunlin.runtime.Secret;
import dunlin.runtime.SettingException;
import dunlin.runtime.keys.KeyStoreFile;
import dunlin.runtime.keys.PemFiles;
import dunlin.store.StoreException;
import dunlin.store.settings.PeerSecurity;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
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
  private static final int FILE_MAX = 1 << 20;
  private static final byte[] NOTHING = new byte[0];
  private static final char[] NO_PASSWORD = new char[0];

  private final PeerSecurity.MutualTls files;
  private final SwappableTls.Keys keys;
  private final SwappableTls.Trust trust;

  private final LongAdder reloads = new LongAdder();
  private final LongAdder failedReloads = new LongAdder();
  private volatile Instant expiry;
  private volatile CertificateNames names;

  private Content content; // used by the refreshing thread only
  private String refused = ""; // likewise

  /**
   * The contents of the files, compared to detect a change: mounted files may change without a new modification time.
   *
   * @param key those of the key, or of the key store
   * @param password that of the key or key store, also from a file or the environment; empty for none
   * @param certificates empty with a key store
   */
  private record Content(byte[] key, String password, byte[] certificates, byte[] authority) {
    boolean same(Content other) {
      return password.equals(other.password)
          && Arrays.equals(key, other.key)
          && Arrays.equals(certificates, other.certificates)
          && Arrays.equals(authority, other.authority);
    }
  }

  /**
   * @param expiry that of the certificate that expires first
   * @param names of the node's own certificate
   */
  private record Managers(X509ExtendedKeyManager keys, X509ExtendedTrustManager trust, Instant expiry, CertificateNames names) {}

  /** @throws StoreException naming the file that cannot be used */
  public PeerTls(PeerSecurity.MutualTls files) {
    this.files = files;
    content = content();
    var first = managers(content);
    keys = new SwappableTls.Keys(first.keys);
    trust = new SwappableTls.Trust(first.trust);
    expiry = first.expiry;
    names = first.names;
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

  /** The names in the node's own certificate. */
  public CertificateNames names() {
    return names;
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
      if (next.same(content)) return;
      var managers = managers(next);
      keys.replace(managers.keys);
      trust.replace(managers.trust);
      expiry = managers.expiry;
      names = managers.names;
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
    byte[] authority = bytes(files.authority(), "authority");
    return switch (files.own()) {
      case PeerSecurity.Pem(Path key, Secret password, Path certificates) ->
          new Content(bytes(key, "key"), password(password), bytes(certificates, "certificate"), authority);
      case PeerSecurity.Store(Path file, Secret password) -> new Content(bytes(file, "key store"), password(password), NOTHING, authority);
    };
  }

  private Managers managers(Content from) {
    KeyStoreFile own = own(from);
    var authorities = certificates(from.authority, files.authority(), "authority");
    try {
      Instant first =
          Stream.concat(own.chain().stream(), authorities.stream()).map(each -> each.getNotAfter().toInstant()).min(Comparator.naturalOrder()).orElseThrow();
      return new Managers((X509ExtendedKeyManager) keyManager(own.key(), own.chain()), (X509ExtendedTrustManager) trustManager(authorities), first, CertificateNames.of(own.chain().getFirst()));
    } catch (GeneralSecurityException | IOException | ClassCastException e) {
      throw new StoreException("the TLS between nodes cannot be set up: " + e.getMessage(), e);
    }
  }

  private KeyStoreFile own(Content from) {
    return switch (files.own()) {
      case PeerSecurity.Pem(Path key, _, Path certificates) -> {
        var chain = certificates(from.certificates, certificates, "certificate");
        try {
          yield new KeyStoreFile(PemFiles.key(from.key, from.password, chain.getFirst()), chain);
        } catch (GeneralSecurityException | IOException e) {
          throw refused("key", key, e);
        }
      }
      case PeerSecurity.Store(Path file, _) -> {
        try {
          yield KeyStoreFile.read(from.key, from.password);
        } catch (GeneralSecurityException | IOException e) {
          throw refused("key store", file, e);
        }
      }
    };
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

  private static List<X509Certificate> certificates(byte[] pem, Path file, String what) {
    try {
      return PemFiles.certificates(pem);
    } catch (CertificateException e) {
      throw refused(what, file, e);
    }
  }

  private static String password(Secret secret) {
    try {
      return secret.value();
    } catch (SettingException e) {
      throw new StoreException("the password of the key of the TLS between nodes cannot be read: " + e.getMessage(), e);
    }
  }

  private static byte[] bytes(Path file, String what) {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] content = in.readNBytes(FILE_MAX + 1);
      if (content.length > FILE_MAX) throw new IOException("larger than " + FILE_MAX + " bytes");
      return content;
    } catch (IOException e) {
      throw new StoreException("the " + what + " of the TLS between nodes in " + file + " cannot be read: " + e, e);
    }
  }

  private static StoreException refused(String what, Path file, Exception e) {
    return new StoreException("the " + what + " of the TLS between nodes in " + file + " cannot be used: " + e.getMessage(), e);
  }
}
