package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.TestBroker;
import dunlin.admin.Operators;
import dunlin.harness.ApiCalls;
import dunlin.harness.Certificates;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SecureBroker;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** The admin API's port for other machines: who is let in, and what those do to it who are not. */
class AdminTlsIT {
  private static final int PER_ADDRESS_MAX = 16;
  private static final int FAILURES_MAX = 10;
  private static final String PASSWORD = "a password with spaces and \u00fc";

  @TempDir Path directory;

  private final int port = FreePort.any();
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Logger logger = (Logger) LoggerFactory.getLogger(Operators.class);
  private SecureBroker secure;
  private Certificates.Issued certificate;
  private TestBroker broker;
  private ApiCalls local;
  private HttpClient http;

  @BeforeEach
  void start() {
    logged.start();
    logger.addAppender(logged);
    secure = new SecureBroker(directory);
    secure.settings.clear();
    secure.settings.put("dunlin.store.fsync", "false");
    secure.settings.put("dunlin.admin.port", "0");
    secure.settings.put("dunlin.admin.tls.port", Integer.toString(port));
    secure.settings.put("dunlin.admin.tls.host", "127.0.0.1");
    secure.settings.put("dunlin.admin.tls.names", "Node.Example");
    certificate = secure.authority.server();
    keys(certificate);
    open();
    http = HttpClient.newBuilder().sslContext(secure.authority.context()).build();
  }

  private void keys(Certificates.Issued issued) {
    secure.settings.put("dunlin.admin.tls.certificate", secure.file("admin.pem", issued.certificatePem()));
    secure.settings.put("dunlin.admin.tls.key", secure.file("admin.key", issued.keyPem()));
  }

  private void open() {
    broker = secure.start();
    local = ApiCalls.of(directory.resolve("data"));
  }

  private void shut() {
    local.close();
    broker.close();
  }

  @AfterEach
  void stop() {
    http.shutdownNow();
    http.close();
    shut();
    logger.detachAppender(logged);
  }

