package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.runtime.TierClock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Restarts of a node whose clocks are set by the test. */
final class ClockFileTest {
  private static final long DAY = TimeUnit.DAYS.toMillis(1);
  private static final long HOUR = TimeUnit.HOURS.toMillis(1);

  @TempDir Path data;

  private long wall = 20_000 * DAY;
  private long nanos;

  private TierClock clock() {
    return new TierClock(() -> Instant.ofEpochMilli(wall), () -> nanos, Duration.ofHours(1));
  }

  private void pass(long millis) {
    wall += millis;
    nanos += TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @Test
  void theDowntimeCounts() {
    TierClock first = clock();
    ClockFile.open(data, first).close();
    long end = first.millis();
    wall += 60_000;
    TierClock second = clock();
    ClockFile.open(data, second);

    assertThat(second.millis()).isEqualTo(end + 60_000);
  }

  @Test
  void afterACrashTheClockContinuesFromTheLastNote() {
    TierClock first = clock();
    ClockFile file = ClockFile.open(data, first);
    for (int i = 0; i < ClockFile.LOOKS_A_NOTE; i++) {
      pass(1_000);
      file.look();
    }
    long noted = first.millis();
    wall = 0;
    TierClock second = clock();
    ClockFile.open(data, second);

    assertThat(second.millis()).isEqualTo(noted);
  }

  @Test
  void aCorrectionOfTheWallClockDoesNotCountAsDowntime() {
    wall = 0;
    TierClock first = clock();
    ClockFile file = ClockFile.open(data, first);
    pass(1_000);
    wall += 20_000 * DAY;
    file.look();
    long end = first.millis();
    assertThat(end).isEqualTo(1_000);
    wall += HOUR;
    TierClock second = clock();
    ClockFile.open(data, second);

    assertThat(second.millis()).isEqualTo(end + HOUR);
  }

  @Test
  void aDamagedFileDoesNotPreventTheStart() throws Exception {
    Files.writeString(data.resolve("clock"), "7 what is this");
    TierClock clock = clock();
    ClockFile.open(data, clock).close();

    assertThat(clock.millis()).isEqualTo(wall);
    assertThat(Files.readString(data.resolve("clock"))).isEqualTo("1 " + wall + " 0\n");
  }
}
