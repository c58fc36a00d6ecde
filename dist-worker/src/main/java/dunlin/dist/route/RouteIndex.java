package dunlin.dist.route;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.FilterIndex;
import dunlin.model.ShardId;
import dunlin.model.TenantCounts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The routes of a range by their filters, as lanes match them. A range that was split begins with a part of the index before, at once. */
final class RouteIndex {
  /*
   * Dividing an index of half a million filters takes a second, and many times as long on a busy machine. Nothing waits for it: the range below the cut and the one
   * above it share the index before, which has ended (`whole`), and each of them passes over the filters of the other. What has no filter there is added to `own`.
   * settle() first counts the part, and then makes the index that the range has afterwards (`filling`), of its filters in `whole` and of what is added, while matches and changes go on. Each
   * filter has the same FilterRoutes in all of them, and only the range that has its keys changes it; so `whole` is up to date, but for filters that it does not have. A filter
   * is in `filling`, with all its routes counted, before it is changed.
   * Until the part is counted, which takes a small part of the time, readers get what the range before had for its lower part and nothing for the upper one, and new patterns of wildcards are judged
   * by those of the range before.
   *
   * Owner: one thread at a time changes routes, and any thread may settle at that time; the lock is fair, so a change waits for one step. Any thread reads, without it.
   * Bounds: RouteRange's; until it is settled, the index before as well, which both ranges share.
   * Failure: a range whose index is never settled works, and keeps the memory of the index before.
   */
  private static final int STEP = 256;
  private static final int PAUSES = 9;
  private static final long PAUSE_MAX_NANOS = 5_000_000;

  /** The filters of a range in an index that has ended: those from a key on, or those before it. */
  private record Part(FilterIndex<FilterRoutes> whole, byte[] cut, boolean isUpper) {
    /** Whether a filter is in it and has routes. */
    boolean has(FilterRoutes of) {
      Route one = of.any();
      return one != null && has(RouteRows.start(one.tenant(), one.filter().filter()));
    }

    boolean has(byte[] start) {
      return Arrays.compareUnsigned(start, cut) >= 0 == isUpper;
    }
  }

  /** Where the filters are: all in one index, or until that is settled those that are not in the part. */
  private record Held(FilterIndex<FilterRoutes> own, @Nullable Part part) {}

  /** What readers know of. */
  private record Counts(long routes, long memory, TenantCounts tenants) {}

  private final ReentrantLock changes = new ReentrantLock(true);
  private final WildcardPatterns patterns = new WildcardPatterns(); // of the filters that are counted

  /** The patterns of the range before, and of what was added to both parts since; null when this one is counted. */
  private volatile @Nullable WildcardPatterns inherited;

  private volatile Held held;
  private volatile Counts shown;

  /** Has all filters, or gets them; that of `held` when there is no part. */
  @GuardedBy("changes")
  private final FilterIndex<FilterRoutes> filling = new FilterIndex<>();

  @GuardedBy("changes")
  private final TenantCounts tenants = new TenantCounts();

  @GuardedBy("changes")
  private final Map<ShardId, Integer> shards = new HashMap<>();

  @GuardedBy("changes")
  private long routes;

  @GuardedBy("changes")
  private long memory;

  /** Without any route. */
  RouteIndex() {
    held = new Held(filling, null);
    shown = new Counts(0, 0, tenants);
  }

  private RouteIndex(Part part, WildcardPatterns inherited, Counts shown) {
    held = new Held(new FilterIndex<>(), part);
    this.inherited = inherited;
    this.shown = shown;
  }

  /** What remains of a range below a cut. The index of the range before is not changed any more. */
  static RouteIndex below(byte[] cut, RouteIndex before) {
    var whole = before.whole();
    return new RouteIndex(new Part(whole, cut, false), before.patterns, before.shown);
  }

  /** What was cut off from an index that is not changed any more. */
  static RouteIndex above(byte[] cut, FilterIndex<FilterRoutes> whole, WildcardPatterns patterns) {
    return new RouteIndex(new Part(whole, cut, true), patterns, new Counts(0, 0, new TenantCounts()));
  }

  /** All filters in one index, which is settled for that. */
  FilterIndex<FilterRoutes> whole() {
    settle(0, () -> false);
    return held.own;
  }

  /**
   * Visits the routes of all filters that match a topic name, each once. Any thread; allocates nothing, unless the range is being divided.
   *
   * @return how many nodes of indexes were looked at
   */
  int match(String tenant, byte[] topic, int offset, int length, Consumer<? super FilterRoutes> visitor) {
    var now = held;
    int nodes = now.own.match(tenant, topic, offset, length, visitor);
    var part = now.part;
    if (part == null) return nodes;
    return nodes
        + part.whole.match(
            tenant, topic, offset, length,
            of -> {
              if (part.has(of)) visitor.accept(of);
            });
  }

  /** The routes of a filter, or null. There may be none any more. Any thread. */
  @Nullable FilterRoutes find(String tenant, String filter) {
    return find(held, tenant, filter);
  }

  private static @Nullable FilterRoutes find(Held in, String tenant, String filter) {
    FilterRoutes of = in.own.get(tenant, filter);
    if (of != null || in.part == null || !in.part.has(RouteRows.start(tenant, filter))) return of;
    return in.part.whole.get(tenant, filter);
  }

  /** The patterns of the filters' wildcards; until the range is counted, those of the range before. Any thread. */
  WildcardPatterns patterns() {
    var before = inherited;
    return before == null ? patterns : before;
  }

