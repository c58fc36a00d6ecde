package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.DeliveryThreads;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RouteQuotaException;
import dunlin.dist.route.RouteRange;
import dunlin.dist.route.RouteResult;
import dunlin.dist.route.RouteRows;
import dunlin.model.ShardId;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Routes are bounded in memory, and groups of a topic filter in number, over all ranges of a worker. */
public class RouteQuotaTest {
  private static final String TENANT = "t";
  private static final ShardId ONE = ShardId.frontend("one");
  private static final ShardId TWO = ShardId.frontend("two");

  private SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<InMemoryRange<RouteCommand, RouteResult>> ranges = new ArrayList<>();

  /** A worker with two ranges: filters from {@code m} on are in the second one. */
  private DistWorker worker(long memoryMax, int groupsMax) {
    byte[] cut = "m".getBytes(StandardCharsets.UTF_8);
    return new DistWorker(
        (_, codec, logic) -> {
          var range = new InMemoryRange<>(codec, logic);
          ranges.add(range);
          return range;
        },
        List.of(RouteRows.prefix(TENANT, cut, cut.length)),
        new DistSettings(memoryMax, groupsMax, 1, 1),
        _ -> ShardId.inbox(0),
        registry,
        Tracer.idle(),
        DeliveryThreads.inline());
  }

  private static Route route(String filter, ShardId shard) {
    return new Route(TENANT, TopicFilter.parse(filter).orElseThrow(), shard, 1, 0);
  }

  private void apply() {
    for (var range : ranges) range.applyAll();
  }

  private void assertSet(CompletableFuture<Void> added) {
    apply();
    assertThat(added).isCompleted();
  }

  private void assertRefused(CompletableFuture<Void> added, RouteQuotaException.Kind kind) {
    assertThat(added).isCompletedExceptionally();
    assertThat(added.exceptionNow()).isInstanceOfSatisfying(RouteQuotaException.class, full -> assertThat(full.kind()).isEqualTo(kind));
  }

  private double refused(String limit) {
    return registry.get("dunlin.dist.refused").tag("limit", limit).functionCounter().count();
  }

  @Test
  void theMemoryOfAllRangesIsBounded() {
    var a = route("a", ONE);
    var z = route("z", ONE);
    var worker = worker(2 * RouteRange.memoryOf(a), 10);
    assertSet(worker.addRoute(a));
    assertSet(worker.addRoute(z));

    assertRefused(worker.addRoute(route("b", ONE)), RouteQuotaException.Kind.MEMORY);
    assertRefused(worker.addRoute(route("z", TWO)), RouteQuotaException.Kind.MEMORY);

    assertThat(refused("memory")).isEqualTo(2);
    assertThat(registry.get("dunlin.dist.memory").gauge().value()).isEqualTo(2.0 * RouteRange.memoryOf(a));
    assertThat(ranges).allSatisfy(range -> assertThat(range.rows.map).hasSize(1));
    worker.removeRoute(a);
    apply();
    assertSet(worker.addRoute(route("z", TWO)));
  }

  @Test
  void existingRoutesAreSetAgainDespiteTheLimit() {
    var a = route("a", ONE);
    var worker = worker(RouteRange.memoryOf(a), 1);
    assertSet(worker.addRoute(a));

    assertSet(worker.addRoute(a));
    assertSet(worker.addRoute(new Route(TENANT, a.filter(), ONE, 2, 7)));

    assertThat(refused("memory")).isZero();
  }

  @Test
  void pendingRoutesCount() {
    var a = route("a", ONE);
    var worker = worker(RouteRange.memoryOf(a), 10);

    var first = worker.addRoute(a);
    assertRefused(worker.addRoute(route("z", ONE)), RouteQuotaException.Kind.MEMORY);

    assertSet(first);
  }

  @Test
  void failedChangesReleaseTheirShare() {
    var worker = worker(RouteRange.memoryOf(route("$share/g/a", ONE)), 1);
    ranges.getFirst().queueMax = 0;

    var failed = worker.addRoute(route("$share/g/a", ONE));

    assertThat(failed).isCompletedExceptionally();
    assertThat(failed.exceptionNow()).hasMessageContaining("overload");
    ranges.getFirst().queueMax = 1;
    assertSet(worker.addRoute(route("$share/h/a", ONE)));
  }

