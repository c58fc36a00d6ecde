package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteRows;
import dunlin.model.ShardId;
import dunlin.runtime.Failures;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.call.CallReceiver;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Ranges of routes that are split while routes change, and maps that show it late: the changes of a route keep their order, and no route is lost, doubled or missed. */
class RouteRouterModelTest {
  private static final CallBounds BOUNDS = new CallBounds(100_000, 100 << 20, 10 << 20);
  private static final List<ShardId> SHARDS = List.of(ShardId.frontend("n"), ShardId.inbox(1), ShardId.inbox(2));

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 60) : LongStream.of(seed);
  }

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  /** A node that calls, the ranges, and what is between them. */
  private final class Run {
    final Random random;
    final ModelRoutes ranges = new ModelRoutes();
    final Map<UUID, CallPipes> pipes = new LinkedHashMap<>();
    final Map<UUID, CallReceiver> receivers = new HashMap<>();
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final RouteRouter router = new RouteRouter(this::open, "frontend", timer, Duration.ofMinutes(10), meters);

    /** What was asked for last, by the key of its row; without those that were removed. */
    final TreeMap<byte[], Route> set = new TreeMap<>(Arrays::compareUnsigned);

    final List<CompletableFuture<Void>> changes = new ArrayList<>();

    Run(long seed) {
      random = new Random(seed);
      router.begin();
    }

    private CallLinks open(UUID range) {
      var pipe = new CallPipes(random, (link, opening) -> Objects.requireNonNull(receivers.get(range)).open(link, opening));
      pipes.put(range, pipe);
      receivers.put(range, receiver(range));
      return new CallLinks(RouteCallCodec.PROTOCOL, "node", 1, pipe::network, pipe.callerTasks::add, pipe.callerTasks::add, BOUNDS);
    }

    private CallReceiver receiver(UUID range) {
      return RouteCalls.receiver(
          task -> Objects.requireNonNull(pipes.get(range)).tierTasks.add(task), BOUNDS, Objects.requireNonNull(ranges.leaders.get(range)), (_, _) -> true);
    }

    private Route route() {
      String filter = (char) ('a' + random.nextInt(20)) + List.of("", "/+", "/#").get(random.nextInt(3));
      String group = random.nextInt(4) == 0 ? "$share/g/" : "";
      return MapRoutes.route(MapRoutes.TENANT, group + filter, SHARDS.get(random.nextInt(SHARDS.size())), 1, changes.size() + 1);
    }

    void changes() {
      var route = route();
      boolean adds = random.nextInt(3) > 0;
      if (adds) set.put(RouteRows.key(route), route);
      else set.remove(RouteRows.key(route));
      changes.add(adds ? router.addRoute(route) : router.removeRoute(route));
    }

    void step(int splitOneIn, int loseOneIn) {
      int what = random.nextInt(10);
      if (what < 3) changes();
      else if (what < 5) ranges.apply(random);
      else if (!pipes.isEmpty()) List.copyOf(pipes.values()).get(random.nextInt(pipes.size())).step();
      if (random.nextInt(splitOneIn) == 0) ranges.split(RouteRows.key(route()));
      if (random.nextInt(20) == 0 && !ranges.maps.isEmpty()) router.ranges(ranges.maps.remove());
      if (loseOneIn > 0 && random.nextInt(loseOneIn) == 0 && !pipes.isEmpty()) {
        UUID range = List.copyOf(pipes.keySet()).get(random.nextInt(pipes.size()));
        receivers.put(range, receiver(range));
        Objects.requireNonNull(pipes.get(range)).tierRestarts();
      }
    }

    void rest() {
      boolean more = true;
      while (more) {
        more = !ranges.maps.isEmpty();
        if (more) router.ranges(ranges.maps.remove());
        for (var pipe : List.copyOf(pipes.values())) while (pipe.step()) more = true;
        while (ranges.apply(random)) more = true;
      }
    }

    /** All routes of a shard, by pages. */
    List<Route> listed(ShardId shard) {
      var listed = new ArrayList<Route>();
      byte @Nullable [] from = null;
      do {
        var page = router.routesOf(shard, from);
        rest();
        listed.addAll(page.join().routes());
        from = page.join().next();
      } while (from != null);
      return listed;
    }

    double held() {
      return meters.get("dunlin.dist.calls.held").gauge().value();
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void splitsAreNotNoticed(long seed) {
    var run = new Run(seed);

    for (int i = 0; i < 4_000; i++) run.step(150, 0);
    run.rest();

    assertThat(run.changes).allSatisfy(change -> assertThat(change).isCompleted());
    assertThat(run.ranges.reversed).isEmpty();
    assertThat(run.ranges.leaders).hasSizeGreaterThan(5);
    assertThat(run.ranges.rows.values()).containsExactlyElementsOf(run.set.values());
    assertThat(run.held()).isZero();
    for (ShardId shard : SHARDS) {
      assertThat(run.listed(shard)).containsExactlyElementsOf(run.set.values().stream().filter(route -> route.shard().equals(shard)).toList());
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void aPurgeGoesThroughAllRanges(long seed) {
    var run = new Run(seed);
    for (int i = 0; i < 1_000; i++) run.step(150, 0);
    run.rest();
    var removed = run.router.removeRoutesBefore(SHARDS.getFirst(), 2);
    for (int i = 0; i < 3; i++) run.ranges.split(RouteRows.key(run.route()));
    run.rest();

    run.set.values().removeIf(route -> route.shard().equals(SHARDS.getFirst()));
    assertThat(run.ranges.rows.values()).containsExactlyElementsOf(run.set.values());
    assertThat(removed).isCompletedWithValueMatching(count -> count > 0);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void lostLinksAndSplitsKeepTheOrderOfARoute(long seed) {
    var run = new Run(seed);

    for (int i = 0; i < 6_000; i++) run.step(150, 200);
    run.rest();

    for (var change : run.changes) {
      assertThat(change).isDone();
      if (!change.isCompletedExceptionally()) continue;
      Throwable failure = Objects.requireNonNull(change.handle((_, why) -> why).join());
      assertThat(Failures.unwrapped(failure)).isInstanceOfAny(OutcomeUnknownException.class, StoreException.class);
    }
    assertThat(run.ranges.reversed).isEmpty();
    assertThat(run.held()).isZero();
    assertThat(run.meters.get("dunlin.dist.links.lost").functionCounter().count()).isPositive();
  }
}
