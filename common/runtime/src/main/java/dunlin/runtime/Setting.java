package dunlin.runtime;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A setting: its key, type, default, bounds and a describing sentence, declared once as a constant. The reference page,
 * the environment variable and the messages come from this declaration.
 *
 * <p>A key with one {@code *} segment, such as {@code dunlin.listeners.*.port}, declares a family: a setting for each
 * name chosen by the operator, of 1 to 32 characters from a to z, 0 to 9 and dashes.
 *
 * @param <T> the type of its value
 */
public final class Setting<T> {
  private static final String BYTES = "bytes";

  private final SettingKey key;
  private final String type;
  private final String bounds;
  private final String sentence;
  private final T defaultValue;
  private final String defaultText;
  private final SettingValue<T> value;
  private final @Nullable Derived<?, T> derived;
  private final Set<String> standingNames;

  /** A default that is derived from another setting of the same family and name. */
  private record Derived<S, T>(Setting<S> from, Function<S, T> rule) {
    T of(Settings settings, String name) {
      return rule.apply(settings.get(from, name));
    }
  }

  private Setting(String key, String type, String bounds, String sentence, T defaultValue, SettingValue<T> value) {
    this(new SettingKey(key), type, bounds, sentence, defaultValue, value.write(defaultValue), value, null, Set.of());
    try {
      value.check(defaultValue);
    } catch (IllegalArgumentException outOfBounds) {
      throw new IllegalArgumentException("the default of " + key + " is out of its own bounds", outOfBounds);
    }
  }

  private Setting(
      SettingKey key,
      String type,
      String bounds,
      String sentence,
      T defaultValue,
      String defaultText,
      SettingValue<T> value,
      @Nullable Derived<?, T> derived,
      Set<String> standingNames) {
    this.key = key;
    this.type = type;
    this.bounds = bounds;
    this.sentence = sentence;
    this.defaultValue = defaultValue;
    this.defaultText = defaultText;
    this.value = value;
    this.derived = derived;
    this.standingNames = standingNames;
  }

  /** A whole number between two bounds, both inclusive. */
  public static Setting<Integer> integer(String key, int defaultValue, int min, int max, String sentence) {
    return new Setting<>(
        key,
        "integer",
        min + " to " + max,
        sentence,
        defaultValue,
        SettingValue.bounded(Integer::valueOf, String::valueOf, min, max));
  }

  /** A whole number of 64 bits between two bounds, both inclusive. */
  public static Setting<Long> longInteger(String key, long defaultValue, long min, long max, String sentence) {
    return new Setting<>(
        key,
        "integer",
        min + " to " + max,
        sentence,
        defaultValue,
        SettingValue.bounded(Long::valueOf, String::valueOf, min, max));
  }

  /** {@code true} or {@code false}. */
  public static Setting<Boolean> flag(String key, boolean defaultValue, String sentence) {
    return new Setting<>(
        key, "flag", "true or false", sentence, defaultValue, SettingValue.of(SettingText::readFlag, String::valueOf));
  }

  /** Any text; an empty default means "not set". */
  public static Setting<String> text(String key, String defaultValue, String sentence) {
    return new Setting<>(
        key, "text", "", sentence, defaultValue, SettingValue.of(Function.identity(), Function.identity()));
  }

  /** A secret, in place or as {@code file:PATH} or {@code env:NAME}; not set by default. It is not shown in messages or JMX. */
  public static Setting<Secret> secret(String key, String sentence) {
    return new Setting<>(key, "secret", "", sentence, Secret.none(), new SettingValue<>(Secret::read, Secret::toString, _ -> {}));
  }

  /** A length of time such as {@code 500ms}, {@code 5s}, {@code 2h} or {@code 7d} between two bounds, both inclusive. */
  public static Setting<Duration> duration(
      String key, Duration defaultValue, Duration min, Duration max, String sentence) {
    return new Setting<>(
        key,
        "duration",
        SettingText.writeDuration(min) + " to " + SettingText.writeDuration(max),
        sentence,
        defaultValue,
        SettingValue.bounded(SettingText::readDuration, SettingText::writeDuration, min, max));
  }

  /** A number of bytes such as {@code 65536}, {@code 64KiB} or {@code 1MiB} between two bounds, both inclusive. */
  public static Setting<Long> bytes(String key, long defaultValue, long min, long max, String sentence) {
    return new Setting<>(
        key,
        BYTES,
        SettingText.writeBytes(min) + " to " + SettingText.writeBytes(max),
        sentence,
        defaultValue,
        SettingValue.bounded(SettingText::readBytes, SettingText::writeBytes, min, max));
  }

  /** One constant of an enum; {@code DROP_OLDEST} is spelled {@code drop-oldest}. */
  public static <E extends Enum<E>> Setting<E> choice(String key, E defaultValue, String sentence) {
    Class<E> type = defaultValue.getDeclaringClass();
    return new Setting<>(
        key,
        "choice",
        names(type),
        sentence,
        defaultValue,
        SettingValue.of(text -> SettingText.readEnum(type, text), SettingText::writeEnum));
  }

