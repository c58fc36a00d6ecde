package dunlin.retain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;

/** Topic names and filters from a seed, with few enough different levels that they match: empty ones, '$', neighbours of '/'. */
final class Topics {
  // '!' and U+0001 sort before '/' in ASCII, '0' after it; "a", "a!" and "ab" share prefixes; é and the emoji are multi-byte.
  private static final List<String> LEVELS =
      List.of("", "a", "b", "a!", "ab", "a\u0001", "$", "$SYS", "0", "é", "\uD83D\uDE00", "long-level-name", "z");

  private final Random random;

  Topics(long seed) {
    this.random = new Random(seed);
  }

  Random random() {
    return random;
  }

  String topic() {
    while (true) {
      String topic = String.join("/", levels(1 + random.nextInt(5)));
      if (!topic.isEmpty()) return topic;
    }
  }

  String filter() {
    while (true) {
      List<String> levels = levels(1 + random.nextInt(5));
      levels.replaceAll(level -> random.nextInt(3) == 0 ? "+" : level);
      if (random.nextInt(3) == 0) levels.set(levels.size() - 1, "#");
      String filter = String.join("/", levels);
      if (!filter.isEmpty()) return filter;
    }
  }

  /** Cuts for at most this many ranges: at any byte of a tenant's keys, after or inside of its prefix. */
  List<byte[]> cuts(String tenant, int rangesMax) {
    var cuts = new TreeSet<byte[]>(Arrays::compareUnsigned);
    for (int i = 1; i < rangesMax; i++) {
      byte[] key = TopicKeys.of(random.nextInt(8) == 0 ? tenant + "2" : tenant, topic());
      int length = random.nextInt(3) > 0 ? key.length : 1 + random.nextInt(key.length);
      cuts.add(Arrays.copyOf(key, length));
    }
    return List.copyOf(cuts);
  }

  private List<String> levels(int count) {
    List<String> levels = new ArrayList<>();
    for (int i = 0; i < count; i++) levels.add(LEVELS.get(random.nextInt(LEVELS.size())));
    return levels;
  }
}
