package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import dunlin.store.StoreException;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.FreePort;
import dunlin.store.raft.OneRange;
import dunlin.store.raft.Trio;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.StoreSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PeerTlsTest {
  @TempDir Path directory;

  @Test
  void onlyNodesOfTheSameAuthorityAreAccepted() throws Exception {
    var ours = new TestAuthority(directory, "ours");
    var theirs = new TestAuthority(directory, "theirs");
    var security = ours.issue("node", "ip:127.0.0.1").security();
    try (var trio = Trio.start(directory.resolve("trio"), cluster -> secured(cluster, security), UnaryOperator.identity())) {
      assertThat(trio.apply(new Put("a", "1"))).isEqualTo("put");
      int port = trio.leader().port;

      assertThat(serverSpeaks(port, ours.keyOf("node"), ours.trusted())).isTrue();
      theirs.issue("intruder", "ip:127.0.0.1");
      assertThat(serverSpeaks(port, theirs.keyOf("intruder"), ours.trusted())).isFalse();
      assertThat(serverSpeaks(port, TestAuthority.emptyStore(), ours.trusted())).isFalse();
      try (var plain = new Socket(InetAddress.getLoopbackAddress(), port)) {
        plain.setSoTimeout(30_000);
        plain.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        byte[] answer = plain.getInputStream().readAllBytes();
        assertThat(answer.length == 0 || answer[0] == 0x15).as("closed, or an alert first").isTrue();
      }
    }
  }

  @Test
  void filesThatCannotBeUsedAreNamed() throws Exception {
    var ours = new TestAuthority(directory, "ours");
    var good = ours.issue("node", "ip:127.0.0.1");
    Path missing = directory.resolve("missing.pem");
    Path text = Files.writeString(directory.resolve("text.pem"), "nothing of the kind");
    var other = ours.issue("other", "ip:127.0.0.1");

    refused(new PeerSecurity.MutualTls(missing, good.certificates(), good.authority()), "key of the TLS between nodes in " + missing);
    refused(new PeerSecurity.MutualTls(good.key(), missing, good.authority()), "certificate of the TLS between nodes in " + missing);
    refused(new PeerSecurity.MutualTls(good.key(), good.certificates(), missing), "authority of the TLS between nodes in " + missing);
    refused(new PeerSecurity.MutualTls(text, good.certificates(), good.authority()), "contains no private key");
    refused(new PeerSecurity.MutualTls(good.key(), text, good.authority()), "certificate of the TLS between nodes in " + text);
    var store = new PeerSecurity.Store(ours.storeOf("node", "own secret"), Secret.of("another"));
    refused(new PeerSecurity.MutualTls(store, good.authority()), "key store of the TLS between nodes in " + store.file() + " cannot be used: the password is wrong");
    refused(new PeerSecurity.MutualTls(new PeerSecurity.Store(text, Secret.none()), good.authority()), "it is not a key store in PKCS#12");
    var encrypted = new PeerSecurity.Pem(encrypted(ours, "node", "own secret"), Secret.none(), good.certificates());
    refused(new PeerSecurity.MutualTls(encrypted, good.authority()), "it is encrypted, and no password is set");
    refused(new PeerSecurity.MutualTls(other.key(), good.certificates(), good.authority()), "not the key of the certificate");
  }

  @Test
  void changedFilesAreReloadedUnlessTheyAreIncomplete() throws Exception {
    var ours = new TestAuthority(directory, "ours");
    var files = ours.issue("node", "ip:127.0.0.1");
    var next = ours.issue("next", "ip:127.0.0.1");
    var tls = new PeerTls(files.security());
    assertThat(subject(tls)).isEqualTo("CN=node");

    Files.copy(next.certificates(), files.certificates(), StandardCopyOption.REPLACE_EXISTING);
    tls.refresh();
    assertThat(subject(tls)).as("the key is still the old one").isEqualTo("CN=node");
    Files.copy(next.key(), files.key(), StandardCopyOption.REPLACE_EXISTING);
    tls.refresh();
    assertThat(subject(tls)).isEqualTo("CN=next");
    Files.delete(files.key());
    tls.refresh();
    tls.refresh();
    assertThat(subject(tls)).isEqualTo("CN=next");
    assertThat(tls.reloads()).isEqualTo(1);
    assertThat(tls.failedReloads()).as("each problem once").isEqualTo(2);
    assertThat(tls.expiry()).isAfter(Instant.now());
  }

  @Test
  void aKeyMayHaveAPasswordAndBothMayChange() throws Exception {
    var ours = new TestAuthority(directory, "ours");
    var files = ours.issue("node", "ip:127.0.0.1");
    Path password = Files.writeString(directory.resolve("password"), "first\n");
    Path key = encrypted(ours, "node", "first");
    var tls = new PeerTls(new PeerSecurity.MutualTls(new PeerSecurity.Pem(key, inFile(password), files.certificates()), files.authority()));
    assertThat(subject(tls)).isEqualTo("CN=node");

    Files.move(encrypted(ours, "node", "second"), key, StandardCopyOption.REPLACE_EXISTING);
    tls.refresh();
    assertThat(tls.failedReloads()).as("the password is still the old one").isEqualTo(1);
    Files.writeString(password, "second");
    tls.refresh();
    assertThat(tls.reloads()).isEqualTo(1);
    Files.delete(password);
    tls.refresh();
    assertThat(tls.failedReloads()).isEqualTo(2);
    assertThat(subject(tls)).isEqualTo("CN=node");
  }

  @Test
  void aKeyStoreServesNodesAndIsReloaded() throws Exception {
    var ours = new TestAuthority(directory, "ours");
    var node = ours.issue("node", "ip:127.0.0.1");
    ours.issue("next", "ip:127.0.0.1");
    Path password = Files.writeString(directory.resolve("password"), "store secret");
    Path store = ours.storeOf("node", "store secret");
    var security = new PeerSecurity.MutualTls(new PeerSecurity.Store(store, inFile(password)), node.authority());
    try (var trio = Trio.start(directory.resolve("trio"), cluster -> secured(cluster, security), UnaryOperator.identity())) {
      assertThat(trio.apply(new Put("a", "1"))).isEqualTo("put");
      assertThat(serverSpeaks(trio.leader().port, ours.keyOf("next"), ours.trusted())).isTrue();
    }

    var tls = new PeerTls(security);
    assertThat(subject(tls)).isEqualTo("CN=node");
    Files.writeString(store, "half of a file");
    tls.refresh();
    assertThat(tls.failedReloads()).isEqualTo(1);
    assertThat(subject(tls)).isEqualTo("CN=node");
    Files.move(ours.storeOf("next", "store secret"), store, StandardCopyOption.REPLACE_EXISTING);
    tls.refresh();
    assertThat(subject(tls)).isEqualTo("CN=next");
    assertThat(tls.expiry()).isAfter(Instant.now());
  }

  private static Secret inFile(Path file) {
    Setting<Secret> setting = Setting.secret("dunlin.test.password", "A password.");
    return Settings.load(List.of(setting), SettingSource.map("test", Map.of("dunlin.test.password", "file:" + file))).get(setting);
  }

  /** The key of an issued certificate as a file in PEM, encrypted as PKCS#8. */
  private Path encrypted(TestAuthority authority, String name, String password) throws Exception {
    var algorithm = "PBEWithSHA1AndDESede"; // one whose name is in the file
    var cipher = Cipher.getInstance(algorithm);
    cipher.init(Cipher.ENCRYPT_MODE, SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(password.toCharArray())));
    byte[] plain = authority.keyOf(name).getKey(name, TestAuthority.PASSWORD.toCharArray()).getEncoded();
    byte[] der = new EncryptedPrivateKeyInfo(cipher.getParameters(), cipher.doFinal(plain)).getEncoded();
    String text = Base64.getMimeEncoder().encodeToString(der);
    return Files.writeString(directory.resolve(name + "-" + password + ".key"), "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" + text + "\n-----END ENCRYPTED PRIVATE KEY-----\n");
  }

  private static String subject(PeerTls tls) {
    var chain = tls.keys().getCertificateChain("node"); // the alias, whatever the certificate
    return chain == null ? "none" : chain[0].getSubjectX500Principal().getName();
  }

  private void refused(PeerSecurity.MutualTls files, String message) {
    var settings = StoreSettings.defaults().with(secured(ClusterSettings.loopback(FreePort.find()), files));
    assertThatThrownBy(() -> OneRange.start(directory.resolve("data"), settings))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(message);
  }

  private static ClusterSettings secured(ClusterSettings cluster, PeerSecurity security) {
    return new ClusterSettings(
        cluster.port(), cluster.host(), cluster.bindAddress(), security, cluster.electionTimeout(), cluster.entriesKept(),
        cluster.installBytesPerSecond(), cluster.installDeadline());
  }

  /** Whether the server begins HTTP/2 with this client, as it does at once after a successful handshake. */
  private static boolean serverSpeaks(int port, KeyStore own, KeyStore trusted) throws GeneralSecurityException, IOException {
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, TestAuthority.PASSWORD.toCharArray());
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    var context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    try (var socket = (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(30_000);
      var parameters = socket.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"h2"});
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      return socket.getInputStream().read() >= 0;
    } catch (SSLException | SocketException e) {
      return false;
    }
  }
}
