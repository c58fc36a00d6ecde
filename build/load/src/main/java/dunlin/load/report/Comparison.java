package dunlin.load.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** Compares two results, which are read from their JSON. */
public final class Comparison {
  private static final int CHARACTERS_MAX = 100_000_000;

  private final Map<String, Object> first;
  private final Map<String, Object> second;

  private Comparison(Map<String, Object> first, Map<String, Object> second) {
    this.first = first;
    this.second = second;
  }

  /** Reads two files written by --json. */
  public static Comparison read(Path first, Path second) {
    return new Comparison(read(first), read(second));
  }

  private static Map<String, Object> read(Path file) {
    try {
      // JSON is valid YAML, so the parser of scenarios reads it.
      Object root = new Load(LoadSettings.builder().setCodePointLimit(CHARACTERS_MAX).build()).loadFromString(Files.readString(file));
      Map<String, Object> tree = mapping(root);
      if (!Integer.valueOf(JsonReport.FORMAT).equals(tree.get("format"))) throw new IllegalArgumentException("%s is no result of this program, or one of another release".formatted(file));
      return tree;
    } catch (IOException failure) {
      throw new IllegalArgumentException("%s cannot be read".formatted(file), failure);
    } catch (YamlEngineException wrong) {
      throw new IllegalArgumentException("%s is no JSON".formatted(file), wrong);
    }
  }

  private static Map<String, Object> mapping(@Nullable Object value) {
    var map = new LinkedHashMap<String, Object>();
    if (value instanceof Map<?, ?> given) given.forEach((key, element) -> map.put(String.valueOf(key), element == null ? "" : element));
    return map;
  }

  public String html() {
    return HtmlReport.ofTrees(List.of(first, second));
  }

  /** A table with times and messages of both, and their differences. */
  public String table() {
    var out = new StringBuilder();
    line(out, "", String.valueOf(first.get("name")), String.valueOf(second.get("name")), "");
    for (String key : both("times")) {
      Map<String, Object> before = mapping(part(first, "times").getOrDefault(key, Map.of()));
      Map<String, Object> after = mapping(part(second, "times").getOrDefault(key, Map.of()));
      for (String figure : List.of("mean", "p50", "p99", "max")) {
        line(out, key + " " + figure, time(before.get(figure)), time(after.get(figure)), change(before.get(figure), after.get(figure)));
      }
      line(out, key + " rate/s", plain(before.get("rate")), plain(after.get("rate")), change(before.get("rate"), after.get("rate")));
    }
    for (String key : both("messages")) {
      double before = sum(part(first, "messages").get(key));
      double after = sum(part(second, "messages").get(key));
      line(out, key, plain(before), plain(after), change(before, after));
    }
    return out.toString();
  }

  private static Map<String, Object> part(Map<String, Object> tree, String name) {
    return mapping(tree.getOrDefault(name, Map.of()));
  }

  private List<String> both(String part) {
    Set<String> keys = new LinkedHashSet<>(part(first, part).keySet());
    keys.addAll(part(second, part).keySet());
    return new ArrayList<>(keys);
  }

  private static void line(StringBuilder out, String name, String before, String after, String change) {
    out.append(String.format(Locale.ROOT, "%-24s %18s %18s %10s%n", name, before, after, change));
  }

  private static String time(@Nullable Object value) {
    return value instanceof Number number ? TimeRow.time(number.doubleValue()) : "";
  }

  private static String plain(@Nullable Object value) {
    return value instanceof Number number ? TextReport.plain(number.doubleValue()) : "";
  }

  private static double sum(@Nullable Object list) {
    double sum = 0;
    if (list instanceof Iterable<?> numbers) for (Object one : numbers) sum += one instanceof Number number ? number.doubleValue() : 0;
    return sum;
  }

  private static String change(@Nullable Object before, @Nullable Object after) {
    if (!(before instanceof Number old) || !(after instanceof Number now) || old.doubleValue() == 0) return "";
    return String.format(Locale.ROOT, "%+.1f %%", 100 * (now.doubleValue() / old.doubleValue() - 1));
  }
}
