package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DeadlinesTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  private final Deadlines deadlines = new Deadlines("dunlin-test-deadlines");

  @AfterEach
  void close() {
    deadlines.close();
  }

  @Test
  void aThreadThatIsLateIsInterrupted() {
    try (var _ = deadlines.begin(1)) {
      assertThatThrownBy(() -> Thread.sleep(LONG)).isInstanceOf(InterruptedException.class);
    }
  }

  @Test
  void anExtendedDeadlineBeginsAnew() {
    long begun = System.nanoTime();
    try (var deadline = deadlines.begin(60)) {
      deadline.extend(1);
      assertThatThrownBy(() -> Thread.sleep(LONG)).isInstanceOf(InterruptedException.class);
    }
    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(Duration.ofSeconds(1)).isLessThan(LONG);
  }

  @Test
  void oneThatHasEndedInterruptsNoThread() {
    deadlines.begin(1).close();

    try (var _ = deadlines.begin(2)) {
      long begun = System.nanoTime();
      assertThatThrownBy(() -> Thread.sleep(LONG)).isInstanceOf(InterruptedException.class);
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).as("by the second one").isGreaterThan(Duration.ofMillis(1_500));
    }
  }
}
