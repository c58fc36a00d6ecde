package dunlin.chaos;

import dunlin.chaos.NodeOptions.LogCut;
import dunlin.store.settings.ClusterSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the guarantees of a range under faults: three processes over real files and sockets, a fault, and a check of
 * every single write. See build/chaos/README.md for its use and its limits.
 */
public final class Chaos {
  /*
   * How a row is run. A Trial takes three Sites of the Stage (ports on loopback, or for each node a network namespace,
   * a file system and a controllable fsync of its own), starts a Cluster of LedgerNodes there and puts a Load on it:
   * writers with many writes in flight, and a reader that asks for barriers. In each round the Fault strikes and is
   * healed, and writes must be answered again. Then the load ends, all replicas must reach the same log entry, and the
   * Checker compares their rows with the History.
   *
   * Why a list and not registers: with rows in the order of the log, every rule is one pass over the rows, a write that
   * is applied twice is visible, and no search for a possible order of operations is needed. Each write carries the
   * last place that its writer knows to be taken, so that a leader that has lost writes reports it at once.
   *
   * Owner: main runs one trial after the other.
   * Failure: nodes, links and mounts are in namespaces and processes that end with this one, also when it is killed.
   */
  private static final Logger log = LoggerFactory.getLogger(Chaos.class);
  private static final Set<String> SHORT = Set.of("kill-leader", "kill-all", "pause-leader");
  private static final int USAGE = 2;
  /** More than three nodes on two cores can handle, so that the writers' windows are the limit. */
  private static final int WRITES_PER_SECOND = 4000;
  private static final Duration STEADY = Duration.ofSeconds(1);

  /** @param only names of faults; empty for all */
  record Request(List<String> only, long seed, Conditions conditions, Path out, @Nullable Path programs, boolean isolated) {
    Set<Need> offers() {
      return programs == null ? Set.of() : isolated ? EnumSet.of(Need.FSYNC, Need.DISK, Need.NETWORK) : EnumSet.of(Need.FSYNC);
    }
  }

  private Chaos() {}

  public static void main(String[] args) throws IOException {
    Request request;
    try {
      request = parse(Arrays.asList(args), new Random().nextLong(1_000_000));
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.err.println("Faults: " + String.join(" ", Faults.ALL.stream().map(Fault::name).toList()));
      System.exit(USAGE);
      return;
    }
    boolean good = run(request).stream().allMatch(result -> result.verdict().good);
    System.exit(good ? 0 : 1);
  }

  static Request parse(List<String> arguments, long anySeed) {
    List<String> only = List.of();
    long seed = anySeed;
    int rounds = 3;
    var election = ClusterSettings.NONE.electionTimeout();
    Path out = Path.of("build/chaos/target/run");
    Path programs = null;
    var logCut = LogCut.OFTEN;
    int writesPerSecond = WRITES_PER_SECOND;
    var steady = STEADY;
    var nodeFlags = new ArrayList<String>();
    boolean isolated = false;
    for (var rest = arguments.iterator(); rest.hasNext(); ) {
      String option = rest.next();
      switch (option) {
        case "--short" -> {
          only = Faults.ALL.stream().map(Fault::name).filter(SHORT::contains).toList();
          rounds = 1;
        }
        case "--isolated" -> isolated = true;
        case "--usual-log" -> logCut = LogCut.USUAL;
        case "--only", "--seed", "--rounds", "--election-millis", "--writes-per-second", "--steady-seconds", "--node-flag", "--out",
            "--programs" -> {
          if (!rest.hasNext()) throw new IllegalArgumentException(option + " needs a value");
          String value = rest.next();
          switch (option) {
            case "--only" -> only = List.of(value.split(",", -1));
            case "--seed" -> seed = Long.parseLong(value);
            case "--rounds" -> rounds = Integer.parseInt(value);
            case "--election-millis" -> election = Duration.ofMillis(Long.parseLong(value));
            case "--writes-per-second" -> writesPerSecond = Integer.parseInt(value);
            case "--steady-seconds" -> steady = Duration.ofSeconds(Long.parseLong(value));
            case "--node-flag" -> nodeFlags.add(value);
            case "--out" -> out = Path.of(value);
            default -> programs = Path.of(value);
          }
        }
        default -> throw new IllegalArgumentException("there is no option " + option);
      }
    }
    var known = Faults.ALL.stream().map(Fault::name).toList();
    for (String name : only) if (!known.contains(name)) throw new IllegalArgumentException("there is no fault " + name);
    return new Request(only, seed, new Conditions(rounds, election, logCut, writesPerSecond, steady, nodeFlags), out, programs, isolated);
  }

  /** Runs the requested rows, and writes chaos.md and chaos.json after each row. */
  static List<Result> run(Request request) throws IOException {
    Path out = request.out.toAbsolutePath();
    if (Files.exists(out)) Damage.wipe(out);
    Files.createDirectories(out);
    System.out.println("Seed " + request.seed + "; logs and tables in " + out);
    var results = new ArrayList<Result>();
    try (var stage = new Stage(request.programs, request.offers(), new Random(request.seed))) {
      for (var fault : Faults.ALL) {
        if (!request.only.isEmpty() && !request.only.contains(fault.name())) continue;
        // A row has the same seed whichever other rows are run.
        long seed = request.seed * 31 + fault.name().hashCode();
        var result =
            stage.offers(fault.needs())
                ? Trial.run(fault, stage, out.resolve(fault.name()), seed, request.conditions)
                : Result.skipped(fault, seed);
        log.info("{}: {}", fault.name(), result.verdict().text);
        results.add(result);
        Files.writeString(out.resolve("chaos.json"), Report.json(request.seed, results));
        Files.writeString(out.resolve("chaos.md"), Report.markdown(request.seed, results));
      }
    }
    System.out.println(Report.markdown(request.seed, results));
    return results;
  }
}
