package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteResult;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The patterns of wildcards in a tenant's routes are bounded where routes are set. */
class RoutePatternsTest {
  private static final ShardId ONE = ShardId.frontend("one");
  private static final ShardId TWO = ShardId.frontend("two");

  private SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<InMemoryRange<RouteCommand, RouteResult>> ranges = new ArrayList<>();

  private DistWorker worker(int groupsMax, int patternsMax) {
    return new DistWorker(
        (_, codec, logic) -> {
          ranges.add(new InMemoryRange<>(codec, logic));
          return ranges.getLast();
        },
        List.of(),
        new DistSettings(1 << 20, groupsMax, patternsMax, 1),
        _ -> ShardId.inbox(0),
        registry,
        Tracer.idle(),
        DeliveryThreads.inline());
  }

  private static Route route(String tenant, String filter, ShardId shard) {
    return new Route(tenant, TopicFilter.parse(filter).orElseThrow(), shard, 1, 0);
  }

  private static Route route(String filter) {
    return route("t", filter, ONE);
  }

  private void assertSet(CompletableFuture<Void> added) {
    ranges.getFirst().applyAll();
    assertThat(added).isCompleted();
  }

  private static void assertRefused(CompletableFuture<Void> added) {
    assertThat(added).isCompletedExceptionally();
    assertThat(added.exceptionNow())
        .isInstanceOfSatisfying(RouteQuotaException.class, full -> assertThat(full.kind()).isEqualTo(RouteQuotaException.Kind.PATTERNS))
        .hasMessage("too many patterns of wildcards in topic filters of the tenant, limit 2");
  }

  private double refused() {
    return registry.get("dunlin.dist.refused").tag("limit", "patterns").functionCounter().count();
  }

  @Test
  void thePatternsOfATenantAreBounded() {
    var worker = worker(1, 2);
    assertSet(worker.addRoute(route("a/+/b")));

    assertRefused(worker.addRoute(route("+")));
    assertRefused(worker.addRoute(route("$share/g/+/a")));

    assertThat(refused()).isEqualTo(2);
    assertThat(ranges.getFirst().rows.map).hasSize(1);
    assertSet(worker.addRoute(route("t", "a/+/b", TWO)));
    assertSet(worker.addRoute(route("x/+/y")));
    assertSet(worker.addRoute(route("x/+")));
    assertSet(worker.addRoute(route("x/y/#")));
    assertSet(worker.addRoute(route("other", "+/+", ONE)));
  }

  @Test
  void aPatternIsFreeWhenItsLastRouteIsGone() {
    var worker = worker(1, 2);
    assertSet(worker.addRoute(route("a/+/b")));
    assertSet(worker.addRoute(route("t", "a/+/b", TWO)));

    worker.removeRoute(route("a/+/b"));
    ranges.getFirst().applyAll();
    assertRefused(worker.addRoute(route("+")));
    worker.removeRoute(route("t", "a/+/b", TWO));
    ranges.getFirst().applyAll();

    assertSet(worker.addRoute(route("+/+")));
  }

  @Test
  void routesThatAreBeingSetCount() {
    var worker = worker(1, 2);

    var first = worker.addRoute(route("a/+/b"));
    assertRefused(worker.addRoute(route("+")));

    assertSet(first);
  }

  @Test
  void whatIsRefusedOrFailsReleasesItsShare() {
    var worker = worker(1, 2);
    assertSet(worker.addRoute(route("$share/g/a/+")));
    assertThat(worker.addRoute(route("$share/h/a/+"))).as("one group more").isCompletedExceptionally();
    ranges.getFirst().queueMax = 0;
    assertThat(worker.addRoute(route("a/+/b"))).as("overload").isCompletedExceptionally();
    ranges.getFirst().queueMax = 1;

    assertSet(worker.addRoute(route("a/+/+")));
    assertThat(refused()).isZero();
  }

  @Test
  void storedRoutesCountAndAreServedWhateverTheLimitIs() {
    var worker = worker(1, 8);
    assertSet(worker.addRoute(route("+/+/+/+")));
    var stored = ranges.getFirst().rows.map;
    ranges.clear();
    registry = new SimpleMeterRegistry();

    var next = worker(1, 2);
    ranges.getFirst().rows.map.putAll(stored);
    ranges.getFirst().reopen();

    assertRefused(next.addRoute(route("a/+")));
    assertSet(next.addRoute(route("t", "+/+/+/+", TWO)));
    assertSet(next.addRoute(route("+/+")));
  }
}
