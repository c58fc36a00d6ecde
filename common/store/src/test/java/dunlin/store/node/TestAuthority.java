package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.settings.PeerSecurity;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** An authority and the certificates that it has issued, made by the keytool of this Java. */
public final class TestAuthority {
  static final String PASSWORD = "secret";

  private final Path directory;
  private final Path store;
  private final Path certificate;

  /** Writes its certificate into the directory, as its name and {@code .pem}. */
  public TestAuthority(Path directory, String name) throws Exception {
    this.directory = directory;
    store = directory.resolve(name + ".p12");
    keytool("-genkeypair", "-alias", "authority", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name, "-ext", "bc:c");
    certificate = pem(name + ".pem", "CERTIFICATE", KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray()).getCertificate("authority").getEncoded());
  }

  /** The files of one certificate, in PEM. */
  public record Issued(Path key, Path certificates, Path authority) {
    PeerSecurity.MutualTls security() {
      return new PeerSecurity.MutualTls(key, certificates, authority);
    }
  }

  /** A node's key with a certificate, as files: its name and {@code .key} and {@code .pem}. */
  public Issued issue(String name, String alternatives) throws Exception {
    keytool("-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name, "-signer", "authority", "-ext", "san=" + alternatives);
    var issued = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    return new Issued(
        pem(name + ".key", "PRIVATE KEY", issued.getKey(name, PASSWORD.toCharArray()).getEncoded()),
        pem(name + ".pem", "CERTIFICATE", issued.getCertificate(name).getEncoded()),
        certificate);
  }

  private Path pem(String file, String type, byte[] content) throws IOException {
    return Files.writeString(
        directory.resolve(file),
        "-----BEGIN " + type + "-----\n" + Base64.getMimeEncoder().encodeToString(content) + "\n-----END " + type + "-----\n");
  }

  /** A key store with the key of one issued certificate. */
  KeyStore keyOf(String name) throws GeneralSecurityException, IOException {
    var from = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    var own = emptyStore();
    own.setKeyEntry(name, from.getKey(name, PASSWORD.toCharArray()), PASSWORD.toCharArray(), from.getCertificateChain(name));
    return own;
  }

  /** The same as a file in PKCS#12. */
  Path storeOf(String name, String password) throws GeneralSecurityException, IOException {
    var from = keyOf(name);
    var own = emptyStore();
    own.setKeyEntry(name, from.getKey(name, PASSWORD.toCharArray()), password.toCharArray(), from.getCertificateChain(name));
    Path file = directory.resolve(name + "-own.p12");
    try (var out = Files.newOutputStream(file)) {
      own.store(out, password.toCharArray());
    }
    return file;
  }

  KeyStore trusted() throws GeneralSecurityException, IOException {
    var trusted = emptyStore();
    trusted.setCertificateEntry("authority", KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray()).getCertificate("authority"));
    return trusted;
  }

  static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  /** Each run is a JVM of its own, and a short one: it gets flags for that. */
  private void keytool(String... arguments) throws IOException, InterruptedException {
    var command =
        Stream.concat(
                Stream.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-keystore", store.toString(),
                    "-storetype", "PKCS12", "-storepass", PASSWORD, "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"),
                Stream.of(arguments))
            .toList();
    var process = new ProcessBuilder(List.copyOf(command)).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(said).isZero();
  }
}
