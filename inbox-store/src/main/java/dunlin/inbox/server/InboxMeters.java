package dunlin.inbox.server;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.propose.UnansweredCalls;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropReason;
import dunlin.store.serve.ProposalLine;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace.Step;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * The meters of the session tier. When no message is in flight, {@code found + appended = acknowledged + queued + overtaken + left} +
 * all of {@code dropped} except {@code offline} and {@code repeated}. Drops are also counted in the meter of
 * all hops, {@code dunlin.messages.dropped}.
 */
final class InboxMeters implements AutoCloseable {
  /** As the counters of drops name it. */
  private static final String HOP = "inbox";

  private final MeterRegistry registry;
  private final Tracer tracer;

  /** Gauges that read the state of a server and are removed when it closes; counters stay. */
  private final List<Meter> views = new ArrayList<>();

  private final Counter sessionsExpired;
  private final Counter appended;
  private final Counter acknowledged;
  private final Counter found;
  private final Counter left;
  private final Map<InboxDropReason, Counter> dropped = new EnumMap<>(InboxDropReason.class);
  private final Map<Refusal, Counter> refused = new EnumMap<>(Refusal.class);
  private final Counter willAttempts;
  private final Counter wills;
  private final Counter willsDue;
  private final Counter willsWithdrawn;
  private final Counter acknowledgementsRefused;
  private final Counter routesRepaired;
  private final Counter pushesUndeliverable;

  /** Why a publish was answered with an error before it was stored. */
  enum Refusal {
    /** The range's queue was full, and too many waited for it. */
    BUSY,
    /** The range did not say whether it was stored. */
    FAILED,
    /** Its publisher's session has another owner now. */
    STALE,
    /** An earlier message of the same connection was refused, and the client sends both again. */
    FENCED,
    /** The open QoS 2 exchanges of its publisher's session, or of all, hold as much memory as they may. */
    EXCHANGES
  }

  /** The parts of a server that are shown. */
  record Shown(List<InboxRangeServer> ranges, LostFrontends lost, WillRunner wills, Exchanges exchanges, HandOvers handOvers) {}

