package dunlin.runtime.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.memory.HeapGuard.Found;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HeapGuardTest {
  private Found found = new Found(0, Found.EXACT, 0);
  private final List<Boolean> often = new ArrayList<>();
  private final HeapGuard guard =
      new HeapGuard(
          new HeapGuard.Live() {
            @Override
            public Found found() {
              return found;
            }

            @Override
            public void collectOften(boolean more) {
              often.add(more);
            }
          },
          80);

  private boolean look(double share) {
    return look(share, Found.EXACT, 0);
  }

  /** @return whether it is full then */
  private boolean look(double share, long markings, long whole) {
    found = new Found(share, markings, whole);
    guard.look();
    return guard.isFull();
  }

  @Test
  void itIsFullFromTheMaximumOnUntilThereIsSomeRoom() {
    assertThat(look(0.79)).isFalse();
    assertThat(look(0.80)).isTrue();
    assertThat(look(0.78)).as("a little less is not enough").isTrue();
    assertThat(look(0.76)).isFalse();
    assertThat(guard.live()).isEqualTo(0.76);
  }

  /** Without clients there may be no collection, and what they have given back counts until then. */
  @Test
  void collectionsAreAskedForWhileItIsFull() {
    look(0.79);
    assertThat(often).isEmpty();
    look(0.9);
    look(0.9);
    assertThat(often).containsExactly(true);
    look(0.5);
    look(0.5);
    assertThat(often).containsExactly(true, false);
  }

  /** G1 has found much garbage, and removes it in the collections that follow. */
  @Test
  void whatAMarkingHasLeftCountsOnlyWhenTheNextOneFindsAsMuch() {
    assertThat(look(0.85, 2, 0)).isFalse();
    assertThat(look(0.84, 2, 0)).as("the first of several collections that remove it").isFalse();
    assertThat(look(0.3, 2, 0)).isFalse();
    assertThat(look(0.85, 4, 0)).as("there was less between").isFalse();
    assertThat(look(0.85, 5, 0)).isFalse();
    assertThat(look(0.82, 6, 0)).as("the next marking").isTrue();
    assertThat(look(0.78, 8, 0)).isTrue();
    assertThat(look(0.5, 8, 0)).isFalse();
    assertThat(look(0.85, 10, 0)).as("it is not sure for ever").isFalse();
  }

  @Test
  void whatAFullCollectionHasLeftCountsAtOnce() {
    assertThat(look(0.5, 2, 1)).isFalse();
    assertThat(look(0.95, 2, 2)).isTrue();
  }

  @Test
  void atOneHundredPercentItIsNeverFull() {
    var off = new HeapGuard(() -> new Found(1, Found.EXACT, 0), 100);
    off.look();

    assertThat(off.isFull()).isFalse();
  }

  @Test
  void aPartOfTheHeapIsFromOneToOneHundredPercent() {
    assertThatThrownBy(() -> new HeapGuard(() -> Found.NOTHING, 0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new HeapGuard(() -> Found.NOTHING, 101)).isInstanceOf(IllegalArgumentException.class);
  }

  /** The collector of this JVM says what a collection has left. */
  @Test
  void whatACollectionOfThisProcessLeavesIsKnown() {
    var own = HeapGuard.ofThisProcess(80);
    ManagementFactory.getMemoryMXBean().gc();
    own.look();

    assertThat(own.live()).isBetween(0.0001, 0.9999);
  }
}
