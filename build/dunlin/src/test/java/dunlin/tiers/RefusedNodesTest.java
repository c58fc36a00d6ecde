package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RefusedNodesTest {
  private static final UUID NODE = new UUID(1, 1);

  private long now = -5;
  private final RefusedNodes refused = new RefusedNodes(() -> now);

  private void refuse(int times, Duration every) {
    for (int i = 0; i < times; i++) {
      refused.note(NODE);
      now += every.toNanos();
    }
  }

  @Test
  void aNodeThatRefusesForAWhileIsGone() {
    assertThat(refused.isGone(NODE)).isFalse();

    refuse(3, Duration.ofMillis(200));
    assertThat(refused.isGone(NODE)).as("it may be about to listen").isFalse();
    refuse(2, Duration.ofMillis(200));

    assertThat(refused.isGone(NODE)).isTrue();
    assertThat(refused.isGone(new UUID(1, 2))).isFalse();
  }

  /** The node may not have been dialled since. */
  @Test
  void refusalsOfLongAgoDoNotCount() {
    refuse(5, Duration.ofMillis(200));
    now += Duration.ofSeconds(3).toNanos();
    assertThat(refused.isGone(NODE)).isFalse();

    refuse(2, Duration.ofMillis(200));
    assertThat(refused.isGone(NODE)).isFalse();
  }

  @Test
  void refusalsFarApartAreNoSeries() {
    refuse(5, Duration.ofSeconds(3));

    assertThat(refused.isGone(NODE)).isFalse();
  }

  @Test
  void aNodeThatIsThereAgainIsNotGone() {
    refuse(5, Duration.ofMillis(200));
    refused.isThere(NODE);

    assertThat(refused.isGone(NODE)).isFalse();
  }
}
