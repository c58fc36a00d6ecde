package dunlin.load.count;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares books and gaps with a plain set of the messages. */
class BookTest {
  static LongStream seeds() {
    return LongStream.range(0, 50);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aBookCountsArrivalsInAnyOrder(long seed) {
    var random = new Random(seed);
    var book = new Book(new Budget(100));
    Set<Long> came = new HashSet<>();
    long highest = -1;

    for (int i = 0; i < 2_000; i++) {
      long number = random.nextInt(4) == 0 ? random.nextInt(500) : Math.max(0, highest + random.nextInt(5) - 1);
      Arrival expected = came.contains(number) ? Arrival.DUPLICATE : number > highest ? Arrival.IN_ORDER : Arrival.OUT_OF_ORDER;
      assertThat(book.receive(7, number)).as("seed %d, %d", seed, number).isEqualTo(expected);
      came.add(number);
      highest = Math.max(highest, number);
    }

    int at = book.find(7);
    long lowest = came.stream().mapToLong(Long::longValue).min().orElseThrow();
    assertThat(book.first(at)).isEqualTo(lowest);
    assertThat(book.next(at)).isEqualTo(highest + 1);
    assertThat(book.missingBetween(at)).isEqualTo(highest + 1 - lowest - came.size());
    for (long n = 0; n < highest + 10; n++) assertThat(book.isMissing(at, n)).isEqualTo(!came.contains(n));
  }

  @Test
  void streamsAreCountedSeparately() {
    var book = new Book(new Budget(10_000));
    var random = new Random(3);
    long[] keys = random.longs(1_000, 0, 1L << 40).distinct().toArray();

    for (int round = 0; round < 3; round++) for (long key : keys) assertThat(book.receive(key, round)).isEqualTo(Arrival.IN_ORDER);

    assertThat(book.streams()).isEqualTo(keys.length);
    assertThat(IntStream.range(0, keys.length).map(i -> book.find(keys[i])).distinct().count()).isEqualTo(keys.length);
    assertThat(book.find(1L << 41)).isEqualTo(-1);
  }

  @Test
  void aFullBookReportsUncheckedMessages() {
    var budget = new Budget(2);
    var book = new Book(budget);

    assertThat(book.receive(1, 0)).isEqualTo(Arrival.IN_ORDER);
    assertThat(book.receive(2, 0)).isEqualTo(Arrival.IN_ORDER);
    assertThat(book.receive(3, 0)).isEqualTo(Arrival.UNCHECKED);

    book.clear();
    assertThat(book.receive(3, 0)).isEqualTo(Arrival.IN_ORDER);
  }

  @Test
  void excessGapsAreDroppedLowestFirstButStillCounted() {
    var book = new Book(new Budget(1));
    int gaps = Gaps.RANGES_MAX + 10;

    for (int i = 0; i <= gaps; i++) assertThat(book.receive(1, 2L * i)).isEqualTo(Arrival.IN_ORDER);

    assertThat(book.missingBetween(0)).isEqualTo(gaps);
    assertThat(book.receive(1, 1)).isEqualTo(Arrival.DUPLICATE); // its range was dropped
    assertThat(book.receive(1, 2L * gaps - 1)).isEqualTo(Arrival.OUT_OF_ORDER);
    assertThat(book.missingBetween(0)).isEqualTo(gaps - 1);
  }
}
