package dunlin.admin;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import dunlin.admin.operate.Problem;
import dunlin.runtime.Deadlines;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Serves the operations page at {@code /}, without a token: the files are the same for all, and what they show comes from the API. */
public final class PageFiles implements HttpHandler {
  /*
   * Owner: the admin port's handler threads; each request is answered on a thread of its own.
   * Bounds: the files of the list below, which are read once, at the start, so no path leads to any other; REQUESTS_MAX requests at a time,
   * PER_CLIENT of an address, each of SECONDS; beyond that, connections are closed.
   * Failure: a file that is missing in the jar stops the start.
   */
  private static final List<String> MODULES =
      List.of(
          "access", "api", "backup", "blocks", "clients", "cluster", "doctor", "dom", "explain", "inbox", "ledger", "listing", "login", "main", "messages", "moves", "node", "operators", "overview",
          "retained", "sessions", "spark", "tenants", "text", "top", "topics", "traces");
  private static final int REQUESTS_MAX = 64;
  private static final int PER_CLIENT = 32;
  private static final int SECONDS = 10;
  private static final String TEXT = "text/plain; charset=utf-8";

  /** Nothing from elsewhere, nothing inline, no text that becomes markup, and no page of others around this one. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
          + " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

  private final Map<String, PageFile> files = new HashMap<>();
  private final RequestPlaces places;

  private record PageFile(String type, byte[] bytes) {}

  public PageFiles(Deadlines deadlines) {
    places = new RequestPlaces(REQUESTS_MAX, PER_CLIENT, SECONDS, deadlines, () -> {});
    files.put("/", read("index.html", "text/html; charset=utf-8"));
    add("style.css", "text/css; charset=utf-8");
    add("icon.svg", "image/svg+xml");
    for (String module : MODULES) add(module + ".js", "text/javascript; charset=utf-8");
  }

  private void add(String name, String type) {
    files.put("/page/" + name, read(name, type));
  }

  private static PageFile read(String name, String type) {
    try (InputStream in = PageFiles.class.getResourceAsStream("page/" + name)) {
      if (in == null) throw new IllegalStateException("the page has no file " + name);
      return new PageFile(type, in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void handle(HttpExchange exchange) {
    handle(exchange, Door.LOOPBACK);
  }

  void handle(HttpExchange exchange, Door door) {
    boolean begun =
        places.start(
            exchange, door,
            (each, _) -> {
              answer(each, door);
              return Optional.empty();
            });
    if (!begun) exchange.close();
  }

  private void answer(HttpExchange exchange, Door door) throws IOException {
    try {
      door.site().check(exchange);
    } catch (Problem problem) {
      refuse(exchange, problem.status(), problem.detail());
      return;
    }
    PageFile file = files.get(String.valueOf(exchange.getRequestURI().getRawPath()));
    String method = exchange.getRequestMethod();
    if (file == null) {
      refuse(exchange, 404, "not found");
    } else if (!method.equals("GET") && !method.equals("HEAD")) {
      exchange.getResponseHeaders().set("Allow", "GET, HEAD");
      refuse(exchange, 405, "only GET and HEAD");
    } else {
      send(exchange, 200, file);
    }
  }

  private static void refuse(HttpExchange exchange, int status, String why) throws IOException {
    send(exchange, status, new PageFile(TEXT, (why + "\n").getBytes(StandardCharsets.UTF_8)));
  }

  private static void send(HttpExchange exchange, int status, PageFile file) throws IOException {
    exchange.getResponseHeaders().set("Content-Security-Policy", POLICY);
    exchange.getResponseHeaders().set("Cross-Origin-Opener-Policy", "same-origin");
    ApiHeaders.send(exchange, status, file.type(), file.bytes());
  }
}
