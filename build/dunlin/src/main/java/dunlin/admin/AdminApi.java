package dunlin.admin;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonIOException;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import dunlin.admin.AdminEntry.Holder;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter.Place;
import dunlin.admin.api.Role;
import dunlin.admin.events.EventSource;
import dunlin.admin.operate.AdminOperations;
import dunlin.admin.operate.Arguments;
import dunlin.admin.operate.Problem;
import dunlin.broker.ApplicationSubscriptions;
import dunlin.runtime.Deadlines;
import dunlin.runtime.Deadlines.Deadline;
import dunlin.runtime.LogText;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers requests below {@code /api/v1}, and by TLS those for {@code /metrics}. */
public final class AdminApi implements HttpHandler, AutoCloseable {
  /*
   * Owner: the admin port's handler threads call handle(), which starts a virtual thread for each request; event loops never come here.
   * Bounds: REQUESTS_MAX requests at a time from loopback and as many by TLS, PER_CLIENT of an address, of BODY_MAX bytes each, and one at a time of LARGE_BODY_MAX,
   * which is an import; beyond it, 503 with Retry-After, to REFUSALS_MAX at a time; what comes beyond these is closed and counted. So the bytes of answers are bounded, too:
   * a page has the rows of its endpoint at most, and is written piece by piece, as its client reads it. A request must be read in BODY_SECONDS and
   * answered in DEADLINE_SECONDS (RequestPlaces). A deletion that takes longer than that is cut off; what was deleted stays deleted. A stream of events leaves its
   * place and has bounds of its own (EventStreams).
   * Failure: whatever goes wrong inside is logged and answered 500 without its stack trace.
   */
  private static final Logger log = LoggerFactory.getLogger(AdminApi.class);
  private static final int REQUESTS_MAX = 8;
  private static final int REFUSALS_MAX = 64;
  private static final int PER_CLIENT = 4;
  private static final int REFUSALS_PER_CLIENT = 16;
  private static final int BODY_MAX = 524_288;
  private static final int LARGE_BODY_MAX = 4_194_304;
  private static final int DISCARD_MAX = 4_194_304;
  private static final int DEADLINE_SECONDS = 75;
  private static final int BODY_SECONDS = 10;
  private static final String PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8";
  static final String METRICS = "/metrics";
  private static final String EVENTS = "text/event-stream";

  private final Gson gson = new GsonBuilder().disableHtmlEscaping().create();
  private final RequestPlaces places;
  private final RequestPlaces refusals;
  private final RequestPlaces placesByTls;
  private final RequestPlaces refusalsByTls;
  private final Semaphore largeBodies = new Semaphore(1);
  private final EventStreams streams;
  private final AdminEntry entry;
  private final Supplier<String> metrics;
  private final AdminOperations operations;
  private final AdminAudit audit = new AdminAudit(System::nanoTime);
  private final String version;
  private final Counter answered;
  private final Counter refused;
  private final Counter failed;
  private final Counter busy;
  private final Counter closed;

  /**
   * @param operators who signs in by a password; null without operators
   * @param metrics renders the metrics for those who ask by TLS
   * @param deadlines the caller closes them, after this
   */
  public AdminApi(
      AdminBeans beans, AdminTokens tokens, @Nullable Operators operators, Supplier<String> metrics, String version, MeterRegistry registry,
      Deadlines deadlines) {
    this.entry = new AdminEntry(tokens, operators);
    this.metrics = metrics;
    this.operations = new AdminOperations(beans.all(), beans.peers(), registry);
    this.version = version;
    this.answered = counter(registry, "answered");
    this.refused = counter(registry, "refused");
    this.failed = counter(registry, "failed");
    this.busy = counter(registry, "busy");
    this.closed = counter(registry, "closed");
    this.places = new RequestPlaces(REQUESTS_MAX, BODY_SECONDS, deadlines, failed::increment);
    this.refusals = new RequestPlaces(REFUSALS_MAX, BODY_SECONDS, deadlines, failed::increment);
    this.placesByTls = new RequestPlaces(REQUESTS_MAX, PER_CLIENT, BODY_SECONDS, deadlines, failed::increment);
    this.refusalsByTls = new RequestPlaces(REFUSALS_MAX, REFUSALS_PER_CLIENT, BODY_SECONDS, deadlines, failed::increment);
    this.streams = new EventStreams(gson, deadlines, registry);
  }

