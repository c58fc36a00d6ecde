package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dunlin.TestBroker;
import dunlin.admin.AdminTokens;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Role;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requests to the admin API of those who may not, and requests that are wrong, too large, too slow or too many. */
class AdminApiAttackIT {
  private static final int REQUESTS_MAX = 8;

  /**
   * What values are made of.
   *
   * @param busy the one status from 500 on that is an answer here; 0 for none
   */
  private record Words(Random random, List<String> known, int busy) {}

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

  /** A token of this role, added to the file of the running node. */
  private String tokenOf(Role role) throws IOException {
    String token = AdminTokens.create();
    String lines = Files.readString(tokens) + AdminTokens.line("a-" + role.label(), role, token) + "\n";
    Files.writeString(tokens, lines);
    Files.setLastModifiedTime(tokens, FileTime.from(Instant.now().minusSeconds(1_000 - lines.length()))); // another time, however fast this is
    return token;
  }

  /** Sends bytes as they are and answers what came until the end. */
  private String raw(String request) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void everyEndpointWantsATokenOfItsRole() throws IOException {
    for (Endpoint endpoint : Endpoints.ALL) {
      String path = endpoint.path().replaceAll("\\{.*?}", "none-such");
      String body = endpoint.hasBody() ? "{}" : null;
      try (ApiCalls without = api.with("")) {
        assertThat(without.send(endpoint.method().name(), path, body, "application/json").status()).as(endpoint.command()).isEqualTo(401);
      }
    }
    for (Role role : Role.values()) {
      try (ApiCalls holder = api.with(tokenOf(role))) {
        for (Endpoint endpoint : Endpoints.ALL) {
          String path = endpoint.path().replaceAll("\\{.*?}", "none-such");
          // A parameter that is not known, so that nothing is done.
          Answer answer = holder.send(endpoint.method().name(), path + "?none=1", endpoint.hasBody() ? "{}" : null, "application/json");
          assertThat(answer.status()).as(role + " " + endpoint.command()).isEqualTo(role.includes(endpoint.role()) ? 400 : 403);
        }
      }
    }
    try (ApiCalls wrong = api.with(AdminTokens.create())) {
      assertThat(wrong.get("/status").status()).isEqualTo(401);
      assertThat(wrong.get("/openapi.json").status()).isEqualTo(401);
    }
  }

  @Test
  void aTokenFileThatBecomesWrongKeepsItsTokens() throws IOException {
    try (ApiCalls viewer = api.with(tokenOf(Role.VIEWER))) {
      assertThat(viewer.get("/status").member("role")).isEqualTo("viewer");
      Files.writeString(tokens, "not a line\n");
      Files.setLastModifiedTime(tokens, FileTime.from(Instant.now().minusSeconds(5_000)));
      assertThat(viewer.get("/status").status()).isEqualTo(200);
      Files.writeString(tokens, "# none\n");
      Files.setLastModifiedTime(tokens, FileTime.from(Instant.now().minusSeconds(4_000)));
      assertThat(viewer.get("/status").status()).isEqualTo(401);
    }
  }

  @Test
  void pagesOfOtherSitesAreRefused() throws IOException {
    String request = "GET /api/v1/status HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer " + api.token() + "\r\n%sConnection: close\r\n\r\n";
    String own = "127.0.0.1:" + api.port();

    assertThat(raw(request.formatted(own, ""))).startsWith("HTTP/1.1 200");
    assertThat(raw(request.formatted("localhost", ""))).startsWith("HTTP/1.1 200");
    assertThat(raw(request.formatted("rebound.example:" + api.port(), ""))).startsWith("HTTP/1.1 421");
    assertThat(raw(request.formatted(own, "Origin: http://rebound.example\r\n"))).startsWith("HTTP/1.1 403");
    assertThat(raw(request.formatted(own, "Origin: http://" + own + "\r\n"))).startsWith("HTTP/1.1 200");
    assertThat(api.send("POST", "/publish", "{\"topic\":\"a\"}", "text/plain").status()).isEqualTo(415);
  }

