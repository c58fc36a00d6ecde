package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.function.UnaryOperator;
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
    var security = ours.issue("node", "ip:127.0.0.1");
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
    refused(new PeerSecurity.MutualTls(text, good.certificates(), good.authority()), "no PKCS#8 private key");
    refused(new PeerSecurity.MutualTls(good.key(), text, good.authority()), "certificate of the TLS between nodes in " + text);
    refused(new PeerSecurity.MutualTls(other.key(), good.certificates(), good.authority()), "key of another certificate");
  }

  @Test
  void changedFilesAreReloadedUnlessTheyAreIncomplete() throws Exception {
    var ours = new TestAuthority(directory, "ours");
    var files = ours.issue("node", "ip:127.0.0.1");
    var next = ours.issue("next", "ip:127.0.0.1");
    var tls = new PeerTls(files);
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

  private static String subject(PeerTls tls) {
    var chain = tls.keys().getCertificateChain("node");
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
