package dunlin.runtime;

/** Makes texts from outside safe for a log line or a message. */
public final class LogText {
  private static final int LONGEST = 128;

  private LogText() {}

  /** The text with control and format characters as {@code \\uXXXX}, truncated after 128 characters. */
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
   * The text in quotes, escaped so that it cannot end them. Log lines must use this for everything that a client or a
   * proxy can choose, including its address.
   */
  public static String quoted(String text) {
    return '"' + escaped(text.replace("\\", "\\\\").replace("\"", "\\\"")) + '"';
  }

  /** Excludes characters that begin a new line, move a terminal's cursor, change the direction of text or have no meaning by themselves. */
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
