package dunlin.transport.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopicMatchTest {
  private static final String[] LEVELS = {"", "a", "b", "ab", "$SYS", "ü"};

  private static boolean matches(String filter, String topic) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    byte[] body = (topic + "/payload").getBytes(StandardCharsets.UTF_8); // what stands behind the topic does not matter
    return new TopicMatch(TopicFilter.plain(filter)).matches(body, name.length);
  }

  @ParameterizedTest
  @CsvSource({
    "a/#, a, true",
    "a/#, a/b/c, true",
    "a/#, ab, false",
    "a/+, a, false",
    "a/+, a/, true",
    "+/b, a/b, true",
    "a, a/payload, false",
    "a/payload, a, false",
    "#, $SYS/x, false",
    "+/x, $SYS/x, false",
    "$SYS/#, $SYS/x, true"
  })
  void matchesAsSubscriptionsDo(String filter, String topic, boolean expected) {
    assertThat(matches(filter, topic)).isEqualTo(expected);
  }

  @Test
  void saysTheSameAsTheReference() {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    Random random = new Random(seed);
    for (int i = 0; i < 100_000; i++) {
      String topic = levels(random, false);
      if (topic.isEmpty()) continue;
      String filter = levels(random, true);
      if (filter.isEmpty()) continue;

      assertThat(matches(filter, topic)).as("%s with %s, seed %d", filter, topic, seed).isEqualTo(TopicFilter.plain(filter).matches(topic));
    }
  }

  private static String levels(Random random, boolean wildcards) {
    StringBuilder text = new StringBuilder();
    int count = 1 + random.nextInt(4);
    for (int i = 0; i < count; i++) {
      if (i > 0) text.append('/');
      if (wildcards && i == count - 1 && random.nextInt(4) == 0) text.append('#');
      else if (wildcards && random.nextInt(4) == 0) text.append('+');
      else text.append(LEVELS[random.nextInt(LEVELS.length)]);
    }
    return text.toString();
  }
}
