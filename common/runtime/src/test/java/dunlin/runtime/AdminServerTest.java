package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.metrics.Metrics;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AdminServerTest {
  private static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private final AtomicReference<Optional<String>> unhealthy = new AtomicReference<>(Optional.empty());
  private final AtomicReference<Optional<String>> unready = new AtomicReference<>(Optional.of("starting: 3 rows read"));
  private final Metrics metrics = Metrics.open("admin");
  private final AdminServer server = AdminServer.start(ANY_PORT, unhealthy::get, unready::get, metrics::scrape);
  private final HttpClient client = HttpClient.newHttpClient();

  @AfterEach
  void close() {
    client.close();
    server.close();
    metrics.close();
  }

  @Test
  void healthIsAnsweredWhileTheProcessLives() throws Exception {
    HttpResponse<String> response = send("GET", "/health");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEqualTo("alive\n");
  }

  @Test
  void anUnhealthyProcessGivesTheReason() throws Exception {
    unhealthy.set(Optional.of("the start has stalled"));

    assertThat(send("GET", "/health").statusCode()).isEqualTo(503);
    assertThat(send("GET", "/health").body()).isEqualTo("the start has stalled\n");
  }

  @Test
  void readinessIsCheckedForEachRequest() throws Exception {
    assertThat(send("GET", "/ready").statusCode()).isEqualTo(503);
    assertThat(send("GET", "/ready").body()).isEqualTo("starting: 3 rows read\n");
    assertThat(send("GET", "/health").statusCode()).isEqualTo(200);

    unready.set(Optional.empty());

    assertThat(send("GET", "/ready").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/ready?verbose=1").statusCode()).isEqualTo(200);
  }

  @Test
  void metricsComeAsPrometheusText() throws Exception {
    metrics.registry().counter("dunlin.test.packets").increment();

    HttpResponse<String> response = send("GET", "/metrics");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("text/plain; version=0.0.4; charset=utf-8");
    assertThat(response.body()).contains("dunlin_test_packets_total{node=\"admin\"} 1.0\n");
  }

  @Test
  void headHasNoBody() throws Exception {
    HttpResponse<String> response = send("HEAD", "/metrics");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEmpty();
  }

  @Test
  void everythingElseIsRefused() throws Exception {
    for (String path : List.of("/", "/healthy", "/health/", "/metrics/x", "/%2e%2e/ready")) {
      assertThat(send("GET", path).statusCode()).as(path).isEqualTo(404);
    }
    for (String method : List.of("POST", "PUT", "DELETE", "OPTIONS")) {
      HttpResponse<String> response = send(method, "/health");
      assertThat(response.statusCode()).as(method).isEqualTo(405);
      assertThat(response.headers().firstValue("Allow")).hasValue("GET, HEAD");
    }
  }

  @Test
  void othersAreAnsweredByTheirHandler() throws Exception {
    server.serveOthers(
        exchange -> {
          exchange.sendResponseHeaders(418, -1);
          exchange.close();
        });

    for (String path : List.of("/", "/healthy", "/metrics/x")) assertThat(send("GET", path).statusCode()).as(path).isEqualTo(418);
    assertThat(send("DELETE", "/").statusCode()).isEqualTo(418);
    for (String path : List.of("/health", "/metrics")) assertThat(send("GET", path).statusCode()).as(path).isEqualTo(200);
  }

  @Test
  void parallelRequestsAreAnsweredByTwoThreads() {
    List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
    for (int i = 0; i < 40; i++) responses.add(client.sendAsync(request("GET", "/metrics"), BodyHandlers.ofString()));

    assertThat(responses).allSatisfy(response -> assertThat(response.join().statusCode()).isEqualTo(200));
    assertThat(Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("dunlin-admin-")))
        .hasSizeLessThanOrEqualTo(2);
  }

  @Test
  void whatComesBeyondThoseThatWaitIsClosedAndReported() throws Exception {
    int taken = 2 + 64;
    int beyond = 20;
    CountDownLatch held = new CountDownLatch(1);
    AtomicInteger closed = new AtomicInteger();
    CountDownLatch allClosed = new CountDownLatch(beyond);
    server.whenClosing(
        () -> {
          closed.incrementAndGet();
          allClosed.countDown();
        });
    server.serveOthers(
        exchange -> {
          hold(held);
          exchange.sendResponseHeaders(204, -1);
          exchange.close();
        });
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < taken + beyond; i++) {
        Socket socket = new Socket(ANY_PORT.getAddress(), server.port());
        sockets.add(socket);
        socket.getOutputStream().write("GET /held HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      }
      assertThat(allClosed.await(1, TimeUnit.MINUTES)).isTrue();
      held.countDown();

      int answered = 0;
      for (Socket socket : sockets) if (answer(socket).startsWith("HTTP/1.1 204 ")) answered++;
      assertThat(answered).isEqualTo(taken);
      assertThat(closed).hasValue(beyond);
      assertThat(send("GET", "/health").statusCode()).isEqualTo(200);
    } finally {
      held.countDown();
      for (Socket socket : sockets) socket.close();
    }
  }

  private static void hold(CountDownLatch held) {
    try {
      held.await();
    } catch (InterruptedException stopped) {
      throw new AssertionError(stopped);
    }
  }

  /** Empty when the connection was closed unanswered. */
  private static String answer(Socket socket) throws IOException {
    socket.setSoTimeout(60_000);
    try {
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    } catch (SocketTimeoutException stuck) {
      throw stuck;
    } catch (SocketException reset) {
      return "";
    }
  }

  @Test
  void aProbeThatFailsDoesNotEndTheServer() throws Exception {
    try (AdminServer failing =
        AdminServer.start(
            ANY_PORT,
            Optional::empty,
            () -> {
              throw new IllegalStateException("expected by the test");
            },
            () -> "")) {
      URI uri = URI.create("http://127.0.0.1:" + failing.port());
      HttpRequest readiness = HttpRequest.newBuilder(uri.resolve("/ready")).build();
      assertThatThrownBy(() -> client.send(readiness, BodyHandlers.ofString())).isInstanceOf(IOException.class);
      HttpRequest health = HttpRequest.newBuilder(uri.resolve("/health")).build();
      assertThat(client.send(health, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void aPortInUseIsNamed() {
    InetSocketAddress taken = new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port());

    assertThatThrownBy(() -> AdminServer.start(taken, Optional::empty, Optional::empty, () -> ""))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(":" + server.port());
  }

  @Test
  void afterCloseNothingIsAnswered() {
    server.close();

    assertThatThrownBy(() -> send("GET", "/health")).isInstanceOf(ConnectException.class);
  }

  private HttpResponse<String> send(String method, String path) throws IOException, InterruptedException {
    return client.send(request(method, path), BodyHandlers.ofString());
  }

  private HttpRequest request(String method, String path) {
    URI uri = URI.create("http://127.0.0.1:" + server.port() + path);
    return HttpRequest.newBuilder(uri).method(method, BodyPublishers.noBody()).build();
  }
}
