package dunlin.model;

import java.util.Random;

/** Random topic names and filters with so few different levels that they often match. */
final class Topics {
  private Topics() {}

  static String topic(Random random, int letters) {
    return text(random, letters, false);
  }

  static String filter(Random random, int letters) {
    return text(random, letters, true);
  }

  private static String text(Random random, int letters, boolean wildcards) {
    int levels = 1 + random.nextInt(5);
    var text = new StringBuilder();
    for (int i = 0; i < levels; i++) {
      if (i > 0) text.append('/');
      int kind = random.nextInt(12);
      if (wildcards && kind < 3) {
        text.append('+');
      } else if (wildcards && kind == 3) {
        return text.append('#').toString();
      } else if (kind == 5) {
        text.append('$').append((char) ('a' + random.nextInt(letters)));
      } else if (kind == 6) {
        text.append("a level longer than a word ").append(random.nextInt(letters));
      } else if (kind != 4) { // 4 is an empty level
        text.append((char) ('a' + random.nextInt(letters)));
      }
    }
    return text.isEmpty() ? "/" : text.toString();
  }
}
