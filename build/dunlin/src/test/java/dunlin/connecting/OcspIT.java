package dunlin.connecting;

import static dunlin.harness.SecureBroker.ROOT;
import static dunlin.harness.SecureBroker.awaitCount;
import static dunlin.harness.SecureBroker.connected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.broker.listen.ListenerException;
import dunlin.harness.Certificates;
import dunlin.harness.Certificates.Issued;
import dunlin.harness.Certificates.Standing;
import dunlin.harness.OcspResponder;
import dunlin.harness.RawClient;
import dunlin.harness.SecureBroker;
import dunlin.runtime.SettingException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A responder that is asked whether certificates of clients are revoked, before they are let in and while they are connected. */
class OcspIT {
  private static final String REVOKED = "dunlin.listener.refused,listener=tls,reason=certificate-revoked";
  private static final String UNCHECKED = "dunlin.listener.refused,listener=tls,reason=certificate-unchecked";

  @TempDir Path directory;

  private SecureBroker secure;
  private OcspResponder responder;
  private Issued good;
  private Issued bad;

  @BeforeEach
  void aListenerWithAResponder() {
    secure = new SecureBroker(directory).withCertificate().askingClients();
    responder = new OcspResponder(secure.authority);
    good = secure.authority.client("CN=good");
    bad = secure.authority.client("CN=bad");
    responder.says(good, Standing.GOOD);
    responder.says(bad, Standing.REVOKED);
    secure.settings.put(ROOT + "tls.client-ocsp", responder.url());
  }

  @AfterEach
  void noResponder() {
    responder.close();
  }

  @Test
  void onlyWhatTheResponderCallsGoodIsLetIn() {
    Issued unknown = secure.authority.client("CN=unknown");
    try (var broker = secure.start(); var client = connected(broker, secure.authority.context(good), "good")) {
      refused(broker, secure.authority.context(bad));
      awaitCount(broker, REVOKED, 1);
      refused(broker, secure.authority.context(unknown));
      awaitCount(broker, UNCHECKED, 1);
      client.ping();
    }
  }

  @Test
  void anAnswerIsRememberedByCertificate() {
    try (var broker = secure.start()) {
      for (int i = 0; i < 5; i++) connected(broker, secure.authority.context(good), "good").close();
      assertThat(responder.questions()).isEqualTo(1);
      for (int i = 1; i <= 3; i++) {
        refused(broker, secure.authority.context(bad));
        awaitCount(broker, REVOKED, i);
      }
      assertThat(responder.questions()).isEqualTo(2);
    }
  }

  @Test
  void aCertificateThatIsRevokedWhileItsClientIsConnectedEndsTheConnection() {
    secure.settings.put(ROOT + "tls.client-ocsp-interval", "1s");
    responder.says(bad, Standing.GOOD);
    SSLContext resuming = secure.authority.context(bad);
    try (var broker = secure.start();
        var stays = connected(broker, secure.authority.context(good), "good");
        var ends = connected(broker, resuming, "bad")) {
      responder.says(bad, Standing.REVOKED);
      assertThat(ends.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x87);
      ends.expectClosed();
      stays.ping();
      awaitCount(broker, "dunlin.listener.tls.revoked,listener=tls", 1);
      refused(broker, resuming); // a session that is resumed shows no certificate again
      awaitCount(broker, REVOKED, 1);
    }
  }

  @Test
  void whoIsConnectedStaysWhileTheResponderFails() {
    secure.settings.put(ROOT + "tls.client-ocsp-interval", "1s");
    try (var broker = secure.start(); var stays = connected(broker, secure.authority.context(good), "good")) {
      responder.answers((exchange, _) -> OcspResponder.send(exchange, 500, new byte[0]));
      awaitAtLeast(broker, 2);
      stays.ping();
      refused(broker, secure.authority.context(good));
      awaitCount(broker, UNCHECKED, 1);
    }
  }

  /** Each in turn, with a certificate of its own, for answers are remembered. */
  @Test
  void answersThatCannotBeUsedLetNoClientIn() {
    var elsewhere = new OcspResponder(secure.authority);
    var foreign = new Certificates();
    var other = secure.authority.client("CN=other");
    byte[][] asked = new byte[1][];
    OcspResponder.Answering[] wrong = {
      (exchange, _) -> OcspResponder.send(exchange, 500, new byte[0]),
      (exchange, _) -> OcspResponder.send(exchange, 200, new byte[0]),
      (exchange, _) -> OcspResponder.send(exchange, 200, "good".getBytes(StandardCharsets.UTF_8)),
      (exchange, _) -> OcspResponder.send(exchange, 200, new byte[] {0x30, 0x03, 0x0A, 0x01, 0x03}), // try later
      (exchange, question) -> OcspResponder.send(exchange, 200, foreign.answer(question, Standing.GOOD, Duration.ofMinutes(-1))),
      (exchange, question) -> OcspResponder.send(exchange, 200, secure.authority.answer(question, Standing.GOOD, Duration.ofHours(-5))),
      (exchange, question) -> OcspResponder.send(exchange, 200, secure.authority.answer(question, Standing.GOOD, Duration.ofHours(5))),
      (exchange, _) -> OcspResponder.send(exchange, 200, secure.authority.answer(asked[0], Standing.GOOD, Duration.ofMinutes(-1))),
      (exchange, question) -> OcspResponder.send(exchange, 200, padded(secure.authority.answer(question, Standing.GOOD, Duration.ofMinutes(-1)))),
      (exchange, _) -> {
        exchange.getResponseHeaders().set("Location", elsewhere.url());
        exchange.sendResponseHeaders(302, -1);
      },
      (exchange, _) -> exchange.close(),
    };
    responder.answers(
        (exchange, question) -> {
          asked[0] = question;
          responder.usual(exchange, question);
        });
    responder.says(other, Standing.GOOD);
    try (elsewhere; var broker = secure.start()) {
      connected(broker, secure.authority.context(other), "other").close();
      for (int i = 0; i < wrong.length; i++) {
        responder.answers(wrong[i]);
        Issued client = secure.authority.client("CN=client");
        elsewhere.says(client, Standing.GOOD);
        refused(broker, secure.authority.context(client));
        awaitCount(broker, UNCHECKED, i + 1);
      }
      assertThat(elsewhere.questions()).as("redirects that were followed").isZero();
      responder.answers(responder::usual);
      connected(broker, secure.authority.context(good), "good").close();
    }
  }

