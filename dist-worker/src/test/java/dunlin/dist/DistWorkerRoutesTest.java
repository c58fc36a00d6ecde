package dunlin.dist;

import static dunlin.dist.DistTier.FRONTEND;
import static dunlin.dist.DistTier.HOME;
import static dunlin.dist.DistTier.TENANT;
import static dunlin.dist.DistTier.route;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.DistTier.Recorder;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteRows;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How routes change, and when messages see that. */
class DistWorkerRoutesTest {
  private final DistTier dist = new DistTier();
  private final Recorder frontend = dist.frontend;
  private final Recorder inboxes = dist.inboxes;
  private final DistWorker worker = dist.worker;

  @Test
  void aRouteIsSeenOnceItsFutureIsDone() {
    var added = worker.addRoute(route("a", FRONTEND));
    dist.publish("a");
    assertThat(added).isNotDone();
    assertThat(frontend.delivered).isEmpty();

    dist.range().applyAll();

    assertThat(added).isCompleted();
    dist.publish("a");
    assertThat(frontend.delivered).hasSize(1);
    assertThat(dist.registry.get("dunlin.dist.routes").gauge().value()).isEqualTo(1);
  }

  @Test
  void anExistingRouteCostsNoLogEntry() {
    dist.add(route("a", FRONTEND, 1, 7));

    assertThat(worker.addRoute(route("a", FRONTEND, 1, 7))).isCompleted();

    assertThat(dist.range().queued()).isZero();
    assertThat(worker.addRoute(route("a", FRONTEND, 1, 8))).isNotDone();
    assertThat(worker.addRoute(route("a", FRONTEND, 2, 7))).isNotDone();
  }

  @Test
  void anAddIsAppliedAfterAnEarlierChangeOfTheRoute() {
    var wanted = route("a", FRONTEND, 1, 7);
    dist.add(wanted);
    var removal = worker.removeRoute(wanted);
    var afterRemoval = worker.addRoute(wanted);
    assertThat(afterRemoval).isNotDone();
    dist.range().applyAll();
    assertThat(removal).isCompleted();
    dist.publish("a");
    assertThat(frontend.delivered).hasSize(1);

    var other = worker.addRoute(route("a", FRONTEND, 1, 8));
    var afterOther = worker.addRoute(wanted);
    assertThat(afterOther).isNotDone();
    dist.range().applyAll();
    assertThat(other).isCompleted();
    assertThat(worker.addRoute(wanted)).as("the last call has won").isCompleted();
    assertThat(dist.range().queued()).isZero();

    var purge = worker.removeRoutesBefore(FRONTEND, 5);
    assertThat(worker.addRoute(wanted)).as("a purge is in progress").isNotDone();
    dist.range().applyAll();
    assertThat(purge).isCompletedWithValue(1L);
  }

  @Test
  void afterAFailureChangesGoThroughTheLogUntilItIsSettled() {
    var wanted = route("a", FRONTEND);
    dist.add(wanted);
    var removal = worker.removeRoute(wanted);
    RouteCommand perhaps = dist.range().failNext();
    assertThat(removal).isCompletedExceptionally();

    var added = worker.addRoute(wanted);
    assertThat(added).as("the removal may still come").isNotDone();
    dist.range().applyLate(perhaps);
    dist.range().applyAll();

    assertThat(added).isCompleted();
    dist.publish("a");
    assertThat(frontend.delivered).hasSize(1);
    assertThat(worker.addRoute(wanted)).isCompleted();
    assertThat(dist.range().queued()).isZero();
  }

  @Test
  void anEarlierIncarnationCanNeitherSetNorRemoveARoute() {
    dist.add(route("a", FRONTEND, 5, 1));

    var earlier = worker.addRoute(route("a", FRONTEND, 4, 2));
    var removal = worker.removeRoute(route("a", FRONTEND, 4, 1));
    dist.range().applyAll();

    assertFailed(earlier, "incarnation 5");
    assertThat(removal).isCompleted();
    dist.publish("a");
    assertThat(frontend.delivered).hasSize(1);
    dist.remove(route("a", FRONTEND, 5, 99));
    dist.publish("a");
    assertThat(frontend.delivered).hasSize(1);
  }

