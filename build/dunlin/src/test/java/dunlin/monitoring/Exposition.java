package dunlin.monitoring;

import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The families of metrics in what /metrics of one or several nodes has answered. */
final class Exposition {
  private static final Pattern ABOUT = Pattern.compile("# (HELP|TYPE) (\\S+) ?(.*)");
  private static final Pattern SAMPLE = Pattern.compile("([A-Za-z_:][A-Za-z0-9_:]*)(?:\\{(.*)})? (\\S+)");
  private static final Pattern LABEL = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)=\"((?:[^\"\\\\]|\\\\.)*)\"");
  private static final Pattern PART = Pattern.compile("_(bucket|sum|count)$");

  /** @param labels the values that each label was seen with */
  record Family(String name, String type, String help, SortedMap<String, SortedSet<String>> labels) {
    String unit() {
      String base = name.replaceFirst("_(total|max)$", "");
      String last = base.substring(base.lastIndexOf('_') + 1);
      return List.of("seconds", "bytes").contains(last) ? last : "";
    }
  }

  private final SortedMap<String, Family> families = new TreeMap<>();

  void add(String text) {
    Map<String, String> help = new TreeMap<>();
    for (String line : text.lines().toList()) {
      var about = ABOUT.matcher(line);
      if (!about.matches()) {
        addSample(line);
      } else if (about.group(1).equals("HELP")) {
        help.put(about.group(2), about.group(3).replace("\\n", "\n").replace("\\\\", "\\"));
      } else {
        String name = about.group(2);
        families.putIfAbsent(name, new Family(name, about.group(3), help.getOrDefault(name, ""), new TreeMap<>()));
      }
    }
  }

  private void addSample(String line) {
    var sample = SAMPLE.matcher(line);
    if (!sample.matches()) throw new AssertionError("not a line of the format: " + line);
    String name = sample.group(1);
    Family family = families.get(name);
    if (family == null) family = families.get(PART.matcher(name).replaceFirst(""));
    if (family == null) throw new AssertionError("a sample without a family: " + line);
    if (sample.group(2) == null) return;
    for (var label = LABEL.matcher(sample.group(2)); label.find(); ) {
      family.labels().computeIfAbsent(label.group(1), _ -> new TreeSet<>()).add(label.group(2));
    }
  }

  List<Family> families() {
    return List.copyOf(families.values());
  }
}
