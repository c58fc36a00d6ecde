package dunlin.chaos;

import dunlin.chaos.history.Checker.Findings;
import dunlin.chaos.history.Checker.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** The results of a run as a table for people and as JSON. */
final class Report {
  private Report() {}

  static String markdown(long seed, List<Result> results) {
    var lines = new ArrayList<String>();
    lines.add("Seed " + seed + ". Gaps are the longest time without an acknowledged write after a fault, median and 99th percentile of the rounds.");
    lines.add("");
    lines.add("| fault | what happens | rounds | acknowledged | refused | unknown (done) | lost | doubled | other | gap p50, ms | gap p99, ms | verdict |");
    lines.add("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|");
    for (var result : results) {
      var found = result.findings();
      lines.add(
          "| "
              + String.join(
                  " | ",
                  result.fault().name(),
                  result.fault().what(),
                  String.valueOf(result.gapsNanos().size()),
                  cell(found.map(Findings::acknowledged)),
                  cell(found.map(Findings::refused)),
                  found.map(of -> of.unknown() + " (" + of.unknownDone() + ")").orElse(""),
                  cell(found.map(of -> of.count(Violation.LOST))),
                  cell(found.map(of -> of.count(Violation.DOUBLED))),
                  cell(found.map(Report::other)),
                  cell(result.gapMillis(50)),
                  cell(result.gapMillis(99)),
                  result.verdict().text)
              + " |");
    }
    for (var result : results) {
      if (result.verdict().good) continue;
      lines.add("");
      lines.add("`" + result.fault().name() + "`, again by `--only " + result.fault().name() + " --seed " + seed + "`:");
      lines.add("");
      for (String sentence : sentences(result)) lines.add("- " + sentence);
    }
    return String.join("\n", lines) + "\n";
  }

  private static String cell(Optional<Long> number) {
    return number.map(String::valueOf).orElse("");
  }

  private static long other(Findings findings) {
    return findings.counts().values().stream().mapToLong(Long::longValue).sum()
        - findings.count(Violation.LOST) - findings.count(Violation.DOUBLED);
  }

  private static List<String> sentences(Result result) {
    var sentences = new ArrayList<>(result.problems());
    result.findings().ifPresent(found -> sentences.addAll(found.samples()));
    return sentences;
  }

  static String json(long seed, List<Result> results) {
    return "{\"seed\": " + seed + ", \"results\": [\n  " + results.stream().map(Report::json).collect(Collectors.joining(",\n  ")) + "\n]}\n";
  }

  private static String json(Result result) {
    var fields = new ArrayList<String>();
    fields.add("\"fault\": " + quoted(result.fault().name()));
    fields.add("\"verdict\": " + quoted(result.verdict().name().toLowerCase(Locale.ROOT)));
    fields.add("\"seed\": " + result.seed());
    fields.add("\"gaps_ms\": " + result.gapsNanos().stream().map(nanos -> nanos / 1_000_000).toList());
    result
        .findings()
        .ifPresent(
            found -> {
              fields.add("\"acknowledged\": " + found.acknowledged());
              fields.add("\"refused\": " + found.refused());
              fields.add("\"unknown\": " + found.unknown());
              fields.add("\"unknown_done\": " + found.unknownDone());
              for (var violation : Violation.values())
                fields.add(quoted(violation.name().toLowerCase(Locale.ROOT)) + ": " + found.count(violation));
            });
    fields.add("\"said\": [" + sentences(result).stream().map(Report::quoted).collect(Collectors.joining(", ")) + "]");
    return "{" + String.join(", ", fields) + "}";
  }

  private static String quoted(String text) {
    var out = new StringBuilder("\"");
    text.chars()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') out.append('\\').append((char) c);
              else if (c < ' ') out.append(String.format(Locale.ROOT, "\\u%04x", c));
              else out.append((char) c);
            });
    return out.append('"').toString();
  }
}
