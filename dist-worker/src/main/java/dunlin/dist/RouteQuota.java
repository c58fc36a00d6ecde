package dunlin.dist;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** What routes may take, over all ranges of a process: a new one has its part taken before it is proposed, and given back when that has ended. */
final class RouteQuota {
  /*
   * It is the one that leads the ranges who refuses, so a command means the same to each replica, and what stands in the log is applied whatever the limits are.
   * A route that is being set counts twice for a moment, as taken and as applied. One that is removed and set again at the same time does not count as new,
   * so the limits can be passed by as many as are on their way so.
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
   * @return gives it back when the change has ended; to be run once
   * @throws RouteQuotaException when there is not enough left, and then nothing is taken
   */
  Runnable take(Route route, int groups) {
    long memory = RouteRange.memoryOf(route);
    if (applied.getAsLong() + taken.addAndGet(memory) > limits.memoryMax()) {
      taken.addAndGet(-memory);
      refusedForMemory.increment();
      throw new RouteQuotaException(RouteQuotaException.Kind.MEMORY, limits.memoryMax());
    }
    if (groups < 0) return () -> taken.addAndGet(-memory);
    var filter = new FilterId(route.tenant(), route.filter().filter());
    Runnable giveBack =
        () -> {
          taken.addAndGet(-memory);
          groupsTaken.computeIfPresent(filter, (_, count) -> count == 1 ? null : count - 1);
        };
    int more = groupsTaken.merge(filter, 1, Integer::sum);
    if (groups + more <= limits.groupsMax()) return giveBack;
    giveBack.run();
    refusedForGroups.increment();
    throw new RouteQuotaException(RouteQuotaException.Kind.GROUPS, limits.groupsMax());
  }

  long refused(RouteQuotaException.Kind kind) {
    return (kind == RouteQuotaException.Kind.MEMORY ? refusedForMemory : refusedForGroups).sum();
  }
}
