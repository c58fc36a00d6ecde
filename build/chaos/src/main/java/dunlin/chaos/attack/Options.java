package dunlin.chaos.attack;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The options of a program with rows, each with one value. The last one of a name counts. */
record Options(Map<String, String> values) {
  static final int USAGE = 2;

  Options {
    values = Map.copyOf(values);
  }

  /**
   * Reads a command line.
   *
   * @param known the names of all options that there are
   * @throws IllegalArgumentException with a sentence for the user
   */
  static Options parse(List<String> arguments, List<String> known) {
    var values = new HashMap<String, String>();
    for (var rest = arguments.iterator(); rest.hasNext(); ) {
      String option = rest.next();
      if (!known.contains(option)) throw new IllegalArgumentException("there is no option " + option);
      if (!rest.hasNext()) throw new IllegalArgumentException(option + " needs a value");
      values.put(option, rest.next());
    }
    return new Options(values);
  }

  /** The names of rows; empty for all. */
  List<String> rows(String option, List<String> known) {
    String value = values.get(option);
    if (value == null) return List.of();
    var rows = List.of(value.split(",", -1));
    for (String row : rows) if (!known.contains(row)) throw new IllegalArgumentException("there is no row " + row);
    return rows;
  }

  int atLeastOne(String option, int otherwise) {
    int value = Integer.parseInt(values.getOrDefault(option, String.valueOf(otherwise)));
    if (value < 1) throw new IllegalArgumentException(option + " " + value + " is less than 1");
    return value;
  }

  double number(String option, double otherwise) {
    return Double.parseDouble(values.getOrDefault(option, String.valueOf(otherwise)));
  }

  Path path(String option, String otherwise) {
    return Path.of(values.getOrDefault(option, otherwise)).toAbsolutePath();
  }

  @Nullable Path path(String option) {
    String value = values.get(option);
    return value == null ? null : Path.of(value).toAbsolutePath();
  }

  Path needed(String option) {
    var path = path(option);
    if (path == null) throw new IllegalArgumentException(option + " is missing");
    return path;
  }
}
