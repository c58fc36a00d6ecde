package dunlin.chaos;

import dunlin.chaos.history.Checker.Findings;
import dunlin.chaos.history.Checker.Violation;
import dunlin.chaos.history.Checker;
import dunlin.chaos.history.Row;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs one fault, several times, against a new cluster under load, and then the check. */
final class Trial {
  /*
   * Owner: the thread of the trials.
   * Failure: any error ends only the trial, as broken; nodes and mounts are removed afterwards.
   */
  private static final Logger log = LoggerFactory.getLogger(Trial.class);
  private static final long PROGRESS_ANSWERS = 100;
  /** Much more than an election needs, so that only a cluster that does not recover by itself exceeds it. */
  private static final Duration GAP_MOST = Duration.ofSeconds(30);

  private record Round(long fromNanos, long untilNanos) {}

  private final Fault fault;
  private final Stage stage;
  private final List<Site> sites;
  private final Cluster cluster;
  private final Random random;
  private final long seed;
  private final Conditions conditions;
  private final List<Round> finished = new ArrayList<>();
  private final List<String> problems = new ArrayList<>();
  private @Nullable Load load;
  private long struckNanos;

  private Trial(Fault fault, Stage stage, Path directory, long seed, Conditions conditions) {
    this.fault = fault;
    this.stage = stage;
    this.seed = seed;
    this.conditions = conditions;
    random = new Random(seed);
    sites = stage.sites(directory, fault.needs());
    cluster =
        new Cluster(
            sites,
            conditions.nodeFlags(),
            site ->
                new NodeOptions(
                    site.data(), site.host(), site.raftPort(), site.servicePort(), fault.fsync(), fault.diskFreeMin(),
                    conditions.electionTimeout(), conditions.logCut()));
  }

  /**
   * Runs one row of the suite.
   *
   * @param seed of all random choices, except the order of threads
   */
  static Result run(Fault fault, Stage stage, Path directory, long seed, Conditions conditions) {
    Trial trial;
    try {
      trial = new Trial(fault, stage, directory, seed, conditions);
    } catch (RuntimeException e) {
      log.error("{}: no sites", fault.name(), e);
      return Result.broken(fault, seed, List.of(), List.of(String.valueOf(e.getMessage())));
    }
    try {
      return trial.run();
    } catch (RuntimeException e) {
      log.error("{}", fault.name(), e);
      trial.problems.add(String.valueOf(e.getMessage()));
      return Result.broken(fault, seed, List.of(), trial.problems);
    } finally {
      trial.close();
    }
  }

  private Result run() {
    cluster.start();
    load = new Load(cluster, conditions.electionTimeout(), conditions.writesPerSecond(), new Random(seed), cluster::last);
    try {
      strikeAll();
    } catch (TrialException e) {
      if (!fault.mustLose()) throw e;
      log.warn("{}: nodes that have lost what they promised need not come back", fault.name(), e);
    }
    var history = load().stop();
    var findings = Checker.check(history, rows());
    var gaps = finished.stream().map(round -> Checker.longestGap(history, round.fromNanos, round.untilNanos)).toList();
    if (!fault.mustLose() && gaps.stream().anyMatch(gap -> gap > GAP_MOST.toNanos()))
      problems.add("no write was acknowledged for more than " + GAP_MOST);
    return new Result(fault, seed, verdict(findings), gaps, Optional.of(findings), problems);
  }

  private void strikeAll() {
    for (int round = 1; round <= conditions.rounds(); round++) {
      awaitProgress();
      cluster.awaitCaughtUp();
      pause(conditions.steady());
      struckNanos = 0;
      log.info("{}, round {} of {}", fault.name(), round, conditions.rounds());
      fault.strike().on(this);
      if (struckNanos == 0) throw new IllegalStateException(fault.name() + " does not say when it strikes");
      awaitProgress();
      pause(conditions.steady());
      finished.add(new Round(struckNanos, System.nanoTime()));
    }
  }

  private Map<String, List<Row>> rows() {
    if (!fault.mustLose()) return cluster.rows();
    // Nothing is guaranteed here, not even that the replicas converge.
    var rows = new LinkedHashMap<String, List<Row>>();
    for (var node : cluster.nodes()) {
      try {
        rows.put(node.site.name(), Cluster.rows(node));
      } catch (TrialException e) {
        log.warn("{}: not read", node.site.name(), e);
      }
    }
    return rows;
  }

  private Result.Verdict verdict(Findings findings) {
    if (fault.mustLose())
      return findings.count(Violation.LOST) + findings.count(Violation.BEHIND) > 0 ? Result.Verdict.FOUND : Result.Verdict.BLIND;
    return findings.clean() && problems.isEmpty() ? Result.Verdict.PASSED : Result.Verdict.VIOLATED;
  }

  // ------------------------------------------------------------------------------------------------ the interface for
  // faults

  Cluster cluster() {
    return cluster;
  }

  Links links() {
    return stage.links();
  }

  Random random() {
    return random;
  }

  Load load() {
    if (load == null) throw new IllegalStateException("not under load yet");
    return load;
  }

  /** Called once a round, when the fault begins. */
  void struck() {
    struckNanos = System.nanoTime();
  }

  /** Checks a rule beside those of the checker. */
  void require(boolean kept, String rule) {
    if (kept) return;
    log.error("{}: {}", fault.name(), rule);
    problems.add(rule);
  }

  /** Waits until writes are answered again, or still. */
  void awaitProgress() {
    long enough = load().answered() + PROGRESS_ANSWERS;
    Cluster.await("answer writes", () -> load().answered() >= enough ? Optional.of(true) : Optional.empty());
  }

  void pause(Duration duration) {
    try {
      Thread.sleep(duration);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }

  /** Pauses for a random time between these. */
  void pause(int leastMillis, int mostMillis) {
    pause(Duration.ofMillis(random.nextInt(leastMillis, mostMillis + 1)));
  }

  private void close() {
    try {
      cluster.close();
      if (load != null) load.close();
      if (fault.needs().contains(Need.NETWORK)) stage.links().heal();
      for (var site : sites) if (site.disk() != null) site.disk().close();
    } catch (RuntimeException e) {
      log.error("{}: not everything was cleared away", fault.name(), e);
    }
  }
}
