package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PageRoomTest {
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final PageRoom room = new PageRoom(100, timer);
  private final List<CompletableFuture<String>> asked = new CopyOnWriteArrayList<>();

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  private CompletableFuture<String> page() {
    var page = new CompletableFuture<String>();
    asked.add(page);
    return page;
  }

  @Test
  void aRangeHasSomePagesOnTheirWayAtATime() {
    var line = room.line();
    var first = line.ask(1, this::page);
    for (int i = 1; i < PageRoom.ASKED_MAX; i++) line.ask(1, this::page);
    var last = line.ask(1, this::page);
    assertThat(asked).hasSize(PageRoom.ASKED_MAX);

    asked.get(0).complete("first");
    assertThat(first).isCompletedWithValue("first");
    assertThat(asked).hasSize(PageRoom.ASKED_MAX + 1);
    asked.getLast().completeExceptionally(new IllegalStateException("failed"));
    assertThat(last).isCompletedExceptionally();
  }

  @Test
  void linesTakeTurns() {
    var order = new CopyOnWriteArrayList<String>();
    var full = room.line().ask(100, this::page);
    for (var line : List.of("a", "b")) {
      var of = room.line();
      for (int i = 0; i < 3; i++)
        of.ask(
            60,
            () -> {
              order.add(line);
              return page();
            });
    }
    for (int i = 0; i < asked.size(); i++) asked.get(i).complete("answer");
    assertThat(full).isDone();
    assertThat(order).containsExactly("a", "b", "a", "b", "a", "b");
  }

  @Test
  void pagesOfAllRangesShareTheRoomInTheOrderOfTheirLines() {
    var lines = List.of(room.line(), room.line(), room.line());
    lines.get(0).ask(60, this::page);
    lines.get(1).ask(60, this::page);
    lines.get(2).ask(10, this::page);
    assertThat(asked).as("a small page does not overtake").hasSize(1);

    asked.getFirst().complete("answer");
    assertThat(asked).hasSize(3);
  }

  @Test
  void aPageThatIsLargerThanTheRoomIsAskedForAlone() {
    room.line().ask(1, this::page);
    room.line().ask(1_000, this::page);
    assertThat(asked).hasSize(1);

    asked.getFirst().complete("small");
    assertThat(asked).hasSize(2);
  }

  @Test
  void aRangeThatDoesNotAnswerHoldsUpOnlyItself() {
    var silent = room.line();
    var unanswered = silent.ask(100, this::page);
    silent.ask(1, this::page);
    room.line().ask(100, this::page);
    room.line().ask(100, this::page);
    assertThat(asked).hasSize(1);

    await().atMost(Duration.ofMinutes(1)).until(() -> asked.size() == 2);
    asked.get(1).complete("another range's");
    await().atMost(Duration.ofMinutes(1)).until(() -> asked.size() == 3);
    assertThat(unanswered).isNotDone();
    asked.getFirst().complete("late");
    asked.get(2).complete("another range's");
    assertThat(unanswered).isCompletedWithValue("late");
    assertThat(asked).as("the next one of the silent range").hasSize(4);
  }

  @Test
  void aLongLineThatFailsAtOnceEnds() {
    var line = room.line();
    line.ask(100, this::page);
    var all = new ArrayList<CompletableFuture<String>>();
    for (int i = 0; i < 100_000; i++) all.add(line.ask(100, () -> CompletableFuture.failedFuture(new IllegalStateException("no link"))));

    asked.getFirst().complete("first");

    assertThat(all).allMatch(CompletableFuture::isCompletedExceptionally);
  }

  @Test
  void withoutATimerPagesAreStillAnswered() {
    timer.shutdownNow();
    var page = room.line().ask(100, this::page);
    room.line().ask(100, this::page);
    assertThat(asked).as("none keeps the room").hasSize(2);

    asked.getFirst().complete("answer");
    assertThat(page).isCompletedWithValue("answer");
  }
}