  @Test
  void theGroupsOfAFilterAreBounded() {
    var worker = worker(1 << 20, 2);
    assertSet(worker.addRoute(route("$share/g1/a", ONE)));
    var second = worker.addRoute(route("$share/g2/a", ONE));

    assertRefused(worker.addRoute(route("$share/g3/a", ONE)), RouteQuotaException.Kind.GROUPS);

    assertSet(second);
    assertRefused(worker.addRoute(route("$oshare/g1/a", ONE)), RouteQuotaException.Kind.GROUPS);
    assertThat(refused("groups")).isEqualTo(2);
    assertSet(worker.addRoute(route("$share/g1/a", TWO)));
    assertSet(worker.addRoute(route("$share/g3/z", ONE)));
    assertSet(worker.addRoute(route("a", ONE)));
    worker.removeRoute(route("$share/g2/a", ONE));
    apply();
    assertSet(worker.addRoute(route("$share/g3/a", ONE)));
  }

  private double routesOf(DistWorker worker, TenantQuota quota, String... filters) {
    worker.limitTenants(quota);
    for (String filter : filters) {
      worker.addRoute(route(filter, ONE));
      apply();
    }
    return registry.get("dunlin.dist.routes").gauge().value();
  }

  /** A quota of the tenant of these tests, and how often it was reached. */
  private static TenantQuota atMost(long max, AtomicInteger reached) {
    return new TenantQuota() {
      @Override
      public long max(String tenant) {
        return tenant.equals(TENANT) ? max : NONE;
      }

      @Override
      public void reached(String tenant) {
        reached.incrementAndGet();
      }
    };
  }

  @Test
  void theRoutesOfATenantInAllRangesAreBounded() {
    var worker = worker(1 << 20, 10);
    var reached = new AtomicInteger();
    assertThat(routesOf(worker, atMost(3, reached), "a", "z", "y", "b")).isEqualTo(3);
    assertThat(reached).hasValue(1);
    assertThat(refused("tenant")).isEqualTo(1);
    assertRefused(worker.addRoute(route("a", TWO)), RouteQuotaException.Kind.TENANT);
    assertSet(worker.addRoute(route("a", ONE)));
    assertSet(worker.addRoute(new Route("another", TopicFilter.parse("a").orElseThrow(), ONE, 1, 0)));

    worker.removeRoute(route("z", ONE));
    apply();
    assertSet(worker.addRoute(route("b", ONE)));
    assertRefused(worker.addRoute(route("c", ONE)), RouteQuotaException.Kind.TENANT);
    assertThat(routesOf(worker, atMost(4, reached), "c")).as("a limit that is raised").isEqualTo(5);
    assertThat(routesOf(worker, atMost(1, reached), "a")).as("one that is lowered leaves what is there").isEqualTo(5);
    assertThat(routesOf(worker, TenantQuota.UNLIMITED, "d")).isEqualTo(6);
  }

  /** They have not been applied yet. */
  @Test
  void routesOnTheirWayCountForTheirTenant() {
    var worker = worker(1 << 20, 10);
    worker.limitTenants(atMost(2, new AtomicInteger()));
    var first = worker.addRoute(route("a", ONE));
    var second = worker.addRoute(route("z", ONE));
    assertRefused(worker.addRoute(route("b", ONE)), RouteQuotaException.Kind.TENANT);
    assertSet(first);
    assertSet(second);
  }

  @Test
  void routesOfATenantAreCountedAgainAtAStart() {
    var worker = worker(1 << 20, 10);
    for (String filter : List.of("a", "b")) assertSet(worker.addRoute(route(filter, ONE)));
    ranges.getFirst().reopen();
    worker.limitTenants(atMost(2, new AtomicInteger()));
    assertRefused(worker.addRoute(route("c", ONE)), RouteQuotaException.Kind.TENANT);
  }

  @Test
  void storedRoutesAreServedWhateverTheLimits() {
    var worker = worker(1 << 20, 10);
    for (int i = 0; i < 3; i++) assertSet(worker.addRoute(route("$share/g" + i + "/a", ONE)));
    var stored = ranges.getFirst().rows.map;

    ranges.clear();
    registry = new SimpleMeterRegistry();
    var next = worker(1, 1);
    ranges.getFirst().rows.map.putAll(stored);
    ranges.getFirst().reopen();

    assertThat(registry.get("dunlin.dist.routes").gauge().value()).isEqualTo(3);
    assertSet(next.addRoute(route("$share/g2/a", ONE)));
    assertRefused(next.addRoute(route("z", ONE)), RouteQuotaException.Kind.MEMORY);
  }
}