  /** The number of filters; while the range is being divided, of both parts. Any thread. */
  int filters() {
    var now = held;
    return now.own.size() + (now.part == null ? 0 : now.part.whole.size());
  }

  /** The number of routes. Any thread. */
  long size() {
    return shown.routes;
  }

  /** Memory of the routes, by {@link RouteRange#memoryOf}. Any thread. */
  long memory() {
    return shown.memory;
  }

  /** The number of a tenant's routes. Any thread. */
  long size(String tenant) {
    return shown.tenants.of(tenant);
  }

  /** Sets a route. */
  void put(Route route) {
    changes.lock();
    try {
      var now = held;
      String filter = route.filter().filter();
      FilterRoutes of = find(now, route.tenant(), filter);
      boolean isFound = of != null;
      if (of == null) of = new FilterRoutes();
      count(of);
      if (isFound) take(of, route);
      if (of.isEmpty()) addPattern(route.tenant(), filter);
      if (of.put(route)) count(route, 1);
      if (isFound) return;
      filling.put(route.tenant(), filter, of); // not earlier, since a lane may see it then
      if (now.part != null) now.own.put(route.tenant(), filter, of);
    } finally {
      changes.unlock();
    }
  }

  @GuardedBy("changes")
  private void addPattern(String tenant, String filter) {
    patterns.add(tenant, filter);
    var before = inherited;
    if (before != null) before.add(tenant, filter);
  }

  /** Removes a route, which must be here. */
  void remove(Route route) {
    changes.lock();
    try {
      var now = held;
      String filter = route.filter().filter();
      FilterRoutes of = find(now, route.tenant(), filter);
      if (of == null) throw new IllegalStateException("a route that is not in the index: " + route);
      count(of);
      take(of, route);
      of.remove(route.filter(), route.shard());
      if (of.isEmpty()) {
        filling.remove(route.tenant(), filter);
        if (now.part != null) now.own.remove(route.tenant(), filter);
        patterns.remove(route.tenant(), filter);
      }
      count(route, -1);
    } finally {
      changes.unlock();
    }
  }

  /** Takes a filter of the part, which this is a route of, into the index that is made, unless that was done. */
  @GuardedBy("changes")
  private void take(FilterRoutes of, Route one) {
    if (held.part == null) return;
    String filter = one.filter().filter();
    if (filling.get(one.tenant(), filter) == null) filling.put(one.tenant(), filter, of);
  }

  /** Counts the routes that a filter has, unless that was done. */
  @GuardedBy("changes")
  private void count(FilterRoutes of) {
    if (this.equals(of.countedBy)) return;
    of.countedBy = this;
    Route one = of.any();
    if (one == null) return;
    patterns.add(one.tenant(), one.filter().filter());
    for (Route route : of.all()) count(route, 1);
  }

  @GuardedBy("changes")
  private void count(Route route, int more) {
    routes += more;
    memory += more * RouteRange.memoryOf(route);
    tenants.count(route.tenant(), more);
    shards.merge(route.shard(), more, (one, other) -> one + other == 0 ? null : one + other);
  }

  /** Whether a shard may have routes here. */
  boolean mayHave(ShardId shard) {
    changes.lock();
    try {
      return inherited != null || shards.containsKey(shard);
    } finally {
      changes.unlock();
    }
  }

  /** Shows readers what was counted, when all of the range is. */
  void show() {
    changes.lock();
    try {
      if (inherited == null) shown = new Counts(routes, memory, tenants);
    } finally {
      changes.unlock();
    }
  }

  /** Makes an index of a part. Any thread, beside changes; more than one may. Pauses between its steps, for longer on a busy machine: what serves goes first. Once it is over, the part stays as it is. */
  void settle(BooleanSupplier over) {
    settle(PAUSES, over);
  }

  /** @param pauses how many times as long as the step before it each pause is, up to PAUSE_MAX_NANOS */
  private void settle(int pauses, BooleanSupplier over) {
    var part = held.part;
    if (part == null) return;
    List<FilterRoutes> all = new ArrayList<>(part.whole.size());
    part.whole.forEach(all::add);
    for (int from = 0; from < all.size() && inherited != null; from += STEP) {
      if (over.getAsBoolean()) return;
      count(part, step(all, from));
    }
    changes.lock();
    try {
      inherited = null;
      show();
    } finally {
      changes.unlock();
    }
    for (int from = 0; from < all.size() && held.part != null; from += STEP) {
      if (over.getAsBoolean()) return;
      long begun = System.nanoTime();
      take(part, step(all, from));
      if (pauses > 0) LockSupport.parkNanos(Math.min(PAUSE_MAX_NANOS, pauses * (System.nanoTime() - begun)));
    }
    changes.lock();
    try {
      held = new Held(filling, null);
    } finally {
      changes.unlock();
    }
  }

  private static List<FilterRoutes> step(List<FilterRoutes> all, int from) {
    return all.subList(from, Math.min(from + STEP, all.size()));
  }

  private void count(Part part, List<FilterRoutes> some) {
    changes.lock();
    try {
      for (FilterRoutes of : some) if (part.has(of)) count(of);
    } finally {
      changes.unlock();
    }
  }

  private void take(Part part, List<FilterRoutes> some) {
    changes.lock();
    try {
      for (FilterRoutes of : some) {
        Route one = of.any();
        if (one != null && part.has(of)) take(of, one);
      }
    } finally {
      changes.unlock();
    }
  }
}
