package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of the operations page, as they are served. */
class AdminPageIT {
  private static final Path SOURCES = Path.of("src/main/resources/dunlin/admin/page");
  private static final Pattern REFERENCE = Pattern.compile("(?:src|href)=\"(/[^\"]+)\"|from \"\\./([^\"]+)\"");
  private static final int LINES_MAX = 300;

  private static TestBroker broker;
  private static int port;

  @BeforeAll
  static void start(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    try (ApiCalls api = ApiCalls.of(data)) {
      port = api.port();
    }
  }

  @AfterAll
  static void stop() {
    broker.close();
  }

  /** Sends a head as it is, on a connection of its own, and answers all that comes. */
  private static String raw(String method, String path, String host, String headers) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(60_000);
      String head = "%s %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n".formatted(method, path, host, headers);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String get(String path) throws IOException {
    return raw("GET", path, "127.0.0.1:" + port, "");
  }

  private static String body(String answer) {
    return answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }

  private static String typeOf(String path) {
    if (path.endsWith(".js")) return "text/javascript; charset=utf-8";
    if (path.endsWith(".css")) return "text/css; charset=utf-8";
    return path.endsWith(".svg") ? "image/svg+xml" : "text/html; charset=utf-8";
  }

  /** Follows what the files load, from the page on. */
  private static void follow(String path, Set<String> found) throws IOException {
    if (!found.add(path)) return;
    String answer = get(path);
    assertThat(answer).as(path).startsWith("HTTP/1.1 200 ");
    assertThat(answer.lines().map(line -> line.toLowerCase(Locale.ROOT)).toList())
        .as(path)
        .contains("content-type: " + typeOf(path), "x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-store");
    String policy = answer.lines().filter(line -> line.toLowerCase(Locale.ROOT).startsWith("content-security-policy: ")).findFirst().orElseThrow();
    assertThat(policy)
        .contains("default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'")
        .doesNotContain("unsafe", "http:", "data:", "*");
    var references = REFERENCE.matcher(body(answer));
    while (references.find()) follow(references.group(1) == null ? "/page/" + references.group(2) : references.group(1), found);
  }

  @Test
  void everyFileIsServedAndUsed() throws IOException {
    Set<String> served = new TreeSet<>();
    follow("/", served);

    Set<String> written = new TreeSet<>();
    try (var files = Files.list(SOURCES)) {
      files.forEach(file -> written.add(file.endsWith("index.html") ? "/" : "/page/" + file.getFileName()));
    }
    assertThat(served).isEqualTo(written).hasSizeGreaterThan(10);
  }

  @Test
  void theFilesNeedNothingFromOutsideAndWriteNoMarkup() throws IOException {
    Set<String> seen = new HashSet<>();
    try (var files = Files.list(SOURCES)) {
      for (Path file : files.toList()) {
        String text = Files.readString(file);
        String name = file.getFileName().toString();
        seen.add(name);
        assertThat(text.replace("http://www.w3.org/2000/svg", "")).as(name).doesNotContain("http:", "https:", "\"//", "@import", "url(");
        assertThat(text).as(name).doesNotContain("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "localStorage", " style=").doesNotContainPattern("\\son[a-z]+=\"");
        assertThat(text).as(name).doesNotContain("<script>", "<style");
        assertThat(text.lines().count()).as(name).isLessThan(LINES_MAX);
      }
    }
    assertThat(seen).contains("index.html", "main.js", "style.css");
  }

  @Test
  void noOtherPathLeadsToAFile() throws IOException {
    for (String path :
        List.of(
            "/index.html", "/page", "/page/", "/page/index.html", "/page/main.js/", "/page//main.js", "/page/./main.js", "/page/../page/main.js",
            "/page/%2e%2e/page/main.js", "/page/..%2f..%2f..%2f..%2fetc%2fpasswd", "/page/../../../../etc/passwd", "/page/main.js%00", "/page/main%2Ejs", "/PAGE/main.js",
            "/page/..%5cmain.js", "//page/main.js", "/favicon.ico", "/admin-access")) {
      String answer = get(path);
      assertThat(answer).as(path).containsPattern("^HTTP/1.1 (404|400) ");
      assertThat(body(answer)).as(path).hasSizeLessThan(200).doesNotContain("import", "root:");
    }
    assertThat(get("/page/main.js?v=1")).as("a query changes nothing").startsWith("HTTP/1.1 200 ");
  }

  @Test
  void filesAreOnlyRead() throws IOException {
    String head = raw("HEAD", "/", "localhost", "");
    assertThat(head).startsWith("HTTP/1.1 200 ").containsIgnoringCase("content-type: text/html");
    assertThat(body(head)).isEmpty();
    for (String method : List.of("POST", "PUT", "DELETE", "OPTIONS", "PATCH")) {
      String answer = raw(method, "/page/main.js", "localhost", "Content-Length: 0\r\n");
      assertThat(answer).as(method).startsWith("HTTP/1.1 405 ").containsIgnoringCase("allow: GET, HEAD");
    }
  }

  @Test
  void thePageIsAskedForByNamesOfLoopbackOnly() throws IOException {
    for (String host : List.of("localhost", "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port)) assertThat(raw("GET", "/", host, "")).as(host).startsWith("HTTP/1.1 200 ");
    assertThat(raw("GET", "/", "rebound.example:" + port, "")).startsWith("HTTP/1.1 421 ");
    assertThat(raw("GET", "/page/main.js", "rebound.example", "")).startsWith("HTTP/1.1 421 ");
    assertThat(raw("GET", "/page/main.js", "localhost", "Origin: http://other.example\r\n")).startsWith("HTTP/1.1 403 ");
  }

  @Test
  void whatWasThereBeforeIsStillThere() throws IOException {
    assertThat(get("/health")).startsWith("HTTP/1.1 200 ").endsWith("alive\n");
    assertThat(get("/ready")).startsWith("HTTP/1.1 200 ");
    assertThat(get("/metrics")).startsWith("HTTP/1.1 200 ").contains("dunlin_admin_streams");
    assertThat(get("/api/v1/status")).startsWith("HTTP/1.1 401 ");
  }
}
