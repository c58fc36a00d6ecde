package dunlin.store.remote;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/** The meters of a range client. */
final class ClientMeters implements AutoCloseable {
  /** Why an attempt ended without a result. */
  enum Reason {
    NOT_LEADER("not-leader", "the node does not lead"),
    WRONG_EPOCH("wrong-epoch", "the range has changed"),
    OVERLOADED("overloaded", "a queue is full"),
    UNAVAILABLE("unavailable", "the node does not serve the range"),
    UNKNOWN("unknown", "the outcome is unknown"),
    AWAY("away", "no node of the range can be reached"),
    NO_ROUTE("no-route", "the location of the range is unknown"),
    STALLED("stalled", "the node is silent");

    final String tag;
    final String text;

    Reason(String tag, String text) {
      this.tag = tag;
      this.text = text;
    }
  }

  private final MeterRegistry registry;
  private final List<Meter> registered = new ArrayList<>();
  private final Map<Reason, Counter> refusals = new EnumMap<>(Reason.class);
  private final Map<Reason, Counter> retries = new EnumMap<>(Reason.class);
  private final Timer done;
  private final Timer notDone;
  private final Timer unknown;
  private final Counter overflows;
  private final Counter brokenStreams;
  private final Counter pingsAnswered;
  private final Counter pingsMissed;

  ClientMeters(MeterRegistry registry) {
    this.registry = registry;
    done = ending("done");
    notDone = ending("not-done");
    unknown = ending("unknown");
    overflows = counter("dunlin.store.client.overflows", "Requests to other nodes refused because a queue was full");
    brokenStreams = counter("dunlin.store.client.streams.broken", "Streams to other nodes that ended, or could not be opened");
    pingsAnswered = pings("yes");
    pingsMissed = pings("no");
    for (var reason : Reason.values()) {
      refusals.put(reason, counter("dunlin.store.client.refusals", "Attempts that ended without a result", reason));
      retries.put(reason, counter("dunlin.store.client.retries", "Requests that were tried again", reason));
    }
  }

  <T> void gauge(String name, String description, T source, ToDoubleFunction<T> value) {
    register(Gauge.builder(name, source, value).description(description).register(registry));
  }

  void done(long nanos) {
    done.record(nanos, TimeUnit.NANOSECONDS);
  }

  void failed(long nanos, boolean maybeDone) {
    (maybeDone ? unknown : notDone).record(nanos, TimeUnit.NANOSECONDS);
  }

  void refused(Reason reason) {
    count(refusals, reason);
  }

  void retried(Reason reason) {
    count(retries, reason);
  }

  void overflow() {
    overflows.increment();
  }

  void pinged(boolean answered) {
    (answered ? pingsAnswered : pingsMissed).increment();
  }

  void streamBroken() {
    brokenStreams.increment();
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }

  private static void count(Map<Reason, Counter> counters, Reason reason) {
    var counter = counters.get(reason);
    assert counter != null : reason;
    counter.increment();
  }

  private Timer ending(String outcome) {
    return register(
        Timer.builder("dunlin.store.client.requests")
            .description("Time from a request's proposal to its end, over all attempts")
            .tag("outcome", outcome)
            .register(registry));
  }

  private Counter pings(String answered) {
    return register(
        Counter.builder("dunlin.store.client.pings")
            .description("Pings to nodes that owed replies and were silent")
            .tag("answered", answered)
            .register(registry));
  }

  private Counter counter(String name, String description, Reason reason) {
    return register(Counter.builder(name).description(description).tag("reason", reason.tag).register(registry));
  }

  private Counter counter(String name, String description) {
    return register(Counter.builder(name).description(description).register(registry));
  }

  private <M extends Meter> M register(M meter) {
    registered.add(meter);
    return meter;
  }
}
