package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RouteRows;
import dunlin.dist.route.RouteView;
import dunlin.model.ShardId;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A cluster with two ranges of routes, of which the second one begins with the filter "m". */
class RouteRouterTest {
  private static final CallBounds BOUNDS = new CallBounds(10_000, 10 << 20, 10 << 20);
  private static final ShardId FRONTEND = ShardId.frontend("n");

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final Random random = new Random(1);
  private final ModelRoutes ranges = new ModelRoutes();
  private final Map<UUID, CallPipes> pipes = new HashMap<>();
  private final RouteRouter router = new RouteRouter(this::open, "clients", timer, Duration.ofMinutes(10), new SimpleMeterRegistry());

  private CallLinks open(UUID range) {
    var leader = Objects.requireNonNull(ranges.leaders.get(range));
    var pipe = new CallPipes(random, (link, opening) -> RouteCalls.receiver(task -> pipe(range).tierTasks.add(task), BOUNDS, leader, (_, _) -> true).open(link, opening));
    pipes.put(range, pipe);
    return new CallLinks(RouteCallCodec.PROTOCOL, "node", 1, pipe::network, pipe.callerTasks::add, pipe.callerTasks::add, BOUNDS);
  }

  private CallPipes pipe(UUID range) {
    return Objects.requireNonNull(pipes.get(range));
  }

  @BeforeEach
  void begin() {
    router.begin();
    router.ranges(ranges.maps.remove());
    ranges.split(RouteRows.key(route("m", FRONTEND)));
    drain();
    router.ranges(ranges.maps.remove());
    drain();
  }

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  private static Route route(String filter, ShardId shard) {
    return MapRoutes.route(MapRoutes.TENANT, filter, shard, 1, 1);
  }

  private void drain() {
    boolean more = true;
    while (more) {
      more = ranges.apply(random);
      for (var pipe : pipes.values()) while (pipe.step()) more = true;
    }
  }

  private RangeDescriptor first() {
    return Objects.requireNonNull(ranges.leaders.get(MapRoutes.DESCRIPTOR.id())).now;
  }

  private RangeDescriptor second() {
    return ranges.leaders.values().stream().map(leader -> leader.now).filter(range -> !range.id().equals(first().id())).findFirst().orElseThrow();
  }

  /** Its leader delivers to a frontend only when it knows that it is there. */
  @Test
  void aFrontendsRouteInAnotherRangeIsSetOnceTheFirstLeaderHasHeardOfIt() {
    var added = router.addRoute(route("x", FRONTEND));
    while (pipe(second().id()).step() || ranges.apply(random)) assertThat(added).isNotDone();
    assertThat(ranges.rows).hasSize(1);

    drain();

    assertThat(added).isCompleted();
  }

  @Test
  void otherRoutesAreSetWithoutThat() {
    var ofShard = router.addRoute(route("x", ShardId.inbox(1)));
    while (pipe(second().id()).step() || ranges.apply(random));
    assertThat(ofShard).isCompleted();

    var inTheFirstRange = router.addRoute(route("a", FRONTEND));
    while (pipe(first().id()).step() || ranges.apply(random));
    assertThat(inTheFirstRange).isCompleted();
  }

  @Test
  void aRouteThatTheFirstLeaderDoesNotHearOfFailsAsUnknown() {
    var added = router.addRoute(route("x", FRONTEND));
    while (pipe(second().id()).step() || ranges.apply(random)) assertThat(added).isNotDone();
    var tasks = pipe(first().id()).callerTasks;
    while (!tasks.isEmpty()) tasks.remove().run();
    pipe(first().id()).tierRestarts();
    drain();

    assertThatThrownBy(added::join).hasCauseInstanceOf(StoreException.class);
  }

  @Test
  void aRouteThatIsImpossibleIsRefusedHere() {
    var added = router.addRoute(route("a/".repeat(300) + "b", FRONTEND));

    assertThatThrownBy(added::join).hasCauseInstanceOf(StoreException.class).hasMessageContaining("no route can have a filter of 301 levels");
  }

  private RouteView.Other other() {
    return router.beside(first()).part(1).orElseThrow();
  }

  private RouteMatch match(MatchSignature known) {
    var match = other().match(MapRoutes.TENANT, new byte[] {'x'}, known);
    drain();
    return match.join();
  }

  @Test
  void aTopicIsMatchedByTheLeaderOfAnotherRangeAlsoInPieces() {
    var set = new ArrayList<Route>();
    for (int shard = 0; shard < 10; shard++) set.add(route("x", ShardId.inbox(shard)));
    set.forEach(router::addRoute);
    drain();

    var found = (RouteMatch.Found) match(MatchSignature.NONE);

    assertThat(found.routes()).containsExactlyInAnyOrderElementsOf(set);
    assertThat(found.next()).isNull();
    assertThat(match(found.signature())).isEqualTo(new RouteMatch.Unchanged());
  }

  /** Their signature must not stand for what was never there at one time. */
  @Test
  void routesThatChangeBetweenTwoPiecesHaveNoSignature() {
    for (int shard = 0; shard < 10; shard++) router.addRoute(route("x", ShardId.inbox(shard)));
    drain();
    var match = other().match(MapRoutes.TENANT, new byte[] {'x'}, MatchSignature.NONE);
    while (pipe(second().id()).step()) assertThat(match).isNotDone();
    ranges.apply(random); // the first piece
    router.addRoute(route("x", ShardId.inbox(99)));
    drain();

    assertThat(((RouteMatch.Found) match.join()).signature()).isEqualTo(MatchSignature.NONE);
  }

  @Test
  void aViewIsOfOneEpoch() {
    var before = router.beside(first());
    assertThat(router.beside(first())).isSameAs(before);
    var old = other();
    ranges.split(RouteRows.key(route("t", FRONTEND)));
    drain();
    CompletableFuture<RouteMatch> match = old.match(MapRoutes.TENANT, new byte[] {'x'}, MatchSignature.NONE);
    drain();
    assertThatThrownBy(match::join).hasCauseInstanceOf(WrongEpochException.class);

    router.ranges(ranges.maps.remove());

    assertThat(router.beside(first())).isNotSameAs(before);
    drain();
    assertThat(match(MatchSignature.NONE)).isInstanceOf(RouteMatch.Found.class);
  }

  @Test
  void sumsOfOtherRangesAreThoseOfTheLastAnswers() {
    List.of("a", "x", "y").forEach(filter -> router.addRoute(route(filter, FRONTEND)));
    drain();
    assertThat(router.routes()).isZero();

    router.ask();
    drain();

    assertThat(router.routes()).isEqualTo(2);
    assertThat(router.elsewhere(second().id()).memory()).isEqualTo(100);
  }

  @Test
  void routesOfATenantInOtherRangesAreAskedOnceItIsWanted() {
    List.of("a", "x", "y").forEach(filter -> router.addRoute(route(filter, FRONTEND)));
    drain();
    assertThat(router.elsewhere(second().id()).routesOf("blue")).as("not asked yet").isZero();

    router.ask();
    drain();

    assertThat(router.elsewhere(second().id()).routesOf("blue")).isEqualTo(1);
    assertThat(router.elsewhere(first().id()).routesOf("blue")).isEqualTo(2);
    assertThat(router.elsewhere(second().id()).routesOf("green")).as("not wanted before").isZero();
  }
}
