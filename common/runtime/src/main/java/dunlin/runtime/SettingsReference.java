package dunlin.runtime;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Renders the reference page of settings, docs/configuration.md, from their declarations. */
public final class SettingsReference {
  private static final String INTRODUCTION =
      """
      # Configuration

      Generated from the declarations in the code; a test keeps the two equal.

      Set a value in one of these places; an earlier one overrides a later one:

      1. a Java system property (`-Ddunlin.key=value` behind `bin/dunlin` or `build/run`),
      2. an environment variable; in its name two underscores stand for a dot and one for a dash,
      3. the configuration file: `conf/dunlin.conf` of the installation, unless `dunlin.config` names another. It is in HOCON,
         or in properties format when its name ends in `.properties`.

      A key that is not listed here, or a value out of bounds, stops the start with a message that names the key.

      Durations need a unit: `500ms`, `5s`, `10m`, `2h`, `7d`. Sizes may have one: `65536`, `64KiB`, `1MiB`, `2GiB`.
      A relative path in a configuration file is relative to the directory of that file, otherwise to the directory where Dunlin was started.
      Lists are separated by commas. Where a key has `<name>`, you choose the name: 1 to 32 of a to z, 0 to 9 and dashes.
      A secret is written in place, or as `file:PATH`, the file that has it (a line end behind it does not count, 64 KiB at most), or as `env:NAME`,
      the environment variable that has it; `text:` in front of a secret says that it is in place, whatever it begins with. Secrets are shown nowhere;
      of `file:` and `env:` the path and the name are. Other users of the machine can read a secret in place behind `-D`; the log warns of that.
      The effective values are shown by JMX in `dunlin:type=Settings,node=<id>`.

      `DUNLIN_JVM_OPTS` (flags for the JVM), `DUNLIN_BENCH_JVM_OPTS` (for that of `bin/dunlin bench`), `DUNLIN_JAVA_HOME`
      (which JDK) and `DUNLIN_LOG` (`text` or `json`: how the log is written) are read by `bin/dunlin`; they are not settings. Variables that Kubernetes sets for a Service named `dunlin` or `dunlin-...` are ignored.
      """;

  private SettingsReference() {}

  /** The whole page. The same declarations give the same text, on every machine. */
  public static String render(Collection<Setting<?>> known) {
    SortedMap<String, List<Setting<?>>> groups = new TreeMap<>();
    addTo(groups, Settings.CONFIG);
    for (Setting<?> setting : known) {
      if (setting != Settings.CONFIG) addTo(groups, setting);
    }
    StringBuilder page = new StringBuilder(INTRODUCTION);
    groups.forEach((group, settings) -> renderGroup(page, group, settings));
    return page.toString();
  }

  private static void addTo(SortedMap<String, List<Setting<?>>> groups, Setting<?> setting) {
    groups.computeIfAbsent(groupOf(setting), _ -> new ArrayList<>()).add(setting);
  }

  /** The part of the key that the settings of one feature share; empty, and so first, for a key of one part. */
  private static String groupOf(Setting<?> setting) {
    String path = setting.key().substring("dunlin.".length());
    int dot = path.indexOf('.');
    return dot < 0 ? "" : path.substring(0, dot);
  }

  private static void renderGroup(StringBuilder page, String group, List<Setting<?>> settings) {
    page.append("\n## ").append(group.isEmpty() ? "General" : "dunlin." + group).append("\n\n");
    page.append("| Key | Type | Default | Bounds | Meaning | Environment |\n");
    page.append("|---|---|---|---|---|---|\n");
    settings.sort(Comparator.comparing(Setting::key));
    for (Setting<?> setting : settings) {
      page.append("| `%s` | %s | %s | %s | %s | `%s` |\n"
          .formatted(
              setting.pattern().shown(),
              setting.type(),
              setting.defaultText().isEmpty() ? "not set" : cell(setting.defaultText()),
              cell(setting.bounds()),
              cell(setting.sentence()),
              setting.environmentName()));
    }
  }

  private static String cell(String text) {
    return text.replace("|", "\\|");
  }
}
