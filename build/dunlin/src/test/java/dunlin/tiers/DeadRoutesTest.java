package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Routes in a list, whose pages have two rows, and a clock that the test sets. */
class DeadRoutesTest {
  private static final UUID NODE = new UUID(1, 1);
  private static final UUID OTHER = new UUID(1, 2);
  private static final Duration AFTER = Duration.ofMinutes(5);
  private static final int ENOUGH = 40;

  private final List<Route> stored = new ArrayList<>();
  private final List<String> purges = new ArrayList<>();
  private boolean fails;
  private boolean heard = true;
  private long now;
  private final DeadRoutes dead = new DeadRoutes(new Stored(), _ -> heard, () -> now, AFTER);

  private final class Stored implements RouteClient {
    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      throw new AssertionError("not called");
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      throw new AssertionError("not called");
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      purges.add(shard.name() + " before " + incarnation);
      int before = stored.size();
      stored.removeIf(route -> route.shard().equals(shard) && route.incarnation() < incarnation);
      return CompletableFuture.completedFuture((long) before - stored.size());
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      throw new AssertionError("not called");
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      if (fails) return CompletableFuture.failedFuture(new StoreException("no leader"));
      int first = from == null ? 0 : from[0];
      int end = Math.min(stored.size(), first + 2);
      var page = stored.subList(Math.min(first, end), end).stream().filter(route -> route.shard().equals(shard)).toList();
      return CompletableFuture.completedFuture(new RoutePage(page, end == stored.size() ? null : new byte[] {(byte) end}));
    }
  }

  private void set(ShardId shard, String filter, long incarnation) {
    stored.add(new Route(Publisher.DEFAULT_TENANT, TopicFilter.parse(filter).orElseThrow(), shard, incarnation, stored.size() + 1));
  }

  private static ShardId clients(UUID node) {
    return ShardId.frontend(node.toString());
  }

  private void look(UUID... nodes) {
    for (int i = 0; i < ENOUGH; i++) {
      dead.beforeTheMap();
      for (UUID node : nodes) dead.dead(node);
    }
  }

  private void passes(Duration time) {
    now += time.toNanos();
  }

  @Test
  void routesOfADeadFrontendAreRemovedAfterTheTimeAndNoOthers() {
    var durable = ShardId.inbox(3);
    for (int i = 0; i < 5; i++) {
      set(clients(NODE), "a/" + i, 4 + i % 2);
      set(clients(OTHER), "a/" + i, 4);
      set(durable, "a/" + i, 1);
    }
    set(ApplicationSubscriptions.shardOf(NODE.toString()), "application", 5);

    look(NODE);
    passes(AFTER.minusSeconds(1));
    look(NODE);
    assertThat(purges).isEmpty();
    passes(Duration.ofSeconds(1));
    look(NODE);

    assertThat(stored).extracting(Route::shard).containsOnly(clients(OTHER), durable).hasSize(10);
    assertThat(purges).containsExactly(NODE + " before 6", "application:" + NODE + " before 6");
    passes(AFTER);
    look(NODE);
    assertThat(purges).as("nothing is left to do").hasSize(2);
  }

  @Test
  void aFrontendThatIsBackKeepsWhatItHas() {
    set(clients(NODE), "a", 4);
    look(NODE);
    passes(AFTER);
    dead.alive(NODE);
    look(NODE);
    assertThat(purges).as("it has just died again").isEmpty();

    passes(AFTER);
    dead.dead(NODE);
    dead.dead(NODE);
    dead.alive(NODE);
    assertThat(purges).isEmpty();
    assertThat(stored).hasSize(1);
  }

  /** The map of the node that removes them may be old. */
  @Test
  void whatAFrontendSetsAfterItsRoutesWereReadStays() {
    set(clients(NODE), "before", 4);
    heard = false;
    look(NODE);
    passes(AFTER);
    look(NODE);
    assertThat(purges).as("before the meta group is heard").isEmpty();

    set(clients(NODE), "after", 5);
    heard = true;
    look(NODE);
    assertThat(stored).extracting(route -> route.filter().text()).containsExactly("after");
  }

  @Test
  void aFrontendWithoutRoutesCostsNoCommand() {
    set(clients(OTHER), "a", 4);
    look(NODE);
    passes(AFTER);
    look(NODE);

    assertThat(purges).isEmpty();
  }

  @Test
  void whatFailsIsTriedAgainAfterTheTime() {
    set(clients(NODE), "a", 4);
    fails = true;
    look(NODE);
    passes(AFTER);
    look(NODE);
    fails = false;
    look(NODE);
    assertThat(stored).hasSize(1);

    passes(AFTER);
    look(NODE);
    assertThat(stored).isEmpty();
  }

  @Test
  void severalDeadFrontendsAreServedOneAfterTheOther() {
    for (UUID node : List.of(NODE, OTHER)) set(clients(node), "a", 4);
    look(NODE, OTHER);
    passes(AFTER);
    look(NODE, OTHER);

    assertThat(stored).isEmpty();
    assertThat(purges).hasSize(2);
  }

  @Test
  void aNodeThatIsForgottenHoldsUpNoOther() {
    for (UUID node : List.of(NODE, OTHER)) set(clients(node), "a", 4);
    heard = false;
    look(NODE, OTHER);
    passes(AFTER);
    look(NODE, OTHER);
    heard = true;
    dead.among(Set.of(OTHER));
    look(OTHER);

    assertThat(stored).extracting(Route::shard).containsExactly(clients(NODE));
  }

  @Test
  void withoutATimeRoutesStay() {
    set(clients(NODE), "a", 4);
    var never = new DeadRoutes(new Stored(), _ -> true, () -> now, Duration.ZERO);
    for (int i = 0; i < ENOUGH; i++) {
      passes(AFTER);
      never.dead(NODE);
    }

    assertThat(stored).hasSize(1);
  }
}
