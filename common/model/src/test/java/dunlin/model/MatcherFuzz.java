package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.LongSupplier;

/**
 * Fuzz target: topic filters and topic names, compared with a literal implementation of MQTT 5, sections 4.7 and 4.8.2.
 *
 * <p>An input is a sequence of steps: a filter is subscribed, a filter is unsubscribed, a topic name is published. Checked are:
 * which filters are valid, and that {@link TopicFilter#matches} and {@link FilterIndex} find exactly the filters of the
 * specification.
 */
public final class MatcherFuzz {
  /** The pieces of texts, chosen by the bytes of the input. */
  private static final String[] PIECES = {
    "a", "b", "/", "+", "#", "$", "$SYS", "$share/", "$oshare/", "/#", "/+", "ü", "\uD83D\uDE00", "\0", "a level of more bytes", "/"
  };

  private static final int STEPS_MAX = 200;

  private MatcherFuzz() {}

  /** Called by Jazzer's driver, by its name. */
  public static void fuzzerTestOneInput(byte[] input) {
    if (input.length < 2) return;
    boolean collisions = (input[0] & 1) == 1;
    var index = collisions ? new FilterIndex<String>(badKeys(input[0])) : new FilterIndex<String>();
    Map<String, String> model = new HashMap<>();
    int at = 1;
    for (int step = 0; step < STEPS_MAX && at < input.length; step++) {
      int what = input[at++] & 0xFF;
      int length = what >> 2 & 0x1F;
      var text = new StringBuilder();
      for (int i = 0; i < length && at < input.length; i++) text.append(PIECES[input[at++] & 0x0F]);
      switch (what & 3) {
        case 0 -> publish(index, model, text.toString(), collisions);
        case 1 -> unsubscribe(index, model, text.toString());
        default -> subscribe(index, model, text.toString(), step);
      }
      assertThat(index.size()).isEqualTo(model.size());
    }
    for (String filter : List.copyOf(model.keySet())) {
      publish(index, model, filter.replace('+', 'a').replace("#", "b/c"), collisions);
    }
    for (String filter : List.copyOf(model.keySet())) unsubscribe(index, model, filter);
    assertThat(index.size()).isZero();
  }

  /** Keys with which many paths have the same hash, until others are chosen. */
  private static LongSupplier badKeys(int seed) {
    var random = new Random(seed);
    var drawn = new int[1];
    return () -> drawn[0]++ < 8 ? 1L + random.nextInt(2) : random.nextLong() | 1 | Long.MIN_VALUE;
  }

  private static void subscribe(FilterIndex<String> index, Map<String, String> model, String text, int step) {
    Optional<TopicFilter> parsed = TopicFilter.parse(text);
    assertThat(parsed.isPresent()).as("valid: '%s'", text).isEqualTo(isValid(text));
    if (parsed.isEmpty()) return;
    TopicFilter filter = parsed.get();
    assertThat(filter.text()).isEqualTo(text);
    assertThat(filter.shared()).isEqualTo(text.startsWith("$share/") || text.startsWith("$oshare/"));
    if (levels(filter.filter()).length > FilterIndex.LEVELS_MAX) return;
    String value = filter.filter() + "@" + step;
    assertThat(index.put("t", filter.filter(), value)).isEqualTo(model.put(filter.filter(), value));
    assertThat(index.get("t", filter.filter())).isEqualTo(value);
  }

  private static void unsubscribe(FilterIndex<String> index, Map<String, String> model, String filter) {
    assertThat(index.remove("t", filter)).isEqualTo(model.remove(filter));
    assertThat(index.get("t", filter)).isNull();
  }

  private static void publish(FilterIndex<String> index, Map<String, String> model, String topic, boolean collisions) {
    if (topic.isEmpty() || topic.matches("(?s).*[+#\0].*")) return; // not a topic name: the decoder refuses these
    List<String> expected = new ArrayList<>();
    model.forEach(
        (filter, value) -> {
          boolean matches = matches(filter, topic);
          assertThat(TopicFilter.plain(filter).matches(topic)).as("'%s' and '%s'", filter, topic).isEqualTo(matches);
          if (matches) expected.add(value);
        });
    byte[] bytes = ("xx" + topic + "yy").getBytes(StandardCharsets.UTF_8);
    List<String> found = new ArrayList<>();
    index.match("t", bytes, 2, bytes.length - 4, found::add);
    // A path of the topic that no filter has may then have the hash of another path: see FilterIndex.
    if (collisions) found = new ArrayList<>(new LinkedHashSet<>(found));
    assertThat(found).as("topic '%s'", topic).containsExactlyInAnyOrderElementsOf(expected);
  }

  // --------------------------------------------------------------------- the specification, implemented literally

  private static String[] levels(String text) {
    return text.split("/", -1);
  }

  private static boolean isValid(String text) {
    String[] levels = levels(text);
    if (!levels[0].equals("$share") && !levels[0].equals("$oshare")) return isValidFilter(levels, 0);
    return levels.length > 2 && !levels[1].isEmpty() && !levels[1].matches("(?s).*[+#\0].*") && isValidFilter(levels, 2);
  }

  private static boolean isValidFilter(String[] levels, int from) {
    if (levels.length - from == 1 && levels[from].isEmpty()) return false;
    for (int i = from; i < levels.length; i++) {
      String level = levels[i];
      boolean alone = level.equals("+") || (level.equals("#") && i == levels.length - 1);
      if (!alone && (level.contains("+") || level.contains("#") || level.contains("\0"))) return false;
    }
    return true;
  }

  private static boolean matches(String filter, String topic) {
    String[] filterLevels = levels(filter);
    boolean wildcardFirst = filterLevels[0].equals("+") || filterLevels[0].equals("#");
    return !(wildcardFirst && topic.startsWith("$")) && matches(filterLevels, 0, levels(topic), 0);
  }

  private static boolean matches(String[] filter, int f, String[] topic, int t) {
    if (f == filter.length) return t == topic.length;
    if (filter[f].equals("#")) return true;
    if (t == topic.length) return false;
    return (filter[f].equals("+") || filter[f].equals(topic[t])) && matches(filter, f + 1, topic, t + 1);
  }
}
