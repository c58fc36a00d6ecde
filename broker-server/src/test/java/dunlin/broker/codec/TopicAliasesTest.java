package dunlin.broker.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TopicAliasesTest {
  private static Publication message(String topic) {
    return Publication.of(new Publisher("t", "c"), topic, QoS.AT_MOST_ONCE, false, 0, new byte[0]);
  }

  private static int sent(TopicAliases aliases, String topic) {
    Publication message = message(topic);
    int alias = aliases.find(message);
    if (alias > 0) aliases.assigned(message);
    return alias;
  }

  @Test
  @Tag("pitfall-42")
  void theFirstUseHasTheTopicNameAndLaterOnesOnlyTheAlias() {
    TopicAliases aliases = new TopicAliases(2);
    assertThat(sent(aliases, "sensors/1")).isEqualTo(1);
    assertThat(sent(aliases, "sensors/2")).isEqualTo(2);
    assertThat(sent(aliases, "sensors/1")).isEqualTo(-1);
    assertThat(sent(aliases, "sensors/2")).isEqualTo(-2);
  }

  @Test
  void anAliasThatWasNotSentIsNotAssigned() {
    TopicAliases aliases = new TopicAliases(1);
    assertThat(aliases.find(message("too large now"))).isEqualTo(1);
    assertThat(sent(aliases, "too large now")).isEqualTo(1);
    assertThat(aliases.find(message("another topic"))).isZero();
    assertThat(aliases.find(message("another topic"))).isEqualTo(1);
    assertThat(sent(aliases, "too large now")).as("still assigned, because the other was not sent").isEqualTo(-1);
  }

  @Test
  void aTopicThatIsTooShortHasNoAlias() {
    TopicAliases aliases = new TopicAliases(10);
    for (int i = 0; i < 3; i++) assertThat(sent(aliases, "a/b/cd")).isZero();
    assertThat(sent(aliases, "a/b/cde")).isEqualTo(1);
  }

  /** The client's table of aliases. In any order, it must find the intended topic. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 8, 10, 15, 16, 17, 100, 1_024})
  @Tag("MQTT-3.1.2-26")
  void theClientUnderstandsEveryMessage(int maximum) {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    TopicAliases aliases = new TopicAliases(maximum);
    Map<Integer, String> client = new HashMap<>();
    int saved = 0;
    for (int i = 0; i < 20_000; i++) {
      int spread = i / 5_000 % 2 == 0 ? Math.max(1, maximum / 2) : maximum * 3;
      String topic = "topic/of/" + i / 10_000 + "/" + random.nextInt(spread);
      Publication message = message(topic);
      int alias = aliases.find(message);
      assertThat(Math.abs(alias)).as("seed %d", seed).isLessThanOrEqualTo(maximum);
      if (alias < 0) {
        assertThat(client.get(-alias)).as("seed %d, message %d", seed, i).isEqualTo(topic);
        saved++;
      } else if (alias > 0 && random.nextInt(10) > 0) {
        aliases.assigned(message);
        client.put(alias, topic);
      }
    }
    assertThat(saved).as("seed %d", seed).isGreaterThan(5_000);
  }

  @Test
  void aNewSetOfFrequentTopicsGetsTheAliases() {
    TopicAliases aliases = new TopicAliases(10);
    for (int i = 0; i < 1_000; i++) sent(aliases, "former/" + i % 10);
    for (int i = 0; i < 1_000; i++) sent(aliases, "present/" + i % 5);

    for (int i = 0; i < 5; i++) assertThat(sent(aliases, "present/" + i)).isNegative();
  }

  @Test
  void aStreamOfNewTopicsTakesNoAliasFromAFrequentOne() {
    TopicAliases aliases = new TopicAliases(4);
    for (int i = 0; i < 4; i++) sent(aliases, "busy/topic/" + i);
    int given = 0;
    for (int i = 0; i < 10_000; i++) if (sent(aliases, "device/" + i) != 0) given++;

    assertThat(given).isZero();
    for (int i = 0; i < 4; i++) assertThat(sent(aliases, "busy/topic/" + i)).isNegative();
  }
}
