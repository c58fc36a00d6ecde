package dunlin.broker.jwt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Fetching keys from a server that answers rightly, wrongly, slowly, without end and not at all. */
class RemoteKeysTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final Set<TokenAlgorithm> RS256 = Set.of(TokenAlgorithm.RS256);
  private static final Issuer RSA = Issuer.of("RS256");

  /** What the server does with a request. */
  private interface Answer {
    void to(HttpExchange exchange) throws IOException;
  }

  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final CountDownLatch over = new CountDownLatch(1);
  private final AtomicInteger requests = new AtomicInteger();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private volatile Answer answer = exchange -> send(exchange, 200, Issuer.set(RSA.jwk("one")));
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext(
        "/",
        exchange -> {
          requests.incrementAndGet();
          try (exchange) {
            answer.to(exchange);
          }
        });
    server.start();
  }

  @AfterEach
  void stop() {
    over.countDown();
    server.stop(0);
    threads.shutdownNow();
  }

  private static void send(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  private RemoteKeys open(Duration intervalMin) {
    return open(intervalMin, SOON);
  }

  private RemoteKeys open(Duration intervalMin, Duration timeout) {
    String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/keys";
    return new RemoteKeys(new JwtSettings.Keys(RS256, "", "", url, Duration.ofHours(1), intervalMin, timeout), meters);
  }

  private int count(String result) {
    return (int) meters.get("dunlin.auth.jwt.jwks.fetches").tag("result", result).counter().count();
  }

  @Test
  void keysAreThereOnceTheyAreFetched() {
    try (RemoteKeys keys = open(Duration.ofHours(1))) {
      assertThat(keys.keys().size()).isZero();
      assertThat(keys.want()).as("the first fetch may bring it").isTrue();
      keys.tick();
      await().atMost(SOON).until(() -> keys.keys().size() == 1);
      assertThat(count("loaded")).isEqualTo(1);
    }
  }

  /** A hundred thousand tokens with unknown keys cost no request. */
  @Test
  void unknownKeysAreFetchedAtMostOnceInTheShortestInterval() {
    try (RemoteKeys keys = open(Duration.ofHours(1))) {
      keys.tick();
      await().atMost(SOON).until(() -> keys.keys().size() == 1 && count("loaded") == 1);
      await().atMost(SOON).until(() -> !keys.want()); // the fetch ends a moment after its keys are there
      for (int i = 0; i < 100_000; i++) {
        assertThat(keys.want()).isFalse();
        keys.tick();
      }
      assertThat(requests).hasValue(1);
    }
    try (RemoteKeys keys = open(Duration.ofSeconds(1))) {
      keys.tick();
      await().atMost(SOON).until(() -> keys.keys().size() == 1);
      answer = exchange -> send(exchange, 200, Issuer.set(RSA.jwk("one"), RSA.jwk("two")));
      await("a key that is wanted later is fetched")
          .atMost(SOON)
          .until(
              () -> {
                keys.want();
                keys.tick();
                return keys.keys().size() == 2;
              });
      assertThat(requests.get()).isBetween(3, 4);
    }
  }

  @ParameterizedTest
  @CsvSource({"404", "500", "204", "301", "302", "307", "308"})
  void otherAnswersAreFailures(int status) {
    AtomicInteger followed = new AtomicInteger();
    server.createContext("/elsewhere", exchange -> {
      followed.incrementAndGet();
      send(exchange, 200, Issuer.set(RSA.jwk("one")));
      exchange.close();
    });
    answer =
        exchange -> {
          exchange.getResponseHeaders().add("Location", "http://127.0.0.1:" + server.getAddress().getPort() + "/elsewhere");
          exchange.sendResponseHeaders(status, -1);
        };
    fails();
    assertThat(followed).hasValue(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "<html>", "{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}"})
  void answersWithoutKeysAreFailures(String body) {
    answer = exchange -> send(exchange, 200, body);
    fails();
  }

  @Test
  void anEndlessAnswerIsCutOff() {
    AtomicInteger sent = new AtomicInteger();
    answer =
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          byte[] piece = new byte[65_536];
          while (over.getCount() > 0) {
            exchange.getResponseBody().write(piece);
            sent.addAndGet(piece.length);
          }
        };
    fails();
    assertThat(sent.get()).isLessThan(64 * 1_024 * 1_024);
  }

  @Test
  void anAnswerByteByByteIsCutOff() {
    answer =
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          try {
            do {
              exchange.getResponseBody().write(' ');
              exchange.getResponseBody().flush();
            } while (!over.await(50, TimeUnit.MILLISECONDS));
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    fails();
  }

  /** After keys were there, a server that fails in some way. */
  private void fails() {
    Answer wrong = answer;
    answer = exchange -> send(exchange, 200, Issuer.set(RSA.jwk("one")));
    try (RemoteKeys keys = open(Duration.ofSeconds(1), Duration.ofSeconds(2))) {
      await()
          .atMost(SOON)
          .until(
              () -> {
                keys.tick();
                return keys.keys().size() == 1;
              });
      int before = count("failed"); // on a machine that stands still for a moment, also a good answer may come too late
      answer = wrong;
      await()
          .atMost(SOON)
          .until(
              () -> {
                keys.want();
                keys.tick();
                return count("failed") > before;
              });
      assertThat(keys.keys().size()).as("the old keys stay").isEqualTo(1);
    }
  }

  @Test
  void aServerThatIsNotThereIsAskedAgain() {
    answer = exchange -> send(exchange, 503, "");
    try (RemoteKeys keys = open(Duration.ofSeconds(1))) {
      keys.tick();
      await().atMost(SOON).until(() -> count("failed") == 1);
      assertThat(keys.want()).as("no keys yet").isTrue();
      answer = exchange -> send(exchange, 200, Issuer.set(RSA.jwk("one")));
      await()
          .atMost(SOON)
          .until(
              () -> {
                keys.tick();
                return keys.keys().size() == 1;
              });
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://example.com/keys", "http://10.0.0.1/", "http://127.0.0.1.example.com/", "http://localhost.example.com/", "ftp://127.0.0.1/", "file:///etc/passwd", "keys",
        "https://", "https:keys", "https://user:secret@example.com/", "https://example.com/#a", "http://[::2]/", "https://a b/"
      })
  void addressesThatOthersCouldAnswerForAreRefused(String url) {
    assertThatThrownBy(() -> JwtSettings.uri(url)).isInstanceOf(SettingException.class).hasMessageStartingWith("dunlin.auth.jwt.jwks-url: ").hasMessageNotContaining("secret");
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://example.com/.well-known/jwks.json", "HTTPS://example.com:8443/?a=b", "http://127.0.0.1:8080/", "http://127.1.2.3/", "http://[::1]:80/", "http://LocalHost/"})
  void addressesOfTheProviderAreTaken(String url) {
    assertThat(JwtSettings.uri(url)).hasToString(url);
  }
}
