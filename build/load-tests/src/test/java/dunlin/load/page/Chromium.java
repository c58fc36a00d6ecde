package dunlin.load.page;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A headless Chromium with one page, driven by its DevTools protocol. */
final class Chromium implements AutoCloseable {
  private static final long SECONDS_MAX = 30;

  /** All network requests, including those for the page's own files. */
  final List<String> requests = new CopyOnWriteArrayList<>();

  /** Errors of scripts, of loading and of the content security policy. */
  final List<String> errors = new CopyOnWriteArrayList<>();

  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;
  private final AtomicInteger calls = new AtomicInteger();
  private final Map<Long, CompletableFuture<Json>> answers = new ConcurrentHashMap<>();

  /** The program's path: DUNLIN_CHROMIUM, or found on PATH. */
  static Optional<Path> find() {
    String named = System.getenv("DUNLIN_CHROMIUM");
    if (named != null) return Optional.of(Path.of(named));
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .flatMap(directory -> Stream.of("chromium", "chromium-browser", "google-chrome").map(name -> Path.of(directory, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** @param profile an empty directory */
  Chromium(Path program, Path profile) throws Exception {
    process =
        new ProcessBuilder(
                program.toString(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--user-data-dir=" + profile,
                "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
                "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "about:blank")
            .redirectErrorStream(true)
            .redirectOutput(profile.resolve("output").toFile())
            .start();
    try {
      Path port = profile.resolve("DevToolsActivePort");
      Awaitility.await("the port of Chromium").atMost(SECONDS_MAX, TimeUnit.SECONDS).until(() -> Files.exists(port) && Files.readAllLines(port).size() == 2);
      URI targets = URI.create("http://127.0.0.1:%s/json/list".formatted(Files.readAllLines(port).getFirst()));
      String list = http.send(HttpRequest.newBuilder(targets).build(), BodyHandlers.ofString()).body();
      Json page = Json.of(list).list().stream().filter(target -> target.get("type").text().equals("page")).findFirst().orElseThrow();
      socket = http.newWebSocketBuilder().buildAsync(URI.create(page.get("webSocketDebuggerUrl").text()), new Listener()).get(SECONDS_MAX, TimeUnit.SECONDS);
      for (String domain : List.of("Network", "Runtime", "Log", "Page")) call(domain + ".enable", "{}");
    } catch (Exception | AssertionError failure) {
      process.destroyForcibly();
      throw new AssertionError("Chromium does not start: " + Files.readString(profile.resolve("output")), failure);
    }
  }

  private final class Listener implements WebSocket.Listener {
    private final StringBuilder part = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence text, boolean last) {
      part.append(text);
      if (last) {
        received(Json.of(part.toString()));
        part.setLength(0);
      }
      from.request(1);
      return CompletableFuture.completedStage(null);
    }
  }

  private void received(Json message) {
    if (!message.get("id").isMissing()) {
      CompletableFuture<Json> answer = answers.remove(message.get("id").number());
      if (answer != null) answer.complete(message);
      return;
    }
    switch (message.get("method").text()) {
      case "Network.requestWillBeSent" -> requests.add(message.get("params", "request", "url").text());
      case "Runtime.exceptionThrown" -> errors.add(message.get("params", "exceptionDetails").text());
      case "Log.entryAdded" -> {
        if (message.get("params", "entry", "level").text().equals("error")) errors.add(message.get("params", "entry").text());
      }
      default -> {}
    }
  }

  Json call(String method, String parameters) throws Exception {
    int id = calls.incrementAndGet();
    var answer = new CompletableFuture<Json>();
    answers.put((long) id, answer);
    socket.sendText("{\"id\": %d, \"method\": \"%s\", \"params\": %s}".formatted(id, method, parameters), true).get(SECONDS_MAX, TimeUnit.SECONDS);
    Json message = answer.get(SECONDS_MAX, TimeUnit.SECONDS);
    if (!message.get("error").isMissing()) throw new AssertionError(method + ": " + message.get("error").text());
    return message.get("result");
  }

  void open(String url) throws Exception {
    call("Page.navigate", "{\"url\": %s}".formatted(Json.quoted(url)));
  }

  /** The value of an expression in the page, as text. */
  String evaluate(String expression) throws Exception {
    Json result = call("Runtime.evaluate", "{\"returnByValue\": true, \"expression\": %s}".formatted(Json.quoted("String(%s)".formatted(expression))));
    if (!result.get("exceptionDetails").isMissing()) throw new AssertionError(expression + ": " + result.get("exceptionDetails").text());
    return result.get("result", "value").text();
  }

  /** The text of an element, or an empty text when the page does not have it yet. */
  String text(String id) throws Exception {
    return evaluate("(document.getElementById('%s') || {innerText: ''}).innerText".formatted(id));
  }

  void screenshot(Path file) throws Exception {
    Files.write(file, Base64.getDecoder().decode(call("Page.captureScreenshot", "{\"format\": \"png\", \"captureBeyondViewport\": true}").get("data").text()));
  }

  @Override
  public void close() {
    http.shutdownNow();
    process.destroy();
    try {
      process.onExit().get(SECONDS_MAX, TimeUnit.SECONDS);
    } catch (Exception late) {
      process.destroyForcibly();
      throw new AssertionError("Chromium does not end", late);
    }
  }
}
