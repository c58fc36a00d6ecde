package dunlin.dist.route;

import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.FilterIndex;
import dunlin.model.ShardId;
import dunlin.model.TenantCounts;
import dunlin.model.TopicFilter;
import dunlin.runtime.LogText;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state machine of a range of routes: rows of routes, and the index of their filters that lanes match with. */
public final class RouteRange implements RangeLogic<RouteCommand, RouteResult> {
  /*
   * The index has the contents of the rows, so changing a route reads no row. Lanes read the index and never a row.
   *
   * Owner: the range's applying thread. Lanes and callers read through index(), which is another object after open().
   * Bounds: memoryOf() for each route; the range's leader sets no more than RouteQuota has room for. A match visits a number of nodes that the patterns bound, whatever the number of routes (WildcardPatterns).
   * Failure: open() rebuilds the index from the rows, at about 1 us a route plus the scan; cut() takes what remains from
   * the index before, which lanes go on reading until the range has its next epoch. What was cut off last waits for the
   * replica here of the range that was split off, which takes it once and owns it then. It is held softly: without it
   * that replica reads its rows. A route beyond the limits of the index is refused when it is applied; one in the rows is left out of the index, and stays in the rows until it
   * is removed.
   */
  private static final Logger log = LoggerFactory.getLogger(RouteRange.class);
  private static final int KNOWN_MAX = 10_000;
  private static final int NAMED_MAX = 20;
  private static final int ROUTE_BYTES = 256;

  private volatile FilterIndex<FilterRoutes> index = new FilterIndex<>();
  private volatile WildcardPatterns patterns = new WildcardPatterns(); // of the filters in the index
  private volatile long size; // for readers; the applying thread counts in `routes`
  private volatile long memory; // for readers, too
  private volatile TenantCounts tenants = new TenantCounts(); // for readers; another object after open()
  private long routes;
  private long routesMemory;
  private TenantCounts routesOf = tenants;

  // Shares tenants' texts among millions of routes. Cleared when there turn out to be many.
  private final Map<String, String> knownTenants = new HashMap<>();
  private final Map<ShardId, ShardId> knownShards = new HashMap<>();

  /** Set by the applying thread; taken by the thread that opens the other range. */
  private final AtomicReference<@Nullable CutOff> cutOff = new AtomicReference<>();

  /** All filters from a key on. */
  private record CutOff(byte[] from, SoftReference<List<FilterRoutes>> filters) {}

  /** The filters with their routes. Any thread. */
  public FilterIndex<FilterRoutes> index() {
    return index;
  }

  /** The patterns of the filters' wildcards. Any thread. */
  WildcardPatterns patterns() {
    return patterns;
  }

  /** The number of routes. Any thread. */
  public long size() {
    return size;
  }

  /** Memory of the routes, by {@link #memoryOf}. Any thread. */
  public long memory() {
    return memory;
  }

  /** The number of routes of a tenant. Any thread. */
  public long size(String tenant) {
    return tenants.of(tenant);
  }

  /** The approximate bytes of a route in the index. */
  public static long memoryOf(Route route) {
    return ROUTE_BYTES + 2L * route.filter().text().length();
  }

  /** The applied route of a shard, or null. Any thread. */
  @Nullable Route find(String tenant, TopicFilter filter, ShardId shard) {
    FilterRoutes of = index.get(tenant, filter.filter());
    return of == null ? null : of.find(filter, shard);
  }

  /** The number of a filter's groups if the route would add another one, otherwise -1. Any thread. */
  int groupsBeside(Route route) {
    if (!route.filter().shared()) return -1;
    FilterRoutes of = index.get(route.tenant(), route.filter().filter());
    if (of == null) return 0;
    return of.hasGroup(route.filter()) ? -1 : of.groups().length;
  }

  @Override
  public void open(RangeReader state) {
    routes = 0;
    routesMemory = 0;
    routesOf = new TenantCounts();
    int[] leftOut = {0};
    var fresh = new FilterIndex<FilterRoutes>();
    patterns = new WildcardPatterns();
    state.scan(
        new byte[0],
        null,
        (key, value) -> {
          Route route = RouteRows.route(key, value);
          var problem = problem(route);
          if (problem.isEmpty()) set(fresh, route);
          else if (leftOut[0]++ < NAMED_MAX)
            log.warn(
                "A stored route is left out, since no route can have {}: {} gets nothing for the filter {} of tenant {}",
                problem.get(), route.shard(), LogText.escaped(route.filter().text()), LogText.escaped(route.tenant()));
          return true;
        });
    if (leftOut[0] > NAMED_MAX) log.warn("{} stored routes are left out", leftOut[0]);
    index = fresh;
    counted();
  }

  @Override
  public void cut(RangeReader state, byte[] from) {
    if (RouteRows.together(from) < from.length) { // between routes of one filter
      open(state);
      return;
    }
    List<FilterRoutes> below = new ArrayList<>();
    List<FilterRoutes> above = new ArrayList<>();
    index.forEach(of -> (Arrays.compareUnsigned(RouteRows.start(of.one()), from) < 0 ? below : above).add(of));
    cutOff.set(new CutOff(from, new SoftReference<>(above)));
    hold(below);
  }

