package dunlin.chaos.mqtt;

import dunlin.chaos.Need;
import dunlin.chaos.Programs;
import dunlin.chaos.Stage;
import dunlin.chaos.TrialException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
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
  private static final List<String> SHORT = List.of("none", "kill", "overflow", "storm", "cluster-none");
  private static final int STORM_SESSIONS = 500;
  private static final int PAUSE_MILLIS = 12;
  private static final int USAGE = 2;

  /** The rounds that fit into a journal. More rounds are several trials, each with an empty directory and a check of its own. */
  private static final int TRIAL_ROUNDS_MAX = 25;

  /**
   * The command line.
   *
   * @param only names of rows; empty for all
   * @param storm the number of sessions of the row "storm"
   * @param pauseMillis the average pause of each publisher between two messages
   * @param sessionRanges the number of ranges that sessions are divided into
   * @param previous the distribution of an earlier version: a directory, or an archive of one
   * @param page the file that gets the table, between its marks
   */
  record Request(
      List<String> only, long seed, int rounds, int storm, int pauseMillis, int sessionRanges, Path out, Path distribution, @Nullable Path previous, @Nullable Path programs,
      boolean isolated, boolean network, @Nullable Path page) {
    Set<Need> offers() {
      var offers = EnumSet.noneOf(Need.class);
      if (previous != null) offers.add(Need.PREVIOUS);
      if (programs == null) return offers;
      offers.add(Need.FSYNC);
      if (isolated) offers.add(Need.DISK);
      if (network) offers.add(Need.NETWORK);
      return offers;
    }

    int trials() {
      return (rounds + TRIAL_ROUNDS_MAX - 1) / TRIAL_ROUNDS_MAX;
    }

    /** The part of one of the trials, in a directory of its own. */
    Request trial(int number) {
      int share = Math.min(TRIAL_ROUNDS_MAX, rounds - number * TRIAL_ROUNDS_MAX);
      return new Request(
          only, seed, share, storm, pauseMillis, sessionRanges, number == 0 ? out : out.resolve("trial-" + number), distribution, previous, programs, isolated, network,
          page);
    }

    /** The settings of a row's processes. */
    Map<String, String> settings(Row row) {
      if (sessionRanges == 1) return row.settings();
      var all = new HashMap<>(row.settings());
      all.put(MqttCluster.SESSION_RANGES, String.valueOf(sessionRanges));
      return all;
    }

    /** The directory of the distribution with which the processes of a row begin. */
    Path begins(Row row) {
      if (!row.needs().contains(Need.PREVIOUS)) return distribution;
      if (previous == null) throw new IllegalStateException("no earlier version is given");
      return Files.isDirectory(previous) ? previous : unpacked(previous, out.resolve("previous"));
    }

    private static Path unpacked(Path archive, Path to) {
      try {
        Files.createDirectories(to);
        Programs.run("tar", "-xzf", archive.toString(), "-C", to.toString(), "--strip-components=1");
        return to;
      } catch (IOException e) {
        throw new TrialException(archive + " cannot be unpacked", e);
      }
    }
  }

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
        case "--short" -> {
          only = SHORT;
          rounds = 1;
        }
        case "--isolated" -> isolated = true;
        case "--network" -> network = true;
        case "--only", "--seed", "--rounds", "--storm", "--pause-millis", "--session-ranges", "--out", "--distribution", "--previous", "--programs", "--page" -> {
          if (!rest.hasNext()) throw new IllegalArgumentException(option + " needs a value");
          String value = rest.next();
          switch (option) {
            case "--only" -> only = List.of(value.split(",", -1));
            case "--seed" -> seed = Long.parseLong(value);
            case "--rounds" -> rounds = Integer.parseInt(value);
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
    if (sessionRanges < 1) throw new IllegalArgumentException("--session-ranges " + sessionRanges + " is less than 1");
    if (distribution == null) throw new IllegalArgumentException("--distribution is missing");
    if (previous != null && !Files.exists(previous)) throw new IllegalArgumentException("there is no " + previous);
    return new Request(
        only, seed, rounds, storm, pauseMillis, sessionRanges, out.toAbsolutePath(), distribution.toAbsolutePath(), previous, programs, isolated, network, page);
  }

  /** Runs the requested rows, and writes mqtt.md after each row. */
  static List<Outcome> run(Request request) throws IOException {
    Files.createDirectories(request.out);
    System.out.println("Seed " + request.seed + "; logs and the table in " + request.out);
    var outcomes = new ArrayList<Outcome>();
    try (var stage = new Stage(request.programs, request.offers(), new Random(request.seed))) {
      for (var row : Rows.ALL) {
        if (!request.only.isEmpty() && !request.only.contains(row.name())) continue;
        for (int trial = 0; trial < request.trials(); trial++) {
          // A row has the same seed whichever other rows are run.
          long seed = request.seed * 31 + row.name().hashCode() + trial;
          var outcome = stage.offers(row.needs()) ? MqttTrial.run(row, request.trial(trial), stage, seed) : Outcome.skipped(row, seed);
          log.info("{}: {}, {} anomalies {}", row.name(), outcome.verdict(), outcome.violations().size(), outcome.problems());
          outcomes.add(outcome);
          Files.writeString(request.out.resolve("mqtt.md"), MqttReport.markdown(request.seed, outcomes));
        }
      }
    }
    String table = MqttReport.markdown(request.seed, outcomes);
    System.out.println(table);
    if (request.page != null) Files.writeString(request.page, MqttReport.inserted(Files.readString(request.page), table));
    return outcomes;
  }
}
