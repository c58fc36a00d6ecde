package dunlin.browser;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A headless Chromium with one page, driven by its DevTools protocol. */
public final class Chromium implements AutoCloseable {
  /*
   * Owner: the test's thread calls it; the WebSocket's thread completes its calls and notes what the page asks for.
   * Bounds: each call has SECONDS_MAX; requests and errors are those of one test, which clears them.
   * Failure: an AssertionError with what Chromium has said.
   */
  private static final long SECONDS_MAX = 30;

  /** All network requests, including those for the page's own files. */
  private final List<String> requests = new CopyOnWriteArrayList<>();

  /** Errors of scripts, of loading and of the content security policy. */
  private final List<String> errors = new CopyOnWriteArrayList<>();

  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;
  private final AtomicInteger calls = new AtomicInteger();
  private final Map<Integer, CompletableFuture<JsonObject>> answers = new ConcurrentHashMap<>();

  /** The program's path: DUNLIN_CHROMIUM, or found on PATH. */
  public static Optional<Path> find() {
    String named = System.getenv("DUNLIN_CHROMIUM");
    if (named != null) return Optional.of(Path.of(named));
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .flatMap(directory -> Stream.of("chromium", "chromium-browser", "google-chrome").map(name -> Path.of(directory, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** @param profile an empty directory */
  public Chromium(Path program, Path profile) throws Exception {
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
      String debugger =
          JsonParser.parseString(list).getAsJsonArray().asList().stream()
              .map(JsonElement::getAsJsonObject)
              .filter(target -> textAt(target, "type").equals("page"))
              .map(target -> textAt(target, "webSocketDebuggerUrl"))
              .findFirst()
              .orElseThrow();
      socket = http.newWebSocketBuilder().buildAsync(URI.create(debugger), new Listener()).get(SECONDS_MAX, TimeUnit.SECONDS);
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
        received(JsonParser.parseString(part.toString()).getAsJsonObject());
        part.setLength(0);
      }
      from.request(1);
      return CompletableFuture.completedStage(null);
    }
  }

  private void received(JsonObject message) {
    if (message.has("id")) {
      CompletableFuture<JsonObject> answer = answers.remove(message.get("id").getAsInt());
      if (answer != null) answer.complete(message);
      return;
    }
    switch (textAt(message, "method")) {
      case "Network.requestWillBeSent" -> requests.add(textAt(message, "params", "request", "url"));
      case "Runtime.exceptionThrown" -> errors.add(textAt(message, "params", "exceptionDetails"));
      case "Log.entryAdded" -> {
        if (textAt(message, "params", "entry", "level").equals("error")) errors.add(textAt(message, "params", "entry"));
      }
      default -> {}
    }
  }

  /** The text at a path, or the JSON of what is there; empty when nothing is. */
  private static String textAt(JsonObject message, String... path) {
    JsonElement at = message;
    for (String name : path) {
      if (!at.isJsonObject() || !at.getAsJsonObject().has(name)) return "";
      at = at.getAsJsonObject().get(name);
    }
    return at.isJsonPrimitive() ? at.getAsString() : at.toString();
  }

  private static String quoted(String text) {
    return new JsonPrimitive(text).toString();
  }

  /** The requests of the page since the last {@link #forget}. */
  public List<String> requests() {
    return requests;
  }

  /** Its errors since then. */
  public List<String> errors() {
    return errors;
  }

  /** Opens an empty page, which ends the requests of the one before, and forgets requests and errors. */
  public void forget() throws Exception {
    open("about:blank");
    Awaitility.await("no page").atMost(SECONDS_MAX, TimeUnit.SECONDS).until(() -> evaluate("location.href").equals("about:blank"));
    requests.clear();
    errors.clear();
  }

  /**
   * Calls a method of the protocol.
   *
   * @param parameters as JSON
   */
  @CanIgnoreReturnValue
  public JsonObject call(String method, String parameters) throws Exception {
    int id = calls.incrementAndGet();
    var answer = new CompletableFuture<JsonObject>();
    answers.put(id, answer);
    socket.sendText("{\"id\": %d, \"method\": \"%s\", \"params\": %s}".formatted(id, method, parameters), true).get(SECONDS_MAX, TimeUnit.SECONDS);
    JsonObject message = answer.get(SECONDS_MAX, TimeUnit.SECONDS);
    if (message.has("error")) throw new AssertionError(method + ": " + textAt(message, "error"));
    return message.getAsJsonObject("result");
  }

  public void open(String url) throws Exception {
    call("Page.navigate", "{\"url\": %s}".formatted(quoted(url)));
  }

  /** The value of an expression in the page, as text. */
  public String evaluate(String expression) throws Exception {
    JsonObject result = call("Runtime.evaluate", "{\"returnByValue\": true, \"expression\": %s}".formatted(quoted("String(%s)".formatted(expression))));
    if (result.has("exceptionDetails")) throw new AssertionError(expression + ": " + textAt(result, "exceptionDetails"));
    return textAt(result, "result", "value");
  }

  /** The text of an element, or an empty text when the page does not have it yet. */
  public String text(String id) throws Exception {
    return evaluate("(document.getElementById('%s') || {innerText: ''}).innerText".formatted(id));
  }

  /** Presses and releases a key that has no modifiers, such as Enter, Tab or Escape. */
  public void press(String key) throws Exception {
    int code = switch (key) {
      case "Enter" -> 13;
      case "Tab" -> 9;
      case "Escape" -> 27;
      default -> throw new IllegalArgumentException(key);
    };
    String typed = key.equals("Enter") ? ", \"text\": \"\\r\"" : "";
    for (String type : List.of("keyDown", "keyUp")) {
      call("Input.dispatchKeyEvent", "{\"type\": \"%s\", \"key\": \"%s\", \"code\": \"%s\", \"windowsVirtualKeyCode\": %d%s}".formatted(type, key, key, code, typed));
    }
  }

  /** Types text into the element that has the focus. */
  public void type(String text) throws Exception {
    call("Input.insertText", "{\"text\": %s}".formatted(quoted(text)));
  }

  /** Lets the page believe that its reader prefers a color scheme: {@code light} or {@code dark}. */
  public void prefer(String scheme) throws Exception {
    call("Emulation.setEmulatedMedia", "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"%s\"}]}".formatted(scheme));
  }

  /**
   * What assistive technology is given of an element.
   *
   * @param properties such as {@code level} of a heading, by their names
   * @param text what is read out of it
   */
  public record Accessible(String role, String name, Map<String, String> properties, String text) {}

  /** The accessibility tree in the order of the document, without what is ignored in it. */
  public List<Accessible> accessibilityTree() throws Exception {
    Map<String, JsonObject> nodes = new LinkedHashMap<>();
    for (JsonElement node : call("Accessibility.getFullAXTree", "{}").getAsJsonArray("nodes")) nodes.put(textAt(node.getAsJsonObject(), "nodeId"), node.getAsJsonObject());
    List<Accessible> found = new ArrayList<>();
    Deque<JsonObject> left = new ArrayDeque<>();
    for (JsonObject node : nodes.values()) if (!node.has("parentId")) left.add(node);
    while (!left.isEmpty()) {
      JsonObject node = left.pop();
      if (!node.get("ignored").getAsBoolean()) found.add(accessible(node, nodes));
      for (JsonObject child : children(node, nodes).reversed()) left.push(child);
    }
    return found;
  }

  private static List<JsonObject> children(JsonObject node, Map<String, JsonObject> nodes) {
    if (!node.has("childIds")) return List.of();
    return node.getAsJsonArray("childIds").asList().stream().map(JsonElement::getAsString).filter(nodes::containsKey).map(nodes::get).toList();
  }

  private static String readOut(JsonObject node, Map<String, JsonObject> nodes) {
    if (textAt(node, "role", "value").equals("StaticText")) return textAt(node, "name", "value");
    return children(node, nodes).stream().map(child -> readOut(child, nodes)).collect(Collectors.joining());
  }

  private static Accessible accessible(JsonObject node, Map<String, JsonObject> nodes) {
    Map<String, String> properties = new LinkedHashMap<>();
    if (node.has("properties")) {
      for (JsonElement property : node.getAsJsonArray("properties")) properties.put(textAt(property.getAsJsonObject(), "name"), textAt(property.getAsJsonObject(), "value", "value"));
    }
    return new Accessible(textAt(node, "role", "value"), textAt(node, "name", "value"), properties, readOut(node, nodes));
  }

  public void screenshot(Path file) throws Exception {
    Files.write(file, Base64.getDecoder().decode(textAt(call("Page.captureScreenshot", "{\"format\": \"png\", \"captureBeyondViewport\": true}"), "data")));
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
