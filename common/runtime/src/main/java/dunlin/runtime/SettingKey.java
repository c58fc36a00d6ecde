package dunlin.runtime;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The key of a setting. One segment may be a {@code *}: then it is the key of a family, {@code
 * dunlin.listeners.*.port}, with a setting for each name in that place.
 */
record SettingKey(String text) {
  private static final String SEGMENTS = "(\\.[a-z][a-z0-9]*(-[a-z0-9]+)*)+";
  private static final Pattern KEY = Pattern.compile("dunlin" + SEGMENTS + "(\\.\\*" + SEGMENTS + ")?");
  private static final Pattern NAME = Pattern.compile("[a-z0-9-]{1,32}");

  SettingKey {
    if (!KEY.matcher(text).matches()) throw new IllegalArgumentException("not a key: " + text);
  }

  boolean isFamily() {
    return text.indexOf('*') >= 0;
  }

  boolean sameFamily(SettingKey other) {
    return isFamily() && other.isFamily() && root().equals(other.root());
  }

  /** The part before the name: {@code dunlin.listeners.} */
  private String root() {
    return text.substring(0, text.indexOf('*'));
  }

  /** The key of this family for one name. */
  String of(String name) {
    if (!isFamily()) throw new IllegalArgumentException(text + " has no names");
    if (!NAME.matcher(name).matches()) throw new IllegalArgumentException("not a name: " + name);
    return text.replace("*", name);
  }

  /** The key as shown on the reference page. */
  String shown() {
    return text.replace("*", "<name>");
  }

  /** The name in a key of this family; empty for other keys. */
  Optional<String> nameIn(String key) {
    if (!isFamily()) return Optional.empty();
    String root = root();
    String rest = text.substring(root.length() + 1);
    if (!key.startsWith(root) || !key.endsWith(rest) || key.length() <= root.length() + rest.length()) return Optional.empty();
    String name = key.substring(root.length(), key.length() - rest.length());
    return NAME.matcher(name).matches() ? Optional.of(name) : Optional.empty();
  }

  /** This key as the probable meaning of a misspelled key: for a family, with the name from that key. */
  String near(String other) {
    if (!isFamily()) return text;
    String[] segments = other.split("\\.", -1);
    int place = root().split("\\.").length;
    boolean named = place < segments.length && NAME.matcher(segments[place]).matches();
    return named ? of(segments[place]) : shown();
  }

  /** The environment variable that sets a key. */
  static String environmentName(String key) {
    return key.replace(".", "__").replace('-', '_').toUpperCase(Locale.ROOT).replaceFirst("__", "_");
  }
}
