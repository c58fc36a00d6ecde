package dunlin.dist.remote;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteRangeClient;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteResult;
import dunlin.dist.route.RouteRows;
import dunlin.model.ShardId;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.WrongEpochException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** The leaders of all ranges of routes, each with a log whose entries are applied step by step, and a split among them. The handle of a route says when it was set. */
final class ModelRoutes {
  private static final int PAGE_ROUTES = 3;

  final Map<UUID, Leader> leaders = new HashMap<>();

  /** All that was applied, over all ranges. */
  final TreeMap<byte[], Route> rows = new TreeMap<>(Arrays::compareUnsigned);

  /** Changes that were applied after later ones of the same route. */
  final List<String> reversed = new ArrayList<>();

  /** The maps of the cluster that are to be published, in their order. */
  final ArrayDeque<List<RangeDescriptor>> maps = new ArrayDeque<>();

  private final Map<String, Integer> last = new HashMap<>();

  ModelRoutes() {
    leaders.put(MapRoutes.DESCRIPTOR.id(), new Leader(MapRoutes.DESCRIPTOR));
    maps.add(descriptors());
  }

  private List<RangeDescriptor> descriptors() {
    return leaders.values().stream().map(leader -> leader.now).toList();
  }

  /** Puts the split of the range that has a cut into its log. */
  void split(byte[] cut) {
    var leader = leaders.values().stream().filter(each -> each.now.keys().contains(cut)).findFirst().orElseThrow();
    leader.log.add(
        () -> {
          var before = leader.now;
          if (!before.keys().splitsAt(cut)) return;
          var child = RangeId.numbered(RouteReplica.KIND, leaders.size()).uuid();
          leader.now = before.lower(cut);
          leaders.put(child, new Leader(before.upper(cut, child, new RangeDescriptor.Origin(before.id(), 1, 1))));
          maps.add(descriptors());
        });
  }

  /** Applies the next entry of some log; false when all are applied. */
  boolean apply(Random random) {
    var some = leaders.values().stream().filter(leader -> !leader.log.isEmpty()).toList();
    if (some.isEmpty()) return false;
    some.get(random.nextInt(some.size())).log.remove().run();
    return true;
  }

  private void changed(Route route) {
    Integer before = last.put(MapRoutes.name(route), route.handle());
    if (before != null && before > route.handle()) reversed.add(route + " after " + before);
  }

  final class Leader implements RouteRangeClient {
    final ArrayDeque<Runnable> log = new ArrayDeque<>();
    RangeDescriptor now;

    Leader(RangeDescriptor now) {
      this.now = now;
    }

    /** In its turn in the log, unless the range has another epoch by then. */
    private <T> CompletableFuture<T> entered(long epoch, byte[] key, Supplier<T> entry) {
      if (epoch != now.epoch()) return CompletableFuture.failedFuture(new WrongEpochException(now, epoch));
      if (!now.keys().contains(key)) throw new AssertionError("a key of another range");
      var answer = new CompletableFuture<T>();
      log.add(
          () -> {
            if (epoch == now.epoch()) answer.complete(entry.get());
            else answer.completeExceptionally(new WrongEpochException(now, epoch));
          });
      return answer;
    }

    private CompletableFuture<Void> change(long epoch, Route route, Runnable change) {
      return entered(
              epoch, RouteRows.key(route),
              () -> {
                changed(route);
                change.run();
                return true;
              })
          .thenAccept(_ -> {});
    }

    @Override
    public CompletableFuture<Void> addRoute(long epoch, Route route) {
      return change(epoch, route, () -> rows.put(RouteRows.key(route), route));
    }

    @Override
    public CompletableFuture<Void> removeRoute(long epoch, Route route) {
      return change(epoch, route, () -> rows.remove(RouteRows.key(route)));
    }

    private List<Route> own(byte[] from, Predicate<ShardId> of) {
      return rows.tailMap(from, true).entrySet().stream()
          .filter(each -> now.keys().contains(each.getKey()) && of.test(each.getValue().shard()))
          .map(Map.Entry::getValue)
          .toList();
    }

    @Override
    public CompletableFuture<RouteResult.Purged> removeRoutesBefore(long epoch, ShardId shard, long incarnation, byte[] from) {
      return entered(
          epoch, from,
          () -> {
            var old = own(from, shard::equals).stream().filter(route -> route.incarnation() < incarnation).toList();
            for (Route route : old) rows.remove(RouteRows.key(route));
            return new RouteResult.Purged(old.size(), now.keys().end());
          });
    }

    @Override
    public CompletableFuture<RoutePage> routes(long epoch, ShardId.Kind kind, byte[] from) {
      return page(epoch, shard -> shard.kind() == kind, from);
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(long epoch, ShardId shard, byte[] from) {
      return page(epoch, shard::equals, from);
    }

    private CompletableFuture<RoutePage> page(long epoch, Predicate<ShardId> of, byte[] from) {
      return entered(
          epoch, from,
          () -> {
            var own = own(from, of);
            if (own.size() <= PAGE_ROUTES) return new RoutePage(own, now.keys().end());
            return new RoutePage(own.subList(0, PAGE_ROUTES), RouteRows.key(own.get(PAGE_ROUTES)));
          });
    }

    @Override
    public CompletableFuture<RouteMatch> match(long epoch, String tenant, byte[] topic, MatchSignature known, byte[] after) {
      return entered(
          epoch, now.keys().start(),
          () -> {
            String name = new String(topic, StandardCharsets.UTF_8);
            var all = own(new byte[0], _ -> true).stream().filter(route -> route.filter().matches(name)).toList();
            var signature = new MatchSignature(1, all.size(), all.hashCode());
            if (after.length == 0 && signature.equals(known)) return new RouteMatch.Unchanged();
            var behind = all.stream().filter(route -> Arrays.compareUnsigned(RouteRows.key(route), after) > 0).toList();
            var piece = behind.subList(0, Math.min(PAGE_ROUTES, behind.size()));
            return new RouteMatch.Found(signature, piece, piece.size() < behind.size() ? RouteRows.key(piece.getLast()) : null);
          });
    }

    @Override
    public CompletableFuture<Sums> sums() {
      long own = own(new byte[0], _ -> true).size();
      return CompletableFuture.completedFuture(new Sums(own, 100 * own));
    }

    @Override
    public CompletableFuture<List<Long>> routesOfTenants(List<String> tenants) {
      return sums().thenApply(sums -> tenants.stream().map(_ -> sums.routes()).toList());
    }
  }
}
