package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteQuotaException;
import dunlin.model.ShardId;
import dunlin.runtime.Failures;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.FrameWriter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The routes of a dist tier in another process at their bounds, and when the link is lost. */
class RemoteRoutesTest {
  private static final CallBounds BOUNDS = new CallBounds(2, 10_000, 10_000);
  private static final Route ROUTE = MapRoutes.route("t", "a/+", ShardId.frontend("n"), 1, 2);

  private final List<Runnable> held = new ArrayList<>();
  private final MapRoutes tier = new MapRoutes(held::add);
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final CallReceiver receiver = RouteCalls.receiver(this::tierRuns, BOUNDS, tier, (_, shard) -> shard.equals(ROUTE.shard()) || shard.equals(ShardId.inbox(1)));
  private final CallPipes pipes = new CallPipes(new Random(1), receiver);
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final RouteRouter routes =
      new RouteRouter(
          _ -> new CallLinks(RouteCallCodec.PROTOCOL, "n/frontend", 1, pipes::network, pipes.callerTasks::add, pipes.callerTasks::add, BOUNDS), "frontend", timer,
          Duration.ofMinutes(10), meters);

  RemoteRoutesTest() {
    routes.ranges(List.of(MapRoutes.DESCRIPTOR));
  }

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  private void tierRuns(Runnable task) {
    pipes.tierTasks.add(task);
  }

  private void begin() {
    routes.begin();
    pipes.drain();
  }

  private static Throwable failureOf(CompletableFuture<?> call) {
    assertThat(call).isDone();
    return Objects.requireNonNull(call.handle((_, failure) -> failure).join());
  }

  @Test
  void callsWaitForTheFirstLink() {
    var added = routes.addRoute(ROUTE);
    assertThat(added).isNotDone();
    begin();
    held.forEach(Runnable::run);
    pipes.drain();

    assertThat(added).isCompleted();
  }

  /** Not wrapped, as its callers look for it. */
  @Test
  void aQuotaKeepsItsKind() {
    for (int i = 0; i < MapRoutes.ROUTES_MAX; i++) tier.addRoute(MapRoutes.route("t", "f/" + i, ShardId.inbox(1), 1, 0));
    begin();
    held.clear();
    var memory = routes.addRoute(ROUTE);
    var groups = routes.addRoute(MapRoutes.route("t", "$share/g/a", ShardId.inbox(1), 1, 0));
    pipes.drain();
    held.forEach(Runnable::run);
    pipes.drain();

    assertThat(failureOf(memory)).isInstanceOfSatisfying(RouteQuotaException.class, full -> assertThat(full.kind()).isEqualTo(RouteQuotaException.Kind.MEMORY));
    assertThat(failureOf(groups)).isInstanceOfSatisfying(RouteQuotaException.class, full -> assertThat(full.kind()).isEqualTo(RouteQuotaException.Kind.GROUPS));
    assertThat(failureOf(groups)).hasMessage(new RouteQuotaException(RouteQuotaException.Kind.GROUPS, MapRoutes.ROUTES_MAX).getMessage());
  }

  @Test
  void callsAreCountedAndBeyondTheBoundRefused() {
    begin();
    var _ = routes.addRoute(ROUTE);
    var _ = routes.removeRoute(ROUTE);
    assertThat(Failures.unwrapped(failureOf(routes.removeRoutesBefore(ROUTE.shard(), 1)))).isExactlyInstanceOf(StoreException.class);

    pipes.drain();
    assertThat(meters.get("dunlin.dist.calls").tag("part", "frontend").gauge().value()).isEqualTo(2);
    assertThat(meters.get("dunlin.dist.calls.size").gauge().value()).isGreaterThan(128);
    assertThat(meters.get("dunlin.dist.calls.refused").functionCounter().count()).isEqualTo(1);
    assertThat(receiver.unanswered()).isEqualTo(2);
  }

  @Test
  void whatWasOnItsWayOverALostLinkIsUnknown() {
    begin();
    var added = routes.addRoute(ROUTE);
    pipes.drain();
    pipes.tierRestarts();
    pipes.drain();

    assertThat(failureOf(added)).isExactlyInstanceOf(OutcomeUnknownException.class);
    assertThat(routes.removeRoute(ROUTE)).isNotDone();
  }

  @Test
  void aCallThatCannotBeReadEndsTheLink() {
    begin();
    var added = routes.addRoute(ROUTE);
    pipes.drain();
    pipes.link().send(new FrameWriter().bytes(new byte[] {9}).take());
    pipes.drain();

    assertThat(failureOf(added)).isExactlyInstanceOf(OutcomeUnknownException.class);
    assertThat(meters.get("dunlin.dist.links.lost").functionCounter().count()).isEqualTo(1);
  }

  @Test
  void aNodeThatChangesRoutesOfOthersLosesItsLink() {
    begin();
    var added = routes.addRoute(MapRoutes.route("t", "a/+", ShardId.frontend("other"), 1, 2));
    pipes.drain();
    assertThat(failureOf(added)).isExactlyInstanceOf(OutcomeUnknownException.class);

    var removed = routes.removeRoutesBefore(ShardId.inbox(2), 1);
    pipes.drain();
    assertThat(Failures.unwrapped(failureOf(removed))).isExactlyInstanceOf(OutcomeUnknownException.class);
    assertThat(held).as("what was made").isEmpty();
    assertThat(meters.get("dunlin.dist.links.lost").functionCounter().count()).isEqualTo(2);
  }

  @Test
  void theEndOfTheCallerFailsWhatIsNotAnswered() {
    begin();
    var page = routes.routes(ShardId.Kind.INBOX, null);
    pipes.drain();
    routes.close();
    pipes.drain();

    assertThatThrownBy(page::join).hasCauseExactlyInstanceOf(OutcomeUnknownException.class);
  }
}
