package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Changes of routes that a change of the leader interrupts. The test gives each call its answer. */
class RepeatedCallsTest {
  private static final Duration SOON = Duration.ofMinutes(1);

  private final Leaders leaders = new Leaders();
  private final RouteClient routes = RepeatedCalls.of(leaders);

  private static final class Leaders implements RouteClient {
    final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    final List<CompletableFuture<Void>> answers = Collections.synchronizedList(new ArrayList<>());

    private CompletableFuture<Void> called(String call) {
      var answer = new CompletableFuture<Void>();
      answers.add(answer);
      calls.add(call);
      return answer;
    }

    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      return called("+" + route.filter().text());
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      return called("-" + route.filter().text());
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      throw new AssertionError("not called");
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      throw new AssertionError("not called");
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      throw new AssertionError("not called");
    }
  }

  private static Route route(String filter, int handle) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.frontend("n"), 1, handle);
  }

  private void answer(int call) {
    leaders.answers.get(call).complete(null);
  }

  private void loses(int call) {
    leaders.answers.get(call).completeExceptionally(new OutcomeUnknownException("the link was lost", new StoreException("lost")));
  }

  private void awaitCalls(String... calls) {
    await().atMost(SOON).until(() -> leaders.calls.size() >= calls.length);
    assertThat(leaders.calls).containsExactly(calls);
  }

  @Test
  void aRemovalWaitsForTheRouteThatIsStillBeingSet() {
    var set = routes.addRoute(route("$share/g/a", 1));
    var removed = routes.removeRoute(route("$share/g/a", 1));
    loses(0);
    awaitCalls("+$share/g/a", "+$share/g/a");
    assertThat(set).isNotDone();
    answer(1);
    awaitCalls("+$share/g/a", "+$share/g/a", "-$share/g/a");
    answer(2);
    assertThat(set).succeedsWithin(SOON);
    assertThat(removed).succeedsWithin(SOON);
  }

  @Test
  void aRemovalIsRepeatedAndTheNextRouteOfTheFilterWaitsForIt() {
    var removed = routes.removeRoute(route("a", 1));
    var set = routes.addRoute(route("a", 2));
    loses(0);
    awaitCalls("-a", "-a");
    loses(1);
    awaitCalls("-a", "-a", "-a");
    answer(2);
    awaitCalls("-a", "-a", "-a", "+a");
    answer(3);
    assertThat(removed).succeedsWithin(SOON);
    assertThat(set).succeedsWithin(SOON);
  }

  @Test
  void aChangeThatFailsLetsTheNextOneBegin() {
    var refused = routes.addRoute(route("a", 1));
    var removed = routes.removeRoute(route("a", 1));
    leaders.answers.getFirst().completeExceptionally(new StoreException("full"));
    assertThat(refused).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(StoreException.class);
    awaitCalls("+a", "-a");
    answer(1);
    assertThat(removed).succeedsWithin(SOON);
  }

  @Test
  void changesOfOtherFiltersDoNotWait() {
    var _ = routes.addRoute(route("a", 1));
    var _ = routes.addRoute(route("$share/g/a", 2));
    var _ = routes.removeRoute(route("b", 3));
    awaitCalls("+a", "+$share/g/a", "-b");
  }
}
