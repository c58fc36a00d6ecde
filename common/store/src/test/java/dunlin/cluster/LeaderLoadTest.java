package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.NodeReport.Load;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.KeyInterval;
import dunlin.store.RangeLoad;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LeaderLoadTest {
  private static final long SECOND = 1_000_000_000;
  private static final SplitSettings LIMITS = new SplitSettings(1000, 100, 50, 1, 64);

  private final Fake range = new Fake();
  private final LeaderLoad load = new LeaderLoad(3, 7, KeyInterval.all(), key -> key.length, LIMITS);
  private long now;

  /** A range whose size and load the test sets. */
  private static final class Fake implements RangeLoad {
    long bytes;
    long operations;
    byte @Nullable [] middle;
    double below = 0.5;
    List<byte[]> sample = List.of();
    int searches;

    @Override
    public long bytes(KeyInterval keys) {
      return keys.equals(KeyInterval.all()) ? bytes : (long) (bytes * below);
    }

    @Override
    public long operations() {
      return operations;
    }

    @Override
    public List<byte[]> writtenLately() {
      return sample;
    }

    @Override
    public Optional<byte[]> middle(KeyInterval keys) {
      searches++;
      return Optional.ofNullable(middle);
    }
  }

  @Test
  void aCutIsSearchedOnlyFromHalfOfTheLimitOn() {
    range.bytes = 500;
    range.middle = Ledger.bytes("m");
    for (int i = 0; i < 30; i++) assertThat(measure().middle()).isNull();
    assertThat(range.searches).isZero();

    range.bytes = 501;
    for (int i = 0; i < 30; i++) assertThat(measure().middle()).isEqualTo(Ledger.bytes("m"));
    assertThat(range.searches).isBetween(2, 4);
  }

  @Test
  void aRangeWithoutACutIsIndivisiblePastTheLimitAndSearchedLessOften() {
    range.bytes = 900;
    assertThat(measure().indivisible()).isFalse();
    range.bytes = 1001;
    for (int i = 0; i < 30; i++) assertThat(measure().indivisible()).isTrue();
    assertThat(range.searches).isBetween(2, 4);

    range.middle = Ledger.bytes("m");
    range.below = 0.05;
    for (int i = 0; i < 15; i++) assertThat(measure().middle()).as("nearly all on one side").isNull();
    range.below = 0.4;
    for (int i = 0; i < 11; i++) measure();
    assertThat(measure().middle()).isNotNull();
    assertThat(measure().indivisible()).isFalse();
  }

  @Test
  void aRateIsAveragedOverItsWholeTime() {
    range.bytes = 60;
    range.sample = sample();
    for (int i = 0; i < LeaderLoad.SPANS; i++) {
      assertThat(measure().operationsPerSecond()).isZero();
      range.operations += 300;
    }

    var busy = measure();
    assertThat(busy.operationsPerSecond()).isEqualTo(300);
    assertThat(busy.busiest()).isEqualTo(Ledger.bytes("k20"));
    assertThat(busy.indivisible()).isFalse();
    for (int i = 0; i < LeaderLoad.SPANS / 2; i++) measure();
    assertThat(measure().operationsPerSecond()).as("it falls slowly").isBetween(100L, 200L);
  }

  @Test
  void oneHotKeyMakesABusyRangeIndivisible() {
    range.bytes = 60;
    var hot = new ArrayList<byte[]>();
    for (int i = 0; i < 40; i++) hot.add(Ledger.bytes("hot"));
    range.sample = hot;
    for (int i = 0; i <= LeaderLoad.SPANS; i++) {
      range.operations += 300;
      measure();
    }

    assertThat(measure().indivisible()).isTrue();
    range.bytes = 20;
    assertThat(measure().indivisible()).as("too small to be split anyway").isFalse();
  }

  @Test
  void aMeasurementIsValidForOneTermAndEpoch() {
    assertThat(load.isOf(3, 7)).isTrue();
    assertThat(load.isOf(4, 7)).isFalse();
    assertThat(load.isOf(3, 8)).isFalse();
  }

  private Load measure() {
    now += SECOND;
    return load.measure(range, now);
  }

  private static List<byte[]> sample() {
    var keys = new ArrayList<byte[]>();
    for (int i = 0; i < 40; i++) keys.add(Ledger.bytes(String.format("k%02d", i)));
    return keys;
  }
}
