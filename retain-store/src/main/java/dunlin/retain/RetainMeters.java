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

/** The meters of the retain tier. */
final class RetainMeters {
  /** Messages stored, new or replacing another. */
  final Counter stored;

  /** Messages removed by one with an empty payload. */
  final Counter removed;

  /** Messages removed because they had expired. */
  final Counter expired;

  /** Pages read for subscribers, including empty ones. */
  final Counter pages;

  /** Messages returned to subscribers. */
  final Counter found;

  /** Messages refused because a limit is reached, by that limit. */
  private final EnumMap<Limit, Counter> refusedByLimit = new EnumMap<>(Limit.class);

  /** Messages refused because the log's queue was full and too many waited for it. */
  final Counter refusedBusy;

  /** Messages whose proposal failed or has an unknown outcome. */
  final Counter refusedFailed;

  /** Messages refused because of a limit of their tenant. */
  final Counter refusedTenant;

  /** Messages refused because of their topic name. */
  final Counter refusedInvalid;

  /** Pages that failed because the readers' queue was full, or reading failed. */
  final Counter refusedPages;

  private final MeterRegistry registry;
  private List<Gauge> gauges = List.of();

  RetainMeters(MeterRegistry registry) {
    this.registry = registry;
    stored = counter(registry, "dunlin.retain.stored", "Retained messages stored");
    removed = counter(registry, "dunlin.retain.removed", "Retained messages removed by their publishers");
    expired = counter(registry, "dunlin.retain.expired", "Retained messages that have expired");
    pages = counter(registry, "dunlin.retain.pages", "Pages of retained messages read, each from one range; a page may be empty");
    found = counter(registry, "dunlin.retain.found", "Retained messages read for new subscriptions");
    for (var limit : Limit.values()) refusedByLimit.put(limit, refused(registry, limit.name().toLowerCase(Locale.ROOT).replace('_', '-')));
    refusedBusy = refused(registry, "busy");
    refusedFailed = refused(registry, "failed");
    refusedTenant = refused(registry, "tenant");
    refusedInvalid = refused(Limit.INVALID);
    refusedPages = refused(registry, "page");
  }

  /** Registers the gauges, each for all ranges together. */
  void show(List<RetainRangeServer> ranges, RetainBounds bounds) {
    gauges =
        List.of(
            gauge("dunlin.retain.messages", null, ranges, sum(r -> r.applied().index().size()), "Topics with a retained message"),
            gauge("dunlin.retain.messages.max", null, bounds, RetainBounds::messagesMax, "Maximum number of topics with a retained message"),
            gauge("dunlin.retain.topics.size", "bytes", ranges, sum(r -> r.applied().topicBytes()), "Bytes of the topics with a retained message"),
            gauge("dunlin.retain.topics.size.max", "bytes", bounds, RetainBounds::topicBytesMax, "Maximum bytes of the topics with a retained message"),
            gauge("dunlin.retain.size", "bytes", ranges, sum(r -> r.applied().bytes()), "Bytes of retained messages and their topics on disk"),
            gauge("dunlin.retain.size.max", "bytes", bounds, RetainBounds::bytesMax, "Maximum bytes of retained messages and their topics"),
            gauge(
                "dunlin.retain.waiting", null, ranges, sum(RetainRangeServer::waiting), "Retained messages that wait for room in their range's queue"),
            gauge("dunlin.retain.waiting.oldest", "seconds", ranges, RetainMeters::oldestSeconds, "Time that the first waiting message has waited"));
  }

  private static ToDoubleFunction<List<RetainRangeServer>> sum(ToLongFunction<RetainRangeServer> of) {
    return ranges -> ranges.stream().mapToLong(of).sum();
  }

  private static double oldestSeconds(List<RetainRangeServer> ranges) {
    return ranges.stream().mapToDouble(RetainRangeServer::oldestSeconds).max().orElse(0);
  }

  /** Counts messages refused because of a limit. */
  Counter refused(Limit limit) {
    return Objects.requireNonNull(refusedByLimit.get(limit));
  }

  /** Removes the gauges, which would keep the index alive; a later server on the same registry registers its own. */
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
