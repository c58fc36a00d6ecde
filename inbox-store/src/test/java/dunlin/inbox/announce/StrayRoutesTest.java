package dunlin.inbox.announce;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxRoutes;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The bound on what a search for stray routes remembers; {@code InboxServerTest} tests what it finds. */
final class StrayRoutesTest {
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final List<String> removed = new ArrayList<>();
  private final AtomicInteger counted = new AtomicInteger();
  private final AtomicInteger pages = new AtomicInteger();

  private final InboxRoutes routes =
      new InboxRoutes() {
        @Override
        public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
          throw new AssertionError("nothing is to be added");
        }

        @Override
        public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
          removed.add(shard + " " + filter.text());
          return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletableFuture<Page> announced(byte @Nullable [] from) {
          pages.incrementAndGet();
          var all = List.of(announced("needed"), announced("changed/1"), announced("stray"));
          return CompletableFuture.completedFuture(new Page(all, null));
        }

        private Announced announced(String filter) {
          return new Announced(ShardId.inbox(0), "t", TopicFilter.plain(filter));
        }
      };

  private final StrayRoutes strays = new StrayRoutes(routes, timer, ShardInterval.whole(16), counted::addAndGet);
  private final RouteAnnouncer announcer = new RouteAnnouncer(routes, timer, strays::changed, strays::forgotten);

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  private static RouteKey key(String filter) {
    return new RouteKey(0, "t", TopicFilter.plain(filter));
  }

  /** Searches with the routes of the start and a number of others that have changed since, each of them twice. */
  private void search(int changed) throws Exception {
    strays.expect(List.of(key("needed")));
    timer
        .submit(
            () -> {
              strays.changed(key("needed"));
              for (int i = 1; i <= changed; i++) {
                strays.changed(key("changed/" + i));
                strays.changed(key("changed/" + i));
              }
            })
        .get(2, TimeUnit.MINUTES);
    strays.search(announcer);
    // The search, its page, the removal, its end and its waiting caller follow each other on this thread.
    for (int i = 0; i < 10; i++) timer.submit(() -> {}).get(2, TimeUnit.MINUTES);
  }

  @Test
  void aSearchRemembersABoundedNumberOfChanges() throws Exception {
    search(StrayRoutes.CHANGED_MAX);

    assertThat(removed).containsExactly("inbox:0 stray");
    assertThat(counted).hasValue(1);
  }

  @Test
  void aSearchWithMoreChangesRemovesNothing() throws Exception {
    search(StrayRoutes.CHANGED_MAX + 1);

    assertThat(pages).hasValue(0);
    assertThat(removed).isEmpty();
    assertThat(counted).hasValue(0);
  }
}