  private static Counter counter(MeterRegistry registry, String outcome) {
    return Counter.builder("dunlin.admin.requests")
        .description("Requests to the admin API; those whose outcome is closed were not even refused, since too many waited")
        .tag("outcome", outcome)
        .register(registry);
  }

  /** Lets operators watch messages, from now on. */
  public void watchBy(ApplicationSubscriptions subscriptions) {
    operations.watchBy(subscriptions);
  }

  @Override
  public void handle(HttpExchange exchange) {
    handle(exchange, Door.LOOPBACK);
  }

  void handle(HttpExchange exchange, Door door) {
    if ((door.remote() ? placesByTls : places).start(exchange, door, (each, deadline) -> answer(each, door, deadline))) return;
    if ((door.remote() ? refusalsByTls : refusals).start(exchange, door, (each, _) -> refuseBusy(each))) {
      busy.increment();
    } else {
      countClosed();
      exchange.close(); // ends the connection at once, since nothing of an answer was sent
    }
  }

  /** Counts a connection that is closed unanswered, since there is not even a place to refuse it. */
  public void countClosed() {
    closed.increment();
  }

  private Optional<Runnable> refuseBusy(HttpExchange exchange) throws IOException {
    return refuse(exchange, new Problem(503, "The admin API answers %d requests at a time; ask again soon.".formatted(REQUESTS_MAX)));
  }

  private Optional<Runnable> answer(HttpExchange exchange, Door door, Deadline deadline) throws IOException {
    Object answer;
    try {
      answer = acted(exchange, door, deadline);
    } catch (Problem problem) {
      refused.increment();
      return refuse(exchange, problem);
    } catch (RuntimeException failure) {
      failed.increment();
      log.warn("The admin API could not do {}", LogText.escaped(String.valueOf(exchange.getRequestURI())), failure);
      return refuse(exchange, new Problem(500, "The node could not do this; its log says why."));
    }
    answered.increment();
    return switch (answer) {
      case Runnable stream -> Optional.of(stream);
      case String text -> sendMetrics(exchange, text);
      default -> send(exchange, 200, "application/json", answer);
    };
  }

  /** @return what to answer: an object, the text of the metrics, or the Runnable that sends a stream */
  private Object acted(HttpExchange exchange, Door door, Deadline deadline) throws IOException {
    door.site().check(exchange);
    Holder holder = entered(exchange, door);
    String path = Objects.requireNonNullElse(exchange.getRequestURI().getRawPath(), "");
    if (path.equals(Endpoints.DOCUMENT) && exchange.getRequestMethod().equals("GET")) return OpenApi.document(version);
    if (door.remote() && path.equals(METRICS)) return metrics(exchange);
    RequestForm.Route route = RequestForm.route(exchange.getRequestMethod(), path);
    Map<Place, Map<String, String>> given = new EnumMap<>(Place.class);
    given.put(Place.PATH, route.path());
    int status = 500;
    try {
      Object answer = acted(exchange, holder, route.endpoint(), given, deadline);
      status = 200;
      return answer;
    } catch (Problem problem) {
      status = problem.status();
      throw problem;
    } finally {
      audit.asked(holder, door, route.endpoint(), given, status);
    }
  }

