package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import dunlin.admin.api.Endpoints;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A thousand listings at once, at a broker with a small heap: its clients do not notice, and each listing is answered, refused, or closed and counted. */
class ManyListingsIT {
  private static final int LISTINGS = 1_000;
  private static final int SESSIONS = 2_000;
  private static final int RETAINED = 3_000;
  private static final int CLIENTS = 100;
  private static final int EXCHANGES_MIN = 20;
  private static final int PATIENCE_MILLIS = 120_000;
  private static final Duration LONG = Duration.ofMinutes(3);
  private static final List<String> PATHS =
      List.of("/sessions?limit=1000", "/retained?limit=200", "/clients?limit=1000", "/retained/export?limit=500", "/top/sessions?limit=100", "/groups?limit=100");

  /** What became of a request. */
  private enum Outcome {
    LISTED,
    BUSY,
    /** There was not even a place to be refused. */
    CLOSED
  }

  @TempDir private Path directory;

  @Test
  void aThousandListingsAtOnceHoldUpNoClient() throws Exception {
    try (var broker = BrokerProcess.startWith("-Xmx128m", directory, "dunlin.store.fsync=false", "dunlin.admin.port=0");
        var api = ApiCalls.of(directory)) {
      List<RawClient> connected = new ArrayList<>();
      try (var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0));
          var subscriber = RawClient.connected(broker.port(), Connect.of("subscriber"))) {
        fill(broker.port(), api);
        for (int i = 0; i < CLIENTS; i++) connected.add(RawClient.connected(broker.port(), Connect.of("client-" + i).expiry(0)));
        subscriber.subscribe("exchange", 1);

        Map<Outcome, Integer> outcomes = storm(api, publisher, subscriber);

        assertThat(outcomes.get(Outcome.LISTED)).as("%s", outcomes).isPositive();
        assertThat(ApiCalls.metric(api.port(), "dunlin_admin_requests_total", "outcome=\"busy\"")).as("%s", outcomes).isEqualTo(outcomes.get(Outcome.BUSY));
        assertThat(ApiCalls.metric(api.port(), "dunlin_admin_requests_total", "outcome=\"closed\"")).as("%s", outcomes).isEqualTo(outcomes.get(Outcome.CLOSED));
        for (RawClient client : connected) client.ping();
        for (String path : PATHS) await("it answers again").atMost(LONG).until(() -> api.get(path).status() == 200);
        assertThat(broker.err()).as("nothing such as a heap that is full").isEmpty();
      } finally {
        connected.forEach(RawClient::close);
      }
    }
  }

  /** Exchanges messages while the listings are asked for: each one comes, and in its order. */
  private static Map<Outcome, Integer> storm(ApiCalls api, RawClient publisher, RawClient subscriber) throws InterruptedException {
    CountDownLatch together = new CountDownLatch(1);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<CompletableFuture<Outcome>> asked =
          IntStream.range(0, LISTINGS).mapToObj(i -> CompletableFuture.supplyAsync(() -> ask(api, PATHS.get(i % PATHS.size()), together), threads)).toList();
      CompletableFuture<Void> all = CompletableFuture.allOf(asked.toArray(CompletableFuture<?>[]::new));
      together.countDown();
      for (int i = 0; i < EXCHANGES_MIN || !all.isDone(); i++) {
        assertThat(publisher.publishAndWait("exchange", "message " + i)).isZero();
        assertThat(subscriber.take().text()).isEqualTo("message " + i);
      }
      Map<Outcome, Integer> outcomes = new EnumMap<>(Outcome.class);
      for (Outcome each : Outcome.values()) outcomes.put(each, 0);
      for (CompletableFuture<Outcome> each : asked) outcomes.merge(each.join(), 1, Integer::sum);
      return outcomes;
    }
  }

  private static Outcome ask(ApiCalls api, String path, CountDownLatch together) {
    String request = "GET /api/v1%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n".formatted(path, api.token());
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    try {
      together.await();
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
        socket.getInputStream().transferTo(answer);
      }
    } catch (SocketTimeoutException stuck) {
      throw new AssertionError("no answer to " + path, stuck);
    } catch (IOException closed) {
      if (answer.size() > 0) throw new AssertionError("a part of an answer to " + path, closed);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    if (answer.size() == 0) return Outcome.CLOSED;
    String text = answer.toString(StandardCharsets.UTF_8);
    if (text.startsWith("HTTP/1.1 200 ")) {
      assertThat(text).as("all of it").endsWith("\r\n0\r\n\r\n");
      return Outcome.LISTED;
    }
    assertThat(text).startsWith("HTTP/1.1 503 ").containsIgnoringCase("Retry-After: 1").contains("application/problem+json", "\"status\":503");
    return Outcome.BUSY;
  }

  private static void fill(int port, ApiCalls api) {
    for (int i = 0; i < SESSIONS; i++) {
      String filter = "for/" + i;
      RawClient.connected(port, Connect.of("absent-" + i)).disconnectAfter(absent -> absent.subscribe(filter, 1));
    }
    String messages =
        IntStream.range(0, RETAINED).mapToObj(i -> "{\"topic\":\"plant/%d\",\"payload\":\"b24=\"}".formatted(i)).collect(Collectors.joining("\n", Endpoints.EXPORT_HEADER + "\n", ""));
    JsonObject body = new JsonObject();
    body.addProperty("lines", messages);
    Answer imported = api.post("/retained/import", body.toString());
    assertThat(imported.status()).as(imported.text()).isEqualTo(200);
    assertThat(imported.json().get("imported").getAsInt()).isEqualTo(RETAINED);
  }
}
