package dunlin.runtime;

import java.nio.file.Path;
import java.util.List;

/**
 * A value as written in a source, before its setting has parsed it.
 *
 * @param key the key it sets
 * @param text the text; a list's elements joined by commas
 * @param elements the elements when the source has lists of its own, otherwise the text split at commas
 * @param origin where it was set, for messages, such as "system property" or "line 3 of conf/dunlin.conf"
 * @param directory the base of a relative path: the directory of the configuration file; empty for the working
 *     directory
 */
record RawSetting(String key, String text, List<String> elements, String origin, Path directory) {
  private static final Path WORKING_DIRECTORY = Path.of("");

  RawSetting {
    elements = List.copyOf(elements);
  }

  static RawSetting ofText(String key, String text, String origin) {
    List<String> elements = text.isBlank() ? List.of() : List.of(text.split(",", -1));
    return new RawSetting(key, text, elements, origin, WORKING_DIRECTORY);
  }

  static RawSetting ofList(String key, List<String> elements, String origin) {
    return new RawSetting(key, String.join(",", elements), elements, origin, WORKING_DIRECTORY);
  }

  /** The same, from a file in this directory. */
  RawSetting in(Path fileDirectory) {
    return new RawSetting(key, text, elements, origin, fileDirectory);
  }
}
