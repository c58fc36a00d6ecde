package dunlin.broker.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class FairLinesTest {
  @Test
  void linesTakeTurns() {
    var lines = new FairLines<String>(100);
    for (int i = 1; i <= 4; i++) assertThat(lines.offer(7, "much " + i)).isNull();
    assertThat(lines.offer(8, "little 1")).isNull();
    assertThat(lines.offer(9, "other 1")).isNull();
    assertThat(lines.offer(8, "little 2")).isNull();

    assertThat(all(lines)).containsExactly("much 1", "little 1", "other 1", "much 2", "little 2", "much 3", "much 4");
    assertThat(lines.size()).isZero();
  }

  @Test
  void theLongestLineGivesRoomToShorterOnes() {
    var lines = new FairLines<String>(4);
    for (int i = 1; i <= 4; i++) lines.offer(7, "much " + i);

    assertThat(lines.offer(7, "much 5")).isEqualTo("much 5");
    assertThat(lines.offer(8, "little 1")).isEqualTo("much 4");
    assertThat(lines.offer(8, "little 2")).isEqualTo("much 3");
    assertThat(lines.offer(8, "little 3")).as("both have two").isEqualTo("little 3");
    assertThat(lines.offer(9, "other 1")).isNotNull();
    assertThat(lines.size()).isEqualTo(4);
    assertThat(all(lines)).contains("other 1").hasSize(4);
  }

  static LongStream seeds() {
    return new Random().longs(50);
  }

  /**
   * Compares with a simple model: no line loses its order, all room is used, and no element is rejected in favour of a
   * longer line.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void aLineKeepsItsOrderAndTheLongestPays(long seed) {
    var random = new Random(seed);
    int max = 1 + random.nextInt(20);
    var lines = new FairLines<Integer>(max);
    Map<Long, ArrayDeque<Integer>> model = new TreeMap<>();
    int next = 0;
    for (int step = 0; step < 2_000; step++) {
      int size = model.values().stream().mapToInt(ArrayDeque::size).sum();
      assertThat(lines.size()).isEqualTo(size);
      if (random.nextInt(5) < 3) {
        long source = random.nextInt(1 + random.nextInt(8));
        int one = next++;
        int longest = model.values().stream().max(Comparator.comparingInt(ArrayDeque::size)).map(ArrayDeque::size).orElse(0);
        Integer without = lines.offer(source, one);
        var own = model.computeIfAbsent(source, _ -> new ArrayDeque<>());
        if (size < max) assertThat(without).isNull();
        if (size == max) assertThat(without).isNotNull();
        if (without != null && without == one) {
          assertThat(own.size() + 1).as("seed %d", seed).isGreaterThanOrEqualTo(longest);
          continue;
        }
        if (without != null) {
          var pays = model.values().stream().filter(each -> Objects.equals(each.peekLast(), without)).findFirst().orElseThrow();
          assertThat(pays.size()).as("seed %d", seed).isEqualTo(longest).isGreaterThan(own.size() + 1);
          pays.removeLast();
        }
        own.add(one);
      } else {
        Integer taken = lines.poll();
        if (size == 0) assertThat(taken).isNull();
        else assertThat(model.values().stream().filter(each -> Objects.equals(each.peek(), taken)).findFirst().orElseThrow().poll()).isEqualTo(taken);
      }
    }
  }

  private static List<String> all(FairLines<String> lines) {
    List<String> all = new ArrayList<>();
    for (String each = lines.poll(); each != null; each = lines.poll()) all.add(each);
    return all;
  }
}
