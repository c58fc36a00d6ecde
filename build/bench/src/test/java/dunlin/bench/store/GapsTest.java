package dunlin.bench.store;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class GapsTest {
  private final Gaps gaps = new Gaps();

  @Test
  void theLongestTimeBetweenTwoEventsCounts() {
    gaps.begin(100);

    for (long at : new long[] {110, 150, 155, 170}) gaps.event(at);

    assertThat(gaps.longest(171)).isEqualTo(40);
  }

  @Test
  void theTimeBeforeTheFirstEventAndAfterTheLastCountsToo() {
    gaps.begin(100);
    assertThat(gaps.longest(130)).isEqualTo(30);

    gaps.event(160);
    assertThat(gaps.longest(161)).isEqualTo(60);

    gaps.event(165);
    assertThat(gaps.longest(300)).isEqualTo(135);
  }

  @Test
  void whatComesBeforeItBeginsOrLateFromAnotherThreadIsOfNoAccount() {
    gaps.event(1);
    assertThat(gaps.longest(1000)).isZero();

    gaps.begin(100);
    gaps.event(120);
    gaps.event(115);
    gaps.event(130);

    assertThat(gaps.longest(130)).isEqualTo(20);
  }

  @Test
  void aSecondBeginningForgetsWhatWasBefore() {
    gaps.begin(0);
    gaps.event(500);

    gaps.begin(600);
    gaps.event(610);

    assertThat(gaps.longest(610)).isEqualTo(10);
  }
}
