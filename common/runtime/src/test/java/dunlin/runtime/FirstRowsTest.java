package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FirstRowsTest {
  @Test
  void theFirstOnesAreKeptInWhateverOrderTheyCome() {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    List<Integer> all = new ArrayList<>(IntStream.range(0, 1_000).boxed().toList());
    Collections.shuffle(all, new Random(seed));
    FirstRows<Integer> lowest = new FirstRows<>(Comparator.<Integer>naturalOrder(), 10);
    FirstRows<Integer> highest = new FirstRows<>(Comparator.<Integer>reverseOrder(), 1);

    lowest.offerAll(all);
    highest.offerAll(all);

    assertThat(lowest.inOrder()).as("seed " + seed).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    assertThat(highest.inOrder()).as("seed " + seed).containsExactly(999);
  }

  @Test
  void fewerThanTheMaximumAreAllKept() {
    FirstRows<String> rows = new FirstRows<>(Comparator.<String>naturalOrder(), 3);
    assertThat(rows.inOrder()).isEmpty();
    rows.offer("b");
    rows.offer("a");
    rows.offer("a");
    assertThat(rows.inOrder()).containsExactly("a", "a", "b");
  }
}
