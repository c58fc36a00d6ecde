package dunlin.admin;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonIOException;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter.Place;
import dunlin.admin.api.Role;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.NodeBeans;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers requests below {@code /api/v1}, on loopback only. */
public final class AdminApi implements HttpHandler, AutoCloseable {
  /*
   * Owner: the admin port's handler threads call handle(), which starts a virtual thread for each request; event loops never come here.
   * Bounds: REQUESTS_MAX requests at a time, of BODY_MAX bytes each; beyond it, 503 with Retry-After, to REFUSALS_MAX at a time; what comes
   * beyond these is closed. A request must be read in BODY_SECONDS and answered in DEADLINE_SECONDS: its thread is interrupted then, which
   * closes the connection, so neither a slow body nor a slow reader of an answer holds a place longer. A deletion that takes longer than
   * that is cut off; what was deleted stays deleted.
   * Failure: whatever goes wrong inside is logged and answered 500 without its stack trace.
   */
  private static final Logger log = LoggerFactory.getLogger(AdminApi.class);
  private static final int REQUESTS_MAX = 8;
  private static final int REFUSALS_MAX = 64;
  private static final int BODY_MAX = 524_288;
  private static final int DISCARD_MAX = 4_194_304;
  private static final int DEADLINE_SECONDS = 75;
  private static final int BODY_SECONDS = 10;
  private static final int NO_LENGTH = 0;
  private static final String BEARER = "Bearer ";
  private static final Set<String> OWN_NAMES = Set.of("localhost", "127.0.0.1", "[::1]");

