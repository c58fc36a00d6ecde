package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.MqttClient;
import dunlin.harness.Certificates.Issued;
import dunlin.TestBroker;
import dunlin.broker.listen.ListenerException;
import dunlin.harness.BrokerProcess;
import dunlin.harness.Certificates;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** MQTT over TLS: certificates of both sides, the names in them, and files that change while the broker runs. */
class TlsIT {
  private static final String ROOT = "dunlin.listeners.tls.";

  /** A key as written by OpenSSL, with the password "secret". */
  private static final String ENCRYPTED_KEY =
      """
      -----BEGIN ENCRYPTED PRIVATE KEY-----
      MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiVZRho72x88wICCAAw
      DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJ5Au+vtU2klJLpTmVb2GD4EgZAu
      /Ol8fwLrl6zBF49SzHiuRWygR1Rg39PCuInquGkrMSOIvQOIQ9MGbMyUQ8DHvbjD
      JrtxhSTunWwDqmOChJ7w9N3ajpStapNOZqkqaZcjI+rzb4dhG9MDrhzeK/CC8WGy
      TnP7vXtyr9uuLoEfQ6vI951ZUMwE99qUW/iG4q4CbLFmPIT5uiMZhYVN356NsoE=
      -----END ENCRYPTED PRIVATE KEY-----
      """;

  private static final String PUBLIC_KEY =
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEllLDu/6W3/ICOGHLZ+aUn3lLHmWU"
          + "Mb4/vcHtIjNPNvIfLqsQ/cu7JgF76juw0i/5ywoxZ6NwVbiUf4F0D++7fA==";

  private final Certificates authority = new Certificates();
  private final Issued server = authority.server();
  private final Map<String, String> settings = new HashMap<>();

  @TempDir Path directory;

