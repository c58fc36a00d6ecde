package dunlin.load.count;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SplitBookTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void bitsAreASetOfNumbers(long seed) {
    System.out.println("seed " + seed);
    var random = new Random(seed);
    var one = new Bits();
    var other = new Bits();
    var inOne = new TreeSet<Long>();
    var inOther = new TreeSet<Long>();
    long base = random.nextInt(100_000);
    for (int i = 0; i < 500; i++) {
      long number = base + random.nextInt(2_000);
      if (random.nextBoolean()) assertThat(one.set(number)).isEqualTo(inOne.add(number));
      else assertThat(other.set(number)).isEqualTo(inOther.add(number));
    }
    var both = new TreeSet<>(inOne);
    both.retainAll(inOther);
    var union = new TreeSet<>(inOne);
    union.addAll(inOther);
    long from = base + random.nextInt(2_000);

    assertThat(one.join(new Bits(other.firstWord(), other.words()))).isEqualTo(both.size());
    assertThat(one.lowest()).isEqualTo(union.first());
    assertThat(one.countFrom(from)).isEqualTo(union.tailSet(from).size());
    for (long number = base - 70; number < base + 2_100; number++) assertThat(one.has(number)).isEqualTo(union.contains(number));
  }

  @Test
  void aFullSplitBookReportsUncheckedMessages() {
    var left = new AtomicLong(1_000);
    var book = new SplitBook(left);

    assertThat(book.receive(1, 0)).isEqualTo(Arrival.IN_ORDER);
    assertThat(book.receive(1, 0)).isEqualTo(Arrival.DUPLICATE);
    assertThat(book.receive(1, 100_000)).isEqualTo(Arrival.UNCHECKED);
    assertThat(book.receive(1, 1L << 39)).isEqualTo(Arrival.UNCHECKED);
    assertThat(book.receive(1, 5)).isEqualTo(Arrival.IN_ORDER);
    assertThat(left.get()).isBetween(0L, 1_000L);
  }
}