  /** @param tracer notes what is counted for a message in the traces that follow it */
  InboxMeters(MeterRegistry registry, Tracer tracer) {
    this.registry = registry;
    this.tracer = tracer;
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
            .description("Messages that left an inbox because their client acknowledged them")
            .register(registry);
    found =
        Counter.builder("dunlin.inbox.found")
            .description("Messages that were in inboxes when this node began to serve them: at its start, or when it was made the leader")
            .register(registry);
    left =
        Counter.builder("dunlin.inbox.left")
            .description("Messages that were in inboxes when this node ceased to serve them, which the next leader has")
            .register(registry);
    for (InboxDropReason reason : InboxDropReason.values()) {
      dropped.put(
          reason,
          Counter.builder("dunlin.inbox.dropped")
              .description("Messages for inboxes that were dropped, by reason")
              .tag("reason", reason.label())
              .register(registry));
    }
    for (var common : DropReason.values()) {
      if (Arrays.stream(InboxDropReason.values()).noneMatch(reason -> reason.common() == common)) continue;
      views.add(
          FunctionCounter.builder("dunlin.messages.dropped", this, meters -> meters.dropped(common))
              .description("Messages that a hop has dropped, by reason")
              .tag("hop", HOP)
              .tag("reason", common.tag())
              .register(registry));
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
    willsDue = Counter.builder("dunlin.inbox.wills-due").description("Wills that became due").register(registry);
    willsWithdrawn =
        Counter.builder("dunlin.inbox.wills-withdrawn")
            .description("Wills that were due and were not published after all, since their client had disconnected, that were left to the next leader, or that made room for others and become due again")
            .register(registry);
    willsRefused(ReasonCode.QUOTA_EXCEEDED.label()); // there before its first increase, which Prometheus would miss
    willAttempts =
        Counter.builder("dunlin.inbox.will-failures")
            .description("Failed attempts to publish a will; each is repeated")
            .register(registry);
    acknowledgementsRefused =
        Counter.builder("dunlin.inbox.acknowledgements-refused")
            .description("Acknowledgements that the range refused and that are proposed again")
            .register(registry);
    routesRepaired =
        Counter.builder("dunlin.inbox.routes-repaired")
            .description("Routes that no session needs, left over from before the last start and removed; 0 unless the node ended before it had removed them")
            .register(registry);
    pushesUndeliverable =
        Counter.builder("dunlin.inbox.pushes-undeliverable")
            .description("Messages for connections of frontends that are not attached; with QoS 0 they are dropped, else they wait in their inboxes")
            .register(registry);
  }

  /** Registers gauges of what all ranges together hold, and of what waits. Servers may come and go later. */
  void show(List<Shown> servers, UnansweredCalls calls) {
    views.add(
        Gauge.builder("dunlin.inbox.unanswered", calls, UnansweredCalls::bytes)
            .description("Estimated memory of SUBSCRIBE and UNSUBSCRIBE packets that the session tier has not answered")
            .baseUnit("bytes")
            .register(registry));
    views.add(
        FunctionCounter.builder("dunlin.inbox.subscribes-refused", calls, UnansweredCalls::refused)
            .description("SUBSCRIBE packets that the session tier has refused because too many bytes of others were not answered")
            .register(registry));
    Supplier<Stream<InboxRangeServer>> ranges = () -> servers.stream().flatMap(server -> server.ranges().stream());
    sum("dunlin.inbox.sessions", "Sessions, with and without a connection", ranges, range -> range.applied().sessions.mappingCount());
    sum("dunlin.inbox.sessions-durable", "Durable sessions: those that outlive their connection", ranges, range -> range.applied().durableCount.get());
    sum("dunlin.inbox.online", "Sessions that have a connection", ranges, range -> range.applied().onlineCount.get());
    sum("dunlin.inbox.queued", "Messages in all inboxes", ranges, range -> range.applied().queued.get());
    sum("dunlin.inbox.queued.bytes", "Bytes of messages in all inboxes; a message counts once for each inbox that holds it", ranges, range -> range.applied().queuedBytes.get());
    sum(
        "dunlin.inbox.overtaken", "Messages that were dropped from full inboxes but may still be delivered by their connections", ranges,
        range -> range.applied().overtaken.get());
    sum("dunlin.inbox.subscriptions", "Subscriptions of durable sessions", ranges, range -> range.applied().subscriptions.get());
    sum(
        "dunlin.inbox.subscriptions-shared", "Shared subscriptions of durable sessions", ranges,
        range -> range.applied().sharedSubscriptions.get());
    views.add(
        gauge(
            "dunlin.inbox.memory", "Estimated memory of sessions and their subscriptions, bounded by dunlin.inbox.memory-max", ranges,
            range -> range.applied().memory.get())
            .baseUnit("bytes")
            .register(registry));
    views.add(
        gauge(
            "dunlin.inbox.exchange-memory", "Estimated memory of open QoS 2 exchanges, bounded by a quarter of dunlin.inbox.memory-max", ranges,
            range -> range.applied().exchangeMemory())
            .baseUnit("bytes")
            .register(registry));
    sum("dunlin.inbox.acks-waiting", "Acknowledged sequences that wait to be proposed, for the first time or again", ranges, InboxRangeServer::acksWaiting);
    sum("dunlin.inbox.fetches-waiting", "Sessions that wait for a reader of their inboxes", ranges, InboxRangeServer::fetchesWaiting);
    sum("dunlin.inbox.routes-waiting", "Routes not announced yet", ranges, InboxRangeServer::routesWaiting);
    sum("dunlin.inbox.connections-stale", "Connections that no longer exist but that sessions still name as their owners", ranges, InboxRangeServer::staleConnections);
    sum("dunlin.inbox.drains-waiting", "Groups whose waiting messages are handed on once the range accepts the command", ranges, InboxRangeServer::drainsWaiting);
    waiting("dunlin.inbox.frontends-lost", "Lost frontends whose connections are not yet recorded as lost", servers, server -> server.lost().waiting());
    waiting(
        "dunlin.inbox.wills-running", "Wills that are being published, and finished ones that the range has not recorded", servers,
        server -> server.wills().running());
    waiting("dunlin.inbox.wills-publishing", "Wills that are due, and neither published nor refused yet", servers, server -> server.wills().publishing());
    sum(
        "dunlin.inbox.exchanges-foreign", "Publishers with open QoS 2 exchanges whose messages are stored in another range than their session", ranges,
        range -> range.applied().foreignExchanges.open());
    sum(
        "dunlin.inbox.publishers-foreign",
        "Publishers with QoS 2 and a session in another range of which the latest connection is known, so that messages of earlier ones are refused", ranges,
        range -> range.applied().foreignExchanges.size());
    sum(
        "dunlin.inbox.wills-foreign", "Wills of sessions in another range that this one remembers, so that their messages are not stored again", ranges,
        range -> range.applied().foreignWills.size());
    waiting(
        "dunlin.inbox.exchanges-waiting", "Publishers with QoS 2 messages that wait until other ranges have stored them", servers,
        server -> server.exchanges().waiting());
    waiting(
        "dunlin.inbox.hand-overs-waiting", "Groups with waiting messages that members in other ranges may take", servers, server -> server.handOvers().waiting());
    lines("messages", () -> ranges.get().map(range -> range.proposals().messages()));
    lines("calls", () -> ranges.get().map(range -> range.proposals().calls()));
  }

  private void sum(String name, String description, Supplier<Stream<InboxRangeServer>> ranges, ToLongFunction<InboxRangeServer> one) {
    views.add(gauge(name, description, ranges, one).register(registry));
  }

  private static Gauge.Builder<Supplier<Number>> gauge(
      String name, String description, Supplier<Stream<InboxRangeServer>> ranges, ToLongFunction<InboxRangeServer> one) {
    Supplier<Number> sum = () -> ranges.get().mapToLong(one).sum();
    return Gauge.builder(name, sum).description(description).strongReference(true);
  }

  private void waiting(String name, String description, List<Shown> servers, ToIntFunction<Shown> length) {
    views.add(Gauge.builder(name, () -> servers.stream().mapToInt(length).sum()).description(description).strongReference(true).register(registry));
  }

  /** Registers gauges of the commands that wait until the ranges have room. */
  private void lines(String kind, Supplier<Stream<ProposalLine<SessionCommand, SessionResult>>> lines) {
    views.add(
        Gauge.builder("dunlin.inbox.waiting", () -> lines.get().mapToInt(ProposalLine::waiting).sum())
            .description("Commands that wait until the session range has room")
            .tag("kind", kind)
            .strongReference(true)
            .register(registry));
    views.add(
        Gauge.builder("dunlin.inbox.waiting.oldest", () -> lines.get().mapToDouble(ProposalLine::oldestSeconds).max().orElse(0))
            .description("How long the oldest command has waited until the session range has room")
            .baseUnit("seconds")
            .tag("kind", kind)
            .strongReference(true)
            .register(registry));
  }

  @Override
  public void close() {
    views.forEach(registry::remove);
  }

  void count(Effects effects) {
    if (effects.appended() > 0) appended.increment(effects.appended());
    if (effects.acknowledged() > 0) acknowledged.increment(effects.acknowledged());
    if (effects.sessionsExpired() > 0) sessionsExpired.increment(effects.sessionsExpired());
    effects.dropped().forEach((reason, count) -> dropped(reason).increment(count));
    for (Effects.Note each : effects.noted()) tracer.note(HOP, each.step(), each.reason(), each.message(), Party.named(each.clientId()));
  }

  /** Counts a message of QoS 0 for a client without a connection, or for a group without a connected member. */
  void offline(Publication message, String clientId) {
    dropped(InboxDropReason.OFFLINE).increment();
    if (tracer.runs()) tracer.note(HOP, Step.DROPPED, InboxDropReason.OFFLINE.label(), message, Party.named(clientId));
  }

  /** The same drops by the reasons that all hops share. */
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

  void pushUndeliverable() {
    pushesUndeliverable.increment();
  }

  /** Counts messages that are in inboxes as a server begins to serve them. */
  void found(long messages) {
    found.increment((double) messages);
  }

  /** Counts messages that are in inboxes as a server ceases to serve them. */
  void left(long messages) {
    left.increment((double) messages);
  }

  void willDue() {
    willsDue.increment();
  }

  void willsWithdrawn(int wills) {
    willsWithdrawn.increment(wills);
  }

  void willPublished() {
    wills.increment();
  }

  void willFailed() {
    willAttempts.increment();
  }

  void willRefused(String reason) {
    willsRefused(reason).increment();
  }

  private Counter willsRefused(String reason) {
    return Counter.builder("dunlin.inbox.wills-refused")
        .description("Wills that were refused by a bound or rule, or got no answer, by reason code; they are not tried again")
        .tag("reason", reason)
        .register(registry);
  }
}