  private final Gson gson = new GsonBuilder().disableHtmlEscaping().create();
  private final Semaphore places = new Semaphore(REQUESTS_MAX);
  private final Semaphore refusals = new Semaphore(REFUSALS_MAX);
  private final AdminTokens tokens;
  private final AdminOperations operations;
  private final String version;
  private final ScheduledExecutorService deadlines =
      Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().name("dunlin-admin-deadlines").daemon().factory());
  private final Counter answered;
  private final Counter refused;
  private final Counter failed;
  private final Counter busy;

  public AdminApi(NodeBeans beans, AdminTokens tokens, String version, MeterRegistry registry) {
    this.tokens = tokens;
    this.operations = new AdminOperations(beans);
    this.version = version;
    this.answered = counter(registry, "answered");
    this.refused = counter(registry, "refused");
    this.failed = counter(registry, "failed");
    this.busy = counter(registry, "busy");
  }

  private static Counter counter(MeterRegistry registry, String outcome) {
    return Counter.builder("dunlin.admin.requests").description("Requests to the admin API").tag("outcome", outcome).register(registry);
  }

  @Override
  public void handle(HttpExchange exchange) {
    if (places.tryAcquire()) {
      Thread.ofVirtual().name("dunlin-admin-api").start(() -> inPlace(places, exchange, this::answer));
      return;
    }
    busy.increment();
    if (refusals.tryAcquire()) Thread.ofVirtual().name("dunlin-admin-api").start(() -> inPlace(refusals, exchange, (each, _) -> refuseBusy(each)));
    else exchange.close(); // ends the connection at once, since nothing of an answer was sent
  }

  private interface Answering {
    void answer(HttpExchange exchange, Deadline deadline) throws IOException;
  }

  /** Interrupts the thread of a request, in which it is made, and so ends the request's connection. */
  private final class Deadline implements AutoCloseable {
    private final Thread thread = Thread.currentThread();
    private Future<?> due = after(BODY_SECONDS);

    private Future<?> after(int seconds) {
      return deadlines.schedule(thread::interrupt, seconds, TimeUnit.SECONDS);
    }

    /** The request was read; what is left is to do it and to answer. */
    void extend() {
      due.cancel(false);
      due = after(DEADLINE_SECONDS);
    }

    @Override
    public void close() {
      due.cancel(false);
    }
  }

  private void inPlace(Semaphore place, HttpExchange exchange, Answering answering) {
    // The exchange is closed first: that may wait for the rest of a body.
    try (Deadline deadline = new Deadline();
        exchange) {
      answering.answer(exchange, deadline);
    } catch (IOException gone) {
      log.debug("A client of the admin API went away", gone);
    } catch (RuntimeException | Error failure) {
      failed.increment();
      log.warn("The admin API could not answer {}", LogText.escaped(String.valueOf(exchange.getRequestURI())), failure);
    } finally {
      place.release();
    }
  }

  private void refuseBusy(HttpExchange exchange) throws IOException {
    refuse(exchange, new Problem(503, "The admin API answers %d requests at a time; ask again soon.".formatted(REQUESTS_MAX)));
  }

  private void answer(HttpExchange exchange, Deadline deadline) throws IOException {
    Object answer;
    try {
      answer = acted(exchange, deadline);
    } catch (Problem problem) {
      refused.increment();
      refuse(exchange, problem);
      return;
    } catch (RuntimeException failure) {
      failed.increment();
      log.warn("The admin API could not do {}", LogText.escaped(String.valueOf(exchange.getRequestURI())), failure);
      refuse(exchange, new Problem(500, "The node could not do this; its log says why."));
      return;
    }
    answered.increment();
    send(exchange, 200, "application/json", answer);
  }

  private Object acted(HttpExchange exchange, Deadline deadline) throws IOException {
    checkOrigin(exchange);
    Role role = role(exchange);
    String path = Objects.requireNonNullElse(exchange.getRequestURI().getRawPath(), "");
    if (path.equals(Endpoints.DOCUMENT) && exchange.getRequestMethod().equals("GET")) return OpenApi.document(version);
    RequestForm.Route route = RequestForm.route(exchange.getRequestMethod(), path);
    Endpoint endpoint = route.endpoint();
    if (!role.includes(endpoint.role())) {
      throw new Problem(403, "This needs a token of the role %s; this one is of %s.".formatted(endpoint.role().label(), role.label()));
    }
    Map<Place, Map<String, String>> given = new EnumMap<>(Place.class);
    given.put(Place.PATH, route.path());
    given.put(Place.QUERY, RequestForm.query(Objects.requireNonNullElse(exchange.getRequestURI().getRawQuery(), "")));
    given.put(Place.BODY, RequestForm.body(body(exchange, endpoint)));
    Arguments arguments = Arguments.of(endpoint, given);
    deadline.extend();
    return operations.act(endpoint, arguments, role);
  }

  /**
   * A page of another site can make a browser send requests here: by its own name, which it lets stand for loopback (DNS rebinding), or
   * across sites. None of ours does either.
   */
  private static void checkOrigin(HttpExchange exchange) {
    String host = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Host"), "");
    if (!OWN_NAMES.contains(host.replaceFirst(":[0-9]{1,5}$", ""))) {
      throw new Problem(421, "The admin API is asked as localhost, 127.0.0.1 or [::1], not under another name.");
    }
    String origin = exchange.getRequestHeaders().getFirst("Origin");
    if (origin != null && !origin.equals("http://" + host)) throw new Problem(403, "The admin API does not answer pages of other sites.");
  }

  private Role role(HttpExchange exchange) {
    String given = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Authorization"), "");
    Optional<Role> role = given.startsWith(BEARER) ? tokens.roleOf(given.substring(BEARER.length()).strip()) : Optional.empty();
    return role.orElseThrow(
        () ->
            new Problem(
                401, "The admin API needs a valid token, as Authorization: Bearer; the file %s in the data directory has one.".formatted(AdminTokens.ACCESS_FILE)));
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

  private byte[] body(HttpExchange exchange, Endpoint endpoint) throws IOException {
    byte[] body = exchange.getRequestBody().readNBytes(BODY_MAX + 1);
    if (body.length > BODY_MAX) {
      discard(exchange.getRequestBody());
      throw new Problem(413, "A body has at most %d bytes.".formatted(BODY_MAX));
    }
    if (body.length == 0) return body;
    if (!endpoint.hasBody()) throw Problem.invalid("A request of the method " + endpoint.method() + " has no body.");
    String type = Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Content-Type"), "");
    if (!type.replaceFirst(";.*", "").strip().equalsIgnoreCase("application/json")) throw new Problem(415, "A body is of the type application/json.");
    return body;
  }

  private void refuse(HttpExchange exchange, Problem problem) throws IOException {
    if (problem.status() == 503) exchange.getResponseHeaders().set("Retry-After", "1");
    if (problem.status() == 401) exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
    JsonObject body = new JsonObject();
    body.addProperty("type", "about:blank");
    body.addProperty("title", problem.title());
    body.addProperty("status", problem.status());
    body.addProperty("detail", problem.detail());
    send(exchange, problem.status(), "application/problem+json", body);
  }

  /** Writes an answer piece by piece, so that a large page has no second copy as text. */
  private void send(HttpExchange exchange, int status, String type, Object answer) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.getResponseHeaders().set("Cache-Control", "no-store");
    exchange.getResponseHeaders().set("X-Content-Type-Options", "nosniff");
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(status, -1);
      return;
    }
    exchange.sendResponseHeaders(status, NO_LENGTH);
    try (Writer out = new OutputStreamWriter(exchange.getResponseBody(), StandardCharsets.UTF_8)) {
      gson.toJson(answer, out);
      out.flush();
    } catch (JsonIOException notWritten) {
      throw new IOException(notWritten);
    }
  }

  @Override
  public void close() {
    deadlines.shutdownNow();
  }
}
