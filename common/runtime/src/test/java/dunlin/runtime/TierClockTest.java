package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The test controls both clocks. */
final class TierClockTest {
  private static final long HOUR = TimeUnit.HOURS.toMillis(1);
  private static final long DAY = 24 * HOUR;
  private static final long BOOT = 20_000 * DAY;

  private long wall = BOOT;
  private long nanos = 12_345;

  private TierClock clock() {
    return new TierClock(() -> Instant.ofEpochMilli(wall), () -> nanos, Duration.ofHours(1));
  }

  /** Advances both clocks. */
  private void pass(long millis) {
    wall += millis;
    nanos += TimeUnit.MILLISECONDS.toNanos(millis);
  }

  private void watch(TierClock clock, long millis) {
    for (long left = millis; left > 0; left -= 1_000) {
      pass(1_000);
      clock.check();
    }
  }

  @Test
  void stepsOfTheWallClockDoNotMoveIt() {
    var clock = clock();
    for (long step : new long[] {HOUR, -HOUR, -BOOT, 40_000 * DAY, -2_000, 365 * DAY}) {
      long before = clock.millis();
      wall += step;
      watch(clock, 3_000);
      assertThat(clock.millis()).as("after a step of %d", step).isEqualTo(before + 3_000);
      watch(clock, 2 * TierClock.STEADY.toMillis());
      assertThat(clock.millis()).isEqualTo(before + 3_000 + 2 * TierClock.STEADY.toMillis());
    }
  }

  @Test
  void continuesFromAnEarlierRunAndCountsTheDowntime() {
    wall = BOOT + HOUR / 2;
    var clock = clock();
    clock.goOn(BOOT, 0);

    assertThat(clock.millis()).isEqualTo(BOOT + HOUR / 2);
    watch(clock, 2 * TierClock.STEADY.toMillis());
    assertThat(clock.millis()).isEqualTo(BOOT + HOUR / 2 + 2 * TierClock.STEADY.toMillis());
  }

  @Test
  void aBootIn1970LosesNothingAndTheDowntimeCountsLater() {
    wall = 0;
    var clock = clock();
    clock.goOn(BOOT, 0);
    assertThat(clock.millis()).isEqualTo(BOOT);
    watch(clock, 30_000);
    assertThat(clock.millis()).isEqualTo(BOOT + 30_000);

    wall = BOOT + 2 * HOUR + 30_000;
    watch(clock, TierClock.STEADY.toMillis());
    assertThat(clock.millis()).isEqualTo(BOOT + 30_000 + TierClock.STEADY.toMillis());
    watch(clock, 1_000);
    assertThat(clock.millis()).isEqualTo(BOOT + 2 * HOUR + 30_000 + TierClock.STEADY.toMillis() + 1_000);
    assertThat(clock.wallAhead()).isZero();
  }

  @Test
  void aBootFarInTheFutureCountsTheLongestDowntimeOnly() {
    wall = BOOT + 365 * DAY;
    var clock = clock();
    clock.goOn(BOOT, 0);
    assertThat(clock.millis()).isEqualTo(BOOT + HOUR);

    watch(clock, 60_000);
    wall -= 365 * DAY;
    watch(clock, 2 * TierClock.STEADY.toMillis());
    assertThat(clock.millis()).isEqualTo(BOOT + HOUR + 60_000 + 2 * TierClock.STEADY.toMillis());
  }

  @Test
  void aLongDowntimeCountsWhenTheWallClockHasProvedSteady() {
    wall = BOOT + 30 * DAY;
    var clock = clock();
    clock.goOn(BOOT, 0);
    assertThat(clock.millis()).isEqualTo(BOOT + HOUR);

    watch(clock, TierClock.STEADY.toMillis());
    assertThat(clock.millis()).isEqualTo(wall);
  }

  @Test
  void theDistanceToTheWallClockSurvivesARestart() {
    var first = clock();
    wall += 3 * HOUR;
    assertThat(first.check()).isTrue();
    assertThat(first.check()).isFalse();
    assertThat(first.wallAhead()).isEqualTo(3 * HOUR);
    pass(1_000);

    var second = clock();
    second.goOn(first.millis(), first.wallAhead());
    assertThat(second.millis()).isEqualTo(first.millis());
    assertThat(second.wallAhead()).isEqualTo(3 * HOUR);
  }

  @Test
  void anUnconfirmedDowntimeIsLeftToTheNextRun() {
    wall = 0;
    var first = clock();
    first.goOn(BOOT, 0);
    watch(first, 5_000);
    assertThat(first.wallAhead()).isZero();

    wall = BOOT + HOUR;
    var second = clock();
    second.goOn(first.millis(), first.wallAhead());
    assertThat(second.millis()).isEqualTo(BOOT + HOUR);
  }
}