  @Test
  void bodiesAreBounded() {
    assertThat(api.post("/publish", "{\"topic\":\"a\",\"payload\":\"" + "x".repeat(600_000) + "\"}").status()).isEqualTo(413);
    assertThat(api.post("/publish", "{\"topic\":\"a\",\"payload\":\"" + "x".repeat(300_000) + "\"}").status()).isEqualTo(400);
    assertThat(api.post("/publish", "{\"topic\":\"a\",\"payload\":\"" + "x".repeat(200_000) + "\"}").status()).isEqualTo(200);
    for (String body : List.of("[", "[]", "{", "{\"topic\":{}}", "{\"topic\":\"a\"} x", "{\"topic\":\"a\",\"topic\":\"b\"}", "{topic:'a'}", "null", "\"a\"", "[".repeat(100_000))) {
      Answer answer = api.post("/publish", body);
      assertThat(answer.status()).as(body.substring(0, Math.min(40, body.length()))).isEqualTo(400);
      assertThat(answer.member("detail")).endsWith(".");
    }
  }

  @Test
  void slowBodiesAndManyOfThemHoldUpNeitherTheProbesNorClients() throws Exception {
    String head =
        "POST /api/v1/publish HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + api.token() + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    List<Socket> slow = new ArrayList<>();
    try (var client = RawClient.connected(broker.port(), Connect.of("c"));
        var http = HttpClient.newHttpClient()) {
      for (int i = 0; i < REQUESTS_MAX; i++) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port());
        socket.setSoTimeout(60_000);
        slow.add(socket);
        socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
      }

      await().atMost(TestBroker.SOON).until(() -> api.get("/status").status() == 503);
      assertThat(api.get("/status").member("detail")).contains("ask again soon");
      URI ready = URI.create("http://127.0.0.1:" + api.port() + "/ready");
      assertThat(http.send(HttpRequest.newBuilder(ready).build(), BodyHandlers.ofString()).statusCode()).isEqualTo(200);
      client.publishAndWait("a", "b");

