package dunlin.admin;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import dunlin.admin.api.Endpoints;
import dunlin.runtime.Deadlines;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** Answers what comes by the TLS port: probes without credentials, metrics and the API with them, and the page. */
public final class RemoteRequests implements HttpHandler {
  /*
   * Owner: the handler threads of the HTTP server behind the TLS port; each request is answered on a thread of its own.
   * Bounds: PROBES_MAX probes at a time, PROBES_PER_CLIENT of an address; beyond, connections are closed. AdminApi and PageFiles have theirs.
   * Failure: what has not come through the TLS port, but from another process of the machine, is closed.
   */
  private static final int PROBES_MAX = 16;
  private static final int PROBES_PER_CLIENT = 4;
  private static final int SECONDS = 10;
  private static final String TEXT = "text/plain; charset=utf-8";

  private final AdminApi api;
  private final PageFiles page;
  private final SameSite site;
  private final IntFunction<Optional<InetAddress>> clients;
  private final Supplier<Optional<String>> unhealthy;
  private final Supplier<Optional<String>> unready;
  private final Supplier<String> ready;
  private final RequestPlaces probes;

  /**
   * @param names whether the node has this name, in lower case
   * @param clients the client whose requests come from a port of loopback
   * @param unhealthy as for the probes of the other ports
   * @param unready as for the probes of the other ports
   * @param ready what /ready says of a node that is ready
   */
  public RemoteRequests(
      AdminApi api, Predicate<String> names, IntFunction<Optional<InetAddress>> clients, Supplier<Optional<String>> unhealthy,
      Supplier<Optional<String>> unready, Supplier<String> ready, Deadlines deadlines) {
    this.api = api;
    this.page = new PageFiles(deadlines);
    this.site = SameSite.byTls(names);
    this.clients = clients;
    this.unhealthy = unhealthy;
    this.unready = unready;
    this.ready = ready;
    this.probes = new RequestPlaces(PROBES_MAX, PROBES_PER_CLIENT, SECONDS, deadlines, () -> {});
  }

  @Override
  public void handle(HttpExchange exchange) {
    Optional<InetAddress> client = clients.apply(exchange.getRemoteAddress().getPort());
    if (client.isEmpty()) {
      exchange.close();
      return;
    }
    Door door = new Door(true, client.get(), site);
    String path = String.valueOf(exchange.getRequestURI().getPath());
    switch (path) {
      case "/health" -> probe(exchange, door, () -> "alive", unhealthy);
      case "/ready" -> probe(exchange, door, ready, unready);
      case AdminApi.METRICS -> api.handle(exchange, door);
      default -> {
        if (path.startsWith(Endpoints.PREFIX)) api.handle(exchange, door);
        else page.handle(exchange, door);
      }
    }
  }

  private void probe(HttpExchange exchange, Door door, Supplier<String> good, Supplier<Optional<String>> trouble) {
    boolean begun =
        probes.start(
            exchange, door,
            (each, _) -> {
              answer(each, good, trouble.get());
              return Optional.empty();
            });
    if (!begun) exchange.close();
  }

  private static void answer(HttpExchange exchange, Supplier<String> good, Optional<String> trouble) throws IOException {
    String method = exchange.getRequestMethod();
    if (method.equals("GET") || method.equals("HEAD")) {
      ApiHeaders.send(exchange, trouble.isEmpty() ? 200 : 503, TEXT, (trouble.orElseGet(good) + "\n").getBytes(StandardCharsets.UTF_8));
      return;
    }
    ApiHeaders.set(exchange, TEXT);
    exchange.getResponseHeaders().set("Allow", "GET, HEAD");
    exchange.sendResponseHeaders(405, ApiHeaders.NO_BODY);
  }
}
