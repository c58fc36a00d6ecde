package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.ClusterSettings;
import dunlin.store.PeerSecurity;
import dunlin.store.StoreException;
import dunlin.store.StoreSettings;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.FreePort;
import dunlin.store.raft.OneRange;
import dunlin.store.raft.Trio;
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
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PeerTlsTest {
  private static final String PASSWORD = "secret";

  @TempDir Path directory;

  @Test
  void nodesOfOneAuthorityReplicateAndNobodyElseIsHeard() throws Exception {
    Path ours = authority("ours");
    Path theirs = authority("theirs");
    var security = issue(ours, "node");
    try (var trio = Trio.start(directory.resolve("trio"), cluster -> secured(cluster, security), UnaryOperator.identity())) {
      assertThat(trio.apply(new Put("a", "1"))).isEqualTo("put");
      int port = trio.leader().port;

      assertThat(serverSpeaks(port, keyOf(ours, "node"), trusting(ours))).isTrue();
      issue(theirs, "intruder");
      assertThat(serverSpeaks(port, keyOf(theirs, "intruder"), trusting(ours))).isFalse();
      assertThat(serverSpeaks(port, emptyStore(), trusting(ours))).isFalse();
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
    Path ours = authority("ours");
    var good = issue(ours, "node");
    Path missing = directory.resolve("missing.pem");
    Path text = Files.writeString(directory.resolve("text.pem"), "nothing of the kind");
    var other = issue(ours, "other");

    refused(new PeerSecurity.MutualTls(missing, good.certificates(), good.authority()), "key of the TLS between nodes in " + missing);
    refused(new PeerSecurity.MutualTls(good.key(), missing, good.authority()), "certificate of the TLS between nodes in " + missing);
    refused(new PeerSecurity.MutualTls(good.key(), good.certificates(), missing), "authority of the TLS between nodes in " + missing);
    refused(new PeerSecurity.MutualTls(text, good.certificates(), good.authority()), "no PKCS#8 private key");
    refused(new PeerSecurity.MutualTls(good.key(), text, good.authority()), "certificate of the TLS between nodes in " + text);
    refused(new PeerSecurity.MutualTls(other.key(), good.certificates(), good.authority()), "key of another certificate");
  }

  @Test
  void filesThatHaveChangedAreTakenOverUnlessTheyAreHalfAChange() throws Exception {
    Path ours = authority("ours");
    var files = issue(ours, "node");
    var next = issue(ours, "next");
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
    assertThat(subject(tls)).isEqualTo("CN=next");
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

  /** Whether the server begins HTTP/2 with this client, as it does at once with whom it knows. */
  private static boolean serverSpeaks(int port, KeyStore own, KeyStore trusted) throws GeneralSecurityException, IOException {
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, PASSWORD.toCharArray());
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

  /** A key store with an authority's key, to which those that it signs are added. */
  private Path authority(String name) throws Exception {
    Path store = directory.resolve(name + ".p12");
    keytool(store, "-genkeypair", "-alias", "authority", "-keyalg", "EC", "-dname", "CN=" + name, "-ext", "bc:c");
    return store;
  }

  /** A node's key with a certificate of an authority. */
  private PeerSecurity.MutualTls issue(Path authority, String name) throws Exception {
    keytool(
        authority, "-genkeypair", "-alias", name, "-keyalg", "EC", "-dname", "CN=" + name, "-signer", "authority", "-ext",
        "san=ip:127.0.0.1");
    var issued = KeyStore.getInstance(authority.toFile(), PASSWORD.toCharArray());
    return new PeerSecurity.MutualTls(
        pem(name + ".key", "PRIVATE KEY", issued.getKey(name, PASSWORD.toCharArray()).getEncoded()),
        pem(name + ".pem", "CERTIFICATE", issued.getCertificate(name).getEncoded()),
        pem(name + "-authority.pem", "CERTIFICATE", issued.getCertificate("authority").getEncoded()));
  }

  private Path pem(String file, String type, byte[] content) throws IOException {
    return Files.writeString(
        directory.resolve(file),
        "-----BEGIN " + type + "-----\n" + Base64.getMimeEncoder().encodeToString(content) + "\n-----END " + type + "-----\n");
  }

  /** The key of one that was issued, alone. */
  private static KeyStore keyOf(Path authority, String name) throws GeneralSecurityException, IOException {
    var from = KeyStore.getInstance(authority.toFile(), PASSWORD.toCharArray());
    var own = emptyStore();
    own.setKeyEntry(name, from.getKey(name, PASSWORD.toCharArray()), PASSWORD.toCharArray(), from.getCertificateChain(name));
    return own;
  }

  private static KeyStore trusting(Path authority) throws GeneralSecurityException, IOException {
    var trusted = emptyStore();
    trusted.setCertificateEntry(
        "authority", KeyStore.getInstance(authority.toFile(), PASSWORD.toCharArray()).getCertificate("authority"));
    return trusted;
  }

  private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static void keytool(Path store, String... arguments) throws IOException, InterruptedException {
    var command =
        Stream.concat(
                Stream.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-keystore", store.toString(),
                    "-storetype", "PKCS12", "-storepass", PASSWORD),
                Stream.of(arguments))
            .toList();
    var process = new ProcessBuilder(List.copyOf(command)).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(said).isZero();
  }
}
