package dunlin.connecting;

import static dunlin.harness.SecureBroker.ROOT;
import static dunlin.harness.SecureBroker.awaitCount;
import static dunlin.harness.SecureBroker.connected;
import static dunlin.harness.SecureBroker.socket;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.listen.ListenerException;
import dunlin.harness.Certificates;
import dunlin.harness.Certificates.Issued;
import dunlin.harness.SecureBroker;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Key stores and their passwords, curves, the authorities of clients, and what access rules know of a client's certificate. */
class TlsKeysIT {
  private static final String FAILED = "dunlin.listener.tls.reloads,listener=tls,result=failed";
  private static final String READ = "dunlin.listener.tls.reloads,listener=tls,result=ok";

  @TempDir Path directory;

  private SecureBroker secure;

  @BeforeEach
  void anAuthority() {
    secure = new SecureBroker(directory);
  }

  // ------------------------------------------------------------------------------------------------------------------- key stores

  @Test
  void aKeyStoreServesAndIsRenewedWithItsPassword() {
    Issued first = secure.authority.server();
    keyStore("first", first);
    try (var broker = secure.start(); var stays = connected(broker, secure.authority.context(), "stays")) {
      assertThat(secure.shown(broker)).isEqualTo(first.certificate());

      Issued second = secure.authority.server();
      secure.file("server.p12", Certificates.keyStore("second", second));
      awaitCount(broker, FAILED, 1); // the password is the old one
      assertThat(secure.shown(broker)).isEqualTo(first.certificate());
      secure.file("password", "");
      awaitCount(broker, FAILED, 2);
      secure.file("password", "second\n");
      await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(secure.shown(broker)).isEqualTo(second.certificate()));
      awaitCount(broker, "dunlin.listener.tls.reloads,listener=tls,result=ok", 1);
      stays.ping();
    }
  }

  @Test
  void aPasswordInAFileIsShownNowhere() throws JMException {
    keyStore("open sesame", secure.authority.server());
    try (var broker = secure.start()) {
      var settings = new ObjectName("dunlin:type=Settings,node=" + broker.node().nodeId().substring(0, 8));
      assertThat(String.valueOf(ManagementFactory.getPlatformMBeanServer().getAttribute(settings, "Effective")))
          .doesNotContain("sesame")
          .contains("file:" + directory.resolve("password"));
    }
    secure.settings.put(ROOT + "tls.key-store-password", "wrong sesame");
    assertThatThrownBy(secure::start)
        .isInstanceOf(ListenerException.class)
        .hasMessageContaining("dunlin.listeners.tls.tls.key-store")
        .hasMessageContaining("the password is wrong")
        .message()
        .doesNotContain("sesame");
  }

  @Test
  void keyStoresThatCannotBeUsedAreNamed() throws IOException {
    Issued server = secure.authority.server();
    keyStore("secret", server);
    wrong("tls.key-store", directory.resolve("none").toString(), "dunlin.listeners.tls.tls.key-store");
    wrong("tls.key-store", secure.file("empty", ""), "it is not a key store in PKCS#12");
    wrong("tls.key-store", secure.file("text", "nothing"), "it is not a key store in PKCS#12");
    wrong("tls.key-store", secure.file("large", new byte[(1 << 20) + 1]), "larger than");
    wrong("tls.key-store", secure.file("two", Certificates.keyStore("secret", server, secure.authority.server())), "it has 2 keys, not one");
    wrong("tls.key-store", secure.file("no-key", Certificates.keyStore("secret")), "it has 0 keys, not one");
    byte[] whole = Files.readAllBytes(directory.resolve("server.p12"));
    whole[whole.length / 2] ^= 1;
    wrong("tls.key-store", secure.file("damaged", whole), "dunlin.listeners.tls.tls.key-store");
    wrong("tls.certificate", secure.file("server.pem", server.certificatePem()), "tls.key-store has certificate and key");

    Map<String, String> changed = new HashMap<>(secure.settings);
    changed.put(ROOT + "tls.key-store-password", "file:" + directory.resolve("none"));
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), changed).close())
        .isInstanceOf(SettingException.class)
        .hasMessage("dunlin.listeners.tls.tls.key-store-password: the file " + directory.resolve("none") + " does not exist.");
  }

  // ---------------------------------------------------------------------------------------------------------------------- profiles

  @Test
  void onlyCurvesThatAreNamedAreAccepted() throws IOException {
    secure.with(secure.authority.server(Certificates.rsa(), Duration.ofDays(9))); // whose key is on no curve
    try (var broker = secure.start()) {
      for (String curve : new String[] {"x25519", "secp256r1", "secp384r1", "secp521r1"}) handshake(broker, curve);
    }
    secure.settings.put(ROOT + "tls.curves", "secp384r1,secp521r1");
    try (var broker = secure.start()) {
      handshake(broker, "secp384r1");
      handshake(broker, "secp521r1");
      assertThatThrownBy(() -> handshake(broker, "x25519")).isInstanceOf(SSLException.class);
      assertThatThrownBy(() -> handshake(broker, "secp256r1")).isInstanceOf(SSLException.class);
    }
  }

  @Test
  void namesThatAreUnknownAreAnsweredWithThoseThatAreKnown() {
    secure.withCertificate();
    wrong("tls.curves", "secp256r1,brainpool", "one or more of X25519MLKEM768 | x25519 | secp256r1 | secp384r1 | secp521r1");
    wrong("tls.protocols", "TLSv1.1", "one or more of TLSv1.2 | TLSv1.3");
    wrong("tls.cipher-suites", "TLS_WITH_LOVE", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384");
  }

  private void handshake(TestBroker broker, String curve) throws IOException {
    try (SSLSocket socket = socket(broker, secure.authority.context())) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setNamedGroups(new String[] {curve});
      socket.setSSLParameters(parameters);
      socket.startHandshake();
    }
  }

  // ------------------------------------------------------------------------------------------------------ the authorities of clients

  /** Who is connected stays: connections end by revocation, not by another authority. The old client resumes its TLS session if it may. */
  @Test
  void theAuthorityOfClientsIsReplacedWhileTheListenerRuns() {
    var next = new Certificates();
    SSLContext old = secure.withCertificate().askingClients().authority.context(secure.authority.client("CN=old"));
    SSLContext fresh = secure.authority.context(next.client("CN=new"));
    try (var broker = secure.start(); var stays = connected(broker, old, "stays")) {
      refused(broker, fresh);
      secure.file("ca.pem", "nothing");
      awaitCount(broker, FAILED, 1);
      connected(broker, old, "old").close();

      secure.file("ca.pem", next.rootPem());
      awaitCount(broker, READ, 1);
      connected(broker, fresh, "new").close();
      refused(broker, old);
      stays.ping();
    }
  }

  private static void refused(TestBroker broker, SSLContext context) {
    assertThatThrownBy(() -> connected(broker, context, "refused").close()).isInstanceOfAny(UncheckedIOException.class, AssertionError.class);
  }

  // --------------------------------------------------------------------------------------------------------- names in certificates

  @Test
  void accessRulesKnowNamesAndSerialNumberAsLevelsOfTheirOwn() {
    Issued known =
        secure.authority.client(
            "CN=leaf,OU=devices",
            Certificates.name(Certificates.DNS, "pump.example"),
            Certificates.name(Certificates.EMAIL, "a@b.example"),
            Certificates.name(Certificates.URI, "urn:device/#"));
    secure.withCertificate().askingClients();
    secure.settings.put(ROOT + "tls.identity", "subject-user-name");
    String rules =
        """
        allow user "CN=leaf,OU=devices" publish d/%{cert.dns}/%{cert.email}/%{cert.serial}
        allow everyone publish u/%{cert.uri}
        """;
    secure.settings.put("dunlin.auth.acl-file", secure.file("acl", rules));
    String serial = known.certificate().getSerialNumber().toString(16);
    try (var broker = secure.start(); var client = connected(broker, secure.authority.context(known), "client")) {
      assertThat(client.publishAndWait("d/pump.example/a@b.example/" + serial, "x")).isIn(0, 0x10);
      assertThat(client.publishAndWait("d/pump.example/a@b.example/1", "x")).isEqualTo(0x87);
      assertThat(client.publishAndWait("d/other.example/a@b.example/" + serial, "x")).isEqualTo(0x87);
      // A name with a separator and a wildcard in it stands for nothing.
      assertThat(client.publishAndWait("u/urn:device/1", "x")).isEqualTo(0x87);
      assertThat(client.publishAndWait("u/urn:device", "x")).isEqualTo(0x87);
    }
    Issued another = secure.authority.client("CN=leaf,OU=others", Certificates.name(Certificates.DNS, "pump.example"));
    try (var broker = secure.start(); var client = connected(broker, secure.authority.context(another), "client")) {
      assertThat(client.publishAndWait("d/pump.example/a@b.example/" + serial, "x")).isEqualTo(0x87);
    }
  }

  private void keyStore(String password, Issued server) {
    secure.settings.put(ROOT + "tls.key-store", secure.file("server.p12", Certificates.keyStore(password, server)));
    secure.settings.put(ROOT + "tls.key-store-password", "file:" + secure.file("password", password + "\n"));
  }

  private void wrong(String key, String value, String named) {
    Map<String, String> changed = new HashMap<>(secure.settings);
    changed.put(ROOT + key, value);
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), changed).close())
        .isInstanceOfAny(SettingException.class, ListenerException.class)
        .hasMessageContaining(named);
  }
}
