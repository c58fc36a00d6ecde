package dunlin.chaos.mqtt.rows;

import dunlin.chaos.Stage;
import dunlin.chaos.mqtt.MqttReport;
import dunlin.chaos.mqtt.MqttTrial;
import dunlin.chaos.mqtt.Outcome;
import dunlin.chaos.mqtt.Request;
import dunlin.chaos.mqtt.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks D1 to D12 of docs/DELIVERY.md on one broker, and D14 too on a cluster: real clients, faults, and a check of the clients' whole history.
 * See build/chaos/README.md for its use and its limits.
 */
public final class MqttChaos {
  /*
   * How a row is run. An MqttTrial starts the shipped broker with an empty directory and puts the Load on it: about
   * thirty MqttClients, plain sockets that follow the specification to the letter, each with habits of its own. They
   * record all that they do and see in one Journal, with one clock. The row's Script causes a fault and heals it; then
   * publishers end, all remaining clients reconnect and receive their messages, and the MqttChecker compares the
   * history with the promises. Last come the Mutants: the same history with one promise broken once, each of which the
   * checker must find.
   *
   * Why a history and not a concurrent model: what is allowed depends on later events (an acknowledgement, a second
   * attempt, the end of a connection). So each rule is one pass over the history, and does not apply where the client
   * cannot know.
   *
   * Owner: main runs one row after the other.
   * Failure: the broker ends with the harness's namespace, or when the row is closed.
   */
  private static final Logger log = LoggerFactory.getLogger(MqttChaos.class);
  private static final List<String> SHORT = List.of("none", "kill", "overflow", "storm", "cluster-none", "cluster-kill");
  /** Those of separate services, which take too long for a gate. */
  private static final List<String> SERVICES =
      List.of("services-none", "services-kill", "services-kill-all", "services-pause", "services-stop", "services-down");

  private static final int SOAK_MINUTES = 5;
  private static final int STORM_SESSIONS = 500;
  private static final int PAUSE_MILLIS = 12;
  private static final int USAGE = 2;

  private MqttChaos() {}

  public static void main(String[] args) throws IOException {
    Request request;
    try {
      request = parse(Arrays.asList(args), new Random().nextLong(1_000_000));
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.err.println("Rows: " + String.join(" ", Rows.ALL.stream().map(Row::name).toList()));
      System.exit(USAGE);
      return;
    }
    System.exit(run(request).stream().allMatch(Outcome::good) ? 0 : 1);
  }

  static Request parse(List<String> arguments, long anySeed) {
    List<String> only = List.of();
    long seed = anySeed;
    int rounds = 3;
    int minutes = SOAK_MINUTES;
    int storm = STORM_SESSIONS;
    int pauseMillis = PAUSE_MILLIS;
    int sessionRanges = 1;
    var out = Path.of("build/chaos/target/mqtt");
    @Nullable Path distribution = null;
    @Nullable Path previous = null;
    @Nullable Path programs = null;
    @Nullable Path page = null;
    boolean isolated = false;
    boolean network = false;
    for (var rest = arguments.iterator(); rest.hasNext(); ) {
      String option = rest.next();
      switch (option) {
        case "--short", "--services" -> {
          only = option.equals("--short") ? SHORT : SERVICES;
          rounds = 1;
        }
        case "--isolated" -> isolated = true;
        case "--network" -> network = true;
        case "--only", "--seed", "--rounds", "--minutes", "--storm", "--pause-millis", "--session-ranges", "--out", "--distribution", "--previous", "--programs", "--page" -> {
          if (!rest.hasNext()) throw new IllegalArgumentException(option + " needs a value");
          String value = rest.next();
          switch (option) {
            case "--only" -> only = List.of(value.split(",", -1));
            case "--seed" -> seed = Long.parseLong(value);
            case "--rounds" -> rounds = Integer.parseInt(value);
            case "--minutes" -> minutes = Integer.parseInt(value);
            case "--storm" -> storm = Integer.parseInt(value);
            case "--pause-millis" -> pauseMillis = Integer.parseInt(value);
            case "--session-ranges" -> sessionRanges = Integer.parseInt(value);
            case "--out" -> out = Path.of(value);
            case "--distribution" -> distribution = Path.of(value);
            case "--previous" -> previous = Path.of(value).toAbsolutePath();
            case "--page" -> page = Path.of(value);
            default -> programs = Path.of(value);
          }
        }
        default -> throw new IllegalArgumentException("there is no option " + option);
      }
    }
    var known = Rows.ALL.stream().map(Row::name).toList();
    for (String name : only) if (!known.contains(name)) throw new IllegalArgumentException("there is no row " + name);
    if (rounds < 1) throw new IllegalArgumentException("--rounds " + rounds + " is less than 1");
    if (minutes < 1) throw new IllegalArgumentException("--minutes " + minutes + " is less than 1");
    if (sessionRanges < 1) throw new IllegalArgumentException("--session-ranges " + sessionRanges + " is less than 1");
    if (distribution == null) throw new IllegalArgumentException("--distribution is missing");
    if (previous != null && !Files.exists(previous)) throw new IllegalArgumentException("there is no " + previous);
    return new Request(
        only, seed, rounds, minutes, storm, pauseMillis, sessionRanges, out.toAbsolutePath(), distribution.toAbsolutePath(), previous, programs, isolated, network, page);
  }

  /** Runs the requested rows, and writes mqtt.md after each row. */
  static List<Outcome> run(Request request) throws IOException {
    Files.createDirectories(request.out());
    System.out.println("Seed " + request.seed() + "; logs and the table in " + request.out());
    var outcomes = new ArrayList<Outcome>();
    try (var stage = new Stage(request.programs(), request.offers(), new Random(request.seed()))) {
      for (var row : Rows.ALL) {
        if (!request.only().isEmpty() && !request.only().contains(row.name())) continue;
        for (int trial = 0; trial < request.trials(row); trial++) {
          // A row has the same seed whichever other rows are run.
          long seed = request.seed() * 31 + row.name().hashCode() + trial;
          var outcome = stage.offers(row.needs()) ? MqttTrial.run(row, request.trial(row, trial), stage, seed) : Outcome.skipped(row, seed);
          log.info("{}: {}, {} anomalies {}", row.name(), outcome.verdict(), outcome.violations().size(), outcome.problems());
          outcomes.add(outcome);
          Files.writeString(request.out().resolve("mqtt.md"), MqttReport.markdown(request.seed(), outcomes));
        }
      }
    }
    String table = MqttReport.markdown(request.seed(), outcomes);
    System.out.println(table);
    var page = request.page();
    if (page != null) Files.writeString(page, MqttReport.inserted(Files.readString(page), table));
    return outcomes;
  }
}
