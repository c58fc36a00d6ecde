package dunlin.broker.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dunlin.broker.http.HttpAnswer.Missing;
import dunlin.broker.http.HttpAnswer.Why;
import dunlin.runtime.Secret;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Asking a service that answers rightly, wrongly, slowly, without end and not at all. */
class HttpQuestionsTest {
  private static final Duration SOON = Duration.ofMinutes(1);
  private static final String ALLOW = "{\"result\":\"allow\"}";

  /** What the service does with a request. */
  private interface Answer {
    void to(HttpExchange exchange) throws IOException, InterruptedException;
  }

  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final CountDownLatch over = new CountDownLatch(1);
  private final AtomicInteger requests = new AtomicInteger();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final AtomicLong skippedNanos = new AtomicLong();
  private volatile Answer answer = exchange -> send(exchange, 200, ALLOW);
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1_000);
    server.setExecutor(threads);
    server.createContext(
        "/",
        exchange -> {
          requests.incrementAndGet();
          try (exchange) {
            answer.to(exchange);
          } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
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
    exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  private HttpQuestions open(int requestsMax, Duration timeout, int failuresMax) {
    String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/auth?key=x";
    var settings = new HttpSettings(url, Secret.of("Bearer secret"), timeout, requestsMax, Duration.ZERO, false, failuresMax, Duration.ofHours(1));
    return new HttpQuestions(settings, Duration.ofMinutes(5), () -> System.nanoTime() + skippedNanos.get(), meters);
  }

  private HttpQuestions open() {
    return open(64, SOON, 1_000);
  }

  private static HttpQuestion of(long source) {
    return new HttpQuestion(source, 5, "pump", Optional.of("alice"), Optional.of("secret".getBytes(StandardCharsets.UTF_8)), "127.0.0.1", "tcp", true, Optional.empty(), Map.of());
  }

  private static HttpAnswer ask(HttpQuestions questions, long source) {
    return questions.ask(of(source)).toCompletableFuture().orTimeout(1, TimeUnit.MINUTES).join();
  }

  private static Why why(HttpAnswer answer) {
    assertThat(answer).isInstanceOf(Missing.class);
    return ((Missing) answer).why();
  }

  private int count(String result) {
    return (int) meters.get("dunlin.auth.http.answers").tag("result", result).counter().count();
  }

  @Test
  void theServiceSeesTheClientAndTheHeader() {
    var seen = new ConcurrentLinkedQueue<String>();
    answer =
        exchange -> {
          seen.add(exchange.getRequestMethod() + ' ' + exchange.getRequestURI() + ' ' + exchange.getRequestHeaders().getFirst("Authorization"));
          seen.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
          send(exchange, 200, "{\"result\":\"deny\"}");
        };
    try (var questions = open()) {
      assertThat(ask(questions, 1)).isEqualTo(new HttpAnswer.Denied(""));
      assertThat(seen)
          .containsExactly(
              "POST /auth?key=x Bearer secret",
              "{\"version\":5,\"clientId\":\"pump\",\"userName\":\"alice\",\"password\":\"secret\",\"address\":\"127.0.0.1\",\"listener\":\"tcp\",\"encrypted\":true}");
      assertThat(count("denied")).isEqualTo(1);
    }
  }

  @Test
  void requestsAtATimeAreBoundedAndAllAreAnswered() {
    var running = new AtomicInteger();
    var mostRunning = new AtomicInteger();
    var four = new CyclicBarrier(4);
    answer =
        exchange -> {
          mostRunning.accumulateAndGet(running.incrementAndGet(), Math::max);
          meet(four);
          running.decrementAndGet(); // before the answer, after which the next request may come
          send(exchange, 200, ALLOW);
        };
    try (var questions = open(4, SOON, 1_000)) {
      List<CompletableFuture<HttpAnswer>> all = new ArrayList<>();
      for (int i = 0; i < 500; i++) all.add(questions.ask(of(i % 7)).toCompletableFuture());
      for (var each : all) assertThat(each.orTimeout(1, TimeUnit.MINUTES).join()).isInstanceOf(HttpAnswer.Allowed.class);
      assertThat(mostRunning).hasValue(4);
      assertThat(requests).hasValue(500);
      assertThat(meters.get("dunlin.auth.http.waiting").gauge().value()).isZero();
    }
  }

  private static void meet(CyclicBarrier all) throws IOException, InterruptedException {
    try {
      all.await(1, TimeUnit.MINUTES);
    } catch (BrokenBarrierException | TimeoutException e) {
      throw new IOException("fewer than four requests at a time", e);
    }
  }

  /** The last of the address that asks most find no room; another address does. */
  @Test
  void linesAreBoundedAndFair() {
    answer =
        exchange -> {
          over.await();
          send(exchange, 200, ALLOW);
        };
    try (var questions = open(1, SOON, 1_000)) {
      List<CompletableFuture<HttpAnswer>> flood = new ArrayList<>();
      for (int i = 0; i < HttpQuestions.WAITING_MAX + 100; i++) flood.add(questions.ask(of(1)).toCompletableFuture());
      var other = questions.ask(of(2)).toCompletableFuture();
      await().atMost(SOON).until(() -> flood.stream().filter(CompletableFuture::isDone).count() >= 100);
      assertThat(flood.stream().filter(CompletableFuture::isDone)).allSatisfy(each -> assertThat(why(each.join())).isEqualTo(Why.BUSY));
      over.countDown();
      assertThat(other.orTimeout(1, TimeUnit.MINUTES).join()).isInstanceOf(HttpAnswer.Allowed.class);
    }
  }

  @Test
  void whatHasWaitedTooLongIsNotSent() throws InterruptedException {
    var first = new CountDownLatch(1);
    answer =
        exchange -> {
          first.countDown();
          over.await();
          send(exchange, 200, ALLOW);
        };
    try (var questions = open(1, SOON, 1_000)) {
      var sent = questions.ask(of(1)).toCompletableFuture();
      first.await();
      var waits = questions.ask(of(1)).toCompletableFuture();
      skippedNanos.set(Duration.ofMinutes(5).toNanos());
      over.countDown();
      assertThat(sent.orTimeout(1, TimeUnit.MINUTES).join()).isInstanceOf(HttpAnswer.Allowed.class);
      assertThat(why(waits.orTimeout(1, TimeUnit.MINUTES).join())).isEqualTo(Why.BUSY);
      assertThat(requests).hasValue(1);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {201, 204, 301, 302, 307, 308, 400, 401, 403, 404, 429, 500, 503})
  void anyStatusBut200IsAFailure(int status) {
    var followed = new AtomicInteger();
    server.createContext("/elsewhere", exchange -> {
      followed.incrementAndGet();
      send(exchange, 200, ALLOW);
      exchange.close();
    });
    answer =
        exchange -> {
          exchange.getResponseHeaders().add("Location", "http://127.0.0.1:" + server.getAddress().getPort() + "/elsewhere");
          exchange.sendResponseHeaders(status, -1);
        };
    try (var questions = open()) {
      assertThat(why(ask(questions, 1))).isEqualTo(Why.FAILED);
      assertThat(followed).hasValue(0);
      assertThat(count("failed")).isEqualTo(1);
    }
  }

  @Test
  void answersThatAreWrongAreCountedApart() {
    answer = exchange -> send(exchange, 200, "yes");
    try (var questions = open()) {
      assertThat(why(ask(questions, 1))).isEqualTo(Why.MALFORMED);
      assertThat(count("malformed")).isEqualTo(1);
    }
  }

  @Test
  void anAnswerThatNeverEndsOrDripsIsGivenUp() {
    try (var questions = open(64, Duration.ofMillis(500), 1_000)) {
      answer = exchange -> over.await();
      assertThat(why(ask(questions, 1))).isEqualTo(Why.FAILED);
      answer =
          exchange -> {
            exchange.sendResponseHeaders(200, 0);
            while (!over.await(50, TimeUnit.MILLISECONDS)) {
              exchange.getResponseBody().write(' ');
              exchange.getResponseBody().flush();
            }
          };
      assertThat(why(ask(questions, 1))).isEqualTo(Why.FAILED);
    }
  }

  @Test
  void anAnswerThatIsTooLargeIsNotRead() {
    answer = exchange -> send(exchange, 200, "{\"result\":\"allow\",\"x\":\"" + "x".repeat(64 * 1_024) + "\"}");
    try (var questions = open()) {
      assertThat(why(ask(questions, 1))).isEqualTo(Why.FAILED);
    }
  }

  @Test
  void aServiceThatFailsIsNotAskedForAWhile() {
    answer = exchange -> send(exchange, 503, "");
    try (var questions = open(64, SOON, 3)) {
      for (int source = 1; source <= 3; source++) assertThat(why(ask(questions, source))).isEqualTo(Why.FAILED);
      assertThat(meters.get("dunlin.auth.http.paused").gauge().value()).isEqualTo(1);
      for (int source = 1; source <= 100; source++) assertThat(why(ask(questions, source))).isEqualTo(Why.PAUSED);
      assertThat(requests).hasValue(3);

      skippedNanos.set(Duration.ofHours(1).toNanos());
      assertThat(why(ask(questions, 1))).as("the probe").isEqualTo(Why.FAILED);
      assertThat(why(ask(questions, 1))).isEqualTo(Why.PAUSED);
      answer = exchange -> send(exchange, 200, ALLOW);
      skippedNanos.set(Duration.ofHours(3).toNanos());
      assertThat(ask(questions, 1)).isInstanceOf(HttpAnswer.Allowed.class);
      assertThat(ask(questions, 2)).isInstanceOf(HttpAnswer.Allowed.class);
      assertThat(meters.get("dunlin.auth.http.paused").gauge().value()).isZero();
    }
  }

  @Test
  void aServiceThatIsNotThereIsAFailure() {
    server.stop(0);
    try (var questions = open()) {
      assertThat(why(ask(questions, 1))).isEqualTo(Why.FAILED);
    }
  }

  @Test
  void closingEndsWhatIsOnItsWay() throws InterruptedException {
    var first = new CountDownLatch(1);
    answer =
        exchange -> {
          first.countDown();
          over.await();
        };
    CompletableFuture<HttpAnswer> sent;
    CompletableFuture<HttpAnswer> waits;
    try (var questions = open(1, SOON, 1_000)) {
      sent = questions.ask(of(1)).toCompletableFuture();
      waits = questions.ask(of(1)).toCompletableFuture();
      first.await();
    }
    assertThat(why(sent.orTimeout(1, TimeUnit.MINUTES).join())).isEqualTo(Why.FAILED);
    assertThat(why(waits.orTimeout(1, TimeUnit.MINUTES).join())).isEqualTo(Why.BUSY);
  }
}
