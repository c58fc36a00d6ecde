package dunlin.dist.route;

import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.FilterIndex;
import dunlin.model.ShardId;
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
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state machine of a range of routes: rows of routes, and the index of their filters that lanes match with. */
public final class RouteRange implements RangeLogic<RouteCommand, RouteResult> {
  /*
   * The index has the contents of the rows, so changing a route reads no row. Lanes read the index and never a row.
   *
   * Owner: the range's applying thread. Lanes and callers read through index, which is another object after open() and cut().
   * Bounds: memoryOf() for each route; the range's leader sets no more than RouteQuota has room for. A match visits a number of nodes that the patterns bound, whatever the number of routes (WildcardPatterns).
   * Failure: open() rebuilds the index from the rows, at about 1 us a route plus the scan. cut() goes on with a part of the index before, and hands the other part to the
   * replica here of the range that was split off, which takes it once. That is held softly: without it that replica reads its rows. A route beyond the limits of the
   * index is refused when it is applied; one in the rows is left out of the index, and stays in the rows until it is removed.
   */
  private static final Logger log = LoggerFactory.getLogger(RouteRange.class);
  private static final int KNOWN_MAX = 10_000;
  private static final int NAMED_MAX = 20;
  private static final int ROUTE_BYTES = 256;

  private volatile RouteIndex index = new RouteIndex();

  /** Whether there may be rows whose routes are left out of the index. Written by the applying thread. */
  private volatile boolean lacks;

  // Shares tenants' texts among millions of routes. Cleared when there turn out to be many.
  private final Map<String, String> knownTenants = new HashMap<>();
  private final Map<ShardId, ShardId> knownShards = new HashMap<>();

  /** Set by the applying thread; taken by the thread that opens the other range. */
  private final AtomicReference<@Nullable CutOff> cutOff = new AtomicReference<>();

  /** All filters of the range before it was cut, and their patterns. */
  private record CutOff(byte[] from, SoftReference<FilterIndex<FilterRoutes>> whole, WildcardPatterns patterns, boolean lacks) {}

  /** Visits the routes of all filters that match a topic name; returns how many nodes of indexes were looked at. Any thread. */
  public int match(String tenant, byte[] topic, int offset, int length, Consumer<? super FilterRoutes> visitor) {
    return index.match(tenant, topic, offset, length, visitor);
  }

  /** The patterns of the filters' wildcards. Any thread. */
  WildcardPatterns patterns() {
    return index.patterns();
  }

  /** The number of filters. Any thread. */
  public int filters() {
    return index.filters();
  }

  /** The number of routes. Any thread. */
  public long size() {
    return index.size();
  }

  /** Memory of the routes, by {@link #memoryOf}. Any thread. */
  public long memory() {
    return index.memory();
  }

  /** The number of routes of a tenant. Any thread. */
  public long size(String tenant) {
    return index.size(tenant);
  }

  /** The approximate bytes of a route in the index. */
  public static long memoryOf(Route route) {
    return ROUTE_BYTES + 2L * route.filter().text().length();
  }

  /** The applied route of a shard, or null. Any thread. */
  @Nullable Route find(String tenant, TopicFilter filter, ShardId shard) {
    FilterRoutes of = index.find(tenant, filter.filter());
    return of == null ? null : of.find(filter, shard);
  }

  /** Whether a shard may have routes, also some that are left out of the index. Any thread; waits for a change of the index. */
  boolean mayHave(ShardId shard) {
    return lacks || index.mayHave(shard);
  }

  /** The number of a filter's groups if the route would add another one, otherwise -1. Any thread. */
  int groupsBeside(Route route) {
    if (!route.filter().shared()) return -1;
    FilterRoutes of = index.find(route.tenant(), route.filter().filter());
    if (of == null) return 0;
    return of.hasGroup(route.filter()) ? -1 : of.groups().length;
  }

  @Override
  public void open(RangeReader state) {
    int[] leftOut = {0};
    var fresh = new RouteIndex();
    state.scan(
        new byte[0],
        null,
        (key, value) -> {
          Route route = RouteRows.route(key, value);
          var problem = problem(route);
          if (problem.isEmpty()) fresh.put(known(route));
          else if (leftOut[0]++ < NAMED_MAX)
            log.warn(
                "A stored route is left out, since no route can have {}: {} gets nothing for the filter {} of tenant {}",
                problem.get(), route.shard(), LogText.escaped(route.filter().text()), LogText.escaped(route.tenant()));
          return true;
        });
    if (leftOut[0] > NAMED_MAX) log.warn("{} stored routes are left out", leftOut[0]);
    lacks = leftOut[0] > 0;
    fresh.show();
    index = fresh;
  }

  @Override
  public void cut(RangeReader state, byte[] from) {
    if (RouteRows.together(from) < from.length) { // between routes of one filter
      open(state);
      return;
    }
    var before = index;
    cutOff.set(new CutOff(from, new SoftReference<>(before.whole()), before.patterns(), lacks)); // whole() first: they are its own then
    index = RouteIndex.below(from, before);
  }

  @Override
  public boolean openSplit(RangeLogic<?, ?> parent, byte[] start) {
    var taken = parent instanceof RouteRange from ? from.handOver(start) : null;
    var whole = taken == null ? null : taken.whole.get();
    if (taken == null || whole == null) return false;
    lacks = taken.lacks;
    index = RouteIndex.above(start, whole, taken.patterns);
    return true;
  }

  private @Nullable CutOff handOver(byte[] from) {
    var last = cutOff.get();
    return last != null && Arrays.equals(last.from, from) && cutOff.compareAndSet(last, null) ? last : null;
  }

  @Override
  public void settle(BooleanSupplier over) {
    index.settle(over);
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
    index.show();
    return results;
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
      index.put(known(route));
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

  /** A shard without routes is looked for in no row: nodes that never had one leave clusters, too. */
  private RouteResult purge(PurgeBefore purge, RangeWriter out) {
    if (!mayHave(purge.shard())) return new RouteResult.Purged(0, null);
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
    index.remove(route);
  }

  private Route known(Route decoded) {
    return new Route(
        known(knownTenants, decoded.tenant()), decoded.filter(), known(knownShards, decoded.shard()), decoded.incarnation(), decoded.handle());
  }

  private static <T> T known(Map<T, T> all, T value) {
    T before = all.get(value);
    if (before != null) return before;
    if (all.size() == KNOWN_MAX) all.clear();
    all.put(value, value);
    return value;
  }
}
