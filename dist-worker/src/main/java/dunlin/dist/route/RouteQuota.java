package dunlin.dist.route;

import static java.util.Objects.requireNonNull;

import dunlin.model.TenantQuota;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * The limits of routes over all ranges of a process. A new route reserves its share before it is proposed, and releases
 * it when the change has ended.
 */
public final class RouteQuota {
  /*
   * Only the leader of the ranges refuses, so a command has the same effect on each replica, and a logged command is
   * applied whatever the limits are. A route that is being set counts twice for a moment, as reserved and as applied.
   * One that is removed and set again at the same time does not count as new, so the limits may be exceeded by the
   * number of such pending changes.
   *
   * Owner: any thread.
   * Bounds: an entry for each topic filter with a pending new group, and for each tenant with a limit and a pending route; these are commands in the ranges' queues.
   * Failure: none; refusals are counted.
   */
  private final long memoryMax;
  private final int groupsMax;
  private final LongSupplier applied;
  private final ToLongFunction<String> appliedOf;
  private final AtomicLong taken = new AtomicLong();
  private final ConcurrentHashMap<FilterId, Integer> groupsTaken = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<String, Integer> tenantsTaken = new ConcurrentHashMap<>();
  private final Map<RouteQuotaException.Kind, LongAdder> refused = new EnumMap<>(RouteQuotaException.Kind.class);

  private volatile TenantQuota tenants = TenantQuota.UNLIMITED;

  private record FilterId(String tenant, String filter) implements Comparable<FilterId> {
    @Override
    public int compareTo(FilterId other) {
      int byFilter = filter.compareTo(other.filter);
      return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
    }
  }

  /**
   * @param memoryMax bytes of all routes
   * @param groupsMax groups of one topic filter
   * @param applied memory of the applied routes
   * @param appliedOf the number of a tenant's applied routes
   */
  public RouteQuota(long memoryMax, int groupsMax, LongSupplier applied, ToLongFunction<String> appliedOf) {
    this.memoryMax = memoryMax;
    this.groupsMax = groupsMax;
    this.applied = applied;
    this.appliedOf = appliedOf;
    for (var kind : RouteQuotaException.Kind.values()) refused.put(kind, new LongAdder());
  }

  /** Sets how many routes a tenant may have. */
  public void limitTenants(TenantQuota routesMax) {
    tenants = routesMax;
  }

  /**
   * Reserves the share of a new route.
   *
   * @param groups the number of its topic filter's groups; -1 when the route adds none
   * @return releases the share; must be run once, when the change has ended
   * @throws RouteQuotaException when a limit is reached; then nothing is reserved
   */
  Runnable take(Route route, int groups) {
    String tenant = route.tenant();
    long max = tenants.max(tenant);
    if (max == TenantQuota.NONE) return takeOfAll(route, groups);
    int taken = tenantsTaken.merge(tenant, 1, Integer::sum);
    try {
      if (appliedOf.applyAsLong(tenant) + taken > max) {
        tenants.reached(tenant);
        throw refusal(RouteQuotaException.Kind.TENANT, max);
      }
      Runnable giveBack = takeOfAll(route, groups);
      return () -> {
        giveBack.run();
        giveBackOf(tenant);
      };
    } catch (RouteQuotaException full) {
      giveBackOf(tenant);
      throw full;
    }
  }

  private void giveBackOf(String tenant) {
    tenantsTaken.computeIfPresent(tenant, (_, count) -> count == 1 ? null : count - 1);
  }

  private Runnable takeOfAll(Route route, int groups) {
    long memory = RouteRange.memoryOf(route);
    if (applied.getAsLong() + taken.addAndGet(memory) > memoryMax) {
      taken.addAndGet(-memory);
      throw refusal(RouteQuotaException.Kind.MEMORY, memoryMax);
    }
    if (groups < 0) return () -> taken.addAndGet(-memory);
    var filter = new FilterId(route.tenant(), route.filter().filter());
    Runnable giveBack =
        () -> {
          taken.addAndGet(-memory);
          groupsTaken.computeIfPresent(filter, (_, count) -> count == 1 ? null : count - 1);
        };
    int more = groupsTaken.merge(filter, 1, Integer::sum);
    if (groups + more <= groupsMax) return giveBack;
    giveBack.run();
    throw refusal(RouteQuotaException.Kind.GROUPS, groupsMax);
  }

  /** Counts the refusal of a route, which is to be thrown. */
  RouteQuotaException refusal(RouteQuotaException.Kind kind, long max) {
    requireNonNull(refused.get(kind)).increment();
    return new RouteQuotaException(kind, max);
  }

  public long refused(RouteQuotaException.Kind kind) {
    return requireNonNull(refused.get(kind)).sum();
  }
}
