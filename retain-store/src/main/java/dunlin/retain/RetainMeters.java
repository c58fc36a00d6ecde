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
        Gauge.builder("dunlin.retain.messages", range, r -> r.index().size())
            .description("Topics with a retained message")
            .strongReference(true)
            .register(registry);
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
    stored = counter(registry, "dunlin.retain.stored", "Retained messages stored");
    removed = counter(registry, "dunlin.retain.removed", "Retained messages removed by their publishers");
    expired = counter(registry, "dunlin.retain.expired", "Retained messages that have expired");
    found = counter(registry, "dunlin.retain.found", "Retained messages read for new subscriptions");
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

  private static Counter counter(MeterRegistry registry, String name, String help) {
    return Counter.builder(name).description(help).register(registry);
  }

  private static Counter refused(MeterRegistry registry, String reason) {
    return Counter.builder("dunlin.retain.refused")
        .description("Retained messages, or pages of them, that were refused, by reason")
        .tag("reason", reason)
        .register(registry);
  }
}
