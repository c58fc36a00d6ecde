package dunlin.runtime;

/** Text that came from outside, made safe to stand in a log line or a message. */
public final class LogText {
  private static final int LONGEST = 128;

  private LogText() {}

  /** The text with control and format characters as {@code \\uXXXX}, cut after 128 characters. */
  public static String escaped(String text) {
    StringBuilder safe = new StringBuilder(Math.min(text.length(), LONGEST) + 8);
    for (int i = 0; i < text.length() && i < LONGEST; i++) {
      char c = text.charAt(i);
      if (isPlain(c)) safe.append(c);
      else safe.append("\\u%04x".formatted((int) c));
    }
    if (text.length() > LONGEST) safe.append("...");
    return safe.toString();
  }

  /**
   * The text in quotes that it cannot end by itself, escaped as above. Whatever a client or a proxy can choose, its address too, stands
   * in a log line like this.
   */
  public static String quoted(String text) {
    return '"' + escaped(text.replace("\\", "\\\\").replace("\"", "\\\"")) + '"';
  }

  /** Not what starts a new line, moves a terminal's cursor, turns the direction of text or has no meaning alone. */
  private static boolean isPlain(char c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE,
          Character.UNASSIGNED ->
          false;
      default -> true;
    };
  }
}
