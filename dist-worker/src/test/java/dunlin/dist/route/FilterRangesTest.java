package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The ranges in which filters may match a topic, checked against all possible filters of a few short levels. */
public class FilterRangesTest {
  private static final ShardId SHARD = ShardId.inbox(1);
  private static final String[] LEVELS = {"", "a", "b", "aa", "$a", "!", "z"};

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 30) : LongStream.of(seed);
  }

  /** All filters of up to three levels, shared ones among them. */
  private static List<TopicFilter> allFilters() {
    var all = new ArrayList<TopicFilter>();
    addFilters("", 3, all);
    return all;
  }

  private static void addFilters(String prefix, int levelsLeft, List<TopicFilter> all) {
    add(prefix + "#", all);
    for (int i = -1; i < LEVELS.length; i++) {
      String filter = prefix + (i < 0 ? "+" : LEVELS[i]);
      add(filter, all);
      if (levelsLeft > 1) addFilters(filter + "/", levelsLeft - 1, all);
    }
  }

  private static void add(String text, List<TopicFilter> all) {
    if (text.isEmpty()) return;
    all.add(TopicFilter.plain(text));
    if (text.length() % 3 == 0) all.add(new TopicFilter(text, "g", text.length() % 2 == 0));
  }

  /** Matches as the specification defines it, level by level. */
  private static boolean matches(String filter, String topic) {
    String[] wanted = filter.split("/", -1);
    String[] levels = topic.split("/", -1);
    if (topic.startsWith("$") && (wanted[0].equals("+") || wanted[0].equals("#"))) return false;
    for (int i = 0; i < wanted.length; i++) {
      if (wanted[i].equals("#")) return levels.length >= i;
      if (i >= levels.length || (!wanted[i].equals("+") && !wanted[i].equals(levels[i]))) return false;
    }
    return wanted.length == levels.length;
  }

  private static byte[] key(String tenant, TopicFilter filter) {
    return RouteRows.key(tenant, filter, SHARD);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void findsExactlyTheRangesThatMayHoldAMatchingFilter(long seed) {
    var random = new Random(seed);
    var filters = allFilters();
    var cuts = new TreeSet<byte[]>(Arrays::compareUnsigned);
    for (int i = random.nextInt(12); i >= 0; i--) {
      byte[] at = key(random.nextInt(8) == 0 ? "other" : "t", filters.get(random.nextInt(filters.size())));
      // Between two filters, or anywhere inside of their common prefix.
      int length = random.nextBoolean() ? RouteRows.together(at) : 3 + random.nextInt(RouteRows.together(at) - 3);
      cuts.add(Arrays.copyOf(at, length));
    }
    var ranges = new FilterRanges(List.copyOf(cuts));
    var search = ranges.new Search();

    for (TopicFilter each : filters) {
      String topic = each.filter().replace('+', 'q').replace('#', 'a');
      byte[] name = (topic + "payload").getBytes(StandardCharsets.UTF_8);
      boolean[] found = search.in("t", name, topic.length());

      var wanted = new boolean[ranges.count()];
      for (String filter : matching(topic)) wanted[ranges.of(key("t", TopicFilter.plain(filter)))] = true;
      assertThat(found).as("%s, cut at %s", topic, cuts.stream().map(cut -> new String(cut, StandardCharsets.UTF_8)).toList()).isEqualTo(wanted);
      for (TopicFilter filter : filters) {
        if (matches(filter.filter(), topic)) assertThat(found[ranges.of(key("t", filter))]).as("%s in %s", topic, filter.filter()).isTrue();
      }
    }
  }

  /** Every filter that matches a topic. */
  private static List<String> matching(String topic) {
    var all = new ArrayList<String>();
    String[] levels = topic.split("/", -1);
    var before = List.of("");
    for (int i = 0; i < levels.length; i++) {
      boolean literal = i == 0 && topic.startsWith("$");
      var next = new ArrayList<String>();
      for (String prefix : before) {
        next.add(prefix + levels[i]);
        if (literal) continue;
        next.add(prefix + "+");
        all.add(prefix + "#");
      }
      if (i == levels.length - 1) {
        for (String whole : next) if (!whole.isEmpty()) all.add(whole);
        for (String whole : next) all.add(whole + "/#");
      }
      before = next.stream().map(prefix -> prefix + "/").toList();
    }
    return all;
  }

  @ParameterizedTest
  @CsvSource({
    // cuts, topic, ranges
    "b c d, c/x, 0 2",
    "b c d, x/y, 0 3",
    "b c d, $SYS/x, 0",
    "a/b a/c a/d, a/b/x, 0 1",
    "a/b a/c a/d, a, 0",
    "a/b a/c a/d, a/cc, 0 2",
    "a/b/c a/b/d, a/b, 0",
    "a/b/c a/b/d, a/b/z, 0 2",
    "a, a/b/c, 0 1",
  })
  void aTopicVisitsTheFewestRanges(String cuts, String topic, String wanted) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    var keys = Arrays.stream(cuts.split(" ")).map(cut -> RouteRows.prefix("t", cut.getBytes(StandardCharsets.UTF_8), cut.length())).toList();

    boolean[] found = new FilterRanges(keys).new Search().in("t", name, name.length);

    var numbers = new ArrayList<String>();
    for (int i = 0; i < found.length; i++) if (found[i]) numbers.add(Integer.toString(i));
    assertThat(numbers).containsExactly(wanted.split(" "));
  }

  @Test
  void oneRangeHasAll() {
    var ranges = new FilterRanges(List.of());

    assertThat(ranges.new Search().in("t", new byte[] {'a'}, 1)).containsExactly(true);
    assertThat(ranges.of(key("t", TopicFilter.plain("#")))).isZero();
  }

  @Test
  void cutsAscend() {
    var cut = new byte[] {1};
    assertThatThrownBy(() -> new FilterRanges(List.of(cut, cut))).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theRoutesOfAFilterStayTogether() {
    byte[] one = RouteRows.key("t", TopicFilter.plain("a/b"), ShardId.inbox(1));
    byte[] other = RouteRows.key("t", new TopicFilter("a/b", "g", true), ShardId.frontend("n"));
    byte[] longer = RouteRows.key("t", TopicFilter.plain("a/bb"), ShardId.inbox(1));

    assertThat(Arrays.copyOf(one, RouteRows.together(one))).isEqualTo(Arrays.copyOf(other, RouteRows.together(other)));
    assertThat(Arrays.copyOf(one, RouteRows.together(one))).isNotEqualTo(Arrays.copyOf(longer, RouteRows.together(longer)));
  }

  /** An operator may name any bytes as a cut. */
  @Test
  void bytesThatAreNoKeyStayTogetherAsAWhole() {
    for (byte[] bytes : new byte[][] {{}, {0}, {0, 1}, {0, 7, 't'}, {-1, -1, 't', 0}}) assertThat(RouteRows.together(bytes)).isEqualTo(bytes.length);
  }
}
