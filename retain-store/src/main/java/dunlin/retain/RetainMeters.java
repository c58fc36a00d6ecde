package dunlin.retain;

import dunlin.retain.RetainResult.Limit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** What the retain tier counts. */
final class RetainMeters {
  /** Messages kept, new or in place of another. */
  final Counter stored;

  /** Messages removed by one with an empty payload. */
  final Counter removed;

  /** Messages removed because their Message Expiry Interval had passed. */
  final Counter expired;

  /** Pages read for subscribers, empty ones as well. */
  final Counter pages;

  /** Messages handed out to subscribers. */
  final Counter found;

  /** Messages refused because a bound has been reached, by that bound. */
  private final EnumMap<Limit, Counter> refusedByLimit = new EnumMap<>(Limit.class);

  /** Messages refused because the queue towards the log was full, and too many waited for it. */
  final Counter refusedBusy;

  /** Messages whose fate the log could not tell. */
  final Counter refusedFailed;

  /** Messages refused for their topic name. */
  final Counter refusedInvalid;

  /** Pages not read because the queue of the reading threads was full, or because reading failed. */
  final Counter refusedPages;

  private final MeterRegistry registry;
  private List<Gauge> gauges = List.of();

  RetainMeters(MeterRegistry registry) {
    this.registry = registry;
    stored = counter(registry, "dunlin.retain.stored", "Retained messages stored");
    removed = counter(registry, "dunlin.retain.removed", "Retained messages removed by their publishers");
    expired = counter(registry, "dunlin.retain.expired", "Retained messages that have expired");
    pages = counter(registry, "dunlin.retain.pages", "Pages of retained messages read, each of one range; some have no message");
    found = counter(registry, "dunlin.retain.found", "Retained messages read for new subscriptions");
    for (var limit : Limit.values()) refusedByLimit.put(limit, refused(registry, limit.name().toLowerCase(Locale.ROOT).replace('_', '-')));
    refusedBusy = refused(registry, "busy");
    refusedFailed = refused(registry, "failed");
    refusedInvalid = refused(Limit.INVALID);
    refusedPages = refused(registry, "page");
  }

  /** Registers the gauges, each for all ranges together. */
  void show(List<RetainRangeServer> ranges, RetainBounds bounds) {
    gauges =
        List.of(
            gauge("dunlin.retain.messages", null, ranges, sum(r -> r.applied().index().size()), "Topics with a retained message"),
            gauge("dunlin.retain.messages.max", null, bounds, RetainBounds::messagesMax, "Bound of topics with a retained message"),
            gauge("dunlin.retain.topics.size", "bytes", ranges, sum(r -> r.applied().topicBytes()), "Bytes of the topics with a retained message"),
            gauge("dunlin.retain.topics.size.max", "bytes", bounds, RetainBounds::topicBytesMax, "Bound of the bytes of topics with a retained message"),
            gauge("dunlin.retain.size", "bytes", ranges, sum(r -> r.applied().bytes()), "Bytes of retained messages and their topics on disk"),
            gauge("dunlin.retain.size.max", "bytes", bounds, RetainBounds::bytesMax, "Bound of the bytes of retained messages"),
            gauge(
                "dunlin.retain.waiting", null, ranges, sum(RetainRangeServer::waiting), "Messages to be retained that wait until their range has room"),
            gauge("dunlin.retain.waiting.oldest", "seconds", ranges, RetainMeters::oldestSeconds, "How long the first of them has waited"));
  }

  private static ToDoubleFunction<List<RetainRangeServer>> sum(ToLongFunction<RetainRangeServer> of) {
    return ranges -> ranges.stream().mapToLong(of).sum();
  }

  private static double oldestSeconds(List<RetainRangeServer> ranges) {
    return ranges.stream().mapToDouble(RetainRangeServer::oldestSeconds).max().orElse(0);
  }

  /** Messages refused because they would go beyond a bound. */
  Counter refused(Limit limit) {
    return Objects.requireNonNull(refusedByLimit.get(limit));
  }

  /** Takes the gauges away, which would hold the index; a later server on the same registry brings its own. */
  void close() {
    gauges.forEach(registry::remove);
  }

  private <T> Gauge gauge(String name, @Nullable String unit, T of, ToDoubleFunction<T> value, String help) {
    return Gauge.builder(name, of, value).description(help).baseUnit(unit).strongReference(true).register(registry);
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
