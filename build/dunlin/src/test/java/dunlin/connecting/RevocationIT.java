package dunlin.connecting;

import static dunlin.harness.SecureBroker.ROOT;
import static dunlin.harness.SecureBroker.awaitCount;
import static dunlin.harness.SecureBroker.connected;
import static dunlin.harness.SecureBroker.meter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.TestBroker;
import dunlin.broker.listen.ListenerException;
import dunlin.harness.Certificates;
import dunlin.harness.Certificates.Issued;
import dunlin.harness.RawClient;
import dunlin.harness.SecureBroker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import javax.management.JMException;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates of clients that are revoked, before they connect and while they are connected. */
class RevocationIT {
  private static final String REFUSED = "dunlin.listener.refused,listener=tls,reason=certificate-revoked";
  private static final String FAILED = "dunlin.listener.tls.crl-reloads,listener=tls,result=failed";
  private static final String READ = "dunlin.listener.tls.crl-reloads,listener=tls,result=ok";

  @TempDir Path directory;

  private SecureBroker secure;
  private Issued good;
  private Issued bad;

  @BeforeEach
  void aListenerWithAList() {
    secure = new SecureBroker(directory).withCertificate().askingClients();
    good = secure.authority.client("CN=good");
    bad = secure.authority.client("CN=bad");
    revoke(bad);
    secure.settings.put(ROOT + "tls.client-crl", directory.resolve("crl.pem").toString());
  }

  @Test
  void aRevokedCertificateIsRefused() {
    try (var broker = secure.start(); var client = connected(broker, secure.authority.context(good), "good")) {
      refused(broker, secure.authority.context(bad));
      awaitCount(broker, REFUSED, 1);
      client.ping();
    }
  }

  @Test
  void aCertificateThatIsRevokedWhileItsClientIsConnectedEndsTheConnection() {
    revoke();
    SSLContext resuming = secure.authority.context(bad);
    try (var broker = secure.start();
        var stays = connected(broker, secure.authority.context(good), "good");
        var ends = connected(broker, resuming, "bad")) {
      revoke(bad);
      assertThat(ends.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x87);
      ends.expectClosed();
      stays.ping();
      awaitCount(broker, "dunlin.listener.tls.revoked,listener=tls", 1);

      refused(broker, resuming); // a session that is resumed shows no certificate again
      awaitCount(broker, REFUSED, 1);
    }
  }

  @Test
  void aRevokedIntermediateAuthorityEndsAllConnectionsBelowIt() {
    revoke();
    Issued middle = secure.authority.intermediate("CN=middle");
    SSLContext below = secure.authority.contextBelow(middle, Certificates.clientOf(middle, "CN=below"));
    try (var broker = secure.start();
        var stays = connected(broker, secure.authority.context(good), "good");
        var ends = connected(broker, below, "below")) {
      revoke(middle);
      assertThat(ends.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x87);
      ends.expectClosed();
      stays.ping();

      refused(broker, secure.authority.contextBelow(middle, Certificates.clientOf(middle, "CN=another below")));
      awaitCount(broker, REFUSED, 1);
    }
  }

  @Test
  void theListOfAnIntermediateAuthorityNeedsItsCertificate() {
    revoke();
    Issued middle = secure.authority.intermediate("CN=middle");
    Issued revoked = Certificates.clientOf(middle, "CN=revoked");
    String lists = secure.authority.revocationList(Duration.ofHours(-1), false) + Certificates.revocationListOf(middle, revoked);
    try (var broker = secure.start()) {
      secure.file("crl.pem", lists);
      awaitCount(broker, FAILED, 1);
      connected(broker, secure.authority.contextBelow(middle, revoked), "revoked").close();
    }
    secure.file("ca.pem", secure.authority.rootPem() + middle.certificatePem());
    try (var broker = secure.start(); var other = connected(broker, secure.authority.contextBelow(middle, Certificates.clientOf(middle, "CN=other")), "other")) {
      refused(broker, secure.authority.contextBelow(middle, revoked));
      awaitCount(broker, REFUSED, 1);
      other.ping();
    }
  }

  @Test
  void listsThatCannotBeUsedLeaveTheOldOnesInForce() throws IOException {
    try (var broker = secure.start(); var stays = connected(broker, secure.authority.context(good), "stays")) {
      secure.file("crl.pem", new Certificates().revocationList(Duration.ofHours(-1), false, good));
      awaitCount(broker, FAILED, 1);
      secure.file("crl.pem", secure.authority.revocationList(Duration.ofHours(-1), true, good));
      awaitCount(broker, FAILED, 2);
      secure.file("crl.pem", secure.authority.revocationList(Duration.ofHours(1), false, good));
      awaitCount(broker, FAILED, 3);
      secure.file("crl.pem", "nothing");
      awaitCount(broker, FAILED, 4);
      Files.delete(directory.resolve("crl.pem"));
      awaitCount(broker, FAILED, 5);
      stays.ping();
      refused(broker, secure.authority.context(bad));

      revoke();
      awaitCount(broker, READ, 1);
      connected(broker, secure.authority.context(bad), "bad").close();
    }
  }

  @Test
  void aBrokenCertificateOfTheListenerDoesNotHoldUpLists() {
    try (var broker = secure.start(); var ends = connected(broker, secure.authority.context(good), "good")) {
      secure.file("server.pem", "nothing");
      awaitCount(broker, "dunlin.listener.tls.reloads,listener=tls,result=failed", 1);
      revoke(good, bad);
      ends.expect(RawClient.DISCONNECT);
      ends.expectClosed();
    }
  }

  @Test
  void operatorsSeeWhenAListIsOutOfDate() throws JMException {
    try (var broker = secure.start()) {
      assertThat(((Number) meter(broker, "dunlin.listener.tls.crl-seconds,listener=tls", "Value")).doubleValue())
          .isBetween(Duration.ofDays(2).toSeconds() * 1.0, Duration.ofDays(3).toSeconds() * 1.0);
      assertThat(((Number) meter(broker, "dunlin.listener.tls.client-ca-seconds,listener=tls", "Value")).doubleValue())
          .isBetween(Duration.ofDays(29).toSeconds() * 1.0, Duration.ofDays(30).toSeconds() * 1.0);
    }
  }

  @Test
  void aListThatCannotBeUsedPreventsTheStart() {
    wrong("tls.client-crl", directory.resolve("none").toString(), "dunlin.listeners.tls.tls.client-crl");
    wrong("tls.client-crl", secure.file("empty", ""), "contains no revocation list");
    String foreign = new Certificates().revocationList(Duration.ofHours(-1), false, good);
    wrong("tls.client-crl", secure.file("foreign", foreign), "is not signed by an authority in tls.client-ca");
    wrong("tls.client-auth", "none", "dunlin.listeners.tls.tls.client-crl is about clients' certificates");
  }

  private void wrong(String key, String value, String named) {
    Map<String, String> changed = new HashMap<>(secure.settings);
    changed.put(ROOT + key, value);
    assertThatThrownBy(() -> TestBroker.on(directory.resolve("data"), changed).close()).isInstanceOf(ListenerException.class).hasMessageContaining(named);
  }

  private void revoke(Issued... revoked) {
    secure.file("crl.pem", secure.authority.revocationList(Duration.ofHours(-1), false, revoked));
  }

  /** In TLS 1.3 a client notices when it reads, after its side of the handshake. */
  private static void refused(TestBroker broker, SSLContext context) {
    assertThatThrownBy(() -> connected(broker, context, "refused").close()).isInstanceOfAny(UncheckedIOException.class, AssertionError.class);
  }
}
