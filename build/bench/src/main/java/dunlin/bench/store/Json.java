package dunlin.bench.store;

import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes one line of JSON: a map of names to numbers, booleans, strings or further maps. */
final class Json {
  private Json() {}

  static String line(Map<String, ?> values) {
    return values.entrySet().stream()
        .map(entry -> text(entry.getKey()) + ": " + value(entry.getValue()))
        .collect(Collectors.joining(", ", "{", "}"));
  }

  private static String value(Object value) {
    return switch (value) {
      case Double number when !Double.isFinite(number) -> "null";
      case Double number -> String.format(Locale.ROOT, "%.3f", number);
      case Number number -> number.toString();
      case Boolean truth -> truth.toString();
      case Map<?, ?> map ->
          map.entrySet().stream()
              .map(entry -> text(String.valueOf(entry.getKey())) + ": " + value(entry.getValue()))
              .collect(Collectors.joining(", ", "{", "}"));
      default -> text(value.toString());
    };
  }

  private static String text(String text) {
    var quoted = new StringBuilder("\"");
    text.chars()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') quoted.append('\\').append((char) c);
              else if (c < ' ') quoted.append(' ');
              else quoted.append((char) c);
            });
    return quoted.append('"').toString();
  }
}
