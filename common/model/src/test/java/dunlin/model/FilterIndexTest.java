package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class FilterIndexTest {
  private static final String TENANT = "t";

  static LongStream seeds() {
    return LongStream.range(0, 60);
  }

  @ParameterizedTest
  @CsvSource({
    "a, a, true",
    "a, b, false",
    "a/b, a/b, true",
    "a/b, a, false",
    "a, a/b, false",
    "a/+, a/b, true",
    "a/+, a, false",
    "a/+, a/, true",
    "a/+, a/b/c, false",
    "+, a, true",
    "+, /a, false",
    "+/+, /a, true",
    "/+, /a, true",
    "+/b/+, a/b/c, true",
    "'#', a/b/c, true",
    "'#', /, true",
    "a/#, a, true",
    "a/#, a/, true",
    "a/#, a/b/c, true",
    "a/#, ab, false",
    "a/+/#, a, false",
    "a/+/#, a/b, true",
    "+/#, a, true",
    "/#, a, false",
    "/#, /a/b, true",
    "'#', $SYS/x, false",
    "+/x, $SYS/x, false",
    "+, $SYS, false",
    "$SYS/#, $SYS/x, true",
    "$SYS/+, $SYS/x, true",
    "$SYS/x, $SYS/x, true",
    "a/+, a/$b, true",
    "longer than eight bytes/and/more, longer than eight bytes/and/more, true",
    "longer than eight bytes/and/more, longer than eight bytez/and/more, false",
    "grün/+/straße, grün/Ö/straße, true",
  })
  void followsTheRulesOfTopicFilters(String filter, String topic, boolean matches) {
    var alone = new FilterIndex<String>();
    alone.put(TENANT, filter, filter);
    var beside = new FilterIndex<String>();
    for (String other : List.of("a/b/c/d", "+/b/c/d/e", "a/+/c/x", "$SYS/x/y", "/x/y", "+/+/+/y")) {
      beside.put(TENANT, other, other);
    }
    beside.put(TENANT, filter, filter);

    assertThat(TopicFilter.plain(filter).matches(topic)).isEqualTo(matches);
    assertThat(matched(alone, TENANT, topic).contains(filter)).isEqualTo(matches);
    assertThat(matched(beside, TENANT, topic).contains(filter)).isEqualTo(matches);
  }

  @Test
  void keepsTenantsSeparate() {
    var index = new FilterIndex<String>();
    index.put("one", "a/#", "first");
    index.put("two", "a/#", "second");
    index.put("two", "+/b", "third");

    assertThat(matched(index, "one", "a/b")).containsExactly("first");
    assertThat(matched(index, "two", "a/b")).containsExactlyInAnyOrder("second", "third");
    assertThat(matched(index, "three", "a/b")).isEmpty();
    assertThat(index.get("one", "+/b")).isNull();

    index.remove("one", "a/#");
    assertThat(matched(index, "one", "a/b")).isEmpty();
    assertThat(index.size()).isEqualTo(2);
  }

  @Test
  void readsTheTopicAtItsOffsetInTheArray() {
    var index = new FilterIndex<String>();
    index.put(TENANT, "a/b", "exact");
    index.put(TENANT, "a/+", "plus");
    index.put(TENANT, "x/a/b", "other");
    byte[] body = "x/a/b/payload".getBytes(StandardCharsets.UTF_8);
    var found = new ArrayList<String>();

    index.match(TENANT, body, 2, 3, found::add);

    assertThat(found).containsExactlyInAnyOrder("exact", "plus");
  }

  @Test
  void refusesAFilterOfTooManyLevels() {
    var index = new FilterIndex<String>();
    String deepest = "+/".repeat(FilterIndex.LEVELS_MAX - 1) + "#";
    String beside = "+/".repeat(FilterIndex.LEVELS_MAX - 1) + "x";

    index.put(TENANT, deepest, "deepest");
    index.put(TENANT, beside, "beside");

    String topic = "a/".repeat(FilterIndex.LEVELS_MAX - 1) + "x";
    assertThat(matched(index, TENANT, topic)).containsExactlyInAnyOrder("deepest", "beside");
    assertThat(matched(index, TENANT, topic + "/y".repeat(600))).containsExactly("deepest");
    assertThatThrownBy(() -> index.put(TENANT, "a/" + deepest, "too deep"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("255 levels");
    assertThat(index.get(TENANT, "a/" + deepest)).isNull();
    assertThat(index.remove(TENANT, "a/".repeat(1000))).isNull();
    assertThat(index.remove(TENANT, deepest)).isEqualTo("deepest");
    assertThat(index.remove(TENANT, beside)).isEqualTo("beside");
    assertThat(index.size()).isZero();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void agreesWithTheDefinitionUnderChurn(long seed) {
    runAgainstModel(seed, new FilterIndex<>(), 3_000, 4);
  }

  /** With these keys, the hash hardly depends on levels and their order until other keys are chosen. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void agreesWithTheDefinitionWhenHashesCollide(long seed) {
    var random = new Random(seed);
    var collisions = new int[1];
    LongSupplier keys =
        () -> collisions[0]++ < 8 ? 1L + random.nextInt(2) : random.nextLong() | 1 | Long.MIN_VALUE;

    runAgainstModel(seed, new FilterIndex<>(keys), 1_000, 3);

    assertThat(collisions[0]).as("keys drawn, seed %d", seed).isGreaterThan(2);
  }

  private static void runAgainstModel(long seed, FilterIndex<String> index, int steps, int letters) {
    var random = new Random(seed);
    var model = new HashMap<String, String>();
    for (int step = 0; step < steps; step++) {
      String filter = Topics.filter(random, letters);
      // Long phases of growing and of shrinking, so that the table is copied in both directions.
      boolean add = random.nextInt(10) < (step / 500 % 2 == 0 ? 8 : 2);
      String value = filter + "@" + step;
      String before = model.get(filter);
      if (add) {
        assertThat(index.put(TENANT, filter, value)).as("seed %d, step %d", seed, step).isEqualTo(before);
        model.put(filter, value);
      } else {
        assertThat(index.remove(TENANT, filter)).as("seed %d, step %d", seed, step).isEqualTo(before);
        model.remove(filter);
      }
      assertThat(index.get(TENANT, filter)).as("seed %d, step %d", seed, step).isEqualTo(add ? value : null);
      assertThat(index.size()).as("seed %d, step %d", seed, step).isEqualTo(model.size());
      if (step % 20 == 0) assertSame(seed, index, model, Topics.topic(random, letters));
    }
    for (int i = 0; i < 50; i++) assertSame(seed, index, model, Topics.topic(random, letters));
    for (String filter : List.copyOf(model.keySet())) assertThat(index.remove(TENANT, filter)).isNotNull();
    assertThat(index.size()).isZero();
    assertThat(matched(index, TENANT, "a/b")).isEmpty();
  }

  private static void assertSame(long seed, FilterIndex<String> index, Map<String, String> model, String topic) {
    var expected = new ArrayList<String>();
    model.forEach(
        (filter, value) -> {
          if (TopicFilter.plain(filter).matches(topic)) expected.add(value);
        });
    assertThat(matched(index, TENANT, topic))
        .as("topic '%s', seed %d", topic, seed)
        .containsExactlyInAnyOrderElementsOf(expected);
  }

  @Test
  void growsAndShrinksWithItsFilters() {
    var index = new FilterIndex<Integer>();
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < 20_000; i++) assertThat(index.put(TENANT, filterOf(i), i)).isNull();
      for (int i = 0; i < 20_000; i++) assertThat(index.get(TENANT, filterOf(i))).isEqualTo(i);
      assertThat(matched(index, TENANT, "device/7/state")).containsExactly(7);
      assertThat(matched(index, TENANT, "device/9/x")).containsExactly(9);
      for (int i = 0; i < 20_000; i++) {
        if (i % 1000 != round) assertThat(index.remove(TENANT, filterOf(i))).isEqualTo(i);
      }
      for (int i = round; i < 20_000; i += 1000) assertThat(index.remove(TENANT, filterOf(i))).isEqualTo(i);
      assertThat(index.size()).isZero();
    }
  }

  private static String filterOf(int i) {
    return i % 3 == 0 ? "device/" + i + "/#" : i % 3 == 1 ? "device/" + i + "/state" : "bench/+/" + i + "/sub/+";
  }

  static <V> List<V> matched(FilterIndex<V> index, String tenant, String topic) {
    byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
    var found = new ArrayList<V>();
    index.match(tenant, bytes, 0, bytes.length, found::add);
    return found;
  }
}
