package dunlin.load.count;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** Measurements of several loops and processes add up without loss. */
class MetersTest {
  @Test
  void mergedHistogramsEqualTheSum() {
    var random = new Random(5);
    var all = new Histogram(LoopMeters.TIME_MICROS_MAX, 3);
    var one = new Meters(2);
    var other = new Meters(3);
    for (int i = 0; i < 20_000; i++) {
      long micros = (long) Math.exp(random.nextDouble() * 20);
      all.recordValue(micros);
      (i % 2 == 0 ? one.loop(i % 4 / 2) : other.loop(i % 3)).time(Series.DELIVER_1, micros);
      if (i % 5_000 == 0) assertThat(one.interval()).isNotNull();
    }

    Snapshot sum = one.snapshot().plus(other.snapshot());

    assertThat(sum.time(Series.DELIVER_1)).isEqualTo(all);
    assertThat(sum.deliveries().getTotalCount()).isEqualTo(20_000);
    assertThat(sum.time(Series.CONNECT).getTotalCount()).isZero();
  }

  @Test
  void countsAndReasonsAddUp() {
    var one = new Meters(2);
    var other = new Meters(1);
    one.loop(0).add(Count.CONNECTED, 3);
    one.loop(1).add(Count.CONNECTED);
    other.loop(0).add(Count.CONNECTED, 5);
    one.loop(0).code(Codes.CONNACK_5, 0x87);
    other.loop(0).code(Codes.CONNACK_5, 0x87);
    other.loop(0).code(Codes.CONNACK_3, 5);
    one.failure("connection refused");
    other.failure("connection refused");

    Snapshot sum = one.snapshot().plus(other.snapshot());

    assertThat(sum.get(Count.CONNECTED)).isEqualTo(9);
    assertThat(sum.reasons(Codes.CONNACK_5)).isEqualTo(Map.of("0x87 not authorized", 2L));
    assertThat(sum.reasons(Codes.CONNACK_3)).isEqualTo(Map.of("not authorized", 1L));
    assertThat(sum.failures()).isEqualTo(Map.of("connection refused", 2L));
  }

  @Test
  void failuresOfManyKindsAreBounded() {
    var meters = new Meters(1);

    for (int i = 0; i < 1_000; i++) meters.failure("reason " + i);

    Map<String, Long> failures = meters.snapshot().failures();
    assertThat(failures).hasSizeLessThanOrEqualTo(65).containsKey("other");
    assertThat(failures.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(1_000);
  }
}
