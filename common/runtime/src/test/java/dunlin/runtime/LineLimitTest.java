package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LineLimitTest {
  private final AtomicLong nanos = new AtomicLong(-TimeUnit.DAYS.toNanos(1));

  @Test
  void aPeriodMayBeLongerThanASecond() {
    LineLimit lines = new LineLimit(1, Duration.ofSeconds(10), nanos::get);
    assertThat(lines.admits()).isTrue();
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(9));
    assertThat(lines.admits()).isFalse();
    nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertThat(lines.admits()).isTrue();
    assertThat(lines.leftOut()).isEqualTo(1);
  }

  @Test
  void linesBeyondThoseOfASecondAreCountedInTheNextOne() {
    LineLimit lines = new LineLimit(2, nanos::get);
    int admitted = 0;
    for (int i = 0; i < 10; i++) admitted += lines.admits() ? 1 : 0;
    assertThat(admitted).isEqualTo(2);

    nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertThat(lines.admits()).isTrue();
    assertThat(lines.leftOut()).isEqualTo(8);
    assertThat(lines.leftOut()).isZero();
  }
}
