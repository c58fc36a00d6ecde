package dunlin.dist;

import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteRows;
import dunlin.dist.route.RouteView;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** All ranges of routes and what is on its way to them, in one thread: each has a log, questions to others take time, and the map of the cluster is late. */
final class SplitRoutes {
  private static final RangeDescriptor WHOLE =
      new RangeDescriptor(RangeId.firstOf(RouteReplica.KIND).uuid(), RouteReplica.KIND, KeyInterval.all(), 1, List.of(new UUID(1, 2)), null);

  final Random random;
  final Map<UUID, ArrayDeque<Runnable>> logs = new LinkedHashMap<>();
  final Map<UUID, RangeDescriptor> ranges = new LinkedHashMap<>();
  final TreeMap<byte[], Route> rows = new TreeMap<>(Arrays::compareUnsigned);

  /** Questions and answers on their way; any of them may come next. */
  final List<Runnable> onTheWay = new ArrayList<>();

  private final ArrayDeque<List<RangeDescriptor>> maps = new ArrayDeque<>();
  private List<RangeDescriptor> map = List.of(WHOLE);
  private @Nullable RouteView view;
  private @Nullable RangeDescriptor viewOf;

  /** One in so many questions fails; 0 for none. */
  int failsOneIn;

  SplitRoutes(Random random) {
    this.random = random;
    ranges.put(WHOLE.id(), WHOLE);
    logs.put(WHOLE.id(), new ArrayDeque<>());
  }

  RangeDescriptor first() {
    return Objects.requireNonNull(ranges.get(WHOLE.id()));
  }

  RouteView view() {
    var own = first();
    var last = view;
    if (last == null || !own.equals(viewOf)) view = last = RouteView.of(own, map, Asked::new);
    viewOf = own;
    return last;
  }

  /** The next map is published, if there is one. */
  void publishMap() {
    var next = maps.poll();
    if (next == null) return;
    map = next;
    view = null;
  }

  private RangeDescriptor of(byte[] key) {
    return ranges.values().stream().filter(range -> range.keys().contains(key)).findFirst().orElseThrow();
  }

  /** Confirms a route once the log of its range has come to it; a caller finds the range as RouteRouter does. */
  void add(Route route, Runnable confirmed) {
    byte[] key = RouteRows.key(route);
    var range = of(key);
    log(range.id())
        .add(
            () -> {
              if (Objects.requireNonNull(ranges.get(range.id())).epoch() != range.epoch()) {
                add(route, confirmed);
                return;
              }
              rows.put(key, route);
              confirmed.run();
            });
  }

  private ArrayDeque<Runnable> log(UUID range) {
    return Objects.requireNonNull(logs.get(range));
  }

  void split(byte[] cut) {
    var range = of(cut).id();
    log(range)
        .add(
            () -> {
              var before = Objects.requireNonNull(ranges.get(range));
              if (!before.keys().splitsAt(cut)) return;
              var child = RangeId.numbered(RouteReplica.KIND, ranges.size()).uuid();
              ranges.put(range, before.lower(cut));
              ranges.put(child, before.upper(cut, child, new RangeDescriptor.Origin(range, 1, 1)));
              logs.put(child, new ArrayDeque<>());
              maps.add(List.copyOf(ranges.values()));
            });
  }

  /** Applies the next entry of some log; false when there is none. */
  boolean apply() {
    var some = logs.values().stream().filter(log -> !log.isEmpty()).toList();
    if (some.isEmpty()) return false;
    some.get(random.nextInt(some.size())).remove().run();
    return true;
  }

  /** Something on its way arrives; false when there is nothing. */
  boolean arrive() {
    if (onTheWay.isEmpty()) return false;
    onTheWay.remove(random.nextInt(onTheWay.size())).run();
    return true;
  }

  List<Route> matching(RangeDescriptor range, String topic) {
    return rows.entrySet().stream().filter(row -> range.keys().contains(row.getKey()) && row.getValue().filter().matches(topic)).map(Map.Entry::getValue).toList();
  }

  /** A read barrier of the first range: it has applied its log as far as that was when it was asked for. */
  CompletableFuture<@Nullable Void> barrier(UUID range) {
    var answer = new CompletableFuture<@Nullable Void>();
    log(range).add(() -> onTheWay.add(() -> answer.complete(null)));
    return answer;
  }

  /** A range of a view. */
  private final class Asked implements RouteView.Other {
    private final RangeDescriptor known;

    Asked(RangeDescriptor known) {
      this.known = known;
    }

    @Override
    public UUID range() {
      return known.id();
    }

    @Override
    public CompletableFuture<RouteMatch> match(String tenant, byte[] topic, MatchSignature signature) {
      var answer = new CompletableFuture<RouteMatch>();
      onTheWay.add(() -> arrives(new String(topic, StandardCharsets.UTF_8), signature, answer));
      return answer;
    }

    private void arrives(String topic, MatchSignature signature, CompletableFuture<RouteMatch> answer) {
      if (failsOneIn > 0 && random.nextInt(failsOneIn) == 0) {
        onTheWay.add(() -> answer.completeExceptionally(new StoreException("the test has it fail")));
        return;
      }
      var found = matching(Objects.requireNonNull(ranges.get(known.id())), topic); // as far as its leader has them
      var own = new MatchSignature(known.id().getLeastSignificantBits() | 1, found.size(), found.hashCode());
      RouteMatch match = own.equals(signature) ? new RouteMatch.Unchanged() : new RouteMatch.Found(own, found, null);
      var _ =
          barrier(known.id())
              .thenRun(
                  () -> {
                    var now = Objects.requireNonNull(ranges.get(known.id()));
                    if (now.epoch() == known.epoch()) answer.complete(match);
                    else answer.completeExceptionally(new WrongEpochException(now, known.epoch()));
                  });
    }
  }

  static List<Route> all(List<FilterRoutes> filters) {
    var all = new ArrayList<Route>();
    for (FilterRoutes of : filters) {
      all.addAll(List.of(of.plain()));
      for (FilterRoutes.Group group : of.groups()) all.addAll(List.of(group.routes()));
    }
    return all;
  }
}
