package dunlin.inbox.rows;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PacketIdsTest {
  @ParameterizedTest(name = "seed {0}, identifiers up to {1}")
  @CsvSource({"1, 10", "2, 65535", "3, 2000", "4, 65535"})
  void itIsASetOfNumbers(long seed, int highest) {
    var random = new Random(seed);
    var ids = new PacketIds();
    var expected = new TreeSet<Integer>();
    for (int step = 0; step < 20_000; step++) {
      int id = 1 + random.nextInt(highest);
      boolean adds = step < 10_000 ? random.nextInt(3) > 0 : random.nextInt(3) == 0;
      if (adds) {
        ids.add(id);
        expected.add(id);
      } else {
        int gone = expected.isEmpty() || random.nextBoolean() ? id : expected.first();
        ids.remove(gone);
        expected.remove(gone);
      }
      assertThat(ids.contains(id)).isEqualTo(expected.contains(id));
      assertThat(ids.size()).isEqualTo(expected.size());
    }
    assertThat(ids.toArray()).as("seed " + seed).containsExactly(expected.stream().mapToInt(Integer::intValue).toArray());
    for (int id : ids.toArray()) ids.remove(id);
    assertThat(ids.isEmpty()).isTrue();
  }
}
