package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Role;
import dunlin.admin.events.MessageEvents;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.ApiEvents;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The streams of server-sent events of the admin API: what they say, who gets them, and their bounds. */
class AdminEventsIT {
  private static final int STREAMS_MAX = 16;

  @TempDir Path directory;

  private Path tokens;
  private TestBroker broker;
  private ApiCalls api;

  @BeforeEach
  void start() throws IOException {
    Path data = directory.resolve("data");
    tokens = Files.createFile(directory.resolve("tokens"));
    broker =
        TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.admin.token-file", tokens.toString()));
    api = ApiCalls.of(data);
  }

  @AfterEach
  void stop() {
    api.close();
    broker.close();
  }

  private void write(String lines, long age) throws IOException {
    Files.writeString(tokens, lines);
    Files.setLastModifiedTime(tokens, FileTime.from(Instant.now().minusSeconds(age)));
  }

  private static int connections(JsonObject overview) {
    return overview.getAsJsonObject("status").get("connections").getAsInt();
  }

  private static long count(JsonObject overview, String times) {
    return overview.getAsJsonObject(times).get("count").getAsLong();
  }

  /** As /metrics has it. */
  private int openStreams() {
    try (var http = HttpClient.newHttpClient()) {
      String text = http.send(HttpRequest.newBuilder(URI.create(api.address() + "/metrics")).build(), BodyHandlers.ofString()).body();
      String line = text.lines().filter(each -> each.startsWith("dunlin_admin_streams{")).findFirst().orElseThrow();
      return (int) Double.parseDouble(line.substring(line.lastIndexOf(' ')));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void theOverviewFollowsWhatClientsDo() throws Exception {
    try (ApiEvents events = api.events("/overview")) {
      assertThat(events.header("Content-Type")).isEqualTo("text/event-stream");
      assertThat(events.header("Cache-Control")).isEqualTo("no-store");
      JsonObject first = events.next();
      assertThat(first.get("intervalMillis").getAsLong()).isZero();
      assertThat(connections(first)).isZero();
      assertThat(first.getAsJsonObject("status").get("readiness").getAsString()).isEqualTo("ready");

      try (var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
        assertThat(events.until(event -> connections(event) == 1).get("intervalMillis").getAsLong()).isPositive();
        client.subscribe("a", 1);
        client.publishAndWait("a", "payload");
        JsonObject busy = events.until(event -> event.get("publishesIn").getAsDouble() > 0);
        // What is received at the end of an interval is sent in the next one.
        if (busy.get("publishesOut").getAsDouble() == 0) busy.addProperty("publishesOut", events.next().get("publishesOut").getAsDouble());
        assertThat(busy.get("publishesOut").getAsDouble()).isPositive();
        assertThat(busy.get("bytesIn").getAsDouble()).isGreaterThan(busy.get("publishesIn").getAsDouble());
        JsonObject measured = events.until(event -> count(event, "acknowledge") == 1 && count(event, "delivery") == 1);
        assertThat(measured.getAsJsonObject("acknowledge").get("p99AtMostMillis").getAsLong()).isPositive();
        JsonObject idle = events.until(event -> event.get("publishesIn").getAsDouble() == 0);
        assertThat(count(idle, "acknowledge")).as("within the last minute").isEqualTo(1);
      }
      events.until(event -> connections(event) == 0);

      api.put("/drain", "{}");
      assertThat(events.until(event -> event.getAsJsonObject("status").get("draining").getAsBoolean()).getAsJsonObject("status").get("readiness").getAsString())
          .isEqualTo("draining");
    }
  }

  @Test
  void dropsAreCountedByHopAndReason() throws Exception {
    try (ApiEvents events = api.events("/overview");
        var client = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      assertThat(events.next().getAsJsonObject("dropped").size()).isZero();
      RawClient.connected(broker.port(), Connect.of("away")).disconnectAfter(each -> each.subscribe("a", 0));
      client.publishAndWait("a", "QoS 0 for a session without a connection");
      JsonObject dropped = events.until(event -> event.getAsJsonObject("dropped").size() > 0).getAsJsonObject("dropped");
      assertThat(dropped.get("inbox offline").getAsLong()).isEqualTo(1);
    }
  }

  @Test
  void aStreamEndsAfterItsCount() throws Exception {
    try (ApiEvents events = api.events("/overview?count=2")) {
      assertThat(events.ends()).isTrue();
      assertThat(events.left()).isEqualTo(2);
    }
    await().atMost(TestBroker.SOON).until(() -> openStreams() == 0);
    try (ApiEvents refused = api.events("/overview?count=-1")) {
      assertThat(refused.status()).isEqualTo(400);
    }
  }

  @Test
  void aStreamIsForThoseWhoAcceptOne() {
    Answer answer = api.send("GET", "/events/overview", null, "", "Accept", "application/json");
    assertThat(answer.status()).isEqualTo(406);
    assertThat(answer.type()).isEqualTo("application/problem+json");
    assertThat(answer.member("detail")).contains("text/event-stream");
    assertThat(api.get("/events/overview").status()).as("without a header").isEqualTo(406);
  }

  @Test
  void theNumberOfStreamsIsBoundedAndAClosedOneGivesItsPlaceBack() throws Exception {
    List<ApiEvents> open = new ArrayList<>();
    try {
      for (int i = 0; i < STREAMS_MAX; i++) {
        ApiEvents events = api.events("/overview");
        open.add(events);
        assertThat(events.next().has("status")).isTrue();
      }
      assertThat(openStreams()).isEqualTo(STREAMS_MAX);
      try (ApiEvents refused = api.events("/overview")) {
        assertThat(refused.status()).isEqualTo(503);
        assertThat(refused.header("Content-Type")).isEqualTo("application/problem+json");
        assertThat(refused.header("Retry-After")).isEqualTo("1");
        assertThat(refused.refusal()).contains("16 streams of events at a time");
      }
      assertThat(api.get("/status").status()).as("other requests have places of their own").isEqualTo(200);

      open.removeFirst().close();

      await().atMost(TestBroker.SOON).until(() -> openStreams() == STREAMS_MAX - 1);
      ApiEvents next = api.events("/overview");
      open.add(next);
      assertThat(next.next().has("status")).isTrue();
    } finally {
      open.forEach(ApiEvents::close);
    }
    await().atMost(TestBroker.SOON).until(() -> openStreams() == 0);
  }

  @Test
  void aStreamNeedsItsRoleAndEndsWithItsToken() throws Exception {
    String viewer = AdminTokens.create();
    write(AdminTokens.line("v", Role.VIEWER, viewer) + "\n", 1_000);
    try (ApiCalls seeing = api.with(viewer);
        ApiCalls without = api.with("wrong");
        ApiEvents events = seeing.events("/overview");
        ApiEvents messages = seeing.events("/messages?filter=a");
        ApiEvents stranger = without.events("/overview")) {
      assertThat(stranger.status()).isEqualTo(401);
      assertThat(messages.status()).isEqualTo(403);
      assertThat(events.next().getAsJsonObject("status").get("role").getAsString()).isEqualTo("viewer");

      write("# none\n", 2_000);

      assertThat(events.ends()).isTrue();
    }
  }

  @Test
  void messagesAreSeenAsTheyArePublished() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      client.publishAndWait("news/kept", "from before", true);
      assertThat(api.post("/publish", "{\"topic\":\"news/x\",\"payload\":\"x\"}").member("reason")).isEqualTo("no-matching-subscribers");

      try (ApiEvents events = api.events("/messages?filter=news/%23")) {
        client.publishAndWait("other", "not watched");
        client.publishAndWait("news/a", "grüße", true);

        JsonObject seen = events.next();
        assertThat(seen.get("topic").getAsString()).isEqualTo("news/a");
        assertThat(seen.get("clientId").getAsString()).isEqualTo("publisher");
        assertThat(seen.get("qos").getAsInt()).isEqualTo(1);
        assertThat(seen.get("retain").getAsBoolean()).isTrue();
        assertThat(new String(Base64.getDecoder().decode(seen.get("payload").getAsString()), StandardCharsets.UTF_8)).isEqualTo("grüße");
        assertThat(seen.get("payloadBytes").getAsInt()).isEqualTo("grüße".getBytes(StandardCharsets.UTF_8).length);
        assertThat(seen.get("acceptedAtMillis").getAsLong()).isPositive();
        assertThat(seen.get("skipped").getAsLong()).isZero();

        client.publishAndWait("news/large", "x".repeat(10_000));
        JsonObject large = events.next();
        assertThat(large.get("payloadBytes").getAsInt()).isEqualTo(10_000);
        assertThat(Base64.getDecoder().decode(large.get("payload").getAsString())).hasSize(4_096);
      }
      await("the route is removed")
          .atMost(TestBroker.SOON)
          .until(() -> api.post("/publish", "{\"topic\":\"news/x\",\"payload\":\"x\"}").member("reason").equals("no-matching-subscribers"));
    }
  }

