package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.TopicFilter;
import dunlin.retain.index.SizeClass;
import dunlin.retain.index.TopicIndex;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class FilterSeekTest {
  private static final String TENANT = "tenant";

  static LongStream seeds() {
    return LongStream.rangeClosed(1, 30);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  @Tag("MQTT-4.7.2-1")
  @Tag("MQTT-4.7.3-4")
  @Tag("MQTT3-4.7.2-1")
  @Tag("MQTT3-4.7.3-4")
  void findsExactlyTheTopicsThatTheFilterMatches(long seed) {
    Topics random = new Topics(seed);
    TreeSet<String> topics = new TreeSet<>();
    int size = 1 + random.random().nextInt(400);
    for (int i = 0; i < size; i++) topics.add(random.topic());
    TopicIndex index = index(topics);

    for (int i = 0; i < 200; i++) {
      String filter = random.filter();
      List<String> expected = topics.stream().filter(t -> TopicFilter.plain(filter).matches(t)).toList();
      assertThat(find(index, filter).topics)
          .as("seed %d, filter %s", seed, filter)
          .doesNotHaveDuplicates()
          .containsExactlyInAnyOrderElementsOf(expected);
    }
  }

  /** A topic tree between those of other tenants with similar names. */
  private static TopicIndex index(Iterable<String> topics) {
    TopicIndex index = new TopicIndex();
    for (String topic : topics) {
      index.put(TopicKeys.of(Messages.message(TENANT, topic, "1")), SizeClass.of(1));
      index.put(TopicKeys.of(Messages.message("tenan", topic, "1")), SizeClass.of(1));
      index.put(TopicKeys.of(Messages.message("tenant2", topic, "1")), SizeClass.of(1));
      index.put(TopicKeys.of(Messages.message("tenanu", topic, "1")), SizeClass.of(1));
    }
    return index;
  }

  private record Found(List<String> topics, int visits) {}

  private static Found find(TopicIndex index, String filter) {
    FilterSeek seek = new FilterSeek(TENANT, filter);
    TopicIndex.Walk walk = index.walk();
    int prefix = TopicKeys.prefix(TENANT).length;
    List<String> topics = new ArrayList<>();
    int visits = 0;
    while (!seek.done() && walk.seek(seek.target(), seek.targetLength())) {
      visits++;
      if (!seek.visit(walk.key(), walk.length())) continue;
      topics.add(new String(walk.key(), prefix, walk.length() - prefix, StandardCharsets.UTF_8).replace('\0', '/'));
    }
    return new Found(topics, visits);
  }

  @Test
  void anExactFilterVisitsOneKey() {
    TopicIndex index = index(grid(100, 100));

    assertThat(find(index, "b50/y50")).isEqualTo(new Found(List.of("b50/y50"), 1));
    assertThat(find(index, "b50/y500").topics).isEmpty();
    assertThat(find(index, "b50/y500").visits).isEqualTo(1);
  }

  @Test
  void aBranchVisitsItsOwnKeysAndOneMore() {
    Found found = find(index(grid(100, 100)), "b50/#");

    assertThat(found.topics).hasSize(100);
    assertThat(found.visits).isLessThanOrEqualTo(101);
  }

  @Test
  void plusSkipsTheTopicsOfEachBranchButOne() {
    TopicIndex index = index(grid(1000, 50));

    Found present = find(index, "+/y25");
    assertThat(present.topics).hasSize(1000);
    assertThat(present.visits).as("visits for 1,000 matches in 1,000 branches of 50").isLessThanOrEqualTo(2001);

    Found absent = find(index, "+/nowhere");
    assertThat(absent.topics).isEmpty();
    assertThat(absent.visits).as("visits for no match in 1,000 branches of 50").isLessThanOrEqualTo(2001);
  }

  @Test
  void plusInTheMiddleStaysInItsBranch() {
    List<String> topics = new ArrayList<>();
    for (String topic : grid(300, 100)) topics.add(topic + "/state");
    Found found = find(index(topics), "b7/+/state");

    assertThat(found.topics).hasSize(100);
    assertThat(found.visits).isLessThanOrEqualTo(201);
  }

  @Test
  void topicsBelowAMatchAreSkipped() {
    List<String> topics = new ArrayList<>(List.of("a", "b"));
    for (int i = 0; i < 1000; i++) topics.add("a/" + i);

    assertThat(find(index(topics), "+")).isEqualTo(new Found(List.of("a", "b"), 3));
  }

  @Test
  @Tag("MQTT-4.7.2-1")
  @Tag("MQTT3-4.7.2-1")
  void topicsThatBeginWithADollarAreSkippedAtOnce() {
    List<String> topics = new ArrayList<>(List.of("!", "a"));
    for (int i = 0; i < 1000; i++) topics.add("$SYS/" + i);

    assertThat(find(index(topics), "#").topics).containsExactly("!", "a");
    assertThat(find(index(topics), "#").visits).isLessThanOrEqualTo(4);
    assertThat(find(index(topics), "+/7").topics).isEmpty();
    assertThat(find(index(topics), "$SYS/+").topics).hasSize(1000);
  }

  private static List<String> grid(int branches, int topicsOfEach) {
    List<String> topics = new ArrayList<>();
    for (int b = 0; b < branches; b++) for (int y = 0; y < topicsOfEach; y++) topics.add("b" + b + "/y" + y);
    return topics;
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a/#/b", "a+", "a#", "a/\0", "#/"})
  void anInvalidTopicFilterIsRefused(String filter) {
    assertThatThrownBy(() -> new FilterSeek(TENANT, filter)).isInstanceOf(IllegalArgumentException.class);
  }
}
