package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The ranges in which a filter is looked up, checked against all topics of a few short levels. */
class TopicRangesTest {
  private static final String TENANT = "tenant";
  private static final String[] LEVELS = {"", "a", "b", "ab", "a!", "$", "$a", "é"};

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.rangeClosed(1, 40) : LongStream.of(seed);
  }

  private static List<String> allTopics() {
    var all = new ArrayList<String>();
    for (String one : LEVELS) {
      if (!one.isEmpty()) all.add(one);
      for (String two : LEVELS) {
        all.add(one + "/" + two);
        for (String three : LEVELS) all.add(one + "/" + two + "/" + three);
      }
    }
    return all;
  }

  private static int of(TopicRanges ranges, byte[] key) {
    return ranges.of(key, key.length);
  }

  /** The ranges that a filter visits when all are empty, so that it cannot skip any by their topics. */
  private static Set<Integer> visited(TopicRanges ranges, String filter) {
    var seek = new FilterSeek(TENANT, filter);
    var visited = new HashSet<Integer>();
    while (!seek.done()) {
      int range = ranges.of(seek.target(), seek.targetLength());
      assertThat(visited.add(range)).as("range %d again for %s", range, filter).isTrue();
      seek.skipTo(ranges.end(range));
    }
    return visited;
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void everyMatchingTopicIsInAVisitedRange(long seed) {
    var random = new Topics(seed);
    var ranges = new TopicRanges(random.cuts(TENANT, 12));
    var topics = allTopics();
    for (int i = 0; i < 100; i++) topics.add(random.topic());

    for (int i = 0; i < 300; i++) {
      String filter = i % 2 == 0 ? random.filter() : shortFilter(topics.get(random.random().nextInt(topics.size())), random);
      var visited = visited(ranges, filter);
      for (String topic : topics) {
        if (!TopicFilter.plain(filter).matches(topic)) continue;
        assertThat(visited).as("seed %d: %s in %s", seed, topic, filter).contains(of(ranges, TopicKeys.of(TENANT, topic)));
      }
      assertThat(visited).as("seed %d: the interval of %s", seed, filter).isSubsetOf(interval(ranges, filter));
    }
  }

  private static String shortFilter(String topic, Topics random) {
    String[] levels = topic.split("/", -1);
    int at = random.random().nextInt(levels.length);
    if (random.random().nextBoolean()) levels[at] = "+";
    String filter = String.join("/", levels);
    return random.random().nextBoolean() ? filter : filter + "/#";
  }

  /** The ranges of all possible topics with the filter's prefix before its first wildcard. */
  private static List<Integer> interval(TopicRanges ranges, String filter) {
    var levels = new ArrayList<String>();
    boolean wildcard = false;
    for (String level : filter.split("/", -1)) {
      wildcard = level.equals("+") || level.equals("#");
      if (wildcard) break;
      levels.add(level);
    }
    byte[] first = TopicKeys.of(TENANT, String.join("/", levels));
    byte[] last = first;
    if (wildcard) {
      // Behind all possible keys: a byte that UTF-8 never uses, in the place of the separator or of the first level.
      last = Arrays.copyOf(first, first.length + 2);
      last[first.length] = levels.isEmpty() ? (byte) 0xFF : TopicKeys.SEPARATOR;
      last[first.length + 1] = (byte) 0xFF;
    }
    var all = new ArrayList<Integer>();
    for (int range = of(ranges, first); range <= of(ranges, last); range++) all.add(range);
    return all;
  }

  @Test
  void aKeyIsInTheLastRangeThatBeginsAtOrBeforeIt() {
    var ranges = new TopicRanges(List.of(new byte[] {5}, new byte[] {5, 0}, new byte[] {(byte) 0x80}));

    assertThat(ranges.count()).isEqualTo(4);
    assertThat(of(ranges, new byte[] {4, 9})).isZero();
    assertThat(of(ranges, new byte[] {5})).isEqualTo(1);
    assertThat(of(ranges, new byte[] {5, 0})).isEqualTo(2);
    assertThat(of(ranges, new byte[] {0x7F})).isEqualTo(2);
    assertThat(of(ranges, new byte[] {(byte) 0xFF})).isEqualTo(3);
    assertThat(ranges.of(new byte[] {5, 0, 7}, 1)).as("of a buffer that is longer").isEqualTo(1);
    assertThat(ranges.end(1)).containsExactly(5, 0);
    assertThat(ranges.end(3)).isNull();
  }

  @Test
  void oneRangeHasAll() {
    var ranges = new TopicRanges(List.of());

    assertThat(ranges.count()).isEqualTo(1);
    assertThat(of(ranges, new byte[] {(byte) 0xFF})).isZero();
    assertThat(ranges.end(0)).isNull();
    assertThat(visited(ranges, "#")).containsExactly(0);
  }

  @Test
  void cutsAscend() {
    var low = new byte[] {1};
    var high = new byte[] {(byte) 0x80};
    assertThatThrownBy(() -> new TopicRanges(List.of(low, low))).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new TopicRanges(List.of(high, low))).isInstanceOf(IllegalArgumentException.class);
  }
}
