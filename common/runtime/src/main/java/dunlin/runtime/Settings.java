package dunlin.runtime;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/** The effective values of all settings of a node: read once, before anything starts, and never changed. */
public final class Settings {
  /** The path of the configuration file. It cannot be set in the file itself. */
  public static final Setting<String> CONFIG =
      Setting.text(
          "dunlin.config",
          "",
          "The configuration file, in HOCON, or in properties format when its name ends in .properties; bin/dunlin"
              + " takes conf/dunlin.conf of its installation when this is not set.");

  private final Map<String, Setting<?>> known;

  /** The values of the sources, by full key. */
  private final Map<String, Object> given;

  /** Which source has set it, by full key. */
  private final Map<String, String> origins;

  private Settings(Map<String, Setting<?>> known, Map<String, Object> given, Map<String, String> origins) {
    this.known = Map.copyOf(known);
    this.given = Map.copyOf(given);
    this.origins = Map.copyOf(origins);
  }

  /**
   * Merges sources: an earlier one takes precedence over a later one. If one of them names a configuration file, that
   * file comes after them; settings without a value have their default.
   *
   * @throws SettingException when a source has an unknown key, or a value that does not parse or is out of bounds, even
   *     if an earlier source overrides it
   */
  public static Settings load(Collection<Setting<?>> known, SettingSource highest, SettingSource... lower) {
    Map<String, Setting<?>> byKey = byKey(known);
    List<RawSetting> raws = new ArrayList<>(highest.values());
    for (SettingSource source : lower) raws.addAll(source.values());
    return load(byKey, raws, (_, wrong) -> { throw wrong; });
  }

  /** Called for each value that cannot be read, with its key; may throw to end the reading. */
  @FunctionalInterface
  private interface Wrong {
    void found(String key, SettingException problem);
  }

  private static Settings load(Map<String, Setting<?>> byKey, List<RawSetting> raws, Wrong wrong) {
    Map<String, Object> values = new HashMap<>();
    Map<String, String> origins = new HashMap<>();
    readAll(raws, byKey, values, origins, wrong);

    String file = (String) values.getOrDefault(CONFIG.key(), "");
    if (!file.isEmpty()) {
      List<RawSetting> fromFile = new ArrayList<>();
      try {
        fromFile.addAll(SettingSource.file(filePath(file)).values());
      } catch (SettingException unreadable) {
        wrong.found(CONFIG.key(), unreadable);
      }
      for (RawSetting raw : fromFile) {
        if (raw.key().equals(CONFIG.key())) {
          wrong.found(raw.key(), new SettingException("%s (%s) cannot be set in the file itself.".formatted(raw.key(), raw.origin())));
        }
      }
      readAll(fromFile, byKey, values, origins, wrong);
    }
    checkSecrets(values, wrong);
    return new Settings(byKey, values, origins);
  }

  /**
   * Settings that were read despite possible errors.
   *
   * @param settings with the defaults of values that cannot be read
   * @param problems a sentence for each of these values
   * @param wrongKeys their keys
   */
  public record Inspected(Settings settings, List<String> problems, Set<String> wrongKeys) {
    public Inspected {
      problems = List.copyOf(problems);
      wrongKeys = Set.copyOf(wrongKeys);
    }
  }

  /** Reads the same sources as {@link #ofProcess}, and continues after errors. */
  public static Inspected inspectProcess(Collection<Setting<?>> known) {
    return inspect(known, List.of(SettingSource::systemProperties, SettingSource::environment));
  }

  static Inspected inspect(Collection<Setting<?>> known, List<Supplier<SettingSource>> sources) {
    List<String> problems = new ArrayList<>();
    Set<String> wrongKeys = new HashSet<>();
    Wrong wrong =
        (key, problem) -> {
          wrongKeys.add(key);
          problems.add(String.valueOf(problem.getMessage()));
        };
    List<RawSetting> raws = new ArrayList<>();
    for (Supplier<SettingSource> source : sources) {
      try {
        raws.addAll(source.get().values());
      } catch (SettingException unreadable) {
        wrong.found("", unreadable);
      }
    }
    return new Inspected(load(byKey(known), raws, wrong), problems, wrongKeys);
  }

  /** The sources of a process: system properties over environment over the configuration file. */
  public static Settings ofProcess(Collection<Setting<?>> known) {
    return load(known, SettingSource.systemProperties(), SettingSource.environment());
  }

  /** The effective value. */
  @SuppressWarnings("unchecked") // the value was read by this setting
  public <T> T get(Setting<T> setting) {
    checkDeclared(setting, false);
    Object value = given.get(setting.key());
    return value == null ? setting.defaultValue() : (T) value;
  }

  /** The effective value for one name of a family. */
  @SuppressWarnings("unchecked") // the value was read by this setting
  public <T> T get(Setting<T> setting, String name) {
    checkDeclared(setting, true);
    Object value = given.get(setting.key(name));
    return value == null ? setting.defaultValue(this, name) : (T) value;
  }

  private void checkDeclared(Setting<?> setting, boolean family) {
    if (known.get(setting.key()) != setting) throw new IllegalArgumentException("not declared: " + setting);
    if (setting.isFamily() != family) throw new IllegalArgumentException((family ? "no family: " : "of which name? ") + setting);
  }

