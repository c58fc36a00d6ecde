package dunlin.monitoring;

import dunlin.monitoring.Exposition.Family;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Writes docs/metrics.md from the families that nodes have, and reads their names and labels from it again. */
final class MetricsPage {
  static final Path FILE = Path.of("../../docs/metrics.md");

  private static final String INTRODUCTION =
      """
      # Metrics

      `/metrics` on the admin port has these families, in the text format of Prometheus. A test writes this page from what running brokers answer. `build/monitoring` has a dashboard for Grafana and
      [rules for alerts](alerts.md); an installation has them in `monitoring`.

      Every sample has the label `node`, the node's name. Names end in their unit, and counters in `_total`; what has no unit is a number of things. No label has a value that a client chooses. In JMX a meter has its name with dots,
      such as `dunlin.messages.dropped`, in `dunlin:type=Metrics`. Families with `cluster`, `links`, `calls` and `service` in their names are on nodes of a cluster only, those of certificates, of the password file and of access rules only where there are any.
      A counter by `reason` for which no reason has occurred may be missing.

      ## Times

      | Histogram | From | To | Counted | Error |
      |---|---|---|---|---|
      | `dunlin_publish_acknowledge_seconds` | the event loop reads a PUBLISH of QoS 1 or 2 | it writes PUBACK or PUBREC without an error | every such PUBLISH, on the publisher's node | both ends are the event loop's clock in whole milliseconds, which it reads with each buffer of a connection: 1 ms, and what a round of the loop takes. An acknowledgement that needs no wait counts as 0. |
      | `dunlin_publish_delivery_seconds` | the event loop reads a PUBLISH of any QoS | the message is written to a subscriber's connection | every delivery, on the subscriber's node, but repetitions and messages with the flag RETAIN; what waited in an inbox counts with its wait | as above; in a cluster the difference between the clocks of two nodes more |
      | `dunlin_store_commit_seconds` | a command is proposed to its range, here | it is on disk on a majority, applied and readable | every command, on the leader, by range | microseconds; commands of one log entry end at the same time |
      | `dunlin_dist_match_seconds` | the search for the routes of a message begins | all ranges of routes were searched | one message of 1,024 on average, at random; so its count is not a number of messages | the two readings of the clock, some 50 ns |

      Recording costs a message two plain additions for each of the first two, without reading a clock; matching costs less than a nanosecond on average.
      `_max` of a time is the longest of the last two to three minutes.
      """;

  private static final Map<String, String> TITLES =
      Map.ofEntries(
          Map.entry("application", "The embedding application"), Map.entry("auth", "Authentication and access rules"), Map.entry("cluster", "The cluster"),
          Map.entry("dist", "Routes and matching"), Map.entry("frontend", "Connections and what they do wrong"), Map.entry("inbox", "Sessions and inboxes"),
          Map.entry("links", "Links between nodes"), Map.entry("listener", "Listeners"), Map.entry("tls", "Listeners"), Map.entry("memory", "Bounds on memory"),
          Map.entry("messages", "The books of messages"), Map.entry("retain", "Retained messages"), Map.entry("store", "Ranges, Raft and disk"),
          Map.entry("tenants", "Tenants"));

  private MetricsPage() {}

  static String render(List<Family> families) {
    var sections = new TreeMap<String, StringBuilder>();
    for (Family family : families) {
      String[] words = family.name().split("_", -1);
      String title = words[0].equals("dunlin") ? TITLES.getOrDefault(words[1], "A node") : "The process";
      sections.computeIfAbsent(title, _ -> new StringBuilder()).append(row(family));
    }
    var page = new StringBuilder(INTRODUCTION);
    sections.forEach(
        (title, rows) -> {
          page.append("\n## ").append(title).append("\n\n");
          if (title.equals("The process")) page.append("Micrometer's, with the launcher only. `jvm_gc_*` is there too; its families depend on the garbage collector.\n\n");
          page.append("| Name | Type | Unit | Labels | What it is |\n|---|---|---|---|---|\n").append(rows);
        });
    return page.toString();
  }

  private static String row(Family family) {
    var labels = new TreeSet<>(family.labels().keySet());
    labels.removeAll(Set.of("node", "le", "quantile"));
    return "| `%s` | %s | %s | %s | %s |\n"
        .formatted(family.name(), family.type(), family.unit(), String.join(", ", labels), family.help().replace("|", "\\|"));
  }

  /** The labels of every series by its name, as queries name them. */
  static Map<String, Set<String>> series() throws IOException {
    var series = new TreeMap<String, Set<String>>();
    for (String line : Files.readAllLines(FILE)) {
      String[] cells = line.split(" \\| ", -1);
      if (cells.length != 5 || !cells[0].startsWith("| `")) continue;
      String name = cells[0].substring(3, cells[0].length() - 1);
      if (!List.of("counter", "gauge", "histogram", "summary").contains(cells[1])) continue;
      var labels = new TreeSet<>(Set.of("node"));
      if (!cells[3].isEmpty()) labels.addAll(List.of(cells[3].split(", ", -1)));
      if (cells[1].equals("histogram")) {
        var buckets = new TreeSet<>(labels);
        buckets.add("le");
        series.put(name + "_bucket", buckets);
      }
      if (cells[1].equals("histogram") || cells[1].equals("summary")) {
        series.put(name + "_sum", labels);
        series.put(name + "_count", labels);
      } else {
        series.put(name, labels);
      }
    }
    return series;
  }
}