  @Test
  void withoutAnAnswerClientsAreLetInIfTheSettingsSaySo() {
    secure.settings.put(ROOT + "tls.client-ocsp-failure", "allow");
    try (var broker = secure.start()) {
      refused(broker, secure.authority.context(bad));
      awaitCount(broker, REVOKED, 1);
      responder.close();
      connected(broker, secure.authority.context(good), "good").close();
      refused(broker, secure.authority.context(bad)); // remembered
    }
  }

  @Test
  void aResponderThatNeverAnswersHoldsUpOnlyThoseItIsAskedAbout() {
    secure.settings.put(ROOT + "tls.client-auth", "optional");
    secure.settings.put(ROOT + "tls.client-ocsp-timeout", "30s");
    var end = new CountDownLatch(1);
    try (var broker = secure.start(); var known = connected(broker, secure.authority.context(good), "good")) {
      responder.answers((_, _) -> awaitEnd(end));
      var waits = new RawClient(handshaken(broker, secure.authority.context(secure.authority.client("CN=waits"))));
      try (waits) {
        waits.send(RawClient.connect(5, true, 0, "waits", RawClient.noProperties()));
        await().atMost(TestBroker.SOON).until(() -> responder.questions() == 2);
        known.ping();
        connected(broker, secure.authority.context(good), "good again").close();
        connected(broker, secure.authority.context(), "without").close();
        end.countDown(); // the connection of the responder ends without an answer
        awaitCount(broker, UNCHECKED, 1);
        waits.expectClosed();
      }
    } finally {
      end.countDown();
    }
  }

  @Test
  void theTimeForAnAnswerIsLimited() {
    secure.settings.put(ROOT + "tls.client-ocsp-timeout", "100ms");
    var end = new CountDownLatch(1);
    try (var broker = secure.start()) {
      responder.answers(
          (exchange, _) -> {
            exchange.sendResponseHeaders(200, 1_000);
            exchange.getResponseBody().write(0x30);
            exchange.getResponseBody().flush();
            awaitEnd(end);
          });
      refused(broker, secure.authority.context(good));
      awaitCount(broker, UNCHECKED, 1);
    } finally {
      end.countDown();
    }
  }

  @Test
  void wrongSettingsPreventTheStart() {
    for (String url : new String[] {"ocsp.example", "ftp://ocsp.example/", "http://user@ocsp.example/", "http:///ocsp", "http://a b/"})
      assertThatThrownBy(() -> started("tls.client-ocsp", url)).isInstanceOf(SettingException.class).hasMessageContaining("dunlin.listeners.tls.tls.client-ocsp");
    assertThatThrownBy(() -> started("tls.client-auth", "none"))
        .isInstanceOf(ListenerException.class)
        .hasMessageContaining("dunlin.listeners.tls.tls.client-ocsp is about clients' certificates");
  }

  private void started(String key, String value) {
    Map<String, String> changed = new HashMap<>(secure.settings);
    changed.put(ROOT + key, value);
    TestBroker.on(directory.resolve("data"), changed).close();
  }

  /** More than is read of an answer. */
  private static byte[] padded(byte[] answer) {
    return Arrays.copyOf(answer, 65_537);
  }

  private static void awaitEnd(CountDownLatch end) {
    try {
      end.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private static SSLSocket handshaken(TestBroker broker, SSLContext context) {
    try {
      var socket = SecureBroker.socket(broker, context);
      socket.startHandshake();
      return socket;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void awaitAtLeast(TestBroker broker, long count) {
    await()
        .atMost(TestBroker.SOON)
        .untilAsserted(() -> assertThat((long) SecureBroker.meter(broker, "dunlin.listener.tls.ocsp,listener=tls,result=unknown", "Count")).isGreaterThanOrEqualTo(count));
  }

  /** In TLS 1.3 a client notices when it reads, after its side of the handshake. */
  private static void refused(TestBroker broker, SSLContext context) {
    assertThatThrownBy(() -> connected(broker, context, "refused").close()).isInstanceOfAny(UncheckedIOException.class, AssertionError.class);
  }
}
