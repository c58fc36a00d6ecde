package dunlin.transport.trace;

import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** One topic filter, matched with topic names as they are in messages, without a text being made of them. */
final class TopicMatch {
  /** The levels of the filter without a {@code #} at the end. */
  private final byte[][] levels;

  /** Which of them are {@code +}. */
  private final boolean[] any;

  private final boolean andBelow;
  private final boolean beginsWithWildcard;

  /** What stands before the first wildcard and behind the last one; most topics that do not match differ in these. */
  private final byte[] beginning;

  private final byte[] end;

  TopicMatch(TopicFilter filter) {
    String[] texts = filter.filter().split("/", -1);
    andBelow = texts[texts.length - 1].equals("#");
    levels = new byte[andBelow ? texts.length - 1 : texts.length][];
    any = new boolean[levels.length];
    for (int i = 0; i < levels.length; i++) {
      levels[i] = texts[i].getBytes(StandardCharsets.UTF_8);
      any[i] = texts[i].equals("+");
    }
    beginsWithWildcard = levels.length == 0 || any[0];
    List<String> literal = Arrays.asList(texts).subList(0, levels.length);
    int first = literal.contains("+") ? literal.indexOf("+") : levels.length;
    beginning = bytes(literal.subList(0, first));
    end = andBelow ? new byte[0] : bytes(literal.subList(literal.lastIndexOf("+") + 1, levels.length));
  }

  private static byte[] bytes(List<String> levels) {
    return String.join("/", levels).getBytes(StandardCharsets.UTF_8);
  }

  /** Whether it matches the topic name in the first bytes of a body; the same as {@link TopicFilter#matches}. */
  boolean matches(byte[] body, int length) {
    if (length < beginning.length || !Arrays.equals(beginning, 0, beginning.length, body, 0, beginning.length)) return false;
    if (length < end.length || !Arrays.equals(end, 0, end.length, body, length - end.length, length)) return false;
    if (beginsWithWildcard && length > 0 && body[0] == '$') return false;
    int at = 0;
    for (int i = 0; i < levels.length; i++) {
      if (at > length) return false; // the topic has fewer levels
      if (any[i]) {
        while (at < length && body[at] != '/') at++;
      } else {
        byte[] level = levels[i];
        int end = at + level.length;
        if (end > length || (end < length && body[end] != '/') || !Arrays.equals(level, 0, level.length, body, at, end)) return false;
        at = end;
      }
      at++; // behind the slash, or behind the end and one more
    }
    return andBelow || at == length + 1;
  }
}