  /** Any of an enum's constants, at least one, separated by commas. */
  public static <E extends Enum<E>> Setting<Set<E>> choices(
      String key, Class<E> type, Set<E> defaultValue, String sentence) {
    return new Setting<>(
        key,
        "choices",
        "one or more of " + names(type),
        sentence,
        Set.copyOf(defaultValue),
        new SettingValue<>(
            raw -> {
              Set<E> chosen = EnumSet.noneOf(type);
              for (String element : raw.elements()) chosen.add(SettingText.readEnum(type, element.strip()));
              return Set.copyOf(chosen);
            },
            // In the enum's order, so that the reference page does not depend on a hash.
            set -> set.stream().sorted().map(SettingText::writeEnum).collect(Collectors.joining(",")),
            set -> {
              if (set.isEmpty()) throw new IllegalArgumentException("none is chosen");
            }));
  }

  /**
   * A file or a directory. A relative path is relative to the directory of the configuration file that sets it,
   * otherwise to the working directory.
   */
  public static Setting<Path> path(String key, Path defaultValue, String sentence) {
    return new Setting<>(
        key, "path", "", sentence, defaultValue, new SettingValue<>(SettingText::readPath, Path::toString, _ -> {}));
  }

  /** Texts separated by commas, or a list where the source has lists. */
  public static Setting<List<String>> textList(String key, List<String> defaultValue, String sentence) {
    return new Setting<>(
        key,
        "list of texts",
        "",
        sentence,
        List.copyOf(defaultValue),
        new SettingValue<>(
            raw -> raw.elements().stream().map(String::strip).toList(),
            list -> String.join(",", list),
            list -> {
              if (list.contains("")) throw new IllegalArgumentException("an element is empty");
            }));
  }

  /** The same setting with a description of its default for the reference page, since the default depends on the machine. */
  public Setting<T> defaultMeans(String words) {
    return new Setting<>(key, type, bounds, sentence, defaultValue, words, value, derived, standingNames);
  }

  /** The same setting of a family with a default derived from another setting's value for the same name. */
  public <S> Setting<T> defaultFrom(Setting<S> other, Function<S, T> rule, String words) {
    if (!isFamily() || !key.sameFamily(other.key)) throw new IllegalArgumentException(key + " is of another family");
    return new Setting<>(key, type, bounds, sentence, defaultValue, words, value, new Derived<>(other, rule), standingNames);
  }

  /** The same setting of a family, with a name that always exists. */
  public Setting<T> withName(String name) {
    if (!isFamily()) throw new IllegalArgumentException(key + " has no names");
    return new Setting<>(key, type, bounds, sentence, defaultValue, defaultText, value, derived, Set.of(name));
  }

  Set<String> standingNames() {
    return standingNames;
  }

  /** The key; that of a family contains {@code *}. */
  public String key() {
    return key.text();
  }

  /** The key of a family for one name. */
  public String key(String name) {
    return key.of(name);
  }

  SettingKey pattern() {
    return key;
  }

  boolean isFamily() {
    return key.isFamily();
  }

  public T defaultValue() {
    return defaultValue;
  }

  /** The default; for a family it may depend on other settings of the name. */
  T defaultValue(Settings settings, String name) {
    return derived == null ? defaultValue : derived.of(settings, name);
  }

  /** The environment variable that sets it: {@code DUNLIN_LISTENERS__TCP__PORT}. */
  public String environmentName() {
    return SettingKey.environmentName(key.shown());
  }

  String type() {
    return type;
  }

  String bounds() {
    return bounds;
  }

  String sentence() {
    return sentence;
  }

  String defaultText() {
    return defaultText;
  }

  /** Parses a source's value. */
  T read(RawSetting raw) {
    try {
      T read = value.read(raw);
      value.check(read);
      return read;
    } catch (IllegalArgumentException wrong) {
      String expected = bounds.isEmpty() ? type : type + " (" + bounds + ")";
      throw new SettingException(
          "%s is \"%s\" by %s, but must be of type %s%s."
              .formatted(raw.key(), LogText.escaped(raw.text()), raw.origin(), expected, example()),
          wrong);
    }
  }

  /** An example of a value with a unit. It must be within the bounds, like the default, and have a unit, unlike 0. */
  private String example() {
    String unit = type.equals(BYTES) ? "64MiB" : "10s";
    if (defaultValue instanceof Duration time) return ", such as " + (time.isZero() && isInBounds(unit) ? unit : value.write(defaultValue));
    if (defaultValue instanceof Long bytes && type.equals(BYTES))
      return ", such as " + (bytes == 0 && isInBounds(unit) ? unit : value.write(defaultValue));
    return "";
  }

  private boolean isInBounds(String text) {
    try {
      value.check(value.read(RawSetting.ofText(key(), text, "")));
      return true;
    } catch (IllegalArgumentException _) {
      return false;
    }
  }

  /** The value as operators see it. */
  String show(T effective) {
    return value.write(effective);
  }

  @Override
  public String toString() {
    return key.text();
  }

  private static <E extends Enum<E>> String names(Class<E> type) {
    return Arrays.stream(type.getEnumConstants()).map(SettingText::writeEnum).collect(Collectors.joining(" | "));
  }
}
