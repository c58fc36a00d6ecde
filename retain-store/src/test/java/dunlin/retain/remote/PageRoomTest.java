package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class PageRoomTest {
  private final PageRoom room = new PageRoom(100);
  private final List<CompletableFuture<String>> asked = new ArrayList<>();

  private CompletableFuture<String> page() {
    asked.add(new CompletableFuture<>());
    return asked.getLast();
  }

  @Test
  void pagesThatDoNotFitWaitInTheirOrder() {
    var first = room.when(60, this::page);
    var second = room.when(60, this::page);
    var third = room.when(10, this::page);
    assertThat(asked).as("a small page does not overtake").hasSize(1);

    asked.get(0).complete("first");
    assertThat(first).isCompletedWithValue("first");
    assertThat(asked).hasSize(3);
    asked.get(2).complete("third");
    asked.get(1).completeExceptionally(new IllegalStateException("failed"));
    assertThat(third).isCompletedWithValue("third");
    assertThat(second).isCompletedExceptionally();
  }

  @Test
  void aPageThatIsLargerThanTheRoomIsAskedForAlone() {
    var small = room.when(1, this::page);
    room.when(1_000, this::page);
    assertThat(asked).hasSize(1);

    asked.getFirst().complete("small");
    assertThat(small).isCompleted();
    assertThat(asked).hasSize(2);
    room.when(1, this::page);
    assertThat(asked).hasSize(2);
  }

  @Test
  void aLongLineThatFailsAtOnceEnds() {
    room.when(100, this::page);
    var all = new ArrayList<CompletableFuture<String>>();
    for (int i = 0; i < 100_000; i++) all.add(room.when(100, () -> CompletableFuture.failedFuture(new IllegalStateException("no link"))));

    asked.getFirst().complete("first");

    assertThat(all).allMatch(CompletableFuture::isCompletedExceptionally);
  }
}
