package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TopicFilterTest {
  static LongStream seeds() {
    return LongStream.range(0, 200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "/", "//", "a/b", "+", "#", "a/+", "+/+", "a/+/#", "$SYS/#", "$sharex/a", "a b", "ä/ö"})
  void readsPlainFilters(String text) {
    var filter = TopicFilter.parse(text).orElseThrow();

    assertThat(filter).isEqualTo(TopicFilter.plain(text));
    assertThat(filter.shared()).isFalse();
    assertThat(filter.text()).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "$share/g/a/b, g, a/b, false",
    "$share/g//, g, /, false",
    "$oshare/g/+/#, g, +/#, true",
    "$share/$share/x, $share, x, false",
  })
  void readsSharedFilters(String text, String group, String filter, boolean ordered) {
    var parsed = TopicFilter.parse(text).orElseThrow();

    assertThat(parsed).isEqualTo(new TopicFilter(filter, group, ordered));
    assertThat(parsed.shared()).isTrue();
    assertThat(parsed.text()).isEqualTo(text);
  }

  @ParameterizedTest
  @Tag("pitfall-59")
  @Tag("MQTT-4.7.1-1")
  @Tag("MQTT-4.7.1-2")
  @Tag("MQTT-4.7.3-1")
  @Tag("MQTT-4.7.3-2")
  @Tag("MQTT3-4.7.1-2")
  @Tag("MQTT3-4.7.1-3")
  @Tag("MQTT3-4.7.3-1")
  @Tag("MQTT3-4.7.3-2")
  @ValueSource(strings = {"", "sport+", "+sport", "a/#/b", "a#", "#a", "#/", "a/b#", "++", "a/+b", "a\0b"})
  void refusesInvalidFilters(String text) {
    assertThat(TopicFilter.parse(text)).isEmpty();
    assertThatThrownBy(() -> TopicFilter.plain(text)).isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @Tag("pitfall-69")
  @Tag("MQTT-4.8.2-1")
  @Tag("MQTT-4.8.2-2")
  @ValueSource(
      strings = {
        "$share", "$share/", "$share/g", "$share/g/", "$share//f", "$share/a+b/f", "$share/#/f", "$share/g/a#",
        "$oshare", "$oshare/g", "$oshare//f",
      })
  void refusesInvalidSharedFilters(String text) {
    assertThat(TopicFilter.parse(text)).isEmpty();
  }

  @Test
  void refusesAnOrderedFilterWithoutAGroup() {
    assertThatThrownBy(() -> new TopicFilter("a", "", true)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new TopicFilter("a", "g/h", false)).isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @Tag("pitfall-60")
  @Tag("MQTT-4.7.2-1")
  @CsvSource({
    "'#', $SYS/a, false", "+/a, $SYS/a, false", "$SYS/#, $SYS/a, true", "$SYS/+, $SYS/a, true", "a/+, a/$b, true",
  })
  void leadingWildcardsDoNotMatchDollarTopics(String filter, String topic, boolean matches) {
    assertThat(TopicFilter.plain(filter).matches(topic)).isEqualTo(matches);
  }

  @ParameterizedTest
  @Tag("pitfall-59")
  @CsvSource({
    "sport/#, sport, true",
    "sport/#, sport/, true",
    "sport/#, sports, false",
    "sport/+, sport, false",
    "sport/+, sport/, true",
    "+/+, /finance, true",
    "/+, /finance, true",
    "+, /finance, false",
    "a/+/c, a//c, true",
    "a/b, a/b/, false",
    "+/#, a, true",
    "a/+/#, a, false",
  })
  void emptyLevelsAndTheParentLevelCount(String filter, String topic, boolean matches) {
    assertThat(TopicFilter.plain(filter).matches(topic)).isEqualTo(matches);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void plusStandsForExactlyOneLevelAndHashForTheRest(long seed) {
    String topic = Topics.topic(new Random(seed), 4);

    assertThat(TopicFilter.plain(topic).matches(topic)).as("seed %d", seed).isTrue();
    assertThat(TopicFilter.plain("+/" + topic).matches("any/" + topic)).as("seed %d", seed).isTrue();
    assertThat(TopicFilter.plain("+/" + topic).matches(topic)).as("seed %d", seed).isFalse();
    assertThat(TopicFilter.plain(topic + "/#").matches(topic + "/x/y")).as("seed %d", seed).isTrue();
    assertThat(TopicFilter.plain(topic + "/#").matches(topic)).as("seed %d", seed).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"a, 1", "/, 2", "a/+/#, 3", "a//b/, 4", "$share/g/a/b, 2", "$oshare/g/#, 1"})
  void emptyLevelsCountAndTheGroupDoesNot(String filter, int levels) {
    assertThat(TopicFilter.parse(filter).orElseThrow().levels()).isEqualTo(levels);
  }

  /** Without an order, this takes minutes: 32,768 filters with the same hash code, each compared with all others. */
  @Test
  void filtersOfOneHashCodeAreFoundFast() {
    List<TopicFilter> filters =
        IntStream.range(0, 1 << 15).mapToObj(i -> TopicFilter.plain(ofOneHashCode(i))).toList();
    assertThat(filters.stream().map(TopicFilter::hashCode).distinct()).hasSize(1);

    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          var table = new HashSet<>(filters);
          assertThat(table).hasSameSizeAs(filters);
          assertThat(filters.stream().allMatch(table::contains)).isTrue();
        });
  }

  /** "Aa" and "BB" have the same hash code, and so has every sequence of them. */
  private static String ofOneHashCode(int number) {
    var text = new StringBuilder();
    for (int bit = 0; bit < 15; bit++) text.append((number >>> bit & 1) == 0 ? "Aa" : "BB");
    return text.toString();
  }

  @Test
  void orderDistinguishesWhatEqualsDoes() {
    List<TopicFilter> different =
        List.of(
            TopicFilter.plain("a"),
            TopicFilter.plain("b"),
            new TopicFilter("a", "g", false),
            new TopicFilter("a", "g", true),
            new TopicFilter("a", "h", false));

    assertThat(new TreeSet<>(different)).hasSameSizeAs(different);
    assertThat(TopicFilter.plain("a")).isEqualByComparingTo(TopicFilter.parse("a").orElseThrow());
  }
}
