package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dunlin.broker.meter.LoadAverage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When the figures under {@code $SYS} are published, and how their means are computed. */
class SysTopicsTest {
  @ParameterizedTest
  @CsvSource({"20000, 10000", "20001, 9999", "26000, 4000", "29000, 1000", "29001, 10999", "29999, 10001"})
  void roundsComeAtFullIntervalsOfTheClock(long now, long delay) {
    assertThat(SysTopics.untilNext(now, 10_000)).isEqualTo(delay);
  }

  @Test
  void meansApproachTheRateOfAMinuteAndDecayAtTheirOwnPace() {
    AtomicLong count = new AtomicLong();
    LoadAverage load = new LoadAverage(count::get);

    for (int i = 0; i < 6; i++) { // one minute with 120 of something
      count.addAndGet(20);
      load.update(10_000);
    }
    assertThat(load.oneMinute()).isCloseTo(120 * (1 - Math.exp(-1)), within(0.01));
    assertThat(load.fiveMinutes()).isCloseTo(120 * (1 - Math.exp(-1.0 / 5)), within(0.01));
    assertThat(load.fifteenMinutes()).isCloseTo(120 * (1 - Math.exp(-1.0 / 15)), within(0.01));

    for (int i = 0; i < 60; i++) load.update(10_000); // ten without
    assertThat(load.oneMinute()).isLessThan(0.01);
    assertThat(load.fifteenMinutes()).isCloseTo(120 * (1 - Math.exp(-1.0 / 15)) * Math.exp(-10.0 / 15), within(0.01));
  }

  @Test
  void meansDoNotChangeWhenNoTimeHasPassed() {
    AtomicLong count = new AtomicLong(100);
    LoadAverage load = new LoadAverage(count::get);

    load.update(0);
    assertThat(load.oneMinute()).isZero();

    load.update(60_000);
    assertThat(load.oneMinute()).isCloseTo(100 * (1 - Math.exp(-1)), within(0.01));
  }
}
