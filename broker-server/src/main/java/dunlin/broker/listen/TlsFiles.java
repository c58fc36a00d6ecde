package dunlin.broker.listen;

import dunlin.runtime.keys.KeyStoreFile;
import dunlin.runtime.keys.PemFiles;
import dunlin.runtime.Secret;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The contents of the files of a listener's keys, compared to detect a change: mounted files may change without a new
 * modification time.
 *
 * @param certificate those of the certificate; empty with a key store
 * @param key those of the key, or of the key store
 * @param password that of the key, or of the key store; empty for none
 * @param clientCa those of the authorities of clients; empty if clients are not asked for certificates
 */
record TlsFiles(byte[] certificate, byte[] key, String password, byte[] clientCa) {
  private static final int FILE_MAX = 1 << 20;
  private static final byte[] NOTHING = new byte[0];

  /** What a server needs for handshakes. */
  record Contents(PrivateKey key, List<X509Certificate> chain, List<X509Certificate> authorities) {
    Contents {
      chain = List.copyOf(chain);
      authorities = List.copyOf(authorities);
    }
  }

  boolean same(TlsFiles other) {
    return password.equals(other.password)
        && Arrays.equals(certificate, other.certificate)
        && Arrays.equals(key, other.key)
        && Arrays.equals(clientCa, other.clientCa);
  }

  /** @throws ListenerException that names the setting of a file that is missing or too large, or of a secret that cannot be read */
  static TlsFiles read(ListenerSettings settings) {
    ListenerSettings.TlsKeys keys = settings.tls().keys();
    boolean asks = settings.tls().clients().auth() != ListenerSettings.ClientAuth.NONE;
    byte[] clientCa = asks ? read(settings, "tls.client-ca", settings.tls().clients().authorities()) : NOTHING;
    if (keys.store().isPresent()) {
      return new TlsFiles(NOTHING, read(settings, "tls.key-store", keys.store()), password(keys.storePassword()), clientCa);
    }
    return new TlsFiles(
        read(settings, "tls.certificate", keys.certificate()), read(settings, "tls.key", keys.key()), password(keys.keyPassword()), clientCa);
  }

  /** @throws ListenerException that names the setting of a file whose content cannot be used */
  Contents contents(ListenerSettings settings) {
    ListenerSettings.TlsKeys keys = settings.tls().keys();
    Optional<Path> ca = settings.tls().clients().authorities();
    boolean asks = settings.tls().clients().auth() != ListenerSettings.ClientAuth.NONE;
    List<X509Certificate> authorities = asks ? certificates(settings, "tls.client-ca", ca, clientCa) : List.of();
    if (keys.store().isPresent()) {
      try {
        KeyStoreFile store = KeyStoreFile.read(key, password);
        return new Contents(store.key(), store.chain(), authorities);
      } catch (GeneralSecurityException | IOException e) {
        throw unusable(settings, "tls.key-store", keys.store().get(), e);
      }
    }
    List<X509Certificate> chain = certificates(settings, "tls.certificate", keys.certificate(), certificate);
    try {
      return new Contents(PemFiles.key(key, password, chain.getFirst()), chain, authorities);
    } catch (GeneralSecurityException | IOException e) {
      throw unusable(settings, "tls.key", keys.key().orElseThrow(), e);
    }
  }

  private static List<X509Certificate> certificates(ListenerSettings settings, String key, Optional<Path> file, byte[] content) {
    try {
      return PemFiles.certificates(content);
    } catch (GeneralSecurityException e) {
      throw unusable(settings, key, file.orElseThrow(), e);
    }
  }

  private static String password(Secret secret) {
    try {
      return secret.value();
    } catch (SettingException e) {
      throw new ListenerException(String.valueOf(e.getMessage()), e);
    }
  }

  private static byte[] read(ListenerSettings settings, String key, Optional<Path> file) {
    if (file.isEmpty()) {
      String other = key.equals("tls.client-ca") ? "" : ", or " + settings.key("tls.key-store");
      throw new ListenerException("listener " + settings.name() + " needs " + settings.key(key) + ", a file in PEM format" + other);
    }
    return read(settings, key, file.get(), FILE_MAX);
  }

  static byte[] read(ListenerSettings settings, String key, Path path, int max) {
    try (InputStream in = Files.newInputStream(path)) {
      byte[] content = in.readNBytes(max + 1);
      if (content.length > max) throw new IOException("larger than " + max + " bytes");
      return content;
    } catch (IOException e) {
      throw unusable(settings, key, path, e);
    }
  }

  static ListenerException unusable(ListenerSettings settings, String key, Path file, Exception cause) {
    return new ListenerException("cannot use " + file + " (" + settings.key(key) + "): " + cause, cause);
  }
}
