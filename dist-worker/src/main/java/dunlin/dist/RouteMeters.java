package dunlin.dist;

import dunlin.dist.route.RouteQuota;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteServer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/** The meters of the ranges of routes that a node leads; registered until this is closed. The registry refers to this weakly, so its creator must keep it. */
final class RouteMeters implements AutoCloseable {
  private final MeterRegistry registry;
  private final List<RouteServer> servers;
  private final List<RouteQuota> quotas;
  private final List<Meter> registered = new ArrayList<>();

  /**
   * @param servers of the ranges; may change, and is read by any thread
   * @param quotas of these, in the same way
   */
  RouteMeters(MeterRegistry registry, List<RouteServer> servers, List<RouteQuota> quotas) {
    this.registry = registry;
    this.servers = servers;
    this.quotas = quotas;
    registered.add(
        Gauge.builder("dunlin.dist.memory", this, all -> all.sum(server -> server.applied().memory()))
            .description("Memory that the routes take, as dunlin.dist.memory-max counts it")
            .baseUnit("bytes")
            .register(registry));
    for (var kind : RouteQuotaException.Kind.values()) {
      registered.add(
          FunctionCounter.builder("dunlin.dist.refused", this, all -> all.quotas.stream().mapToLong(quota -> quota.refused(kind)).sum())
              .tag("limit", kind.name().toLowerCase(Locale.ROOT))
              .description("Routes that were refused because a limit was reached")
              .register(registry));
    }
    gauge("dunlin.dist.routes", server -> server.applied().size(), "Routes; each is a topic filter whose messages a shard needs");
    gauge("dunlin.dist.filters", server -> server.applied().filters(), "Topic filters with at least one route");
    gauge("dunlin.dist.changing", RouteServer::changing, "Routes with a change in the range's queue");
  }

  private void gauge(String name, ToLongFunction<RouteServer> of, String description) {
    registered.add(Gauge.builder(name, this, all -> all.sum(of)).description(description).register(registry));
  }

  private double sum(ToLongFunction<RouteServer> of) {
    return servers.stream().mapToLong(of).sum();
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }
}
