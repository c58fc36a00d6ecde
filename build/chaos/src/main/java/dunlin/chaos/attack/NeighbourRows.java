package dunlin.chaos.attack;

import dunlin.chaos.attack.Delays.Kind;
import dunlin.chaos.attack.NeighbourTrial.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Has one of 64 tenants flood a broker, in a different way in each row: the others must hardly notice, and lose nothing. See build/chaos/README.md for its use. */
public final class NeighbourRows {
  private static final Logger log = LoggerFactory.getLogger(NeighbourRows.class);
  private static final int HEAP_MEGABYTES = 256;
  private static final int SECONDS = 20;
  private static final int TIMES = 100;
  private static final double RATIO = 2;

  /**
   * The command line.
   *
   * @param only names of rows; empty for all
   * @param seconds the duration of the quiet phase and of the flood
   * @param times how many times a neighbour's share the flood is
   * @param ratio how much longer than in quiet the neighbours may wait
   */
  record Request(List<String> only, int heapMegabytes, int seconds, int times, double ratio, Path out, Path distribution) {}

  private NeighbourRows() {}

  public static void main(String[] args) throws IOException {
    Request request;
    try {
      request = parse(Arrays.asList(args));
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.err.println("Rows: " + String.join(" ", names()));
      System.exit(Options.USAGE);
      return;
    }
    System.exit(run(request).stream().allMatch(Outcome::good) ? 0 : 1);
  }

  static Request parse(List<String> arguments) {
    var options = Options.parse(arguments, List.of("--only", "--heap-megabytes", "--seconds", "--times", "--ratio", "--out", "--distribution"));
    return new Request(
        options.rows("--only", names()), options.atLeastOne("--heap-megabytes", HEAP_MEGABYTES), options.atLeastOne("--seconds", SECONDS),
        options.atLeastOne("--times", TIMES), options.number("--ratio", RATIO), options.path("--out", "build/chaos/target/neighbours"),
        options.needed("--distribution"));
  }

  private static List<String> names() {
    return Floods.ALL.stream().map(Flood::name).toList();
  }

  private static List<Outcome> run(Request request) throws IOException {
    Files.createDirectories(request.out);
    System.out.println("Logs and the table in " + request.out);
    var outcomes = new ArrayList<Outcome>();
    for (var flood : Floods.ALL) {
      if (!request.only.isEmpty() && !request.only.contains(flood.name())) continue;
      var outcome = NeighbourTrial.run(flood, request);
      log.info("{}: {} {}", flood.name(), outcome.good() ? "passed" : "failed", outcome.problems());
      outcomes.add(outcome);
      Files.writeString(request.out.resolve("neighbours.md"), table(outcomes));
    }
    System.out.println(table(outcomes));
    return outcomes;
  }

  static String table(List<Outcome> outcomes) {
    var text = new StringBuilder("| flood | what the tenant does | a second | what came of it ");
    for (var kind : Kind.values()) text.append("| ").append(kind).append(' ');
    text.append("| lost | outcome |\n|---|---|---|---|").append("---|".repeat(Kind.values().length)).append("---|---|\n");
    for (var each : outcomes) {
      text.append("| `%s` | %s | %,d | %s ".formatted(each.flood().name(), each.flood().what(), each.perSecond(), each.figures()));
      for (var kind : Kind.values()) {
        String change = each.changes().stream().filter(one -> one.kind() == kind).map(Object::toString).findFirst().orElse("");
        text.append("| ").append(change).append(' ');
      }
      text.append("| %d | %s |\n".formatted(each.lost(), each.good() ? "passed" : "failed: " + String.join("; ", each.problems())));
    }
    return text.toString();
  }
}
