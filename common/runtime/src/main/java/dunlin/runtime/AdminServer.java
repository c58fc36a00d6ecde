package dunlin.runtime;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * HTTP endpoints for an orchestrator and a monitoring system: {@code GET /health} (the process lives), {@code /ready}
 * (it serves clients) and {@code /metrics} (Prometheus text). An unhealthy or unready node answers 503 with the reason.
 * For these there is no authentication; it belongs on loopback or on a network of operators.
 */
public final class AdminServer implements AutoCloseable {
  /*
   * Owner: the JDK server's dispatcher thread and THREADS_MAX handlers, which share nothing with the path of messages.
   * Bounds: THREADS_MAX requests at a time and QUEUE_MAX waiting ones; what comes beyond these is closed and reported. So are, without a report, connections beyond
   * jdk.httpserver.maxConnections, which bin/dunlin sets. A client that sends an incomplete request occupies a handler until sun.net.httpserver.maxReqTime, which bin/dunlin sets, and one that does
   * not read its answer for ANSWER_SECONDS.
   * Failure: a failed answer is logged, and the connection is closed.
   */
  private static final Logger log = LoggerFactory.getLogger(AdminServer.class);
  private static final int THREADS_MAX = 2;
  private static final int QUEUE_MAX = 64;
  private static final int ANSWER_SECONDS = 30;
  private static final Set<String> OWN = Set.of("/health", "/ready", "/metrics");
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final String PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";

  private final HttpServer server;
  private final ThreadPoolExecutor handlers;
  private final Deadlines deadlines = new Deadlines("dunlin-http-deadlines");
  private final Supplier<Optional<String>> unhealthy;
  private final Supplier<Optional<String>> unready;
  /** Null when it does not serve metrics. */
  private final @Nullable Supplier<String> metrics;

  private volatile @Nullable HttpHandler others; // set by the thread that opens the port
  private volatile Runnable closing = () -> {}; // the same
  private volatile Supplier<String> ready = () -> "ready"; // the same

  private AdminServer(
      HttpServer server, Supplier<Optional<String>> unhealthy, Supplier<Optional<String>> unready, @Nullable Supplier<String> metrics) {
    this.server = server;
    this.unhealthy = unhealthy;
    this.unready = unready;
    this.metrics = metrics;
    handlers =
        new ThreadPoolExecutor(
            THREADS_MAX,
            THREADS_MAX,
            30,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(QUEUE_MAX),
            Thread.ofPlatform().name("dunlin-admin-", 0).daemon().factory(),
            (_, _) -> {
              closing.run();
              throw new RejectedExecutionException("too many requests wait"); // upon which the server closes the connection
            });
    handlers.allowCoreThreadTimeOut(true);
    server.setExecutor(handlers);
    server.createContext("/", this::answer);
  }

  /**
   * Binds the port and starts serving.
   *
   * @param address the address to bind; port 0 takes any free one
   * @param unhealthy why the process should be restarted, or empty; called for every request
   * @param unready why no clients should be sent to it now, or empty; called for every request
   * @param metrics renders the metrics; called for every request
   * @throws IllegalStateException naming the address when it cannot be bound
   */
  public static AdminServer start(
      InetSocketAddress address,
      Supplier<Optional<String>> unhealthy,
      Supplier<Optional<String>> unready,
      Supplier<String> metrics) {
    return open(address, unhealthy, unready, metrics);
  }

  /** The same without the metrics, for an address that not only operators can reach. */
  public static AdminServer startHealth(
      InetSocketAddress address, Supplier<Optional<String>> unhealthy, Supplier<Optional<String>> unready) {
    return open(address, unhealthy, unready, null);
  }

  private static AdminServer open(
      InetSocketAddress address,
      Supplier<Optional<String>> unhealthy,
      Supplier<Optional<String>> unready,
      @Nullable Supplier<String> metrics) {
    HttpServer server;
    try {
      server = HttpServer.create(address, QUEUE_MAX);
    } catch (IOException failure) {
      throw new IllegalStateException(
          "The HTTP endpoint cannot bind %s:%d: %s."
              .formatted(address.getHostString(), address.getPort(), failure.getMessage()),
          failure);
    }
    AdminServer admin = new AdminServer(server, unhealthy, unready, metrics);
    server.start();
    return admin;
  }

  /**
   * Answers the paths below a prefix by a handler, in addition to the others.
   *
   * @param handler called on a handler's thread, which it must not hold up: it answers on a thread of its own, and closes the exchange
   */
  public void serve(String prefix, HttpHandler handler) {
    server.createContext(prefix, handler);
  }

  /**
   * Answers all paths by a handler that have no answer yet.
   *
   * @param handler as for {@link #serve}
   */
  public void serveOthers(HttpHandler handler) {
    others = handler;
  }

  /** Sets what {@code /ready} says of a node that is ready; called for every request. */
  public void sayWhenReady(Supplier<String> text) {
    ready = text;
  }

  /** Has each connection reported that is closed unanswered, since too many requests wait; on the dispatcher's thread. */
  public void whenClosing(Runnable report) {
    closing = report;
  }

  /**
   * Answers all paths by a handler, the probes included.
   *
   * @param handler as for {@link #serve}
   */
  public void serveAll(HttpHandler handler) {
    server.removeContext("/");
    server.createContext("/", handler);
  }

  /** The port that it listens on. */
  public int port() {
    return server.getAddress().getPort();
  }

  @Override
  public void close() {
    server.stop(0);
    handlers.shutdownNow();
    deadlines.close();
  }

  private void answer(HttpExchange exchange) throws IOException {
    String path = String.valueOf(exchange.getRequestURI().getPath());
    HttpHandler other = others;
    if (other != null && !OWN.contains(path)) other.handle(exchange);
    else answer(exchange, path);
  }

  private void answer(HttpExchange exchange, String path) {
    try (Deadlines.Deadline _ = deadlines.begin(ANSWER_SECONDS);
        exchange) {
      String method = exchange.getRequestMethod();
      if (!method.equals("GET") && !method.equals("HEAD")) {
        exchange.getResponseHeaders().set("Allow", "GET, HEAD");
        send(exchange, 405, TEXT, "only GET and HEAD\n");
        return;
      }
      if (path.equals("/health")) probe(exchange, () -> "alive", unhealthy.get());
      else if (path.equals("/ready")) probe(exchange, ready, unready.get());
      else if (path.equals("/metrics") && metrics != null) send(exchange, 200, PROMETHEUS_TEXT, metrics.get());
      else send(exchange, 404, TEXT, "not found\n");
    } catch (IOException gone) {
      log.debug("The admin client {} went away", exchange.getRemoteAddress(), gone);
    } catch (RuntimeException failure) {
      log.warn("The admin listener could not answer {}", LogText.escaped(exchange.getRequestURI().toString()), failure);
    }
  }

  private static void probe(HttpExchange exchange, Supplier<String> good, Optional<String> trouble) throws IOException {
    send(exchange, trouble.isEmpty() ? 200 : 503, TEXT, trouble.orElseGet(good) + "\n");
  }

  private static void send(HttpExchange exchange, int status, String type, String text) throws IOException {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.getResponseHeaders().set("Cache-Control", "no-store");
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(status, -1);
    } else {
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
    }
  }
}
