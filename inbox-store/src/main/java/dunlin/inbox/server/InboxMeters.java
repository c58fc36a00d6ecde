package dunlin.inbox.server;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.RangeState;
import dunlin.runtime.DropReason;
import dunlin.store.serve.ProposalLine;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * The meters of the session tier. At rest, {@code appended = acknowledged + queued + overtaken} + all of {@code dropped} but {@code
 * offline}, counted from an empty store. Drops are counted once more in the family of all hops, {@code dunlin.messages.dropped}.
 */
final class InboxMeters {
  private final MeterRegistry registry;
  private final Counter sessionsExpired;
  private final Counter appended;
  private final Counter acknowledged;
  private final Map<InboxDropReason, Counter> dropped = new EnumMap<>(InboxDropReason.class);
  private final Map<Refusal, Counter> refused = new EnumMap<>(Refusal.class);
  private final Counter willAttempts;
  private final Counter wills;
  private final Counter acknowledgementsRefused;
  private final Counter routesRepaired;
  private final Counter pushesAstray;

  /** Why a publish was answered with an error before it was stored. */
  enum Refusal {
    /** The range's queue was full, and too many waited for it. */
    BUSY,
    /** The range did not say whether it was stored. */
    FAILED,
    /** Its publisher's session has another owner by now. */
    STALE,
    /** A message of the same connection was refused before it, and both are sent again. */
    FENCED
  }

  InboxMeters(MeterRegistry registry, RangeState state) {
    this.registry = registry;
    Gauge.builder("dunlin.inbox.sessions", state.sessions, Map::size)
        .description("Sessions, with and without a connection")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.sessions-durable", state.durableCount::get)
        .description("Those of them that outlive their connection")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.online", state.onlineCount::get)
        .description("Sessions that have a connection")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.queued", state.queued::get)
        .description("Messages in all inboxes")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.queued.bytes", state.queuedBytes::get)
        .description("Bytes of these messages, once for each inbox that they wait in")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.overtaken", state.overtaken::get)
        .description("Messages that have left full inboxes while their connections may be sending them")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.subscriptions", state.subscriptions::get)
        .description("Subscriptions of durable sessions")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.memory", state.memory::get)
        .description("Memory that sessions and their subscriptions take, by an estimate: what dunlin.inbox.memory-max bounds")
        .baseUnit("bytes")
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.subscriptions-shared", state.sharedSubscriptions::get)
        .description("Those of them that are shared subscriptions")
        .strongReference(true)
        .register(registry);
    sessionsExpired =
        Counter.builder("dunlin.inbox.sessions-expired")
            .description("Sessions that ended because their expiry interval had passed")
            .register(registry);
    appended =
        Counter.builder("dunlin.inbox.appended")
            .description("Messages offered to inboxes: stored, or dropped because of a bound")
            .register(registry);
    acknowledged =
        Counter.builder("dunlin.inbox.acknowledged")
            .description("Messages that left an inbox because their client has them")
            .register(registry);
    for (InboxDropReason reason : InboxDropReason.values()) {
      dropped.put(
          reason,
          Counter.builder("dunlin.inbox.dropped")
              .description("Messages that were not delivered")
              .tag("reason", reason.label())
              .register(registry));
    }
    for (var common : DropReason.values()) {
      if (Arrays.stream(InboxDropReason.values()).noneMatch(reason -> reason.common() == common)) continue;
      FunctionCounter.builder("dunlin.messages.dropped", this, meters -> meters.dropped(common))
          .description("Messages that a hop gave up, by reason.")
          .tag("hop", "inbox")
          .tag("reason", common.tag())
          .register(registry);
    }
    for (Refusal refusal : Refusal.values()) {
      refused.put(
          refusal,
          Counter.builder("dunlin.inbox.refused")
              .description("Publishes answered with an error instead of being stored")
              .tag("reason", refusal.name().toLowerCase(Locale.ROOT))
              .register(registry));
    }
    wills =
        Counter.builder("dunlin.inbox.wills-published")
            .description("Wills that were published")
            .register(registry);
    willAttempts =
        Counter.builder("dunlin.inbox.will-failures")
            .description("Attempts to publish a will that failed and are made again")
            .register(registry);
    acknowledgementsRefused =
        Counter.builder("dunlin.inbox.acknowledgements-refused")
            .description("Records of acknowledged messages that the range refused and that are proposed again")
            .register(registry);
    routesRepaired =
        Counter.builder("dunlin.inbox.routes-repaired")
            .description("Routes that no session needs, left over from before the last start and removed; 0 unless the node ended before it had removed them")
            .register(registry);
    pushesAstray =
        Counter.builder("dunlin.inbox.pushes-astray")
            .description("Messages for connections of frontends that are not attached; with QoS 0 they are dropped, else they wait in their inboxes")
            .register(registry);
  }

  /** Sessions that ended because their expiry interval had passed. */
  long sessionsExpired() {
    return (long) sessionsExpired.count();
  }

  /** Watches the length of something that waits. */
  void waiting(String name, String description, IntSupplier length) {
    Gauge.builder(name, length::getAsInt).description(description).strongReference(true).register(registry);
  }

  /** Watches what waits until the range has room. */
  void line(String kind, ProposalLine<?, ?> line) {
    Gauge.builder("dunlin.inbox.waiting", line, ProposalLine::waiting)
        .description("Commands that wait until the session range has room")
        .tag("kind", kind)
        .strongReference(true)
        .register(registry);
    Gauge.builder("dunlin.inbox.waiting.oldest", line, ProposalLine::oldestSeconds)
        .description("How long the first of them has waited")
        .baseUnit("seconds")
        .tag("kind", kind)
        .strongReference(true)
        .register(registry);
  }

  void count(Effects effects) {
    if (effects.appended() > 0) appended.increment(effects.appended());
    if (effects.acknowledged() > 0) acknowledged.increment(effects.acknowledged());
    if (effects.sessionsExpired() > 0) sessionsExpired.increment(effects.sessionsExpired());
    effects.dropped().forEach((reason, count) -> dropped(reason).increment(count));
  }

  void offline() {
    dropped(InboxDropReason.OFFLINE).increment();
  }

  /** The same drops by the reasons that all hops have in common. */
  private double dropped(DropReason common) {
    double sum = 0;
    for (InboxDropReason reason : InboxDropReason.values()) if (reason.common() == common) sum += dropped(reason).count();
    return sum;
  }

  private Counter dropped(InboxDropReason reason) {
    var counter = dropped.get(reason);
    assert counter != null : reason;
    return counter;
  }

  void refused(Refusal refusal) {
    var counter = refused.get(refusal);
    assert counter != null : refusal;
    counter.increment();
  }

  void acknowledgementsRefused() {
    acknowledgementsRefused.increment();
  }

  void routesRepaired(int count) {
    routesRepaired.increment(count);
  }

  void pushAstray() {
    pushesAstray.increment();
  }

  void willPublished() {
    wills.increment();
  }

  void willFailed() {
    willAttempts.increment();
  }

  void willRefused(String reason) {
    Counter.builder("dunlin.inbox.wills-refused")
        .description("Wills that a bound or a rule refused, by the reason code, or that had no answer; they are not tried again")
        .tag("reason", reason)
        .register(registry)
        .increment();
  }
}
