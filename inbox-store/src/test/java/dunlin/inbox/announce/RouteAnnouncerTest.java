package dunlin.inbox.announce;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxRoutes;
import dunlin.inbox.range.Effects.RouteChange;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Announcements to a dist tier that answers when the test says so. */
final class RouteAnnouncerTest {
  private static final int IN_FLIGHT_MAX = 256;

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final List<String> calls = new ArrayList<>();
  private final List<CompletableFuture<Void>> answers = new ArrayList<>();
  private final List<CompletableFuture<InboxRoutes.Page>> pages = new ArrayList<>();

  private final InboxRoutes routes =
      new InboxRoutes() {
        @Override
        public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
          return called("+" + filter.text());
        }

        @Override
        public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
          return called("-" + filter.text());
        }

        private CompletableFuture<Void> called(String call) {
          calls.add(call);
          answers.add(new CompletableFuture<>());
          return answers.getLast();
        }

        @Override
        public CompletableFuture<Page> announced(byte @Nullable [] from) {
          pages.add(new CompletableFuture<>());
          return pages.getLast();
        }
      };

  private final StrayRoutes strays = new StrayRoutes(routes, timer, ShardInterval.whole(16), _ -> {});
  private final RouteAnnouncer announcer = new RouteAnnouncer(routes, timer, strays::changed, strays::forgotten);

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  private static RouteKey key(String filter) {
    return new RouteKey(0, "t", TopicFilter.plain(filter));
  }

  private void change(String filter, boolean wanted) {
    announcer.change(List.of(new RouteChange(key(filter), wanted)));
  }

  private void turn() throws Exception {
    for (int i = 0; i < 4; i++) timer.submit(() -> {}).get(2, TimeUnit.MINUTES);
  }

  private void answer(int call) throws Exception {
    timer.submit(() -> answers.get(call).complete(null)).get(2, TimeUnit.MINUTES);
    turn();
  }

  /** As many calls as may be unanswered, with those that are on their way. */
  private void fill(int sent) throws Exception {
    for (int i = sent; i < IN_FLIGHT_MAX; i++) change("before/" + i, true);
    turn();
    assertThat(calls).hasSize(IN_FLIGHT_MAX);
    calls.clear();
  }

  @Test
  void sessionsThatComeAndGoWhileNothingIsAnsweredLeaveNothing() throws Exception {
    fill(0);
    List<CompletableFuture<Void>> subscribes = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      change("gone/" + i, true);
      subscribes.add(announcer.settled(List.of(key("gone/" + i))));
      change("gone/" + i, false);
    }
    change("stays", true);
    turn();

    assertThat(announcer.waiting()).isEqualTo(IN_FLIGHT_MAX + 1);
    for (var each : subscribes) assertThat(each).failsWithin(1, TimeUnit.MINUTES).withThrowableThat().withCauseInstanceOf(StoreException.class);
    for (int i = 0; i < IN_FLIGHT_MAX; i++) answer(i);
    assertThat(calls).containsExactly("+stays");
  }

  @Test
  void aRouteThatTheDistTierMayHaveIsRemoved() throws Exception {
    announcer.begin(List.of(key("begun")));
    change("sent", true);
    fill(2);
    change("begun", false);
    change("sent", false);
    change("kept", true);
    change("kept", false);
    change("kept", true);
    turn();
    assertThat(calls).isEmpty();
    assertThat(announcer.waiting()).isEqualTo(IN_FLIGHT_MAX + 1);

    for (int i = 0; i < 3; i++) answer(i);
    assertThat(calls).containsExactlyInAnyOrder("-begun", "-sent", "+kept");
    int removing = IN_FLIGHT_MAX + calls.indexOf("-begun");
    change("begun", true);
    answer(removing);
    assertThat(calls.getLast()).as("what was wanted last").isEqualTo("+begun");
  }

  /** A route that an earlier leader has left, which a session needs for a while, and which was not announced by then. */
  @Test
  void whatAnEarlierLeaderHasLeftIsRemovedWhetherItIsFoundBeforeOrLater() throws Exception {
    strays.expect(List.of());
    fill(0);
    change("found before", true);
    change("found later", true);
    strays.search(announcer);
    turn();
    change("found later", false);
    turn();
    timer
        .submit(
            () -> {
              var all = List.of("found before", "found later").stream().map(each -> new InboxRoutes.Announced(ShardId.inbox(0), "t", TopicFilter.plain(each))).toList();
              return pages.getFirst().complete(new InboxRoutes.Page(all, null));
            })
        .get(2, TimeUnit.MINUTES);
    turn();
    change("found before", false);
    turn();

    answer(0);
    answer(1);
    assertThat(calls).containsExactlyInAnyOrder("-found before", "-found later");
  }
}
