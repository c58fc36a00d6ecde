package dunlin.runtime;

import java.nio.file.Path;
import java.util.List;

/**
 * A value as a source spells it, before its setting has read it.
 *
 * @param key the key it sets
 * @param text one text; a list's elements joined by commas
 * @param elements the elements when the source has lists of its own, otherwise the text split at commas
 * @param origin where it was set, for messages: "system property", "line 3 of conf/dunlin.conf"
 * @param directory what a relative path is relative to: the directory of a configuration file, or else the working directory, which is empty
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
