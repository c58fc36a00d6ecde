package dunlin.bench.store;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The arguments of a process or of one request, as `NAME=VALUE ...`. */
record Arguments(Map<String, String> values) {
  static Arguments parse(List<String> words) {
    var values = new HashMap<String, String>();
    for (String word : words) {
      int equals = word.indexOf('=');
      if (equals < 1) throw new IllegalArgumentException("'" + word + "' is not NAME=VALUE");
      values.put(word.substring(0, equals), word.substring(equals + 1));
    }
    return new Arguments(Map.copyOf(values));
  }

  String text(String name) {
    String value = values.get(name);
    if (value == null) throw new IllegalArgumentException(name + " is missing");
    return value;
  }

  String text(String name, String usual) {
    return values.getOrDefault(name, usual);
  }

  Path path(String name) {
    return Path.of(text(name));
  }

  long number(String name) {
    return Long.parseLong(text(name));
  }

  long number(String name, long usual) {
    return values.containsKey(name) ? number(name) : usual;
  }

  Duration seconds(String name) {
    return Duration.ofNanos((long) (Double.parseDouble(text(name)) * 1e9));
  }

  List<String> list(String name) {
    String value = text(name, "");
    return value.isEmpty() ? List.of() : Arrays.asList(value.split(",", -1));
  }
}
