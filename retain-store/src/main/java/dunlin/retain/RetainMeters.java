package dunlin.retain;

import dunlin.store.ProposalLine;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** What the retain tier counts. */
final class RetainMeters {
  /** Messages kept, new or in place of another. */
  final Counter stored;

  /** Messages removed by one with an empty payload. */
  final Counter removed;

  /** Messages removed because their Message Expiry Interval had passed. */
  final Counter expired;

  /** Messages handed out to subscribers. */
  final Counter found;

  /** Messages refused because there are as many topics as may be. */
  final Counter refusedFull;

  /** Messages refused because the queue towards the log was full, and too many waited for it. */
  final Counter refusedBusy;

  /** Messages whose fate the log could not tell. */
  final Counter refusedFailed;

  /** Messages refused for their topic name. */
  final Counter refusedInvalid;

  /** Pages not read because the queue of the reading threads was full, or because reading failed. */
  final Counter refusedPages;

  private final MeterRegistry registry;
  private final Gauge messages;
  private final Gauge waiting;
  private final Gauge oldest;

  RetainMeters(MeterRegistry registry, RetainRange range, ProposalLine<?, ?> line) {
    this.registry = registry;
    messages =
        Gauge.builder("dunlin.retain.messages", range, r -> r.index().size()).strongReference(true).register(registry);
    waiting =
        Gauge.builder("dunlin.retain.waiting", line, ProposalLine::waiting)
            .description("Messages to be retained that wait until the range has room")
            .strongReference(true)
            .register(registry);
    oldest =
        Gauge.builder("dunlin.retain.waiting.oldest", line, ProposalLine::oldestSeconds)
            .description("How long the first of them has waited")
            .baseUnit("seconds")
            .strongReference(true)
            .register(registry);
    stored = registry.counter("dunlin.retain.stored");
    removed = registry.counter("dunlin.retain.removed");
    expired = registry.counter("dunlin.retain.expired");
    found = registry.counter("dunlin.retain.found");
    refusedFull = refused(registry, "full");
    refusedBusy = refused(registry, "busy");
    refusedFailed = refused(registry, "failed");
    refusedInvalid = refused(registry, "invalid");
    refusedPages = refused(registry, "page");
  }

  /** Takes the gauge away, which would hold the index; a later server on the same registry brings its own. */
  void close() {
    registry.remove(messages);
    registry.remove(waiting);
    registry.remove(oldest);
  }

  private static Counter refused(MeterRegistry registry, String reason) {
    return registry.counter("dunlin.retain.refused", "reason", reason);
  }
}