  @Test
  void whatIsTooMuchToSeeIsSkippedAndCounted() throws Exception {
    int many = 2_000;
    try (var client = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0));
        ApiEvents events = api.events("/messages?filter=flood")) {
      for (int i = 0; i < many; i++) client.publish("flood", 0, 0, "message " + i);
      client.publishAndWait("flood", "the last of the flood");

      int published = many + 1;
      long seen = 0;
      long skipped = 0;
      do {
        client.publishAndWait("flood", "tells what was skipped before it");
        published++;
        List<JsonObject> came = events.untilQuiet(Duration.ofSeconds(1));
        seen += came.size();
        skipped += came.stream().mapToLong(event -> event.get("skipped").getAsLong()).sum();
      } while (seen + skipped < published);

      assertThat(seen + skipped).isEqualTo(published);
      assertThat(skipped).isPositive();
      assertThat(broker.frontend().copies().received()).as("it is in no books").isZero();
    }
  }

  @Test
  void whatCannotBeWatchedIsRefused() {
    for (String filter : List.of("", "a/%23/b", "%24share/g/a", "a%00", "a%2B")) {
      try (ApiEvents events = api.events("/messages?filter=" + filter)) {
        assertThat(events.status()).as(filter).isEqualTo(400);
        assertThat(events.refusal()).contains("\"detail\"");
      }
    }
    try (ApiEvents events = api.events("/messages?filter=a&tenant=a%2Fb")) {
      assertThat(events.status()).isEqualTo(400);
    }
  }

  @Test
  void aReaderThatStandsStillLosesItsOwnStreamOnly() throws Exception {
    String request =
        "GET /api/v1/events/messages?filter=load HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nAuthorization: Bearer " + api.token() + "\r\n\r\n";
    try (Socket still = new Socket();
        ApiEvents events = api.events("/overview");
        var client = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      still.setReceiveBufferSize(4_096);
      still.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), api.port()));
      still.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      await().atMost(TestBroker.SOON).until(() -> openStreams() == 2);

      String payload = "x".repeat(4_096);
      await("the stream of the reader that stands still is ended")
          .atMost(TestBroker.SOON)
          .pollInterval(Duration.ofMillis(250)) // as often as a stream takes what there is
          .until(
              () -> {
                for (int i = 0; i < MessageEvents.MESSAGES_MAX; i++) client.publish("load", 0, 0, payload);
                client.publishAndWait("load", payload);
                while (events.left() > 0) assertThat(events.next().has("status")).isTrue();
                return openStreams() == 1;
              });
      for (int i = 0; i < 2; i++) assertThat(events.next().has("status")).isTrue();
    }
  }

  @Test
  void streamsEndWithTheNode() throws Exception {
    try (ApiEvents overview = api.events("/overview");
        ApiEvents messages = api.events("/messages?filter=a")) {
      assertThat(overview.next().has("status")).isTrue();

      broker.close();

      assertThat(overview.ends()).isTrue();
      assertThat(messages.ends()).isTrue();
    }
  }
}
