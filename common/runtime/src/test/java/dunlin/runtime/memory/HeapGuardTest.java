package dunlin.runtime.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class HeapGuardTest {
  private double live;
  private long markings;
  private long nanos;
  private int asked;
  private final HeapGuard guard =
      new HeapGuard(
          new HeapGuard.Live() {
            @Override
            public double share() {
              return live;
            }

            @Override
            public long markings() {
              return markings;
            }

            @Override
            public void collect() {
              asked++;
            }
          },
          80, () -> nanos);

  private void look(double share) {
    live = share;
    guard.look();
  }

  @Test
  void itIsFullFromTheMaximumOnUntilThereIsSomeRoom() {
    look(0.79);
    assertThat(guard.isFull()).isFalse();
    look(0.80);
    assertThat(guard.isFull()).isTrue();
    look(0.78);
    assertThat(guard.isFull()).as("a little less is not enough").isTrue();
    look(0.76);
    assertThat(guard.isFull()).isFalse();
  }

  @Test
  void itIsCrowdedHalfWayFromFullToAllOfTheHeap() {
    look(0.89);
    assertThat(guard.isCrowded()).isFalse();
    look(0.91);
    assertThat(guard.isCrowded()).isTrue();
    look(0.85);
    assertThat(guard.isCrowded()).isFalse();
    assertThat(guard.isFull()).isTrue();
  }

  /** G1 has found much garbage, and has removed none of it yet. */
  @Test
  void whatAMarkingHasLeftCountsOnlyWhenTheNextOneFindsAsMuch() {
    markings = 2;
    look(0.85);
    look(0.85);
    assertThat(guard.isFull()).isFalse();
    look(0.3);
    markings = 4;
    look(0.85);
    assertThat(guard.isFull()).as("there was less between").isFalse();

    markings = 6;
    look(0.82);
    assertThat(guard.isFull()).isFalse();
    markings = 7;
    look(0.82);
    assertThat(guard.isFull()).isTrue();
    markings = 9;
    look(0.85);
    assertThat(guard.isFull()).isTrue();
  }

  @Test
  void whatAnotherCollectionHasLeftBehindAMarkingCountsAtOnce() {
    markings = 2;
    look(0.95);
    look(0.92);

    assertThat(guard.isFull()).isTrue();
    assertThat(guard.isCrowded()).isTrue();
  }

  /** What clients have given back counts as live until then, and without clients there may be no collection. */
  @Test
  void aCollectionIsAskedForWhenThereWasNoneForLong() {
    look(0.9);
    nanos += Duration.ofSeconds(9).toNanos();
    look(0.9);
    assertThat(asked).isZero();
    nanos += Duration.ofSeconds(1).toNanos();
    look(0.9);
    look(0.9);
    assertThat(asked).isEqualTo(1);
    nanos += Duration.ofSeconds(10).toNanos();
    look(0.91);
    assertThat(asked).as("there was one").isEqualTo(1);
    look(0.5);
    nanos += Duration.ofMinutes(1).toNanos();
    look(0.5);
    assertThat(asked).as("it has room").isEqualTo(1);
  }

  @Test
  void atOneHundredPercentItIsNeverFull() {
    var off = new HeapGuard(() -> 1, 100);
    off.look();

    assertThat(off.isFull()).isFalse();
    assertThat(off.isCrowded()).isFalse();
  }

  @Test
  void aPartOfTheHeapIsFromOneToOneHundredPercent() {
    assertThatThrownBy(() -> new HeapGuard(() -> 0, 0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new HeapGuard(() -> 0, 101)).isInstanceOf(IllegalArgumentException.class);
  }

  /** The collector of this JVM says what a collection has left. */
  @Test
  void whatACollectionOfThisProcessLeavesIsKnown() {
    var own = HeapGuard.ofThisProcess(80);
    ManagementFactory.getMemoryMXBean().gc();

    assertThat(own.live()).isBetween(0.0001, 0.9999);
  }
}
