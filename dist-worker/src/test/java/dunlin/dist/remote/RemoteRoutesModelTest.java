package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteQuotaException;
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
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Routes over pipes that delay and break, beside those that are changed directly: the answers are the same, and the routes at the end. */
class RemoteRoutesModelTest {
  private static final CallBounds BOUNDS = new CallBounds(10_000, 10 << 20, 1L << 40);
  private static final List<String> FILTERS = List.of("a", "a/+", "#", "$share/g/a", "$oshare/h/b/#");
  private static final List<ShardId> SHARDS = List.of(ShardId.frontend("n"), ShardId.inbox(1), ShardId.inbox(2), ShardId.inbox(3));

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 30) : LongStream.of(seed);
  }

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  /** A call that was made of both, and its answers. */
  private static final class Asked {
    final List<String> answers = new ArrayList<>();
    @Nullable String direct;
  }

  private static String said(@Nullable Object value, @Nullable Throwable failure) {
    if (failure == null) return value instanceof RoutePage page ? page.routes() + " " + Arrays.toString(page.next()) : String.valueOf(value);
    return switch (Failures.unwrapped(failure)) {
      case RouteQuotaException quota -> "quota " + quota.kind() + " " + quota.limit() + " " + quota.getMessage();
      case OutcomeUnknownException unknown -> "unknown: " + unknown.getMessage();
      case StoreException store -> String.valueOf(store.getMessage());
      case Throwable other -> throw new AssertionError(other);
    };
  }

  /** A change of one route: the handle that it was set with, null for none; and what was said. */
  private record Change(@Nullable Route route, Asked asked) {}

  private static final class Run {
    final Random random;
    final List<Runnable> later = new ArrayList<>();
    final List<Asked> asked = new ArrayList<>();
    final Map<String, List<Change>> changes = new HashMap<>();
    final MapRoutes direct = new MapRoutes(Runnable::run);
    final MapRoutes tier = new MapRoutes(this::answers);
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final CallPipes pipes;
    final RouteRouter remote;
    CallReceiver receiver;

    Run(long seed, ScheduledExecutorService timer) {
      random = new Random(seed);
      receiver = receiver();
      pipes = new CallPipes(random, (link, opening) -> receiver.open(link, opening));
      var links = new CallLinks(RouteCallCodec.PROTOCOL, "n/frontend", 1, pipes::network, pipes.callerTasks::add, pipes.callerTasks::add, BOUNDS);
      remote = new RouteRouter(_ -> links, "frontend", timer, Duration.ofMinutes(10), meters);
      remote.ranges(List.of(MapRoutes.DESCRIPTOR));
      remote.begin();
      pipes.drain();
    }

    private CallReceiver receiver() {
      return RouteCalls.receiver(this::tierRuns, BOUNDS, tier, (_, _) -> true);
    }

    private void tierRuns(Runnable task) {
      pipes.tierTasks.add(task);
    }

    private void answers(Runnable answer) {
      if (random.nextBoolean()) answer.run();
      else later.add(answer);
    }

    private Asked both(Function<RouteClient, CompletableFuture<?>> call) {
      var one = new Asked();
      asked.add(one);
      call.apply(direct).whenComplete((value, failure) -> one.direct = said(value, failure));
      call.apply(remote).whenComplete((value, failure) -> one.answers.add(said(value, failure)));
      return one;
    }

    private <T> T any(List<T> of) {
      return of.get(random.nextInt(of.size()));
    }

    void changes() {
      var route = MapRoutes.route(any(MapRoutes.TENANTS), any(FILTERS), any(SHARDS), random.nextInt(4), random.nextInt());
      boolean adds = random.nextInt(3) > 0;
      var one = both(routes -> adds ? routes.addRoute(route) : routes.removeRoute(route));
      if (!route.tenant().equals(MapRoutes.TENANT)) return;
      changes.computeIfAbsent(MapRoutes.name(route), _ -> new ArrayList<>()).add(new Change(adds ? route : null, one));
    }

    void reads() {
      byte @Nullable [] from = random.nextBoolean() ? null : new byte[] {(byte) random.nextInt(8)};
      var kind = any(List.of(ShardId.Kind.values()));
      var shard = any(SHARDS);
      if (random.nextBoolean()) both(routes -> routes.routes(kind, from));
      else both(routes -> routes.routesOf(shard, from));
    }

    void purges() {
      var shard = any(SHARDS);
      long incarnation = random.nextInt(4);
      both(routes -> routes.removeRoutesBefore(shard, incarnation));
    }

    void run(int steps, boolean changesOnly, int restartsOneIn) {
      for (int i = 0; i < steps; i++) {
        int what = random.nextInt(12);
        if (what < 2) changes();
        else if (what == 2 && !changesOnly && random.nextInt(4) == 0) purges();
        else if (what == 2) reads();
        else if (what < 5 && !later.isEmpty()) later.remove(random.nextInt(later.size())).run();
        else pipes.step();
        if (random.nextInt(60) == 0) pipes.breaks();
        if (restartsOneIn > 0 && random.nextInt(restartsOneIn) == 0) {
          receiver = receiver();
          pipes.tierRestarts();
        }
      }
      do {
        pipes.drain();
        while (!later.isEmpty()) later.removeFirst().run();
        pipes.drain();
      } while (!later.isEmpty());
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void answersAsADirectCallWhateverPipesBreak(long seed) {
    var run = new Run(seed, timer);

    run.run(3_000, false, 0);

    for (Asked each : run.asked) assertThat(each.answers).containsExactly(each.direct);
    assertThat(run.asked).anyMatch(each -> String.valueOf(each.direct).startsWith("quota GROUPS"));
    assertThat(run.tier.routes).isEqualTo(run.direct.routes);
    assertThat(run.meters.get("dunlin.dist.calls").gauge().value()).isZero();
    assertThat(run.meters.get("dunlin.dist.calls.size").gauge().value()).isZero();
  }

  /** What there is of a route is what was said to be so last, or something later that is not known to have been made. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void noChangeIsMadeBehindALaterOneWhateverLinksAreLost(long seed) {
    var run = new Run(seed, timer);

    run.run(4_000, true, 150);

    for (Asked each : run.asked) assertThat(each.answers).hasSize(1);
    assertThat(run.meters.get("dunlin.dist.links.lost").functionCounter().count()).isPositive();
    run.changes.forEach(
        (name, all) -> {
          List<@Nullable Route> possible = new ArrayList<>();
          possible.add(null);
          for (Change each : all) {
            String answer = each.asked.answers.getFirst();
            if (answer.equals("null")) possible.clear();
            if (answer.equals("null") || answer.startsWith("unknown: it is unknown whether")) possible.add(each.route);
          }
          assertThat(possible).as(name).contains(run.tier.routes.get(name));
        });
  }
}