  @BeforeEach
  void aListenerWithACertificate() {
    settings.put(ROOT + "type", "tls");
    settings.put(ROOT + "port", "0");
    settings.put(ROOT + "tls.certificate", file("server.pem", server.certificatePem()));
    settings.put(ROOT + "tls.key", file("server.key", server.keyPem()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
  void bothVersionsOfTlsAreSpoken(String version) {
    try (var broker = broker(); var client = client(broker, version, authority.context())) {
      client.connect(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
      client.subscribe("topic", 1);
      client.publish("topic", 1, 1, "x".repeat(100_000));
      assertThat(client.take().text()).hasSize(100_000);
    }
  }

  @Test
  void aVersionThatIsNotAllowedFails() {
    settings.put(ROOT + "tls.protocols", "TLSv1.3");
    try (var broker = broker()) {
      assertThatThrownBy(() -> client(broker, "TLSv1.2", authority.context())).hasCauseInstanceOf(IOException.class);
      awaitRefused(broker, "tls", "tls-handshake", 1);
    }
  }

  @Test
  void onlyForwardSecretSuitesThatAuthenticateAreAcceptedUnlessOthersAreNamed() throws IOException {
    String old = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA";
    Issued ofRsa = authority.server(Certificates.rsa(), Duration.ofDays(9));
    file("server.pem", ofRsa.certificatePem());
    file("server.key", ofRsa.keyPem());
    try (var broker = broker()) {
      assertThat(handshake(broker, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")).isEqualTo("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
      assertThatThrownBy(() -> handshake(broker, old)).isInstanceOf(SSLException.class);
      awaitRefused(broker, "tls", "tls-handshake", 1);
    }
    settings.put(ROOT + "tls.cipher-suites", old);
    try (var broker = broker()) {
      assertThat(handshake(broker, old)).isEqualTo(old);
      assertThatThrownBy(() -> handshake(broker, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")).isInstanceOf(SSLException.class);
    }
    settings.put(ROOT + "tls.cipher-suites", "TLS_AES_128_GCM_SHA256"); // only a suite of TLS 1.3: none is left for 1.2
    try (var broker = broker(); var modern = client(broker, "TLSv1.3", authority.context())) {
      modern.connect(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
      assertThatThrownBy(() -> handshake(broker, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")).isInstanceOf(SSLException.class);
    }
    settings.put(ROOT + "tls.protocols", "TLSv1.2");
    assertThatThrownBy(this::broker).hasMessageContaining("dunlin.listeners.tls.tls.cipher-suites names no suite of TLS 1.2");
    settings.put(ROOT + "tls.cipher-suites", "TLS_WITH_LOVE");
    assertThatThrownBy(this::broker)
        .hasMessageContaining("dunlin.listeners.tls.tls.cipher-suites names the cipher suite \"TLS_WITH_LOVE\", which this platform does not support");
  }

  /** Offers only this suite, in TLS 1.2; returns the negotiated one. */
  private String handshake(TestBroker broker, String suite) throws IOException {
    try (var socket = (SSLSocket) authority.context().getSocketFactory().createSocket("127.0.0.1", broker.node().port("tls"))) {
      socket.setEnabledProtocols(new String[] {"TLSv1.2"});
      socket.setEnabledCipherSuites(new String[] {suite});
      socket.startHandshake();
      return socket.getSession().getCipherSuite();
    }
  }

  /** In TLS 1.2 each handshake costs the server more than the client. The platform's TLS is used where there is none of our own. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aClientCannotNegotiateAgain(boolean byThePlatform) throws IOException {
    String[] all = settings.entrySet().stream().map(each -> each.getKey() + '=' + each.getValue()).toArray(String[]::new);
    try (var broker = BrokerProcess.startWith("-Xmx256m -Dio.netty.handler.ssl.noOpenSsl=" + byThePlatform, directory.resolve("data"), all);
        var socket = (SSLSocket) authority.context().getSocketFactory().createSocket("127.0.0.1", broker.port("tls"))) {
      socket.setSoTimeout(60_000);
      socket.setEnabledProtocols(new String[] {"TLSv1.2"});
      socket.startHandshake();
      socket.getOutputStream().write(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
      assertThat(socket.getInputStream().read()).isEqualTo(RawClient.CONNACK);
      socket.startHandshake(); // sends a ClientHello, and waits for nothing
      assertThatThrownBy(
              () -> {
                while (socket.getInputStream().read() >= 0) {}
                throw new EOFException();
              })
          .isInstanceOf(IOException.class)
          .isNotInstanceOf(SocketTimeoutException.class);
      assertThat(broker.out()).noneMatch(line -> line.contains("ERROR"));
      RawClient.connected(broker.port(), RawClient.connect(5, true, 0, "other", RawClient.noProperties())).close();
    }
  }

  @Test
  void aClientLibraryConnects() {
    try (var broker = broker()) {
      var client =
          MqttClient.builder()
              .useMqttVersion5()
              .serverHost("127.0.0.1")
              .serverPort(broker.node().port("tls"))
              .sslWithDefaultConfig()
              .sslConfig()
              .trustManagerFactory(authority.trust())
              .applySslConfig()
              .buildBlocking();
      client.connect();
      client.publishWith().topic("topic").qos(Hive.qos(2)).payload(new byte[200_000]).send();
      client.disconnect();
    }
  }

  @Test
  void bytesThatAreNoTlsEndTheConnectionAndAreCounted() {
    try (var broker = broker(); var plain = new RawClient(broker.node().port("tls"))) {
      plain.send(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
      awaitRefused(broker, "tls", "tls-handshake", 1);
    }
  }

  @Test
  void aMissingHandshakeTimesOut() {
    settings.put(ROOT + "tls.handshake-timeout", "200ms");
    try (var broker = broker(); var silent = new RawClient(broker.node().port("tls"))) {
      awaitRefused(broker, "tls", "tls-handshake", 1);
      silent.expectClosed();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rsa", "ec", "encrypted"})
  void keysMayHaveOlderFormsOrAPassword(String form) {
    KeyPair keys = form.equals("rsa") ? Certificates.rsa() : Certificates.ec();
    boolean encrypted = form.equals("encrypted");
    file("server.pem", authority.server(encrypted ? publicHalf() : keys, Duration.ofDays(9)).certificatePem());
    file("server.key", encrypted ? ENCRYPTED_KEY : Certificates.oldKeyPem(keys));
    settings.put(ROOT + "tls.key-password", "secret");
    try (var broker = broker(); var client = client(broker, "TLSv1.3", authority.context())) {
      client.connect(RawClient.connect(4, true, 0, "client", RawClient.noProperties()));
    }
  }

  // ----------------------------------------------------------------------------------------------------------- clients' certificates

  @Test
  void aClientWithoutARequiredCertificateIsRefused() {
    askForCertificates("required", "none");
    Issued known = authority.client("CN=known");
    Issued stranger = new Certificates().client("CN=stranger");
    try (var broker = broker()) {
      for (SSLContext without : new SSLContext[] {authority.context(), authority.context(stranger)}) {
        // In TLS 1.3 a client notices when it reads, after its side of the handshake.
        assertThatThrownBy(
                () -> {
                  try (var client = client(broker, "TLSv1.3", without)) {
                    client.connect(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
                  }
                })
            .isInstanceOfAny(UncheckedIOException.class, AssertionError.class);
      }
      awaitRefused(broker, "tls", "tls-handshake", 2);
      try (var client = client(broker, "TLSv1.3", authority.context(known))) {
        client.connect(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
      }
    }
  }

  @Test
  void anOptionalCertificateMayBeMissing() {
    askForCertificates("optional", "cn-client-id");
    try (var broker = broker(); var client = client(broker, "TLSv1.3", authority.context())) {
      client.connect(RawClient.connect(5, true, 0, "any name", RawClient.noProperties()));
    }
  }

  @ParameterizedTest
  @CsvSource({"cn-client-id,leaf", "san-client-id,dns.example"})
  void aCertificateNamesItsClient(String identity, String name) {
    askForCertificates("required", identity);
    Issued known =
        authority.client(
            "CN=leaf,OU=devices,CN=outer",
            Certificates.name(Certificates.EMAIL, "a@b.example"),
            Certificates.name(Certificates.URI, "urn:device:1"),
            Certificates.name(Certificates.DNS, "dns.example"));
    try (var broker = broker()) {
      try (var client = client(broker, "TLSv1.3", authority.context(known))) {
        var connack = client.connect(RawClient.connect(5, true, 0, "", RawClient.noProperties()));
        assertThat(new String(connack.body(), StandardCharsets.UTF_8)).contains(name);
      }
      try (var client = client(broker, "TLSv1.3", authority.context(known))) {
        client.connect(RawClient.connect(5, true, 0, name, RawClient.noProperties()));
      }
      try (var client = client(broker, "TLSv1.3", authority.context(known))) {
        client.send(RawClient.connect(5, true, 0, "somebody else", RawClient.noProperties()));
        assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(0x85);
        client.expectClosed();
      }
    }
  }

  @Test
  void withoutADnsNameTheUriCountsAndThenTheAddress() {
    askForCertificates("required", "san-client-id");
    byte[] mail = Certificates.name(Certificates.EMAIL, "a@b.example");
    byte[] uri = Certificates.name(Certificates.URI, "urn:device:1");
    try (var broker = broker()) {
      for (Issued known : new Issued[] {authority.client("CN=x", mail, uri), authority.client("CN=x", mail)}) {
        try (var client = client(broker, "TLSv1.3", authority.context(known))) {
          var connack = client.connect(RawClient.connect(5, true, 0, "", RawClient.noProperties()));
          boolean hasUri = new String(connack.body(), StandardCharsets.UTF_8).contains("urn:device:1");
          assertThat(new String(connack.body(), StandardCharsets.UTF_8)).contains(hasUri ? "urn:" : "a@b.example");
        }
      }
    }
  }

  @Test
  void aCertificateWithoutTheNameIsRefused() {
    askForCertificates("required", "san-user-name");
    Issued nameless = authority.client("CN=only this");
    try (var broker = broker(); var client = client(broker, "TLSv1.3", authority.context(nameless))) {
      client.send(RawClient.connect(5, true, 0, "client", RawClient.noProperties()));
      assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(0x87);
      client.expectClosed();
    }
  }

  // ---------------------------------------------------------------------------------------------------------------- files that change

  @Test
  void aNewCertificateIsLoadedThroughASymbolicLinkAndConnectionsStay() throws IOException {
    Path data = directory.resolve("..data");
    Path first = Files.createDirectory(directory.resolve("first"));
    Path second = Files.createDirectory(directory.resolve("second"));
    write(first, server);
    Issued renewed = authority.server();
    write(second, renewed);
    Files.createSymbolicLink(data, first);
    settings.put(ROOT + "tls.certificate", data.resolve("tls.crt").toString());
    settings.put(ROOT + "tls.key", data.resolve("tls.key").toString());

    try (var broker = broker(); var old = client(broker, "TLSv1.3", authority.context())) {
      old.connect(RawClient.connect(5, true, 0, "old", RawClient.noProperties()));
      assertThat(shown(broker)).isEqualTo(server.certificate());
      // As in Kubernetes: a new link is created beside the old one, then renamed over it.
      Path link = Files.createSymbolicLink(directory.resolve("..data_tmp"), second);
      Files.move(link, data, StandardCopyOption.ATOMIC_MOVE);

      await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(shown(broker)).isEqualTo(renewed.certificate()));
      old.ping();
    }
  }

  @Test
  void unusableFilesLeaveTheOldCertificate() throws IOException {
    try (var broker = broker()) {
      Files.writeString(directory.resolve("server.pem"), authority.server().certificatePem()); // for another key
      awaitMeter(broker, "dunlin.listener.tls.reloads,listener=tls,result=failed", 1);
      assertThat(shown(broker)).isEqualTo(server.certificate());

      Files.writeString(directory.resolve("server.pem"), "nothing");
      awaitMeter(broker, "dunlin.listener.tls.reloads,listener=tls,result=failed", 2);
      Files.delete(directory.resolve("server.pem"));
      awaitMeter(broker, "dunlin.listener.tls.reloads,listener=tls,result=failed", 3);
      assertThat(shown(broker)).isEqualTo(server.certificate());

      Issued renewed = authority.server(server.keys(), Duration.ofDays(20));
      Files.writeString(directory.resolve("server.pem"), renewed.certificatePem());
      await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(shown(broker)).isEqualTo(renewed.certificate()));
      awaitMeter(broker, "dunlin.listener.tls.reloads,listener=tls,result=ok", 1);
    }
  }

  @Test
  void operatorsSeeWhenTheCertificateExpires() throws JMException {
    try (var broker = broker()) {
      String node = broker.node().nodeId().substring(0, 8);
      var gauge = new ObjectName("dunlin:type=Metrics,node=" + node + ",name=dunlin.listener.tls.certificate-seconds,listener=tls");
      assertThat(((Number) ManagementFactory.getPlatformMBeanServer().getAttribute(gauge, "Value")).doubleValue())
          .isBetween(Duration.ofDays(8).toSeconds() * 1.0, Duration.ofDays(9).toSeconds() * 1.0);
      assertThat(broker.node().port("tls")).isPositive();
    }
  }

  // ------------------------------------------------------------------------------------------------------------------- what is refused

  @Test
  void missingOrWrongFilesAreNamedBeforeAnythingStarts() throws IOException {
    refused("tls.key", settings.get(ROOT + "tls.key") + ".none", "dunlin.listeners.tls.tls.key");
    refused("tls.certificate", file("no.pem", "no certificate"), "dunlin.listeners.tls.tls.certificate");
    refused("tls.key", file("other.key", authority.server().keyPem()), "not the key of the certificate");
    refused("tls.key", file("enc.key", ENCRYPTED_KEY), "no password");
    refused("tls.client-auth", "required", "dunlin.listeners.tls.tls.client-ca");
    refused("tls.identity", "cn-user-name", "dunlin.listeners.tls.tls.client-auth");
    settings.remove(ROOT + "tls.certificate");
    refused("type", "tls", "dunlin.listeners.tls.tls.certificate");
    refused("type", "wss", "dunlin.listeners.tls.tls.certificate");
    assertThat(Files.exists(directory.resolve("data"))).as("stores were opened").isFalse();
  }

  /** The public key that belongs to the encrypted key. */
  private static KeyPair publicHalf() {
    try {
      var key = KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(PUBLIC_KEY)));
      return new KeyPair(key, null);
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private void refused(String key, String value, String named) {
    Map<String, String> changed = new HashMap<>(settings);
    changed.put(ROOT + key, value);
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), changed).close())
        .isInstanceOf(ListenerException.class)
        .hasMessageContaining(named);
  }

  private void askForCertificates(String clientAuth, String identity) {
    settings.put(ROOT + "tls.client-auth", clientAuth);
    settings.put(ROOT + "tls.client-ca", file("ca.pem", authority.rootPem()));
    settings.put(ROOT + "tls.identity", identity);
  }

  private TestBroker broker() {
    return TestBroker.on(directory.resolve("data"), settings);
  }

  private String file(String name, String content) {
    try {
      return Files.writeString(directory.resolve(name), content).toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(Path folder, Issued issued) throws IOException {
    Files.writeString(folder.resolve("tls.crt"), issued.certificatePem());
    Files.writeString(folder.resolve("tls.key"), issued.keyPem());
  }

  /** A client over TLS, after its handshake. */
  private static RawClient client(TestBroker broker, String version, SSLContext context) {
    return new RawClient(handshake(broker, version, context));
  }

  private static SSLSocket handshake(TestBroker broker, String version, SSLContext context) {
    try {
      SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", broker.node().port("tls"));
      socket.setEnabledProtocols(new String[] {version});
      socket.startHandshake();
      return socket;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The certificate that the broker presents to a new client. */
  private X509Certificate shown(TestBroker broker) {
    try (SSLSocket socket = handshake(broker, "TLSv1.3", authority.context())) {
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static void awaitRefused(TestBroker broker, String listener, String reason, int count) {
    awaitMeter(broker, "dunlin.listener.refused,listener=" + listener + ",reason=" + reason, count);
  }

  private static void awaitMeter(TestBroker broker, String name, int count) {
    String node = broker.node().nodeId().substring(0, 8);
    await(name)
        .atMost(TestBroker.SOON)
        .untilAsserted(
            () -> {
              var meter = new ObjectName("dunlin:type=Metrics,node=" + node + ",name=" + name);
              assertThat(ManagementFactory.getPlatformMBeanServer().getAttribute(meter, "Count")).isEqualTo((long) count);
            });
  }
}
