package dunlin.broker.http;

import dunlin.broker.http.HttpAnswer.Missing;
import dunlin.broker.http.HttpAnswer.Why;
import dunlin.broker.limit.Askers;
import dunlin.broker.limit.FairLines;
import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import dunlin.runtime.Secret;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Asks the service about clients, some at a time; the others wait in lines. */
public final class HttpQuestions implements AutoCloseable {
  /*
   * Owner: any thread asks. What is asked is sent by Askers.
   * Bounds: as many askers as the settings say. WAITING_MAX questions in lines by address, which take turns; what finds no room, and what has waited for patience, has no
   *   answer. The caller bounds the size of a question. ANSWER_MAX bytes of an answer, timeout of the settings for all of it.
   * Failure: a question without a usable answer is answered with Missing, and counted. After failuresMax of them the service is not asked for a while
   *   (Breaker), which an event says, and another one that it is asked again. Nothing is sent twice. A line a second says what was wrong.
   */
  private static final Logger log = LoggerFactory.getLogger(HttpQuestions.class);
  private static final Logger events = LoggerFactory.getLogger("dunlin.events");

  /** Questions that wait at most. */
  static final int WAITING_MAX = 4_096;

  private static final int ANSWER_MAX = 64 * 1_024;

  private final URI url;
  private final Secret authorization;
  private final long patienceNanos;
  private final LongSupplier nanoTime;
  private final ServiceClient client;
  private final Breaker breaker;
  private final FairLines<Asking> lines = new FairLines<>(WAITING_MAX);
  private final Askers<Asking> askers;
  private final LineLimit failureLines = new LineLimit(1, System::nanoTime);
  private final Counter allowed;
  private final Counter denied;
  private final Map<Why, Counter> missing = new EnumMap<>(Why.class);
  private final Timer time;
  private volatile boolean closed;

  private record Asking(HttpQuestion question, long sinceNanos, CompletableFuture<HttpAnswer> answer) {}

  /** @param patience how long a question may wait in its line */
  public HttpQuestions(HttpSettings settings, Duration patience, LongSupplier nanoTime, MeterRegistry meters) {
    url = settings.uri();
    authorization = settings.authorization();
    askers = new Askers<>("dunlin-auth-http", settings.requestsMax(), lines, next -> answer(next, decide(next)));
    patienceNanos = patience.toNanos();
    this.nanoTime = nanoTime;
    client = new ServiceClient(settings.timeout(), ANSWER_MAX);
    breaker = new Breaker(settings.failuresMax(), settings.pause(), nanoTime);
    time = Timer.builder("dunlin.auth.http.time").description("Time of requests to the authentication service, to the end of the answer or the failure").register(meters);
    allowed = counter("allowed", meters);
    denied = counter("denied", meters);
    for (Why each : Why.values()) missing.put(each, counter(each.name().toLowerCase(Locale.ROOT), meters));
    Gauge.builder("dunlin.auth.http.waiting", lines, FairLines::size).description("Clients that wait to be asked about").register(meters);
    Gauge.builder("dunlin.auth.http.paused", breaker, each -> each.isOpen() ? 1 : 0)
        .description("1 while the authentication service is not asked because it has failed")
        .register(meters);
  }

  private static Counter counter(String result, MeterRegistry meters) {
    return Counter.builder("dunlin.auth.http.answers").description("Clients that the authentication service was to be asked about, by result").tag("result", result).register(meters);
  }

  /** Asks about a client. The answer comes on a thread of its own, or at once; it is never an exception. */
  public CompletionStage<HttpAnswer> ask(HttpQuestion question) {
    var asking = new Asking(question, nanoTime.getAsLong(), new CompletableFuture<>());
    Asking without = lines.offer(question.source(), asking);
    if (without != null) answer(without, new Missing(Why.BUSY, "too many clients wait for the authentication service"));
    askers.begin();
    return asking.answer();
  }

  private HttpAnswer decide(Asking asking) {
    if (closed || nanoTime.getAsLong() - asking.sinceNanos() >= patienceNanos) return new Missing(Why.BUSY, "the authentication service has not got to this client in time");
    Breaker.Admission admission = breaker.admits();
    if (admission == Breaker.Admission.NO) return new Missing(Why.PAUSED, "the authentication service has failed, and is not asked for a moment");
    long begin = System.nanoTime();
    HttpAnswer answer = send(asking.question());
    time.record(System.nanoTime() - begin, TimeUnit.NANOSECONDS);
    if (answer instanceof Missing missing) failed(asking.question().source(), admission, missing.explanation());
    else if (breaker.succeeded() == Breaker.Change.CLOSED) EventLine.of(events, Level.INFO, "auth-service-back").text("url", ServiceUrl.shown(url)).write();
    return answer;
  }

  private HttpAnswer send(HttpQuestion question) {
    try {
      HttpRequest.Builder request =
          HttpRequest.newBuilder(url)
              .header("Content-Type", "application/json")
              .header("Accept", "application/json")
              .POST(HttpRequest.BodyPublishers.ofByteArray(question.body()));
      authorize(request);
      return HttpAnswer.Reader.read(client.send(request));
    } catch (HttpAnswer.Reader.MalformedException e) {
      return new Missing(Why.MALFORMED, "The answer of the authentication service cannot be understood: " + e.getMessage());
    } catch (TimeoutException _) {
      return new Missing(Why.FAILED, "The authentication service has not answered in time (dunlin.auth.http.timeout)");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return new Missing(Why.FAILED, "the broker stops");
    } catch (IOException | RuntimeException e) { // a secret that cannot be read any more is one as well
      return new Missing(Why.FAILED, "The authentication service has not answered: " + (e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage()));
    }
  }

  private void authorize(HttpRequest.Builder request) {
    String secret = authorization.value(); // anew, since its file may change
    try {
      if (!secret.isEmpty()) request.header("Authorization", secret);
    } catch (IllegalArgumentException _) { // its message has the text
      throw new IllegalStateException("dunlin.auth.http.authorization is no text for a header");
    }
  }

  private void failed(long source, Breaker.Admission admission, String explanation) {
    if (closed) return;
    if (failureLines.admits()) log.warn("{}; {} more failures were not logged", explanation, failureLines.leftOut());
    if (breaker.failed(source, admission) != Breaker.Change.OPENED) return;
    EventLine.of(events, Level.WARN, "auth-service-failed").text("url", ServiceUrl.shown(url)).text("explanation", explanation).write();
  }

  private void answer(Asking asking, HttpAnswer answer) {
    Counter counter =
        switch (answer) {
          case HttpAnswer.Allowed _ -> allowed;
          case HttpAnswer.Denied _ -> denied;
          case Missing(var why, _) -> Objects.requireNonNull(missing.get(why));
        };
    counter.increment();
    asking.answer().complete(answer);
  }

  /** Ends requests; what waits has no answer. */
  @Override
  public void close() {
    closed = true;
    client.close();
  }
}
