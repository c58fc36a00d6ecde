package dunlin.broker.access;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The topics that a rule is about: a topic filter in which a level may be a placeholder, which stands for one literal
 * level. {@code %c} is the client identifier, {@code %u} the user name, {@code %tenant} the tenant, <code>%{name}</code> an
 * attribute. {@code %%} is the character itself.
 *
 * @param levels at least one
 */
public record TopicPattern(String text, List<Level> levels) {
  static final int LEVELS_MAX = 128;
  private static final String ATTRIBUTES = "cert.cn, cert.o, cert.ou, cert.dns, cert.uri, cert.email, cert.serial or token.CLAIM";
  private static final Pattern OF_TOKEN = Pattern.compile("%\\{token\\.[A-Za-z0-9_-]{1,64}}");

  /** One level of a pattern. */
  sealed interface Level {
    record Literal(String text) implements Level {}

    record Placeholder(String name) implements Level {}

    /** {@code +}: any one level. */
    record One() implements Level {}

    /** {@code #}: any number of further levels; only at the end. */
    record Rest() implements Level {}
  }

  /** A pattern is invalid. */
  static final class InvalidException extends RuntimeException {
    /** Where in the pattern, from 0. */
    final int at;

    InvalidException(int at, String message) {
      super(message);
      this.at = at;
    }
  }

  public TopicPattern {
    levels = List.copyOf(levels);
  }

  /** @throws IllegalArgumentException if the text is not a pattern */
  public static TopicPattern of(String text) {
    try {
      return parse(text);
    } catch (InvalidException e) {
      throw new IllegalArgumentException("topic pattern \"%s\": %s".formatted(text, e.getMessage()), e);
    }
  }

  /** @throws InvalidException if the text is not a pattern */
  static TopicPattern parse(String text) {
    if (text.isEmpty()) throw new InvalidException(0, "a topic pattern is not empty");
    List<Level> levels = new ArrayList<>();
    int from = 0;
    while (true) {
      int slash = text.indexOf('/', from);
      int end = slash < 0 ? text.length() : slash;
      if (levels.size() == LEVELS_MAX) throw new InvalidException(from, "more than " + LEVELS_MAX + " levels");
      levels.add(level(text, from, end));
      if (slash < 0) break;
      if (levels.getLast() instanceof Level.Rest) throw new InvalidException(from, "# may only be the last level");
      from = slash + 1;
    }
    if (text.startsWith("$share/") || text.startsWith("$oshare/")) {
      throw new InvalidException(0, "a pattern has no $share; say share=GROUP behind it");
    }
    // Both match the same topics, and the rules about the one are to cover filters of the other form.
    if (text.equals("+/#")) levels.removeFirst();
    return new TopicPattern(text, levels);
  }

  private static Level level(String text, int from, int end) {
    String level = text.substring(from, end);
    if (level.equals("+")) return new Level.One();
    if (level.equals("#")) return new Level.Rest();
    if (level.startsWith("%") && !level.startsWith("%%")) return new Level.Placeholder(placeholder(level, from));
    var plain = new StringBuilder();
    for (int i = 0; i < level.length(); i++) {
      char c = level.charAt(i);
      if (c == '+' || c == '#') throw new InvalidException(from + i, c + " must be alone in its level");
      if (c == 0) throw new InvalidException(from + i, "U+0000 is not allowed");
      if (c == '%') {
        if (i + 1 == level.length() || level.charAt(i + 1) != '%') {
          throw new InvalidException(from + i, "a placeholder must be alone in its level; %% stands for the character %");
        }
        i++;
      }
      plain.append(c);
    }
    return new Level.Literal(plain.toString());
  }

  private static String placeholder(String level, int from) {
    return switch (level) {
      case "%c" -> Subject.CLIENT_ID;
      case "%u" -> Subject.USER;
      case "%tenant" -> Subject.TENANT;
      case "%{cert.cn}", "%{cert.o}", "%{cert.ou}", "%{cert.dns}", "%{cert.uri}", "%{cert.email}", "%{cert.serial}" -> level.substring(2, level.length() - 1);
      default -> {
        if (OF_TOKEN.matcher(level).matches()) yield level.substring(2, level.length() - 1);
        throw new InvalidException(
            from, "unknown placeholder; there is %c, %u, %tenant and %{NAME} with one of " + ATTRIBUTES + ", each alone in its level");
      }
    };
  }
}
