package dunlin.dist;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.dist.route.RouteQuota;
import dunlin.dist.route.RouteRangeClient;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteServer;
import dunlin.model.TenantQuota;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** The ranges of routes that a node of a cluster leads, each for one leadership. The first range has a {@link DistWorker} as well, to which messages come. */
public final class RouteTier {
  /*
   * Owner: each leadership has a thread that opens and closes its server, under the lock.
   * Bounds: see RouteServer. The limit of memory is for all ranges of the cluster together: a range refuses what does not fit beside the others as far as they are known
   *   here. So all together may exceed it by what is set until the others have learned of it.
   *
   * Meters are those of the ranges that are led here. They are there while the node leads one.
   */
  private final DistSettings settings;
  private final MeterRegistry registry;
  private final List<RouteServer> servers = new CopyOnWriteArrayList<>();
  private final List<RouteQuota> quotas = new CopyOnWriteArrayList<>();
  private final TenantQuota tenants;

  @GuardedBy("this")
  private @Nullable RouteMeters meters;

  /** @param tenants how many routes a tenant may have, in all ranges */
  public RouteTier(DistSettings settings, TenantQuota tenants, MeterRegistry registry) {
    this.settings = settings;
    this.tenants = tenants;
    this.registry = registry;
  }

  /** What all other ranges have, as far as it is known. Answers at once, on any thread. */
  public interface RoutesElsewhere {
    /** Memory of their routes. */
    long memory();

    /** The number of a tenant's routes. */
    long routesOf(String tenant);
  }

  /**
   * Serves a range for one leadership.
   *
   * @param name the range's name in messages
   */
  public synchronized Led lead(String name, RouteReplica replica, RoutesElsewhere elsewhere) {
    var quota =
        new RouteQuota(
            settings.memoryMax(), settings.groupsMax(), () -> replica.memory() + elsewhere.memory(), tenant -> replica.routesOf(tenant) + elsewhere.routesOf(tenant));
    quota.limitTenants(tenants);
    var server = new RouteServer(name, replica, quota, settings.patternsMax());
    if (meters == null) meters = new RouteMeters(registry, servers, quotas);
    servers.add(server);
    quotas.add(quota);
    return new Led(replica, server, quota);
  }

  private synchronized void left(Led led) {
    if (!servers.remove(led.server)) return;
    quotas.remove(led.quota);
    if (!servers.isEmpty() || meters == null) return;
    meters.close();
    meters = null;
  }

  /** A range that this node leads. */
  public final class Led implements AutoCloseable {
    final RouteReplica replica;
    final RouteServer server;
    private final RouteQuota quota;

    private Led(RouteReplica replica, RouteServer server, RouteQuota quota) {
      this.replica = replica;
      this.server = server;
      this.quota = quota;
    }

    /** As other nodes change, read and match it. */
    public RouteRangeClient range() {
      return server;
    }

    /** Ends the leadership's server. The range itself goes on as a follower. */
    @Override
    public void close() {
      left(this);
    }
  }
}
