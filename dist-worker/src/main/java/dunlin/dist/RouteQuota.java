package dunlin.dist;

import dunlin.model.TopicFilter;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** What routes may take, over all ranges of a process: a new one has its part taken before it is proposed, and given back when that has ended. */
final class RouteQuota {
  /*
   * It is the one that leads the ranges who refuses, so a command means the same to each replica, and what stands in the log is applied whatever the limits are.
   * A route that is being set counts twice for a moment, as taken and as applied: so the limits are never passed.
   *
   * Owner: any thread.
   * Bounds: an entry for each topic filter of which a group is being set, which are changes in the queues of the ranges.
   * Failure: none; what is beyond a limit is counted.
   */
  private final DistSettings limits;
  private final LongSupplier applied;
  private final AtomicLong taken = new AtomicLong();
  private final ConcurrentHashMap<FilterId, Integer> groupsTaken = new ConcurrentHashMap<>();
  private final LongAdder refusedForMemory = new LongAdder();
  private final LongAdder refusedForGroups = new LongAdder();

  private record FilterId(String tenant, String filter) implements Comparable<FilterId> {
    @Override
    public int compareTo(FilterId other) {
      int byFilter = filter.compareTo(other.filter);
      return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
    }
  }

  /** @param applied memory of the routes that are there */
  RouteQuota(DistSettings limits, LongSupplier applied) {
    this.limits = limits;
    this.applied = applied;
  }

  /**
   * Takes what a new route needs.
   *
   * @param groups groups that its topic filter has already; -1 when it brings no new one
   * @throws RouteQuotaException when there is not enough left, and then nothing is taken
   */
  void take(Route route, int groups) {
    long memory = RouteRange.memoryOf(route);
    if (applied.getAsLong() + taken.addAndGet(memory) > limits.memoryMax()) {
      taken.addAndGet(-memory);
      refusedForMemory.increment();
      throw new RouteQuotaException(RouteQuotaException.Kind.MEMORY, limits.memoryMax());
    }
    if (groups < 0) return;
    int more = groupsTaken.merge(id(route), 1, Integer::sum);
    if (groups + more <= limits.groupsMax()) return;
    giveBack(route, groups);
    refusedForGroups.increment();
    throw new RouteQuotaException(RouteQuotaException.Kind.GROUPS, limits.groupsMax());
  }

  /** The change that {@link #take} was called for has ended, with the same arguments. */
  void giveBack(Route route, int groups) {
    taken.addAndGet(-RouteRange.memoryOf(route));
    if (groups >= 0) groupsTaken.computeIfPresent(id(route), (_, count) -> count == 1 ? null : count - 1);
  }

  long refused(RouteQuotaException.Kind kind) {
    return (kind == RouteQuotaException.Kind.MEMORY ? refusedForMemory : refusedForGroups).sum();
  }

  private static FilterId id(Route route) {
    TopicFilter filter = route.filter();
    return new FilterId(route.tenant(), filter.filter());
  }
}
