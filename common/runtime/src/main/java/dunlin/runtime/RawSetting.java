package dunlin.runtime;

import java.util.List;

/**
 * A value as a source spells it, before its setting has read it.
 *
 * @param key the key it sets
 * @param text one text; a list's elements joined by commas
 * @param elements the elements when the source has lists of its own, otherwise the text split at commas
 * @param origin where it was set, for messages: "system property", "line 3 of conf/dunlin.conf"
 */
record RawSetting(String key, String text, List<String> elements, String origin) {
  RawSetting {
    elements = List.copyOf(elements);
  }

  static RawSetting ofText(String key, String text, String origin) {
    List<String> elements = text.isBlank() ? List.of() : List.of(text.split(",", -1));
    return new RawSetting(key, text, elements, origin);
  }

  static RawSetting ofList(String key, List<String> elements, String origin) {
    return new RawSetting(key, String.join(",", elements), elements, origin);
  }
}
