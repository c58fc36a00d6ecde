package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class UnansweredAppendsTest {
  private static final int LARGE = 1 << 20;

  private final UnansweredAppends unanswered = new UnansweredAppends();

  @Test
  void aFewLargeCallsAreEnough() {
    for (int i = 1; i < UnansweredAppends.CALLS_MAX; i++) {
      unanswered.sent(i, LARGE);
      assertThat(unanswered.isFull(0, i + 1)).as("%s calls", i).isFalse();
    }
    unanswered.sent(8, LARGE);
    assertThat(unanswered.isFull(0, 9)).isTrue();

    assertThat(unanswered.isFull(1, 9)).as("the first one is answered").isFalse();
  }

  @Test
  void manySmallCallsMayBeUnderWay() {
    for (int i = 1; i <= 100; i++) unanswered.sent(i, 1_000);
    assertThat(unanswered.isFull(0, 101)).isFalse();

    unanswered.sent(101, LARGE);
    assertThat(unanswered.isFull(0, 102)).isTrue();
    assertThat(unanswered.isFull(101, 102)).isFalse();
  }

  /** A stream has broken, and the entries are sent again over the next one. */
  @Test
  void whatIsSentAgainCountsOnce() {
    for (int i = 1; i <= 8; i++) unanswered.sent(i, LARGE);
    assertThat(unanswered.isFull(2, 3)).isFalse();

    for (int i = 3; i <= 9; i++) unanswered.sent(i, LARGE);
    assertThat(unanswered.isFull(2, 10)).as("seven calls").isFalse();
    unanswered.sent(10, LARGE);
    assertThat(unanswered.isFull(2, 11)).isTrue();
  }
}
