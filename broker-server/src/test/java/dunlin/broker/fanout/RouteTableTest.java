package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.dist.route.Route;
import dunlin.model.Publisher;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RouteTableTest {
  private static final int LOOPS = 2;
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final String TENANT = Publisher.DEFAULT_TENANT;

  private final OpenFrontend open = new OpenFrontend(LOOPS);
  private final OpenFrontend.FakeDist dist = open.dist;

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void onlyTheFirstSubscriptionOfAFilterSetsARouteAndOnlyTheLastRemovesIt() {
    RouteTable.Use one = acquire(1, "a");
    RouteTable.Use two = acquire(1, "a");
    assertThat(two.handle()).isSameAs(one.handle());
    assertThat(two.routed()).isSameAs(one.routed()).isNotDone();
    answer(0);
    assertThat(one.routed()).succeedsWithin(SOON);

    release(1, one);
    assertThat(dist.calls).containsExactly("+a " + one.handle().number());
    release(1, two);
    assertThat(dist.calls).containsExactly("+a " + one.handle().number(), "-a " + one.handle().number());
    assertThat(lookUp(one)).isNull();
    assertThat(on(1, RouteTable::size)).isZero();
  }

  @Test
  void sharedAndPlainFiltersAndThoseOfOtherGroupsAreDifferent() {
    Set<Integer> numbers = new HashSet<>();
    for (String filter : List.of("a", "$share/g/a", "$share/h/a", "$oshare/g/a")) {
      RouteTable.Use use = acquire(0, filter);
      assertThat(numbers.add(use.handle().number())).isTrue();
      assertThat(use.handle().group() != null).isEqualTo(filter.startsWith("$"));
      assertThat(lookUp(use)).isSameAs(use.handle());
    }
  }

  @Test
  void aNumberDeterminesItsTableIsNeverZeroAndIsReused() {
    List<RouteTable.Use> uses = new ArrayList<>();
    Set<Integer> numbers = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      for (int loop = 0; loop < LOOPS; loop++) {
        RouteTable.Use use = acquire(loop, "f/" + i);
        assertThat(use.handle().number()).isPositive();
        assertThat(use.handle().number() % LOOPS).isEqualTo(loop);
        assertThat(numbers.add(use.handle().number())).isTrue();
        uses.add(use);
      }
    }
    for (RouteTable.Use use : uses) assertThat(lookUp(use)).isSameAs(use.handle());

    RouteTable.Use gone = uses.get(6);
    release(0, gone);
    RouteTable.Use next = acquire(0, "another");
    assertThat(next.handle().number()).isEqualTo(gone.handle().number());
    // The number alone is not enough: a route of the filter that had it before does not belong to the new one.
    assertThat(lookUp(gone)).isNull();
    assertThat(lookUp(next)).isSameAs(next.handle());
  }

  @Test
  void aRouteOfAnEarlierLifeDoesNotBelongToThisFrontend() {
    RouteTable.Use use = acquire(0, "a");
    Route ofNow = new Route(TENANT, use.handle().filter(), open.frontend().identity().shard(), 7, use.handle().number());
    Route earlier = new Route(TENANT, use.handle().filter(), open.frontend().identity().shard(), 6, use.handle().number());
    assertThat(open.fanout().filterOf(ofNow)).isSameAs(use.handle());
    assertThat(open.fanout().filterOf(earlier)).isNull();
  }

  @Test
  void aRouteThatCouldNotBeSetIsTriedAgainByTheNextSubscription() {
    RouteTable.Use one = acquire(0, "a");
    RouteTable.Use meanwhile = acquire(0, "a");
    dist.answers.getFirst().completeExceptionally(new StoreException("full"));
    assertThat(one.routed()).failsWithin(SOON);
    assertThat(meanwhile.routed()).isSameAs(one.routed());

    RouteTable.Use again = acquire(0, "a");
    assertThat(again.handle()).isSameAs(one.handle());
    answer(1);
    assertThat(again.routed()).succeedsWithin(SOON);
    release(0, one);
    release(0, meanwhile);
    assertThat(dist.calls).hasSize(2).allMatch(call -> call.startsWith("+a"));
    release(0, again);
    assertThat(dist.calls.getLast()).startsWith("-a");
  }

  @Test
  void aRouteThatIsRemovedAndSetAgainIsSetInTheEnd() {
    RouteTable.Use one = acquire(0, "a");
    release(0, one);
    RouteTable.Use two = acquire(0, "a");
    assertThat(dist.calls.stream().map(call -> call.substring(0, 2))).containsExactly("+a", "-a", "+a");
    dist.answers.get(1).completeExceptionally(new StoreException("the removal of a route may fail"));
    answer(2);
    assertThat(two.routed()).succeedsWithin(SOON);
    assertThat(lookUp(two)).isSameAs(two.handle());
  }

  @Test
  void aRouteThatCouldNotBeRemovedIsRemovedAgain() {
    RouteTable.Use one = acquire(0, "$share/g/a");
    release(0, one);
    for (int i = 1; i <= 2; i++) {
      dist.answers.get(i).completeExceptionally(new StoreException("no leader"));
      int calls = i + 2;
      await().atMost(SOON).until(() -> dist.calls.size() == calls);
    }
    assertThat(dist.calls.stream().map(call -> call.substring(0, 1))).containsExactly("+", "-", "-", "-");
    answer(3);
    assertThat(on(0, RouteTable::changesWaiting)).isEqualTo(1); // setting it was not answered
  }

  @Test
  void aRouteThatIsUsedAgainIsNotRemovedBehindThat() {
    RouteTable.Use one = acquire(0, "a");
    release(0, one);
    RouteTable.Use other = acquire(0, "b");
    release(0, other);
    acquire(0, "a");
    assertThat(dist.calls.stream().map(call -> call.substring(0, 2))).containsExactly("+a", "-a", "+b", "-b", "+a");
    dist.answers.get(1).completeExceptionally(new StoreException("no leader"));
    dist.answers.get(3).completeExceptionally(new StoreException("no leader"));
    await().atMost(SOON).until(() -> dist.calls.size() == 6); // what failed later is made again later
    assertThat(dist.calls.getLast()).startsWith("-b");
  }

  @Test
  void changesBeyondTheBoundWaitInOrder() {
    int share = 8_192 / LOOPS;
    for (int i = 0; i < share + 3; i++) acquire(0, "f/" + i);
    assertThat(dist.calls).hasSize(share);
    assertThat(on(0, RouteTable::changesWaiting)).isEqualTo(share + 3);

    answer(0);
    answer(1);
    assertThat(on(0, RouteTable::changesWaiting)).isEqualTo(share + 1);
    assertThat(dist.calls.subList(share, dist.calls.size())).extracting(call -> call.substring(0, call.indexOf(' ')))
        .containsExactly("+f/" + share, "+f/" + (share + 1));
  }

  /** As many changes as may be in progress. */
  private void fill() {
    for (int i = 0; i < 8_192 / LOOPS; i++) acquire(0, "f/" + i);
    dist.calls.clear();
  }

  private List<String> sent() {
    on(0, RouteTable::size); // behind the answers
    return dist.calls.stream().map(call -> call.substring(0, call.indexOf(' '))).toList();
  }

  @Test
  void whatWaitsForAFilterGivesWayToItsNextChange() {
    RouteTable.Use a = acquire(0, "a");
    RouteTable.Use b = acquire(0, "b");
    answer(0);
    answer(1);
    fill();
    release(0, a);
    release(0, b);
    RouteTable.Use never = acquire(0, "never");
    RouteTable.Use again = acquire(0, "a");
    RouteTable.Use both = acquire(0, "b");
    release(0, both);
    release(0, never);
    assertThat(never.routed()).isCancelled();
    assertThat(both.routed()).isCancelled();
    assertThat(again.routed()).isNotDone();
    assertThat(on(0, RouteTable::changesWaiting)).isEqualTo(8_192 / LOOPS + 2);

    answer(2);
    answer(3);
    assertThat(sent()).as("in the order in which each filter has begun to wait").containsExactly("+a", "-b");
    answer(4);
    assertThat(on(0, RouteTable::changesWaiting)).isEqualTo(8_192 / LOOPS - 2 + 1);
  }

  @Test
  void aRouteIsRemovedThatAnEarlierChangeMayHaveLeft() {
    RouteTable.Use removing = acquire(0, "a");
    answer(0);
    release(0, removing);
    fill();
    RouteTable.Use again = acquire(0, "a");
    dist.answers.get(1).completeExceptionally(new StoreException("no leader"));
    RouteTable.Use next = acquire(0, "next");
    release(0, again);
    answer(2);
    answer(3);
    assertThat(next.routed()).isNotDone();
    assertThat(sent()).as("the route of a may be there still").containsExactly("+f/" + (8_192 / LOOPS - 1), "-a", "+next");
  }

  @Test
  void aRouteThatWaitsIsSetWithTheNewestIncarnation() {
    fill();
    RouteTable.Use one = acquire(0, "a");
    on(
        0,
        routes -> {
          for (int i = 8; i < 20; i++) routes.renew(i);
          return true;
        });
    assertThat(on(0, RouteTable::changesWaiting)).as("each route once, behind those in progress").isEqualTo(8_192 + 1);
    for (int i = 0; i < 8_192 / LOOPS; i++) answer(i);
    assertThat(sent()).contains("+a").doesNotHaveDuplicates();
    answer(8_192 / LOOPS + sent().indexOf("+a"));
    assertThat(one.routed()).succeedsWithin(SOON);
  }

  @Test
  void aRemovalCountsForTheBudgetUntilItIsMade() {
    int filters = 3_000;
    List<RouteTable.Use> uses = new ArrayList<>();
    for (int i = 0; i < filters; i++) uses.add(acquire(0, "f/" + i));
    for (int i = 0; i < filters; i++) answer(i);
    long before = open.loop(0).budget().subscriptions().used();
    for (RouteTable.Use use : uses) release(0, use);

    long bytes = uses.stream().mapToLong(use -> RouteTable.memoryOf(use.handle().filter())).sum();
    assertThat(open.loop(0).budget().subscriptions().used() - before).isBetween(bytes, bytes + (1 << 20));
    for (int i = 0; i < filters; i++) answer(filters + i);
    await().atMost(SOON).until(() -> on(0, RouteTable::changesWaiting) == 0);
    assertThat(open.loop(0).budget().subscriptions().used() - before).isLessThan(1 << 18);
  }

  @Test
  void aFilterCannotBeReleasedMoreOftenThanItWasAcquired() {
    RouteTable.Use one = acquire(0, "a");
    release(0, one);
    assertThatThrownBy(() -> release(0, one)).hasStackTraceContaining("released twice");
  }

  @Test
  void eachFilterBelongsToOneLoopAndAllLoopsHaveSome() {
    int[] filters = new int[8];
    for (int i = 0; i < 8_000; i++) {
      TopicFilter filter = TopicFilter.plain("a/" + i + "/+");
      int owner = RouteTable.ownerOf(TENANT, filter, 8);
      assertThat(RouteTable.ownerOf(TENANT, TopicFilter.plain("a/" + i + "/+"), 8)).isEqualTo(owner);
      filters[owner]++;
    }
    for (int each : filters) assertThat(each).isBetween(800, 1_200);
  }

  private RouteTable.Use acquire(int loop, String filter) {
    return on(loop, routes -> routes.acquire(TENANT, TopicFilter.parse(filter).orElseThrow()));
  }

  private void release(int loop, RouteTable.Use use) {
    on(
        loop,
        routes -> {
          routes.release(use.handle());
          return true;
        });
  }

  private <T> T on(int loop, Function<RouteTable, T> action) {
    return open.on(loop, () -> action.apply(open.fanout().on(loop).routes()));
  }

  /** The filter that a message finds by the route that was set. */
  private @Nullable FilterHandle lookUp(RouteTable.Use use) {
    FilterHandle handle = use.handle();
    return open.fanout().filterOf(new Route(TENANT, handle.filter(), open.frontend().identity().shard(), 7, handle.number()));
  }

  private void answer(int call) {
    dist.answers.get(call).complete(null);
  }
}
