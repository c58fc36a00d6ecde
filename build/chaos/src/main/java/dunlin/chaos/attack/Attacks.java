package dunlin.chaos.attack;

import dunlin.chaos.attack.AttackTrial.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Attacks a broker with a small heap as ordinary clients could, row by row: its process must survive and restart in
 * time, and a neighbour must hardly be affected. See build/chaos/README.md for its use.
 */
public final class Attacks {
  private static final Logger log = LoggerFactory.getLogger(Attacks.class);
  private static final int HEAP_MEGABYTES = 256;
  private static final int SECONDS = 60;
  private static final String BEGIN = "<!-- attacks -->\n";
  private static final String END = "<!-- /attacks -->";

  static final List<Attack> ALL =
      Stream.of(MessageAttacks.ALL, SubscriptionAttacks.ALL, PacketAttacks.ALL, PasswordAttacks.ALL, BudgetAttack.ALL).flatMap(List::stream).toList();

  /**
   * The command line.
   *
   * @param only names of rows; empty for all
   * @param seconds the duration of each attack
   * @param page the file that gets the table, between its marks
   */
  record Request(List<String> only, int heapMegabytes, int seconds, Path out, Path distribution, @Nullable Path page) {}

  private Attacks() {}

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
    var options = Options.parse(arguments, List.of("--only", "--heap-megabytes", "--seconds", "--out", "--distribution", "--page"));
    return new Request(
        options.rows("--only", names()), options.atLeastOne("--heap-megabytes", HEAP_MEGABYTES), options.atLeastOne("--seconds", SECONDS),
        options.path("--out", "build/chaos/target/attacks"), options.needed("--distribution"), options.path("--page"));
  }

  private static List<String> names() {
    return ALL.stream().map(Attack::name).toList();
  }

  private static List<Outcome> run(Request request) throws IOException {
    Files.createDirectories(request.out);
    System.out.println("Logs and the table in " + request.out);
    var outcomes = new ArrayList<Outcome>();
    for (var attack : ALL) {
      if (!request.only.isEmpty() && !request.only.contains(attack.name())) continue;
      var outcome =
          AttackTrial.run(attack, request.distribution, request.out.resolve(attack.name()), request.heapMegabytes, request.seconds);
      log.info("{}: {} {}", attack.name(), outcome.good() ? "passed" : "failed", outcome.problems());
      outcomes.add(outcome);
      Files.writeString(request.out.resolve("attacks.md"), table(outcomes));
    }
    String table = table(outcomes);
    System.out.println(table);
    if (request.page != null) Files.writeString(request.page, inserted(Files.readString(request.page), table));
    return outcomes;
  }

  static String table(List<Outcome> outcomes) {
    var text =
        new StringBuilder("| attack | what the clients do | what came of it | p99 in quiet, ms | p99 under attack, ms | memory, MB | start after `kill -9`, s | outcome |\n")
            .append("|---|---|---|---|---|---|---|---|\n");
    for (var each : outcomes)
      text.append(
          "| `%s` | %s | %s | %.1f | %.1f | %d | %.1f | %s |\n"
              .formatted(
                  each.attack().name(), each.attack().what(), each.done(), each.quiet().toNanos() / 1e6, each.attacked().toNanos() / 1e6,
                  each.memoryMegabytes(), each.start().toMillis() / 1e3, each.good() ? "passed" : "failed: " + String.join("; ", each.problems())));
    return text.toString();
  }

  /** The page with the table between its two marks, which must exist. */
  static String inserted(String page, String table) {
    int from = page.indexOf(BEGIN);
    int until = page.indexOf(END);
    if (from < 0 || until < from) throw new IllegalArgumentException("the page has no place for the table, between " + BEGIN.trim() + " and " + END);
    return page.substring(0, from) + BEGIN + table + page.substring(until);
  }
}