  private Holder entered(HttpExchange exchange, Door door) {
    try {
      return entry.enter(Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Authorization"), ""), door);
    } catch (Problem problem) {
      audit.notLetIn(door, problem.status());
      throw problem;
    }
  }

  /** @param given what the request says in its path; the rest is added */
  private Object acted(HttpExchange exchange, Holder holder, Endpoint endpoint, Map<Place, Map<String, String>> given, Deadline deadline)
      throws IOException {
    Role role = holder.role();
    if (!role.includes(endpoint.role())) {
      throw new Problem(403, "This needs the role %s; yours is %s.".formatted(endpoint.role().label(), role.label()));
    }
    given.put(Place.QUERY, RequestForm.query(Objects.requireNonNullElse(exchange.getRequestURI().getRawQuery(), "")));
    boolean large = endpoint.hasLargeBody();
    if (large && !largeBodies.tryAcquire()) throw new Problem(503, "The admin API takes one import at a time; ask again soon.");
    try {
      return acted(exchange, holder, endpoint, given, deadline, body(exchange, endpoint, large ? LARGE_BODY_MAX : BODY_MAX));
    } finally {
      if (large) largeBodies.release();
    }
  }

  private Object acted(
      HttpExchange exchange, Holder holder, Endpoint endpoint, Map<Place, Map<String, String>> given, Deadline deadline, byte[] body) {
    given.put(Place.BODY, RequestForm.body(body));
    Arguments arguments = Arguments.of(endpoint, given);
    deadline.extend(DEADLINE_SECONDS);
    if (!endpoint.stream()) return operations.act(endpoint, arguments, holder.role());
    if (!accepted(exchange)) throw new Problem(406, "This is a stream without an end, for those who accept " + EVENTS + ".");
    return streams.open(
        exchange, () -> (EventSource) operations.act(endpoint, arguments, holder.role()), arguments.number("count"), holder.valid());
  }

  /** A program that reads whole answers would wait for ever, so a stream must be asked for. */
  private static boolean accepted(HttpExchange exchange) {
    String accepted = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Accept"), "");
    return accepted.contains(EVENTS) || accepted.contains("*/*");
  }

  /** Reads what still comes, up to a limit: a connection that is closed with unread bytes is reset, and its client may never see the answer. */
  private static void discard(InputStream rest) throws IOException {
    byte[] buffer = new byte[8_192];
    for (int left = DISCARD_MAX; left > 0; ) {
      int read = rest.read(buffer);
      if (read < 0) return;
      left -= read;
    }
  }

  private byte[] body(HttpExchange exchange, Endpoint endpoint, int max) throws IOException {
    byte[] body = exchange.getRequestBody().readNBytes(max + 1);
    if (body.length > max) {
      discard(exchange.getRequestBody());
      throw new Problem(413, "A body has at most %d bytes.".formatted(max));
    }
    if (body.length == 0) return body;
    if (!endpoint.hasBody()) throw Problem.invalid("A request of the method " + endpoint.method() + " has no body.");
    String type = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Content-Type"), "");
    if (!type.replaceFirst(";.*", "").strip().equalsIgnoreCase("application/json")) throw new Problem(415, "A body is of the type application/json.");
    return body;
  }

  private Optional<Runnable> refuse(HttpExchange exchange, Problem problem) throws IOException {
    if (problem.status() == 429) exchange.getResponseHeaders().set("Retry-After", "60");
    if (problem.status() == 503) exchange.getResponseHeaders().set("Retry-After", "1");
    if (problem.status() == 401) exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer"); // not Basic: a browser would ask, keep the password, and send it by itself
    JsonObject body = new JsonObject();
    body.addProperty("type", "about:blank");
    body.addProperty("title", problem.title());
    body.addProperty("status", problem.status());
    body.addProperty("detail", problem.detail());
    return send(exchange, problem.status(), "application/problem+json", body);
  }

  /**
   * Writes an answer piece by piece, so that a large page has no second copy as text. Nothing is flushed before the end: what follows a flush would wait until the
   * client has acknowledged what came before it, which may take 40 milliseconds.
   *
   * @return nothing further
   */
  private Optional<Runnable> send(HttpExchange exchange, int status, String type, Object answer) throws IOException {
    ApiHeaders.set(exchange, type);
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(status, ApiHeaders.NO_BODY);
      return Optional.empty();
    }
    exchange.sendResponseHeaders(status, ApiHeaders.NO_LENGTH);
    try (Writer out = new OutputStreamWriter(new UnflushedStream(exchange.getResponseBody()), StandardCharsets.UTF_8)) {
      gson.toJson(answer, out);
    } catch (JsonIOException notWritten) {
      throw new IOException(notWritten);
    }
    return Optional.empty();
  }

  /** Flushes when it is closed only. */
  private static final class UnflushedStream extends FilterOutputStream {
    UnflushedStream(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      out.write(bytes, from, length);
    }

    @Override
    public void flush() {}
  }

  private String metrics(HttpExchange exchange) {
    if (!exchange.getRequestMethod().equals("GET") && !exchange.getRequestMethod().equals("HEAD")) throw new Problem(405, "The metrics are read by GET or HEAD.");
    return metrics.get();
  }

  private static Optional<Runnable> sendMetrics(HttpExchange exchange, String text) throws IOException {
    ApiHeaders.send(exchange, 200, PROMETHEUS_TEXT, text.getBytes(StandardCharsets.UTF_8));
    return Optional.empty();
  }

  @Override
  public void close() {
    streams.close();
  }
}
