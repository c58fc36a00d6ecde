package dunlin.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/**
 * The dashboard and the alerts of build/monitoring are well formed, and name only metrics and labels that there are: those
 * of docs/metrics.md, which {@code MetricsPageIT} compares with brokers.
 */
class MonitoringFilesTest {
  private static final Path FOLDER = Path.of("../monitoring");
  private static final Path ALERTS_PAGE = Path.of("../../docs/alerts.md");

  /** Labels that Prometheus adds to every series. */
  private static final Set<String> OF_THE_SCRAPE = Set.of("job", "instance");

  private static final Pattern SERIES = Pattern.compile("\\b((?:dunlin|jvm|process|system)_[a-z0-9_]+)(?:\\{([^}]*)})?");
  private static final Pattern MATCHER = Pattern.compile("([a-z_]+)\\s*(?:=~|!~|!=|=)\\s*\"");
  private static final Pattern GROUPED = Pattern.compile("\\b(?:by|without|on|ignoring)\\s*\\(([^)]*)\\)");
  private static final Pattern TEMPLATE = Pattern.compile("\\$labels\\.([a-z_]+)");
  private static final Pattern LEGEND = Pattern.compile("\\{\\{([a-z_]+)}}");

  private Map<String, Set<String>> series = Map.of();

  @BeforeEach
  void read() throws IOException {
    series = MetricsPage.series();
    assertThat(series).hasSizeGreaterThan(200);
  }

  /** @param shown the labels that the text beside the query shows */
  private void check(String where, String query, Set<String> shown) {
    assertThat(query.chars().filter(c -> c == '(').count()).as(where).isEqualTo(query.chars().filter(c -> c == ')').count());
    var known = new TreeSet<>(OF_THE_SCRAPE);
    int named = 0;
    for (var each = SERIES.matcher(query); each.find(); named++) {
      Set<String> labels = series.get(each.group(1));
      assertThat(labels).as("%s: %s is in docs/metrics.md", where, each.group(1)).isNotNull();
      known.addAll(labels);
      if (each.group(2) == null) continue;
      for (var matcher = MATCHER.matcher(each.group(2)); matcher.find(); ) {
        assertThat(OF_THE_SCRAPE.contains(matcher.group(1)) || labels.contains(matcher.group(1)))
            .as("%s: %s has the label %s", where, each.group(1), matcher.group(1))
            .isTrue();
      }
    }
    assertThat(named > 0 || query.startsWith("up{")).as("%s names a metric: %s", where, query).isTrue();
    var kept = new TreeSet<String>();
    boolean grouped = false;
    for (var by = GROUPED.matcher(query); by.find(); grouped = true) kept.addAll(List.of(by.group(1).split("\\s*,\\s*", -1)));
    assertThat(known).as("%s groups by labels that there are", where).containsAll(kept);
    assertThat(grouped ? kept : known).as("%s shows labels that are left", where).containsAll(shown);
  }

  private static Set<String> named(Pattern pattern, String text) {
    var names = new TreeSet<String>();
    for (var each = pattern.matcher(text); each.find(); ) names.add(each.group(1));
    return names;
  }

  private static Map<?, ?> map(Object yaml) {
    return (Map<?, ?>) yaml;
  }

  private static List<Map<?, ?>> rules() throws IOException {
    var file = map(new Load(LoadSettings.builder().build()).loadFromString(Files.readString(FOLDER.resolve("dunlin-alerts.yaml"))));
    var rules = new ArrayList<Map<?, ?>>();
    for (Object group : (List<?>) file.get("groups")) {
      for (Object rule : (List<?>) map(group).get("rules")) rules.add(map(rule));
    }
    return rules;
  }

  @Test
  void alertsNameWhatThereIs() throws IOException {
    var names = new TreeSet<String>();
    for (var rule : rules()) {
      String name = (String) rule.get("alert");
      assertThat(names.add(name)).as("%s is there once", name).isTrue();
      assertThat(name).matches("Dunlin[A-Z][A-Za-z]+");
      assertThat((String) map(rule.get("labels")).get("severity")).as(name).isIn("critical", "warning");
      var annotations = map(rule.get("annotations"));
      assertThat(annotations.keySet()).as(name).isEqualTo(Set.of("summary", "runbook"));
      check(name, (String) rule.get("expr"), named(TEMPLATE, (String) annotations.get("summary")));
    }
    assertThat(names).hasSizeGreaterThan(20);
  }

  /** Each alert has a heading in the page, in the same order, under which there is something to read; the page has no other. */
  @Test
  void everyAlertIsExplained() throws IOException {
    var page = Files.readAllLines(ALERTS_PAGE);
    var explained = page.stream().filter(line -> line.startsWith("### ")).map(line -> line.substring(4)).toList();
    var alerts = new ArrayList<String>();
    for (var rule : rules()) {
      String name = (String) rule.get("alert");
      alerts.add(name);
      assertThat(map(rule.get("annotations")).get("runbook")).isEqualTo("docs/alerts.md#" + name.toLowerCase(Locale.ROOT));
    }
    assertThat(explained).isEqualTo(alerts);
    for (String name : alerts) {
      int heading = page.indexOf("### " + name);
      assertThat(page.get(heading + 2)).as(name).hasSizeGreaterThan(60).endsWith(".");
    }
  }

  @Test
  void theDashboardShowsWhatThereIs() throws IOException {
    JsonObject dashboard = JsonParser.parseString(Files.readString(FOLDER.resolve("dunlin-dashboard.json"))).getAsJsonObject();
    var ids = new TreeSet<Integer>();
    int queries = 0;
    for (JsonElement each : dashboard.getAsJsonArray("panels")) {
      JsonObject panel = each.getAsJsonObject();
      String title = panel.get("title").getAsString();
      assertThat(ids.add(panel.get("id").getAsInt())).as("the id of %s is there once", title).isTrue();
      if (panel.get("type").getAsString().equals("row")) continue;
      assertThat(panel.get("description").getAsString()).as(title).isNotEmpty();
      for (JsonElement target : panel.getAsJsonArray("targets")) {
        queries++;
        JsonObject query = target.getAsJsonObject();
        check(title, query.get("expr").getAsString(), named(LEGEND, query.get("legendFormat").getAsString()));
      }
    }
    assertThat(queries).isGreaterThan(40);
  }
}