  @Test
  void purgesTheRoutesOfEarlierIncarnationsInSteps() {
    var futures = new ArrayList<CompletableFuture<Void>>();
    for (int i = 0; i < 2_500; i++) futures.add(worker.addRoute(route("old/" + i, FRONTEND, 1, i)));
    for (int i = 0; i < 100; i++) futures.add(worker.addRoute(route("old/" + i, ShardId.inbox(1), 1, i)));
    for (int i = 0; i < 100; i++) futures.add(worker.addRoute(route("new/" + i, FRONTEND, 2, i)));
    dist.range().applyAll();
    assertThat(futures).allMatch(CompletableFuture::isDone);
    int before = dist.range().applied;

    var purged = worker.removeRoutesBefore(FRONTEND, 2);
    dist.range().applyAll();

    assertThat(purged).isCompletedWithValue(2_500L);
    assertThat(dist.range().applied - before).as("steps of a thousand rows").isEqualTo(3);
    assertThat(dist.range().rows.map).hasSize(200);
    assertThat(dist.registry.get("dunlin.dist.routes").gauge().value()).isEqualTo(200);
    dist.publish("old/99");
    dist.publish("new/99");
    assertThat(frontend.delivered).extracting(Recorder.Delivered::topic).containsExactly("new/99");
    assertThat(inboxes.delivered).hasSize(1);
  }

  @Test
  void aFullQueueFailsOnlyTheCall() {
    dist.add(route("a", FRONTEND));
    dist.range().queueMax = 1;

    var queued = worker.addRoute(route("b", FRONTEND));
    assertFailed(worker.addRoute(route("c", FRONTEND)), "overload");
    assertFailed(worker.removeRoute(route("a", FRONTEND)), "overload");
    assertFailed(worker.removeRoutesBefore(FRONTEND, 9), "overload");
    dist.range().applyAll();

    assertThat(queued).isCompleted();
    assertThat(worker.addRoute(route("a", FRONTEND))).as("nothing is in progress any more").isCompleted();
    assertThat(dist.registry.get("dunlin.dist.changing").gauge().value()).isZero();
    dist.publish("c");
    assertThat(frontend.delivered).isEmpty();
  }

  @Test
  void refusesRoutesThatTheIndexCannotHold() {
    assertFailed(worker.addRoute(route("a/".repeat(300) + "b", FRONTEND)), "301 levels");
    assertFailed(worker.addRoute(route("a".repeat(70_000), FRONTEND)), "70000 characters");
    assertFailed(worker.removeRoute(route("a".repeat(70_000), FRONTEND)), "70000 characters");
    assertThat(dist.range().queued()).isZero();
  }

  private static void assertFailed(CompletableFuture<?> future, String message) {
    assertThat(future).isCompletedExceptionally();
    assertThatThrownBy(future::join).hasCauseInstanceOf(StoreException.class).hasMessageContaining(message);
  }

  @Test
  void listsTheRoutesOfAKindOfShardsInPages() {
    var stored = new TreeSet<Integer>();
    for (int i = 1; i <= 600; i++) {
      dist.add(route(i % 5 == 0 ? "$share/g/" + i : "f/" + i, i % 2 == 0 ? ShardId.inbox(i) : FRONTEND, 1, i));
      if (i % 2 == 0) stored.add(i);
    }
    // As an earlier version may have stored it: no change can name it, so it is not listed.
    var deep = new Route(TENANT, TopicFilter.plain("a/".repeat(300) + "b"), HOME, 1, 0);
    dist.range().rows.put(RouteRows.key(deep), RouteRows.value(deep));

    var listed = new ArrayList<Integer>();
    int pages = 0;
    byte[] next = null;
    do {
      RoutePage page = worker.routes(ShardId.Kind.INBOX, next).join();
      assertThat(page.routes()).hasSizeLessThanOrEqualTo(256);
      page.routes().forEach(route -> listed.add(route.handle()));
      next = page.next();
      pages++;
    } while (next != null);

    assertThat(listed).containsExactlyInAnyOrderElementsOf(stored);
    assertThat(pages).isEqualTo(3);
  }

  @Test
  void theRoutesOfAShardThatHasNoneAreFoundWithoutReadingARow() {
    for (int i = 0; i < 100; i++) dist.add(route("f/" + i, ShardId.inbox(i)));
    var rows = dist.range().rows;
    rows.scanned = 0;
    assertThat(worker.routesOf(FRONTEND, null).join()).isEqualTo(new RoutePage(List.of(), null));
    assertThat(rows.scanned).isZero();

    var only = route("f/7", FRONTEND);
    dist.add(only);
    assertThat(worker.routesOf(FRONTEND, null).join().routes()).containsExactly(only);
    assertThat(rows.scanned).isPositive();
    dist.remove(only);
    rows.scanned = 0;
    assertThat(worker.routesOf(FRONTEND, null).join().routes()).isEmpty();
    assertThat(rows.scanned).isZero();
  }
}