      for (Socket socket : slow) {
        InputStream in = socket.getInputStream();
        assertThat(ends(in)).as("the connection is closed").isTrue();
      }
      await().atMost(TestBroker.SOON).until(() -> api.get("/status").status() == 200);
    } finally {
      for (Socket socket : slow) socket.close();
    }
  }

  private static boolean ends(InputStream in) {
    try {
      in.readAllBytes();
      return true;
    } catch (SocketTimeoutException stuck) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  @Test
  void theDocumentHasEveryEndpoint() {
    JsonObject document = api.get("/openapi.json").json();
    assertThat(document.get("openapi").getAsString()).isEqualTo("3.1.0");
    var described = new TreeSet<String>();
    document.getAsJsonObject("paths").asMap().forEach((path, methods) -> methods.getAsJsonObject().keySet().forEach(method -> described.add(method + " " + path)));
    var declared = new TreeSet<String>();
    for (Endpoint endpoint : Endpoints.ALL) declared.add(endpoint.method().name().toLowerCase(Locale.ROOT) + " " + endpoint.path());
    assertThat(described).isEqualTo(declared).hasSize(Endpoints.ALL.size());
    assertThat(Endpoints.ALL.stream().map(Endpoint::operationId)).doesNotHaveDuplicates();
    assertThat(Endpoints.ALL.stream().map(Endpoint::command)).doesNotHaveDuplicates();
  }

  @Test
  void aBodyWithoutAnEndIsRefusedOrCutOff() throws Exception {
    String head = "POST /api/v1/publish HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + api.token() + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    String chunk = "2000\r\n" + "x".repeat(0x2000) + "\r\n";
    try (var client = RawClient.connected(broker.port(), Connect.of("c"))) {
      for (String endless : List.of(chunk, "1\r\n \r\n", "1;x=" + "y".repeat(0x2000))) {
        String begin = endless.startsWith("1;") ? "1;x=" : "";
        Thread writer;
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
          socket.setSoTimeout(60_000);
          socket.getOutputStream().write((head + begin).getBytes(StandardCharsets.ISO_8859_1));
          writer = Thread.ofVirtual().start(() -> sendUntilClosed(socket, endless.getBytes(StandardCharsets.ISO_8859_1)));
          assertThat(ends(socket.getInputStream())).as("the connection is closed: %.20s", endless).isTrue();
        }
        writer.join();
        assertThat(client.publishAndWait("a", "b")).isLessThan(0x80);
        await().atMost(TestBroker.SOON).until(() -> api.get("/status").status() == 200);
      }
      assertThat(raw(head + chunk.repeat(80) + "0\r\n\r\n")).startsWith("HTTP/1.1 413 ");
      for (String wrong : List.of("z\r\n", "-1\r\n", "7fffffffffffffff\r\n", "5\r\nabc")) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
          socket.setSoTimeout(60_000);
          socket.getOutputStream().write((head + wrong).getBytes(StandardCharsets.ISO_8859_1));
          socket.shutdownOutput();
          assertThat(ends(socket.getInputStream())).as(wrong).isTrue();
        }
      }
      await().atMost(TestBroker.SOON).until(() -> api.get("/status").status() == 200);
    }
  }

  private static void sendUntilClosed(Socket socket, byte[] piece) {
    try {
      while (true) socket.getOutputStream().write(piece);
    } catch (IOException closed) {
      // as it should be
    }
  }

  @Test
  void everyParameterIsRefusedWithAReasonWhenItIsWrong() {
    fuzz(api, List.of(), 0);
  }

  /** With these, more requests come as far as their values. */
  @Test
  void soItIsWithUsersTenantsAndBackups() {
    Path data = directory.resolve("with-users");
    var settings =
        Map.of(
            "dunlin.store.fsync", "false", "dunlin.admin.port", "0", "dunlin.auth.users.enabled", "true", "dunlin.backup.directory", directory.resolve("backups").toString());
    try (var _ = TestBroker.on(data, settings);
        var with = ApiCalls.of(data)) {
      assertThat(with.put("/users/alice", "{\"password\":\"correct horse\"}").status()).isEqualTo(200);
      assertThat(with.put("/roles/reader", "{\"rules\":\"allow subscribe #\"}").status()).isEqualTo(200);
      assertThat(with.put("/tenants/blue", "{}").status()).isEqualTo(200);
      fuzz(with, List.of("alice", "reader", "blue", "client", "user", "address", "192.0.2.0/24", "allow subscribe #"), 0);
    }
  }

  @Test
  void soItIsAtAMemberOfACluster() {
    Path data = directory.resolve("member");
    int port = FreePort.any();
    try (var process = BrokerProcess.launchMember(data, port, FreePort.any(), "127.0.0.1:" + port, "dunlin.store.fsync=false", "dunlin.cluster.bootstrap-expect=1").awaitStarted(TestBroker.SOON);
        var member = ApiCalls.of(data)) {
      List<String> known = new ArrayList<>(member.get("/cluster/ranges").members("id"));
      known.add(member.get("/cluster").member("node"));
      assertThat(known).hasSizeGreaterThan(3);
      fuzz(member, known, 503); // while a range is split
      assertThat(process.err()).isEmpty();
    }
  }

  /**
   * @param known names of what there is
   * @param busy the one status from 500 on that is an answer here; 0 for none
   */
  private static void fuzz(ApiCalls api, List<String> known, int busy) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    Words words = new Words(new Random(seed), known, busy);
    JsonObject paths = api.get("/openapi.json").json().getAsJsonObject("paths");
    int asked = 0;
    for (var path : paths.entrySet()) {
      for (var method : path.getValue().getAsJsonObject().entrySet()) {
        JsonObject operation = method.getValue().getAsJsonObject();
        for (int i = 0; i < 40; i++) {
          ask(api, method.getKey().toUpperCase(Locale.ROOT), path.getKey(), operation, words, "seed " + seed);
          asked++;
        }
      }
    }
    assertThat(asked).isEqualTo(Endpoints.ALL.size() * 40);
    assertThat(api.get("/status").status()).isEqualTo(200);
  }

  private static void ask(ApiCalls api, String method, String path, JsonObject operation, Words words, String seed) {
    Random random = words.random;
    String address = path;
    List<String> query = new ArrayList<>();
    for (JsonElement each : operation.getAsJsonArray("parameters")) {
      JsonObject parameter = each.getAsJsonObject();
      if (random.nextInt(8) == 0 && !parameter.get("in").getAsString().equals("path")) continue;
      String value = encoded(text(parameter.getAsJsonObject("schema"), words));
      String name = parameter.get("name").getAsString();
      if (parameter.get("in").getAsString().equals("path")) address = address.replace("{" + name + "}", value);
      else query.add(name + "=" + value);
    }
    if (random.nextInt(10) == 0) query.add(encoded(noise(random)) + "=1");
    String body = operation.has("requestBody") ? body(operation.getAsJsonObject("requestBody"), words) : null;
    if (!query.isEmpty()) address += "?" + String.join("&", query);
    Answer answer = api.send(method, address, body, "application/json");
    String what = "%s: %s %.300s %.300s".formatted(seed, method, address, body);
    assertThat(answer.status()).as(what).matches(status -> (status >= 200 && status < 500) || status == words.busy);
    assertThat(answer.text()).as(what).doesNotContain("Exception").doesNotContain("\tat ");
    if (answer.status() >= 400) {
      assertThat(answer.type()).as(what).isEqualTo("application/problem+json");
      assertThat(answer.member("detail")).as(what).isNotBlank();
    }
  }

  private static String body(JsonObject requestBody, Words words) {
    Random random = words.random;
    if (random.nextInt(12) == 0) return noise(random);
    JsonObject members = requestBody.getAsJsonObject("content").getAsJsonObject("application/json").getAsJsonObject("schema").getAsJsonObject("properties");
    Map<String, JsonElement> body = new LinkedHashMap<>();
    members.asMap().forEach(
        (name, schema) -> {
          if (random.nextInt(5) > 0) body.put(name, value(schema.getAsJsonObject(), words));
        });
    JsonObject object = new JsonObject();
    body.forEach(object::add);
    return object.toString();
  }

  private static JsonElement value(JsonObject schema, Words words) {
    Random random = words.random;
    return switch (random.nextInt(8)) {
      case 0 -> new JsonArray();
      case 1 -> new JsonObject();
      case 2 -> new JsonPrimitive(random.nextLong());
      case 3 -> new JsonPrimitive(random.nextDouble());
      case 4 -> new JsonPrimitive(random.nextBoolean());
      default -> new JsonPrimitive(text(schema, words));
    };
  }

  /** A value at or beyond the bounds of a schema, or none of its kind. */
  private static String text(JsonObject schema, Words words) {
    Random random = words.random;
    if (schema.has("minimum") && random.nextInt(3) > 0) {
      long bound = schema.get(random.nextBoolean() ? "minimum" : "maximum").getAsLong();
      return Long.toString(bound + random.nextInt(3) - 1);
    }
    if (schema.has("maxLength") && random.nextInt(12) == 0) return "x".repeat(70_000);
    if (schema.has("enum") && random.nextBoolean()) return schema.getAsJsonArray("enum").get(0).getAsString();
    if (!words.known.isEmpty() && random.nextInt(3) == 0) return words.known.get(random.nextInt(words.known.size()));
    return switch (random.nextInt(6)) {
      case 0 -> "default";
      case 1 -> "abcd";
      case 2 -> "";
      default -> noise(random);
    };
  }

  private static String noise(Random random) {
    String[] parts = {"\0", "\n", "%", "/", "..", "#", "+", "{", "}", "\"", "\\", "\uD800", "\uFFFF", "ü", "'", "$", " ", "a", "\u202E", "99999999999999999999", "-1", "1e9"};
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(6); i >= 0; i--) text.append(parts[random.nextInt(parts.length)]);
    return text.toString();
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
