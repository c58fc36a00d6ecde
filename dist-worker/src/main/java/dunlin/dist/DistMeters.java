package dunlin.dist;

import dunlin.dist.route.RouteQuota;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteServer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;

/** The meters of a dist worker; registered until it is closed. */
final class DistMeters implements AutoCloseable {
  /** A lane times one match of this many: the clock and the meter then cost less than a nanosecond and a byte a message. */
  static final int SAMPLED = 1_024;

  private static final Duration[] MATCH_BOUNDS =
      LongStream.of(500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000)
          .mapToObj(Duration::ofNanos)
          .toArray(Duration[]::new);

  private final MeterRegistry registry;
  private final List<RouteServer> servers;
  private final List<LocalLane> lanes;
  private final List<Meter> registered = new ArrayList<>();
  private final Timer matching;

  /** @param lanes grows as lanes are opened; read by any thread */
  DistMeters(MeterRegistry registry, List<RouteServer> servers, RouteQuota quota, List<LocalLane> lanes) {
    this.registry = registry;
    this.servers = servers;
    this.lanes = lanes;
    matching =
        Timer.builder("dunlin.dist.match")
            .description("Time to find the routes of a message in all ranges, without its delivery; of one message in " + SAMPLED)
            .serviceLevelObjectives(MATCH_BOUNDS)
            .register(registry);
    registered.add(matching);
    registered.add(
        Gauge.builder("dunlin.dist.memory", this, all -> all.sum(server -> server.applied().memory()))
            .description("Memory that the routes take, as dunlin.dist.memory-max counts it")
            .baseUnit("bytes")
            .register(registry));
    for (var kind : RouteQuotaException.Kind.values()) {
      registered.add(
          FunctionCounter.builder("dunlin.dist.refused", quota, all -> all.refused(kind))
              .tag("limit", kind.name().toLowerCase(Locale.ROOT))
              .description("Routes that were refused because a limit was reached")
              .register(registry));
    }
    gauge("dunlin.dist.routes", server -> server.applied().size(), "Routes; each is a topic filter whose messages a shard needs");
    gauge("dunlin.dist.filters", server -> server.applied().index().size(), "Topic filters with at least one route");
    gauge("dunlin.dist.changing", RouteServer::changing, "Routes with a change in the range's queue");
    counter("dunlin.dist.published", LocalLane::published, "Messages that came in for matching");
    counter("dunlin.dist.visited", LocalLane::visited, "Ranges of routes that were searched for messages");
    counter("dunlin.dist.matched", LocalLane::matched, "Messages that matched a route");
    counter("dunlin.dist.unattached", LocalLane::unattached, "Matched routes to a shard that nothing is delivered to: its frontend is detached, or was never attached");
  }

  /** Counts the time of a sampled match. */
  void matched(long nanos) {
    matching.record(nanos, TimeUnit.NANOSECONDS);
  }

  private void gauge(String name, ToLongFunction<RouteServer> of, String description) {
    registered.add(Gauge.builder(name, this, all -> all.sum(of)).description(description).register(registry));
  }

  private void counter(String name, ToLongFunction<LocalLane> of, String description) {
    registered.add(
        FunctionCounter.builder(name, lanes, all -> all.stream().mapToLong(of).sum()).description(description).register(registry));
  }

  private double sum(ToLongFunction<RouteServer> of) {
    return servers.stream().mapToLong(of).sum();
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }
}
