package dunlin.broker.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RateBucketTest {
  private final AtomicLong now = new AtomicLong();

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MAX_VALUE, Long.MAX_VALUE - 1_000_000_000L, Long.MIN_VALUE})
  void aFullBucketGivesItsBurstAndThenItsRate(long start) {
    now.set(start);
    var bucket = new RateBucket(10, 3, now::get);

    assertThat(taken(bucket)).isEqualTo(3);
    now.addAndGet(TimeUnit.MILLISECONDS.toNanos(99));
    assertThat(bucket.take()).isFalse();
    now.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
    assertThat(taken(bucket)).isEqualTo(1);
    now.addAndGet(TimeUnit.MILLISECONDS.toNanos(250));
    assertThat(taken(bucket)).isEqualTo(2);
    now.addAndGet(TimeUnit.MILLISECONDS.toNanos(50));
    assertThat(taken(bucket)).as("the remaining token").isEqualTo(1);
  }

  @Test
  void aLongPauseFillsTheBucketAndNoMore() {
    var bucket = new RateBucket(1_000, 5, now::get);
    taken(bucket);
    now.addAndGet(TimeUnit.DAYS.toNanos(100));
    assertThat(taken(bucket)).isEqualTo(5);
  }

  @Test
  void overTimeNoMoreThanTheRateIsGiven() {
    var bucket = new RateBucket(7, 2, now::get);
    int taken = taken(bucket) - 1;
    for (int i = 0; i < 1_000; i++) {
      now.addAndGet(TimeUnit.MILLISECONDS.toNanos(10));
      taken += taken(bucket);
    }
    assertThat(taken).isBetween(70, 71);
  }

  private static int taken(RateBucket bucket) {
    int taken = 0;
    while (bucket.take()) taken++;
    return taken;
  }
}