  /** The names of a setting's family: those that sources use in any of its keys, and those that always exist. */
  public NavigableSet<String> names(Setting<?> ofFamily) {
    checkDeclared(ofFamily, true);
    NavigableSet<String> names = new TreeSet<>();
    for (Setting<?> setting : known.values()) {
      if (!setting.isFamily() || !setting.pattern().sameFamily(ofFamily.pattern())) continue;
      names.addAll(setting.standingNames());
      for (String key : given.keySet()) setting.pattern().nameIn(key).ifPresent(names::add);
    }
    return names;
  }

  /** Whether a source has set the value. */
  public boolean isSet(Setting<?> setting) {
    return given.containsKey(setting.key());
  }

  /** Whether a source has set the value for one name of a family. */
  public boolean isSet(Setting<?> setting, String name) {
    return given.containsKey(setting.key(name));
  }

  /** All effective values by key, as text, with secrets masked; for families, those of the names in use. */
  public SortedMap<String, String> effective() {
    SortedMap<String, String> shown = new TreeMap<>();
    for (Setting<?> setting : known.values()) {
      if (!setting.isFamily()) shown.put(setting.key(), show(setting));
      else for (String name : names(setting)) shown.put(setting.key(name), show(setting, name));
    }
    return Collections.unmodifiableSortedMap(shown);
  }

  /** Where each of the {@link #effective} values comes from: {@code default}, or a source as messages name it. */
  public SortedMap<String, String> sources() {
    SortedMap<String, String> sources = new TreeMap<>();
    for (String key : effective().keySet()) sources.put(key, origins.getOrDefault(key, "default"));
    return Collections.unmodifiableSortedMap(sources);
  }

  /**
   * The keys of secrets that stand in the arguments of this process, where other users of the machine can read them:
   * system properties with a secret in place.
   */
  public NavigableSet<String> secretsInArguments() {
    NavigableSet<String> keys = new TreeSet<>();
    given.forEach((key, value) -> {
      if (value instanceof Secret secret && secret.isHere() && SettingSource.SYSTEM_PROPERTY.equals(origins.get(key))) keys.add(key);
    });
    return keys;
  }

  private <T> String show(Setting<T> setting) {
    return setting.show(get(setting));
  }

  private <T> String show(Setting<T> setting, String name) {
    return setting.show(get(setting, name));
  }

  private static Map<String, Setting<?>> byKey(Collection<Setting<?>> known) {
    Map<String, Setting<?>> byKey = new HashMap<>();
    byKey.put(CONFIG.key(), CONFIG);
    for (Setting<?> setting : known) {
      Setting<?> other = byKey.put(setting.key(), setting);
      if (other != null && other != setting) throw new IllegalArgumentException("declared twice: " + setting);
    }
    return byKey;
  }

  /** Reads all values, including overridden ones: an error that would show only when a variable is unset is found now. */
  private static void readAll(
      List<RawSetting> raws, Map<String, Setting<?>> known, Map<String, Object> values, Map<String, String> origins, Wrong wrong) {
    for (RawSetting raw : raws) {
      try {
        Object value = declared(raw, known).read(raw);
        if (values.putIfAbsent(raw.key(), value) == null) origins.put(raw.key(), raw.origin());
      } catch (SettingException problem) {
        wrong.found(raw.key(), problem);
      }
    }
  }

  /** Reads the secrets in force once: a file that is missing is found now, not when the secret is needed. */
  private static void checkSecrets(Map<String, Object> values, Wrong wrong) {
    for (String key : new TreeSet<>(values.keySet())) {
      if (!(values.get(key) instanceof Secret secret)) continue;
      try {
        secret.value();
      } catch (SettingException problem) {
        values.remove(key);
        wrong.found(key, problem);
      }
    }
  }

  private static Setting<?> declared(RawSetting raw, Map<String, Setting<?>> known) {
    Setting<?> setting = known.get(raw.key());
    if (setting != null && !setting.isFamily()) return setting;
    for (Setting<?> family : known.values()) {
      if (family.pattern().nameIn(raw.key()).isPresent()) return family;
    }
    throw unknown(raw, known);
  }

  private static Path filePath(String file) {
    try {
      return Path.of(file);
    } catch (InvalidPathException invalid) {
      throw new SettingException("%s is not a path: %s.".formatted(CONFIG, LogText.escaped(file)), invalid);
    }
  }

  private static SettingException unknown(RawSetting raw, Map<String, Setting<?>> known) {
    String wrong = raw.key().toLowerCase(Locale.ROOT);
    String nearest = CONFIG.key();
    int least = Integer.MAX_VALUE;
    for (Setting<?> setting : new TreeMap<>(known).values()) {
      String key = setting.pattern().near(wrong);
      int distance = editDistance(wrong, key);
      if (distance < least) {
        least = distance;
        nearest = key;
      }
    }
    boolean byVariable = raw.origin().startsWith("environment");
    String name = byVariable ? nearest + " (" + SettingKey.environmentName(nearest) + ")" : nearest;
    return new SettingException(
        "Unknown key %s, set by %s; the nearest valid name is %s."
            .formatted(LogText.escaped(raw.key()), raw.origin(), name));
  }

  /** The number of insertions, deletions and replacements of characters that turn one text into the other. */
  static int editDistance(String a, String b) {
    int[] above = new int[b.length() + 1];
    Arrays.setAll(above, i -> i);
    for (int i = 1; i <= a.length(); i++) {
      int[] row = new int[b.length() + 1];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int exchanged = above[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(exchanged, 1 + Math.min(row[j - 1], above[j]));
      }
      above = row;
    }
    return above[b.length()];
  }
}