  private HttpResponse<String> send(String method, String path, String body, String authorization) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + path))
            .timeout(Duration.ofMinutes(1))
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (!authorization.isEmpty()) request.header("Authorization", authorization);
    if (body != null) request.header("Content-Type", "application/json");
    return http.send(request.build(), BodyHandlers.ofString());
  }

  private int status(String path, String authorization) throws Exception {
    return send("GET", path, null, authorization).statusCode();
  }

  private static String basic(String name, String password) {
    return "Basic " + Base64.getEncoder().encodeToString((name + ":" + password).getBytes(StandardCharsets.UTF_8));
  }

  private void operator(String name, String role, String password) {
    String body = "{\"role\":\"%s\",\"newPassword\":\"%s\"}".formatted(role, password);
    assertThat(local.put("/operators/" + name, body).status()).isEqualTo(200);
  }

  /** A connection from an address of loopback, on which nothing was said yet. */
  private Socket silent(String from) throws IOException {
    Socket socket = new Socket();
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
    socket.setSoTimeout(60_000);
    return socket;
  }

  private SSLSocket secured(String from) throws IOException {
    Socket plain = silent(from);
    SSLSocket socket = (SSLSocket) secure.authority.context().getSocketFactory().createSocket(plain, "127.0.0.1", port, true);
    socket.startHandshake();
    return socket;
  }

  /** Sends bytes as they are and answers what came until the end. */
  private String raw(String request) throws IOException {
    try (SSLSocket socket = secured("127.0.0.1")) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static boolean ends(Socket socket) throws IOException {
    try {
      InputStream in = socket.getInputStream();
      in.readAllBytes();
      return true;
    } catch (SocketTimeoutException stuck) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  private static void closeAll(List<? extends Socket> sockets) throws IOException {
    for (Socket each : sockets) each.close();
  }

  private List<String> logged() {
    return logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Test
  void theFirstPasswordIsShownOnceAndLetsIn() throws Exception {
    assertThat(logged()).hasSize(1);
    String password = logged().getFirst().replaceFirst(".*password (\\S+) .*", "$1");
    assertThat(password).hasSizeGreaterThan(40);
    assertThat(send("GET", "/api/v1/status", null, basic("admin", password)).body()).contains("\"role\":\"admin\"");
    Path file = directory.resolve("data/admin-operators");
    assertThat(Files.readString(file)).startsWith("admin admin SCRAM-SHA-256$").doesNotContain(password);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-------");

    shut();
    open();

    assertThat(logged()).as("not shown again").hasSize(1);
    assertThat(status("/api/v1/status", basic("admin", password))).isEqualTo(200);
    assertThat(status("/api/v1/status", "Bearer " + local.token())).as("the token of this run").isEqualTo(200);
  }

  @Test
  void operatorsDoWhatTheirRoleMayUntilTheyAreChanged() throws Exception {
    operator("vera", "viewer", PASSWORD);
    String vera = basic("vera", PASSWORD);
    assertThat(status("/api/v1/sessions", vera)).isEqualTo(200);
    assertThat(send("DELETE", "/api/v1/sessions/x", null, vera).statusCode()).isEqualTo(403);
    assertThat(status("/api/v1/operators", vera)).isEqualTo(403);
    assertThat(local.get("/operators").members("name")).containsExactly("admin", "vera");
    assertThat(local.put("/operators/short", "{\"role\":\"viewer\",\"newPassword\":\"too short\"}").status()).isEqualTo(400);
    assertThat(local.put("/operators/a%20b", "{\"role\":\"viewer\",\"newPassword\":\"" + PASSWORD + "\"}").status()).isEqualTo(400);

    operator("vera", "operator", PASSWORD + "2");
    assertThat(status("/api/v1/status", vera)).as("the password of before").isEqualTo(401);
    assertThat(send("GET", "/api/v1/status", null, basic("vera", PASSWORD + "2")).body()).contains("\"role\":\"operator\"");

    assertThat(local.delete("/operators/vera").status()).isEqualTo(200);
    assertThat(status("/api/v1/status", basic("vera", PASSWORD + "2"))).isEqualTo(401);
    assertThat(local.delete("/operators/vera").status()).isEqualTo(400);
  }

  @Test
  void aStreamEndsWithItsOperator() throws Exception {
    operator("vera", "viewer", PASSWORD);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + "/api/v1/events/overview"))
            .header("Authorization", basic("vera", PASSWORD))
            .header("Accept", "text/event-stream")
            .build();
    HttpResponse<InputStream> stream = http.send(request, BodyHandlers.ofInputStream());
    assertThat(stream.statusCode()).isEqualTo(200);
    assertThat(stream.body().read()).isPositive();

    local.delete("/operators/vera");

    assertThat(stream.body().readAllBytes()).as("until its end").isNotNull();
  }

  @Test
  void passwordsAreNotGuessed() throws Exception {
    operator("vera", "viewer", PASSWORD);
    assertThat(status("/api/v1/status", "")).isEqualTo(401);
    assertThat(status("/api/v1/status", "Bearer wrong")).isEqualTo(401);
    int refused = 0;
    // A minute may end in between, so that the count begins anew.
    while (refused <= 2 * FAILURES_MAX + 1 && status("/api/v1/status", basic(refused % 2 == 0 ? "vera" : "unknown", "wrong " + refused)) == 401) refused++;

    assertThat(refused).isBetween(FAILURES_MAX, 2 * FAILURES_MAX);
    HttpResponse<String> right = send("GET", "/api/v1/status", null, basic("vera", PASSWORD));
    assertThat(right.statusCode()).as("from there, right ones are not looked at either").isEqualTo(429);
    assertThat(right.headers().firstValue("Retry-After")).contains("60");
    assertThat(right.headers().allValues("WWW-Authenticate")).isEmpty();
    assertThat(status("/api/v1/status", "Bearer " + local.token())).as("a token is not guessed").isEqualTo(200);
    assertThat(status("/api/v1/status", "Basic not base64!")).isEqualTo(429);
  }

  @Test
  void pagesOfOtherSitesAreRefused() throws Exception {
    String request = "GET /api/v1/status HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer " + local.token() + "\r\n%sConnection: close\r\n\r\n";
    for (String own : List.of("127.0.0.1:" + port, "localhost", "192.0.2.7", "[2001:db8::1]:8443", "node.example", "NODE.EXAMPLE:8443")) {
      assertThat(raw(request.formatted(own, ""))).as(own).startsWith("HTTP/1.1 200");
    }
    for (String other : List.of("rebound.example", "rebound.example:" + port, "127.0.0.1.rebound.example", "node.example.rebound.example", "")) {
      assertThat(raw(request.formatted(other, ""))).as(other).startsWith("HTTP/1.1 421");
    }
    assertThat(raw(request.formatted("localhost", "Origin: https://localhost\r\n"))).startsWith("HTTP/1.1 200");
    assertThat(raw(request.formatted("localhost", "Origin: https://rebound.example\r\n"))).startsWith("HTTP/1.1 403");
    assertThat(raw(request.formatted("localhost", "Origin: http://localhost\r\n"))).as("not by TLS").startsWith("HTTP/1.1 403");
    assertThat(raw("GET / HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n")).as("the page").startsWith("HTTP/1.1 421");
  }

  @Test
  void probesNeedNothingAndMetricsAViewer() throws Exception {
    operator("prometheus", "viewer", PASSWORD);
    assertThat(send("GET", "/health", null, "").body()).isEqualTo("alive\n");
    assertThat(send("GET", "/ready", null, "").body()).isEqualTo("ready\n");
    assertThat(send("POST", "/ready", "{}", "").statusCode()).isEqualTo(405);
    assertThat(status("/metrics", "")).isEqualTo(401);
    HttpResponse<String> metrics = send("GET", "/metrics", null, basic("prometheus", PASSWORD));
    assertThat(metrics.statusCode()).isEqualTo(200);
    assertThat(metrics.body()).contains("dunlin_listener_tls_certificate_seconds{listener=\"admin API\"");
    assertThat(status("/metrics/more", basic("prometheus", PASSWORD))).isEqualTo(404);
    HttpResponse<String> page = send("GET", "/", null, "");
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.headers().firstValue("Content-Security-Policy").orElse("")).contains("default-src 'none'");
  }

  @Test
  void largeBodiesAndAnswersComeThrough() throws Exception {
    String token = "Bearer " + local.token();
    String payload = "x".repeat(200_000);
    assertThat(send("POST", "/api/v1/publish", "{\"topic\":\"t\",\"payload\":\"" + payload + "\",\"retain\":true}", token).statusCode()).isEqualTo(200);
    HttpResponse<String> document = send("GET", "/api/v1/openapi.json", null, token);
    assertThat(document.body()).hasSizeGreaterThan(50_000).contains("\"operatorsSet\"");
    assertThat(send("POST", "/api/v1/publish", "x".repeat(600_000), token).statusCode()).isEqualTo(413);
  }

  @Test
  void theCertificateIsFollowed() throws Exception {
    assertThat(shown()).isEqualTo(certificate.certificate());

    Certificates.Issued next = secure.authority.server(Certificates.ec(), Duration.ofDays(20));
    keys(next);

    await().atMost(TestBroker.SOON).untilAsserted(() -> assertThat(shown()).isEqualTo(next.certificate()));

    secure.file("admin.pem", "no certificate");
    await().atMost(TestBroker.SOON).until(() -> local.get("/status").status() == 200 && failedReload());
    assertThat(shown()).as("the last good one").isEqualTo(next.certificate());
  }

  private boolean failedReload() throws Exception {
    String text = send("GET", "/metrics", null, "Bearer " + local.token()).body();
    return text.lines().anyMatch(line -> line.startsWith("dunlin_listener_tls_reloads_total{listener=\"admin API\"") && line.contains("failed") && !line.endsWith(" 0.0"));
  }

  private X509Certificate shown() throws IOException {
    try (SSLSocket socket = secured("127.0.0.1")) {
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    }
  }

  @Test
  void aClientThatDoesNotTrustTheCertificateDoesNotGoOn() throws Exception {
    try (HttpClient stranger = HttpClient.newBuilder().sslContext(new Certificates().context()).build()) {
      HttpRequest request = HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port + "/ready")).build();
      assertThatThrownBy(() -> stranger.send(request, BodyHandlers.ofString())).isInstanceOf(SSLHandshakeException.class);
    }
    assertThat(status("/ready", "")).isEqualTo(200);
  }

  @Test
  void whatIsNotTlsOrNotHttpEnds() throws Exception {
    try (Socket plain = silent("127.0.0.1")) {
      plain.getOutputStream().write("GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      assertThat(new String(plain.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1)).doesNotContain("HTTP");
    } catch (IOException reset) {
      // as good
    }
    assertThat(raw("\u0016\u0003 what is this\r\n\r\n")).startsWith("HTTP/1.1 400");
    assertThat(raw("GET /" + "x".repeat(300_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")).startsWith("HTTP/1.1 400");
    assertThat(raw("GET /ready HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(100_000) + "\r\n\r\n")).startsWith("HTTP/1.1 400");
    assertThat(status("/ready", "")).isEqualTo(200);
  }

  @Test
  void oneAddressDoesNotHoldUpOthers() throws Exception {
    List<Socket> many = new ArrayList<>();
    try {
      for (int i = 0; i < 3 * PER_ADDRESS_MAX; i++) many.add(silent("127.0.0.2"));
      int closed = 0;
      for (Socket each : many.subList(PER_ADDRESS_MAX, many.size())) if (ends(each)) closed++;
      assertThat(closed).isEqualTo(2 * PER_ADDRESS_MAX);
      assertThat(status("/ready", "")).as("from another address").isEqualTo(200);

      // A handshake that does not come ends as well.
      for (Socket each : many) assertThat(ends(each)).isTrue();
    } finally {
      closeAll(many);
    }
    try {
      many.clear();
      // Heads that stay half, and probes with bodies that do not come.
      for (int i = 0; i < PER_ADDRESS_MAX; i++) {
        SSLSocket slow = secured("127.0.0.2");
        many.add(slow);
        String head = i % 2 == 0 ? "GET /ready HTTP/1.1\r\nHost: loc" : "GET /ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n";
        slow.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      }
      assertThat(status("/ready", "")).as("from another address").isEqualTo(200);
      assertThat(status("/api/v1/status", "Bearer " + local.token())).as("from another address").isEqualTo(200);
      for (Socket each : many) assertThat(ends(each)).isTrue();
    } finally {
      closeAll(many);
    }
  }

  @Test
  void aThousandThatSayNothingDelayNoClientAndNoLocalOperator() throws Exception {
    List<Socket> many = new ArrayList<>();
    try (var client = RawClient.connected(broker.port(), Connect.of("c"))) {
      for (int i = 0; i < 1_000; i++) many.add(silent("127.0.1." + (1 + i % 100)));

      client.publishAndWait("a", "b");
      assertThat(local.get("/status").status()).isEqualTo(200);
      await().atMost(TestBroker.SOON).ignoreExceptions().until(() -> status("/ready", "") == 200); // closed at once while all places are taken
    } finally {
      closeAll(many);
    }
  }
}