  @Override
  public boolean openSplit(RangeLogic<?, ?> parent, byte[] start) {
    var filters = parent instanceof RouteRange from ? from.handOver(start) : null;
    if (filters == null) return false;
    hold(filters);
    return true;
  }

  private @Nullable List<FilterRoutes> handOver(byte[] from) {
    var last = cutOff.get();
    if (last == null || !Arrays.equals(last.from, from) || !cutOff.compareAndSet(last, null)) return null;
    return last.filters.get();
  }

  /** Makes a new index with these filters alone. */
  private void hold(List<FilterRoutes> filters) {
    routes = 0;
    routesMemory = 0;
    routesOf = new TenantCounts();
    var fresh = new FilterIndex<FilterRoutes>();
    patterns = new WildcardPatterns();
    for (var of : filters) {
      var one = of.one();
      put(fresh, one, of);
      for (Route route : of.all()) count(route);
    }
    index = fresh;
    counted();
  }

  @Override
  public List<RouteResult> apply(List<RouteCommand> commands, RangeWriter out) {
    var results = new ArrayList<RouteResult>(commands.size());
    for (RouteCommand command : commands) {
      results.add(
          switch (command) {
            case Add(Route route) -> add(route, out);
            case Remove remove -> remove(remove, out);
            case PurgeBefore purge -> purge(purge, out);
          });
    }
    counted();
    return results;
  }

  private void counted() {
    size = routes;
    memory = routesMemory;
    tenants = routesOf;
  }

  private static Optional<String> problem(Route route) {
    return RouteRows.problem(route.tenant(), route.filter(), route.shard());
  }

  private RouteResult add(Route route, RangeWriter out) {
    var problem = problem(route);
    if (problem.isPresent()) return new RouteResult.Refused(problem.get());
    Route before = find(route.tenant(), route.filter(), route.shard());
    if (before != null && before.incarnation() > route.incarnation()) {
      return new RouteResult.Superseded(before.incarnation());
    }
    if (!route.equals(before)) {
      out.put(RouteRows.key(route), RouteRows.value(route));
      set(index, route);
    }
    return new RouteResult.Added();
  }

  private RouteResult remove(Remove remove, RangeWriter out) {
    Route there = find(remove.tenant(), remove.filter(), remove.shard());
    if (there != null && there.incarnation() <= remove.incarnation()) remove(there, out);
    else if (there == null && RouteRows.problem(remove.tenant(), remove.filter(), remove.shard()).isPresent())
      out.delete(RouteRows.key(remove.tenant(), remove.filter(), remove.shard())); // a route that was left out of the index
    return new RouteResult.Removed();
  }

  private RouteResult purge(PurgeBefore purge, RangeWriter out) {
    var step =
        new Object() {
          int seen;
          byte @Nullable [] next;
          final List<Route> removed = new ArrayList<>();
        };
    out.scan(
        purge.cursor(),
        null,
        (key, value) -> {
          if (step.seen++ == purge.limit()) {
            step.next = key;
            return false;
          }
          Route route = RouteRows.route(key, value);
          if (route.incarnation() < purge.incarnation() && route.shard().equals(purge.shard())) step.removed.add(route);
          return true;
        });
    for (Route route : step.removed) remove(route, out);
    return new RouteResult.Purged(step.removed.size(), step.next);
  }

  private void remove(Route route, RangeWriter out) {
    out.delete(RouteRows.key(route));
    if (problem(route).isPresent()) return;
    FilterRoutes of = index.get(route.tenant(), route.filter().filter());
    if (of == null) throw new IllegalStateException("a route that is not in the index: " + route);
    of.remove(route.filter(), route.shard());
    if (of.isEmpty()) {
      index.remove(route.tenant(), route.filter().filter());
      patterns.remove(route.tenant(), route.filter().filter());
    }
    routes--;
    routesOf.count(route.tenant(), -1);
    routesMemory -= memoryOf(route);
  }

  private void set(FilterIndex<FilterRoutes> in, Route decoded) {
    var route =
        new Route(
            known(knownTenants, decoded.tenant()),
            decoded.filter(),
            known(knownShards, decoded.shard()),
            decoded.incarnation(),
            decoded.handle());
    FilterRoutes of = in.get(route.tenant(), route.filter().filter());
    if (of == null) {
      of = new FilterRoutes();
      of.put(route); // before a lane can see it
      put(in, route, of);
    } else if (!of.put(route)) {
      return;
    }
    count(route);
  }

  /** Adds the routes of a filter that has none, of which this is one. */
  private void put(FilterIndex<FilterRoutes> in, Route one, FilterRoutes of) {
    in.put(one.tenant(), one.filter().filter(), of);
    patterns.add(one.tenant(), one.filter().filter());
  }

  private void count(Route route) {
    routes++;
    routesOf.count(route.tenant(), 1);
    routesMemory += memoryOf(route);
  }

  private static <T> T known(Map<T, T> all, T value) {
    T before = all.get(value);
    if (before != null) return before;
    if (all.size() == KNOWN_MAX) all.clear();
    all.put(value, value);
    return value;
  }
}
