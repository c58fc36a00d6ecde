package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.check.Violation;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The table of a run, in Markdown. */
public final class MqttReport {
  private static final int EXAMPLES = 3;

  /** Figures of each trial. */
  static final String PUBLISHED = "published";

  static final String RECEIVED = "received";

  /** Begins the name of a figure of a soak: how often something has struck. */
  static final String STRIKES = "strikes: ";

  /** Mutants that could not be made from the history of a trial. */
  static final String PLACELESS = "mutants without a place";

  private MqttReport() {}

  public static String markdown(long seed, List<Outcome> outcomes) {
    var text = new StringBuilder("Seed ").append(seed).append(".\n\n| row | what happens | outcome | figures |\n|---|---|---|---|\n");
    for (var each : outcomes) {
      text.append("| `%s` | %s | %s | %s |\n".formatted(each.row().name(), each.row().what(), outcome(each), figures(each.figures())));
    }
    sums(text, outcomes);
    for (var each : outcomes) details(text, each);
    return text.toString();
  }

  /** One line for each row of several trials. */
  private static void sums(StringBuilder text, List<Outcome> outcomes) {
    outcomes.stream()
        .collect(Collectors.groupingBy(each -> each.row().name(), LinkedHashMap::new, Collectors.toList()))
        .forEach(
            (row, all) -> {
              if (all.size() == 1) return;
              long good = all.stream().filter(Outcome::good).count();
              long anomalies = all.stream().mapToLong(each -> each.violations().size()).sum();
              text.append(
                  "\n`%s`: %d of %d trials passed, %d anomalies; published %,d, received %,d%s%s.\n"
                      .formatted(row, good, all.size(), anomalies, sum(all, PUBLISHED), sum(all, RECEIVED), strikes(all), placeless(all)));
            });
  }

  private static String strikes(List<Outcome> outcomes) {
    var names = new TreeSet<String>();
    for (var each : outcomes) each.figures().keySet().stream().filter(name -> name.startsWith(STRIKES)).forEach(names::add);
    return names.stream().map(name -> "; %s: %,d".formatted(name, sum(outcomes, name))).collect(Collectors.joining());
  }

  /** The mutants that could be made from no trial's history: this row says nothing of whether the checker finds them. */
  private static String placeless(List<Outcome> outcomes) {
    var judged = outcomes.stream().filter(each -> each.mutants() > 0).map(each -> Set.of(each.figures().getOrDefault(PLACELESS, "").split(", "))).toList();
    var all = new TreeSet<String>();
    judged.forEach(all::addAll);
    judged.forEach(all::retainAll);
    all.remove("");
    return all.isEmpty() ? "" : "; had a place in no trial: " + String.join(", ", all);
  }

  private static long sum(List<Outcome> outcomes, String figure) {
    return outcomes.stream().mapToLong(each -> Long.parseLong(each.figures().getOrDefault(figure, "0"))).sum();
  }

  private static String outcome(Outcome outcome) {
    if (outcome.verdict().equals(Outcome.SKIPPED)) return "skipped: " + String.join(", ", outcome.problems());
    String mutants = outcome.mutants() == 0 ? "" : ", %d of %d mutants found".formatted(outcome.mutants() - outcome.unfound().size(), outcome.mutants());
    return "%s, %d anomalies%s".formatted(outcome.verdict(), outcome.violations().size(), mutants);
  }

  private static String figures(Map<String, String> figures) {
    return String.join("; ", figures.entrySet().stream().map(each -> each.getKey() + ": " + each.getValue()).toList());
  }

  private static void details(StringBuilder text, Outcome outcome) {
    if (outcome.good()) return;
    text.append("\n`").append(outcome.row().name()).append("`:\n\n");
    for (var problem : outcome.problems()) text.append("- ").append(problem).append('\n');
    for (var mutant : outcome.unfound()) text.append("- the checker has not found the mutant: ").append(mutant).append('\n');
    Map<String, List<Violation>> kinds = new TreeMap<>();
    for (var each : outcome.violations()) {
      String kind = each.promise() + " " + each.kind();
      kinds.computeIfAbsent(kind, _ -> new ArrayList<>()).add(each);
    }
    kinds.forEach(
        (kind, all) -> {
          text.append("- %s, %d times, such as\n".formatted(kind, all.size()));
          all.stream().limit(EXAMPLES).forEach(each -> text.append("  - ").append(each.what()).append('\n'));
        });
  }

  /** The page with the table between its two marks, which must exist. */
  public static String inserted(String page, String table) {
    String begin = "<!-- rows -->\n";
    String end = "<!-- /rows -->";
    int from = page.indexOf(begin);
    int until = page.indexOf(end);
    if (from < 0 || until < from) throw new IllegalArgumentException("the page has no place for the table, between " + begin.trim() + " and " + end);
    return page.substring(0, from) + begin + table + page.substring(until);
  }
}
