package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class StallWatchTest {
  private static final Duration LONGEST = Duration.ofSeconds(2);

  private final CompletableFuture<String> step = new CompletableFuture<>();
  private long now;
  private long looks;

  private long later(long millis) {
    return now += TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @Test
  void aStepWithProgressIsWaitedFor() throws Exception {
    var watch =
        new StallWatch(
            LONGEST,
            () -> {
              if (++looks == 8) step.complete("done");
              return looks / 2; // there is progress at every second look
            },
            () -> later(900));

    watch.await(step);

    assertThat(Duration.ofNanos(now)).isGreaterThan(LONGEST.multipliedBy(3));
    assertThat(watch.stalled()).isFalse();
  }

  @Test
  void aStepWithoutProgressTimesOut() {
    var watch = new StallWatch(LONGEST, () -> 7, () -> later(900));

    assertThatThrownBy(() -> watch.await(step)).isInstanceOf(TimeoutException.class).hasMessageContaining("PT2S");
    assertThat(watch.stalled()).isTrue();
    assertThat(step).isNotDone();
  }

  @Test
  void aPauseOfTheProcessCountsAsOneSecond() throws Exception {
    var watch =
        new StallWatch(
            LONGEST,
            () -> {
              if (++looks == 2) step.complete("done");
              return 7;
            },
            () -> later(3_600_000));

    watch.await(step);

    assertThat(watch.stalled()).isFalse();
  }

  @Test
  void aFailureOfTheStepIsPassedOn() {
    step.completeExceptionally(new IllegalStateException("broken"));

    assertThatThrownBy(() -> new StallWatch(LONGEST, () -> 7, () -> later(1)).await(step))
        .isInstanceOf(ExecutionException.class)
        .hasRootCauseMessage("broken");
  }
}
