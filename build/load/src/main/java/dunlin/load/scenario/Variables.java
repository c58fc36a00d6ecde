package dunlin.load.scenario;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Replaces <code>${name}</code> and expressions like <code>${groups * members}</code> by their values. Expressions are
 * computed from left to right.
 */
final class Variables {
  private static final Pattern PLACE = Pattern.compile("\\$\\{([^{}]*)}");
  private static final int TEXT_MAX = 100_000;

  private final Map<String, String> values = new TreeMap<>();

  Variables(Map<String, String> given) {
    values.putAll(given);
  }

  /** Sets the scenario's value of a variable, unless another one was given. */
  void usual(String name, String value) {
    values.putIfAbsent(name, fill(value));
  }

  /** Throws an {@link IllegalArgumentException} with the error. */
  String fill(String text) {
    if (text.indexOf("${") < 0) return text;
    Matcher matcher = PLACE.matcher(text);
    var filled = new StringBuilder();
    while (matcher.find()) {
      matcher.appendReplacement(filled, Matcher.quoteReplacement(value(matcher.group(1).strip())));
      if (filled.length() > TEXT_MAX) throw new IllegalArgumentException("a value has more than %,d characters".formatted(TEXT_MAX));
    }
    return matcher.appendTail(filled).toString();
  }

  private String value(String expression) {
    String[] words = expression.split("\\s+", -1);
    if (words.length == 1) return named(words[0]);
    if (words.length % 2 == 0) throw new IllegalArgumentException("\"${%s}\" is not NAME, or NAME * NAME with blanks between".formatted(expression));
    long result = number(words[0]);
    for (int i = 1; i < words.length; i += 2) {
      long next = number(words[i + 1]);
      result =
          switch (words[i]) {
            case "*" -> Math.multiplyExact(result, next);
            case "+" -> Math.addExact(result, next);
            case "-" -> Math.subtractExact(result, next);
            case "/" -> {
              if (next == 0) throw new IllegalArgumentException("\"${%s}\" divides by 0".formatted(expression));
              yield result / next;
            }
            default -> throw new IllegalArgumentException("\"${%s}\" has \"%s\" where * / + or - must stand".formatted(expression, words[i]));
          };
    }
    return Long.toString(result);
  }

  private String named(String name) {
    String value = values.get(name);
    if (value == null) throw new IllegalArgumentException("there is no variable \"%s\"; there are %s".formatted(name, String.join(", ", values.keySet())));
    return value;
  }

  private long number(String word) {
    String text = word.matches("[0-9]+") ? word : named(word);
    if (!text.matches("[0-9]{1,15}")) throw new IllegalArgumentException("\"%s\" is %s, which is no whole number to compute with".formatted(word, text));
    return Long.parseLong(text);
  }
}
