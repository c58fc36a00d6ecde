package dunlin.admin.spans;

import dunlin.broker.http.ServiceClient;
import dunlin.broker.http.ServiceUrl;
import dunlin.runtime.SettingException;
import dunlin.transport.trace.SpanSampler;
import dunlin.transport.trace.SpanSampler.SpanStep;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends the spans of sampled messages to a collector, as they come. */
public final class SpanExporter implements AutoCloseable {
  /*
   * Owner: a virtual thread of its own takes steps each PAUSE, makes requests of them and waits for the answers; nothing else waits for it.
   * Bounds: REQUEST_MAX steps in a request, one request at a time, each with TIMEOUT. What comes faster waits in the sampler, which leaves out what it has no room for.
   * Failure: the spans of a request that is not answered with 200 are lost and counted, and the next request is made with the next spans: a collector that is gone
   * costs one request at a time. What waits at the close is lost.
   */
  private static final Logger log = LoggerFactory.getLogger(SpanExporter.class);
  private static final String METER = "dunlin.tracing.spans";
  private static final String DESCRIPTION = "Spans of sampled messages: sent to the collector, lost since it did not take them, or left out since there were too many";
  private static final int REQUEST_MAX = 512;
  private static final int ANSWER_MAX = 65_536;
  private static final Duration PAUSE = Duration.ofMillis(500);
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final SpanSettings settings;
  private final SpanSampler sampler;
  private final OtlpJson form;
  private final ServiceClient client = new ServiceClient(TIMEOUT, ANSWER_MAX);
  private final Counter sent;
  private final Counter failed;
  private final Thread thread;

  private volatile boolean closed; // set by the thread that closes the node
  private boolean failing; // used by its own thread only

  private SpanExporter(SpanSettings settings, SpanSampler sampler, OtlpJson form, MeterRegistry registry) {
    this.settings = settings;
    this.sampler = sampler;
    this.form = form;
    this.sent = counter(registry, "sent");
    this.failed = counter(registry, "failed");
    FunctionCounter.builder(METER, sampler, SpanSampler::leftOut).description(DESCRIPTION).tag("outcome", "left-out").register(registry);
    Gauge.builder("dunlin.tracing.spans.waiting", sampler, SpanSampler::waiting).description("Spans that are not sent to the collector yet").register(registry);
    this.thread = Thread.ofVirtual().name("dunlin-spans").unstarted(this::run);
  }

  private static Counter counter(MeterRegistry registry, String outcome) {
    return Counter.builder(METER).description(DESCRIPTION).tag("outcome", outcome).register(registry);
  }

  /**
   * Begins to sample messages of a node and to send their spans.
   *
   * @param node its id
   * @param wall the clock that steps are stamped with
   */
  public static SpanExporter start(SpanSettings settings, Tracer tracer, String node, String version, InstantSource wall, MeterRegistry registry) {
    SpanSampler sampler = new SpanSampler(settings.sampleOneIn(), settings.perSecond(), wall);
    SpanExporter exporter = new SpanExporter(settings, sampler, new OtlpJson(node, version, new SplittableRandom()), registry);
    tracer.sample(sampler);
    exporter.thread.start();
    log.info("Spans of messages are sent to {}", ServiceUrl.shown(settings.url()));
    return exporter;
  }

  private void run() {
    try {
      while (!closed) {
        List<SpanStep> steps = sampler.take(REQUEST_MAX);
        if (!steps.isEmpty()) send(steps);
        if (steps.size() < REQUEST_MAX) Thread.sleep(PAUSE);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error failure) {
      if (!closed) log.error("Spans of messages are sent no longer", failure);
    }
  }

  private void send(List<SpanStep> steps) throws InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(settings.url())
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(form.request(steps).toString(), StandardCharsets.UTF_8));
    try {
      String authorization = settings.authorization().value(); // anew, since its file may change
      if (!authorization.isEmpty()) request.header("Authorization", authorization);
      client.send(request);
      sent.increment(steps.size());
      if (failing) log.info("The collector at {} takes spans again", ServiceUrl.shown(settings.url()));
      failing = false;
    } catch (IOException | TimeoutException | SettingException | IllegalArgumentException refused) { // the last one: no text for a header
      failed.increment(steps.size());
      if (!failing && !closed) log.warn("The collector at {} does not take spans, which are lost: {}", ServiceUrl.shown(settings.url()), reason(refused));
      failing = true;
    }
  }

  private static String reason(Exception failure) {
    return switch (failure) {
      case TimeoutException _ -> "no answer within " + TIMEOUT.toSeconds() + " s";
      case IllegalArgumentException _ -> "dunlin.tracing.otlp-authorization is no text for a header"; // without the text
      default -> String.valueOf(failure.getMessage());
    };
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    client.close();
  }
}
