package dunlin.store.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.StoreException;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SharedBarrierTest {
  private final ArrayDeque<CompletableFuture<@Nullable Void>> asked = new ArrayDeque<>();
  private final SharedBarrier barrier =
      new SharedBarrier(
          () -> {
            var one = new CompletableFuture<@Nullable Void>();
            asked.add(one);
            return one;
          });

  @Test
  void whoComesWhileOneIsOnItsWayWaitsForTheNext() {
    var first = barrier.ask();
    var second = barrier.ask();
    var third = barrier.ask();
    assertThat(asked).hasSize(1);

    asked.remove().complete(null);
    assertThat(first).isCompleted();
    assertThat(second).isNotDone();
    assertThat(asked).hasSize(1);
    var fourth = barrier.ask();
    asked.remove().complete(null);

    assertThat(second).isCompleted();
    assertThat(third).isCompleted();
    assertThat(fourth).isNotDone();
    asked.remove().complete(null);
    assertThat(fourth).isCompleted();
    assertThat(asked).isEmpty();
  }

  @Test
  void aFailureIsOfThoseWhoWaitForIt() {
    var first = barrier.ask();
    var second = barrier.ask();
    asked.remove().completeExceptionally(new StoreException("not led here"));
    assertThatThrownBy(first::join).hasCauseInstanceOf(StoreException.class);

    asked.remove().complete(null);

    assertThat(second).isCompleted();
  }

  @Test
  void barriersThatAreThereAtOnceServeAllInTurn() {
    var quick = new SharedBarrier(() -> CompletableFuture.completedFuture(null));

    for (int i = 0; i < 3; i++) assertThat(quick.ask()).isCompleted();
  }

  @Test
  void aBarrierThatCannotBeAskedForFails() {
    var broken =
        new SharedBarrier(
            () -> {
              throw new StoreException("closed");
            });

    assertThatThrownBy(() -> broken.ask().join()).hasCauseInstanceOf(StoreException.class);
    assertThatThrownBy(() -> broken.ask().join()).hasCauseInstanceOf(StoreException.class);
  }
}
