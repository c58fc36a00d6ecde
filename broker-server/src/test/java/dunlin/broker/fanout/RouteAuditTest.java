package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RouteAuditTest {
  private static final int LOOPS = 2;
  private static final long LIFE = 7;
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final String TENANT = Publisher.DEFAULT_TENANT;

  private final OpenFrontend open = new OpenFrontend(LOOPS);
  private final ShardId shard = open.frontend().identity().shard();
  private final Routes dist = new Routes();

  /** Subscriptions of each filter, and their handle. */
  private final Map<String, List<FilterHandle>> used = new HashMap<>();

  @BeforeEach
  void begins() {
    open.dist.routes = dist;
  }

  @AfterEach
  void closes() {
    open.close();
    dist.thread.shutdownNow();
  }

  /** The dist tier: a map, which one thread changes and reads in the order of the calls. */
  private static final class Routes implements RouteClient {
    private static final int PAGE_ROUTES = 7;

    final ExecutorService thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("dist-of-a-test").factory());
    final TreeMap<String, Route> stored = new TreeMap<>();
    volatile boolean fails;

    private <T> CompletableFuture<T> call(Supplier<@Nullable T> does) {
      return CompletableFuture.supplyAsync(does, thread);
    }

    /** Changes what is stored, behind all calls. */
    void change(Consumer<Map<String, Route>> action) {
      CompletableFuture.runAsync(() -> action.accept(stored), thread).join();
    }

    /** What is stored behind all calls. */
    Map<String, Route> all() {
      return CompletableFuture.supplyAsync(() -> new HashMap<>(stored), thread).join();
    }

    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      return call(
          () -> {
            stored.put(name(route), route);
            return null;
          });
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      return call(
          () -> {
            stored.remove(name(route));
            return null;
          });
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      return call(
          () -> {
            if (fails) throw new StoreException("no leader");
            var rest = from == null ? stored : stored.tailMap(new String(from, StandardCharsets.UTF_8), true);
            var page = rest.entrySet().stream().limit(PAGE_ROUTES).toList();
            var next = rest.entrySet().stream().skip(PAGE_ROUTES).findFirst();
            return new RoutePage(
                page.stream().map(Map.Entry::getValue).filter(route -> route.shard().equals(shard)).toList(),
                next.map(each -> each.getKey().getBytes(StandardCharsets.UTF_8)).orElse(null));
          });
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      throw new AssertionError("a frontend asks for its own routes");
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      throw new AssertionError("not called");
    }
  }

  private static String name(Route route) {
    return route.filter().text() + " " + route.shard();
  }

  private Route route(String filter, long life, int handle) {
    return new Route(TENANT, filter(filter), shard, life, handle);
  }

  private static TopicFilter filter(String text) {
    return TopicFilter.parse(text).orElseThrow();
  }

  private RouteTable table(TopicFilter filter) {
    return open.fanout().ownerOf(TENANT, filter).routes();
  }

  private void subscribe(String text) {
    var filter = filter(text);
    var use = open.on(RouteTable.ownerOf(TENANT, filter, LOOPS), () -> table(filter).acquire(TENANT, filter));
    used.computeIfAbsent(text, _ -> new ArrayList<>()).add(use.handle());
  }

  private void unsubscribe(String text) {
    var handles = used.get(text);
    if (handles == null) return;
    var handle = handles.removeLast();
    if (handles.isEmpty()) used.remove(text);
    var filter = filter(text);
    open.on(
        RouteTable.ownerOf(TENANT, filter, LOOPS),
        () -> {
          table(filter).release(handle);
          return true;
        });
  }

  private double counter(String name) {
    return open.meters.get(name).counters().stream().mapToDouble(each -> each.count()).sum();
  }

  private double repaired(String kind) {
    return open.meters.get("dunlin.routes.repaired").tag("kind", kind).counter().count();
  }

  /** Waits until an audit has begun and ended. */
  private void awaitAudit() {
    double before = counter("dunlin.routes.audits");
    await().atMost(SOON).until(() -> counter("dunlin.routes.audits") >= before + 2);
  }

  private Map<String, Route> wanted() {
    var wanted = new TreeMap<String, Route>();
    used.forEach(
        (text, handles) -> {
          var route = route(text, LIFE, handles.getFirst().number());
          wanted.put(name(route), route);
        });
    return wanted;
  }

  private void assertRight() {
    await().atMost(SOON).untilAsserted(() -> assertThat(dist.all()).isEqualTo(wanted()));
  }

  @Test
  void nothingIsMendedWhileClientsSubscribeAndUnsubscribe() {
    long seed = System.nanoTime();
    var random = new Random(seed);
    open.frontend().auditRoutes(Duration.ofMillis(1));

    int steps = 0;
    for (; steps < 2_000 || counter("dunlin.routes.audits") < 5; steps++) {
      String text = (random.nextInt(4) == 0 ? "$share/g/" : "") + "f/" + random.nextInt(60);
      if (random.nextBoolean()) subscribe(text);
      else unsubscribe(text);
    }

    assertThat(repaired("stray") + repaired("missing")).as("seed %d, %d steps", seed, steps).isZero();
    assertRight();
    awaitAudit();
    assertThat(repaired("stray") + repaired("missing")).as("seed %d, %d steps", seed, steps).isZero();
  }

  @Test
  void aLargerIncarnationIsSetForAllFiltersAndThoseToCome() {
    for (int i = 0; i < 20; i++) subscribe((i % 3 == 0 ? "$share/g/" : "") + "f/" + i);
    assertRight();

    assertThat(open.frontend().renewRoutes(LIFE + 3)).succeedsWithin(SOON);
    subscribe("later");
    unsubscribe("f/1");

    await().atMost(SOON).untilAsserted(() -> assertThat(dist.all().values()).hasSize(20).allMatch(route -> route.incarnation() == LIFE + 3));
    open.frontend().auditRoutes(Duration.ofMillis(1));
    awaitAudit();
    assertThat(repaired("stray") + repaired("missing")).isZero();
    for (var of : used.values()) {
      var handle = of.getFirst();
      var before = new Route(TENANT, handle.filter(), shard, LIFE, handle.number());
      assertThat(open.fanout().filterOf(before)).as("of messages that are on their way").isSameAs(handle);
    }
  }

  @Test
  void whatDiffersIsMendedAndCounted() {
    for (int i = 0; i < 100; i++) subscribe((i % 3 == 0 ? "$share/g/" : "") + "f/" + i);
    assertRight();
    var foreign = new Route(TENANT, filter("f/1"), ShardId.frontend("another"), 3, 5);
    dist.change(
        stored -> {
          for (int i = 0; i < 10; i++) stored.remove(name(route((i % 3 == 0 ? "$share/g/" : "") + "f/" + i, LIFE, 1)));
          for (int i = 10; i < 14; i++) stored.computeIfPresent(name(route((i % 3 == 0 ? "$share/g/" : "") + "f/" + i, LIFE, 1)), (_, there) -> route(there.filter().text(), LIFE, there.handle() + 1_000));
          for (int i = 20; i < 23; i++) stored.computeIfPresent(name(route((i % 3 == 0 ? "$share/g/" : "") + "f/" + i, LIFE, 1)), (_, there) -> route(there.filter().text(), LIFE - 1, there.handle()));
          for (var stray : List.of(route("stray/1", LIFE, 3), route("$share/g/stray", LIFE, 4), route("stray/2", LIFE - 1, 5))) stored.put(name(stray), stray);
          stored.put(name(foreign), foreign);
        });

    open.frontend().auditRoutes(Duration.ofMillis(1));
    awaitAudit();

    assertThat(dist.all()).containsEntry(name(foreign), foreign);
    dist.change(stored -> stored.remove(name(foreign)));
    assertRight();
    assertThat(repaired("stray")).isEqualTo(3);
    assertThat(repaired("missing")).isEqualTo(17);
    awaitAudit();
    assertThat(repaired("stray") + repaired("missing")).isEqualTo(20);
  }

  @Test
  void anAuditThatCannotReadIsCountedAndTheNextOneMends() {
    subscribe("a");
    assertRight();
    dist.fails = true;
    dist.change(stored -> stored.remove(name(route("a", LIFE, 1))));
    open.frontend().auditRoutes(Duration.ofMillis(1));
    await().atMost(SOON).until(() -> counter("dunlin.routes.audits-failed") >= 2);
    assertThat(repaired("missing")).isZero();

    dist.fails = false;

    awaitAudit();
    assertRight();
    assertThat(repaired("missing")).isEqualTo(1);
  }

  /** This process was cut off, and its node has begun another life. */
  @Test
  void routesOfALaterLifeAreLeftAlone() {
    var later = route("a", LIFE + 1, 9);
    dist.change(stored -> stored.put(name(later), later));
    open.frontend().auditRoutes(Duration.ofMillis(1));
    awaitAudit();
    assertThat(dist.all()).containsExactly(Map.entry(name(later), later));
    assertThat(repaired("stray")).isZero();
  }

  @Test
  void anIntervalOfZeroAuditsNothing() {
    open.frontend().auditRoutes(Duration.ZERO);
    assertThat(open.meters.find("dunlin.routes.audits").counter()).isNull();
  }
}
