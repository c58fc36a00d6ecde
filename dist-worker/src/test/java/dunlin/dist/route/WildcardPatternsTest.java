package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.FilterIndex;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class WildcardPatternsTest {
  private static final String TENANT = "t";

  private final WildcardPatterns patterns = new WildcardPatterns();

  static LongStream seeds() {
    return LongStream.range(0, 40);
  }

  @ParameterizedTest
  @CsvSource({
    "a/b/c, 0", "a/#, 0", "'#', 0", "$SYS/#, 0", "+, 1", "+/#, 1", "a/+, 1", "a/b/+/#, 1", "a/+/b, 2", "+/+, 2", "+/a/+/#, 3", "/+/, 2",
  })
  void eachBeginningWithAWildcardIsAPattern(String filter, int count) {
    patterns.add(TENANT, filter);

    assertThat(patterns.size(TENANT)).isEqualTo(count);

    patterns.remove(TENANT, filter);
    assertThat(patterns.size(TENANT)).isZero();
  }

  @Test
  void filtersThatDifferInNamesShareTheirPatterns() {
    for (int i = 0; i < 1_000; i++) assertThat(patterns.take(TENANT, "site/" + i + "/+/state/+", 3)).isTrue();

    assertThat(patterns.size(TENANT)).isEqualTo(3);
    assertThat(patterns.take(TENANT, "site/1/+/+", 3)).isFalse();
    assertThat(patterns.take(TENANT, "site/1/+/state", 3)).as("the beginning of one that is there").isTrue();
    assertThat(patterns.size("other")).isZero();
    assertThat(patterns.take("other", "site/1/+/+", 3)).isTrue();
  }

  @Test
  void aRefusedFilterLeavesNothing() {
    assertThat(patterns.take(TENANT, "+/+/+", 2)).isFalse();
    assertThat(patterns.size(TENANT)).isZero();
    assertThat(patterns.take(TENANT, "+/+", 2)).isTrue();
    assertThat(patterns.take(TENANT, "+/+/+", 2)).isFalse();
    assertThat(patterns.take(TENANT, "+/+/#", 2)).isTrue();
    assertThat(patterns.size(TENANT)).isEqualTo(2);
  }

  @Test
  void whatWasNotCountedIsNotTakenBack() {
    patterns.add(TENANT, "+/+");

    assertThatThrownBy(() -> patterns.remove(TENANT, "+/a")).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> patterns.remove("other", "+")).isInstanceOf(IllegalStateException.class);
  }

  /** The beginnings with a wildcard of all filters, without the names of their levels. */
  private static Set<String> expected(List<String> filters) {
    var all = new HashSet<String>();
    for (String filter : filters) {
      var pattern = new StringBuilder();
      for (String level : filter.split("/", -1)) {
        if (level.equals("#")) break;
        pattern.append(level.equals("+") ? '+' : '?');
        if (pattern.indexOf("+") >= 0) all.add(pattern.toString());
      }
    }
    return all;
  }

  private static String filter(Random random, int levels) {
    var filter = new StringBuilder();
    int count = 1 + random.nextInt(levels);
    for (int i = 0; i < count; i++) filter.append(i == 0 ? "" : "/").append(random.nextInt(5) < 2 ? "+" : (char) ('a' + random.nextInt(3)));
    return random.nextInt(4) == 0 ? filter + "/#" : filter.toString();
  }

  private static String topic(Random random, int levels) {
    var topic = new StringBuilder("a");
    for (int i = random.nextInt(levels); i > 0; i--) topic.append('/').append((char) ('a' + random.nextInt(3)));
    return topic.toString();
  }

  private static int nodes(FilterIndex<String> index, String topic) {
    byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
    return index.match(TENANT, bytes, 0, bytes.length, _ -> {});
  }

  /** What one pattern and one level of the topic may cost: a node, and that of a "#" behind it. */
  private static int nodesMax(int patterns, String topic) {
    return 2 * (patterns + 1 + topic.split("/", -1).length);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aMatchVisitsNoMoreNodesThanThePatternsAllow(long seed) {
    var random = new Random(seed);
    int max = 4 + random.nextInt(60);
    var index = new FilterIndex<String>();
    List<String> filters = new ArrayList<>();
    for (int step = 0; step < 2_000; step++) {
      String filter = filter(random, 9);
      if (random.nextInt(4) == 0 && !filters.isEmpty()) {
        String ended = filters.remove(random.nextInt(filters.size()));
        index.remove(TENANT, ended);
        patterns.remove(TENANT, ended);
      } else if (!filters.contains(filter) && patterns.take(TENANT, filter, max)) {
        filters.add(filter);
        index.put(TENANT, filter, filter);
      }
      assertThat(patterns.size(TENANT)).as("seed %d, step %d", seed, step).isLessThanOrEqualTo(max);
      if (step % 50 > 0) continue;
      assertThat(patterns.size(TENANT)).as("seed %d, step %d", seed, step).isEqualTo(expected(filters).size());
      for (int i = 0; i < 20; i++) {
        String topic = topic(random, 12);
        assertThat(nodes(index, topic)).as("seed %d, step %d, topic %s", seed, step, topic).isLessThanOrEqualTo(nodesMax(patterns.size(TENANT), topic));
      }
    }
  }

  /** Filters that nearly match, and differ in where they have wildcards: each level doubles what a match has to visit. */
  @Test
  void aBombOfWildcardsIsBounded() {
    var unbounded = new FilterIndex<String>();
    var bounded = new FilterIndex<String>();
    String topic = "a/".repeat(14) + "a";
    int refused = 0;
    for (int mask = 0; mask < 1 << 14; mask++) {
      var filter = new StringBuilder();
      for (int level = 0; level < 14; level++) filter.append((mask >> level & 1) == 1 ? "+/" : "a/");
      filter.append("b");
      unbounded.put(TENANT, filter.toString(), "");
      if (patterns.take(TENANT, filter.toString(), 1_000)) bounded.put(TENANT, filter.toString(), "");
      else refused++;
    }

    assertThat(nodes(unbounded, topic)).as("none of them matches").isGreaterThan(20_000);
    assertThat(refused).isGreaterThan(10_000);
    assertThat(patterns.size(TENANT)).isGreaterThan(900);
    assertThat(nodes(bounded, topic)).isBetween(100, nodesMax(1_000, topic));
  }

  /** As many filters as a broker may have, which differ in names alone: what a match costs does not depend on their number. */
  @Test
  void manyFiltersOfOnePatternCostNothing() {
    var index = new FilterIndex<String>();
    for (int i = 0; i < 100_000; i++) {
      String filter = "site/" + i + "/+/state";
      assertThat(patterns.take(TENANT, filter, 2)).isTrue();
      index.put(TENANT, filter, "");
    }

    assertThat(nodes(index, "site/77/x/state")).isLessThanOrEqualTo(nodesMax(2, "site/77/x/state"));
  }
}
