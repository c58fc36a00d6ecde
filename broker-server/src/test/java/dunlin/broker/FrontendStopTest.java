package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** How long a stop waits for what the last members of groups have left behind. */
class FrontendStopTest {
  private final AtomicLong looks = new AtomicLong();

  @Test
  void endsWhenNothingIsLeft() {
    assertThat(Frontend.awaitNone(() -> Math.max(0, 3 - looks.getAndIncrement()), () -> 0)).isZero();
  }

  @Test
  void endsInTime() {
    assertThat(Frontend.awaitNone(() -> 3, () -> TimeUnit.SECONDS.toNanos(looks.getAndIncrement()))).isEqualTo(3);
    assertThat(looks).hasValue(6);
  }

  @Test
  void endsWhenItsThreadIsInterrupted() {
    Thread.currentThread().interrupt();
    long left = Frontend.awaitNone(() -> 3, this::standsStill);

    assertThat(Thread.interrupted()).as("its caller learns it").isTrue();
    assertThat(left).isEqualTo(3);
  }

  private long standsStill() {
    if (looks.incrementAndGet() > 1_000) throw new AssertionError("it goes on");
    return 0;
  }
}
