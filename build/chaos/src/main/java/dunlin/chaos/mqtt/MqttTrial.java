package dunlin.chaos.mqtt;

import dunlin.chaos.FsyncFault;
import dunlin.chaos.LoopDisk;
import dunlin.chaos.Need;
import dunlin.chaos.Stage;
import dunlin.chaos.mqtt.MqttBroker.Home;
import dunlin.chaos.mqtt.check.Drops;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.Facts;
import dunlin.chaos.mqtt.check.MqttChecker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One row: a broker or a cluster with an empty directory, its clients, the fault, and the check. */
public final class MqttTrial {
  /*
   * Owner: the thread of the run.
   * Failure: any error only fails this row; the broker and its disk are removed afterwards.
   */
  private static final Logger log = LoggerFactory.getLogger(MqttTrial.class);
  private static final int HEAP_MEGABYTES = 256;
  /** For half a million routes. */
  private static final int MORE_HEAP_MEGABYTES = 1_024;
  /** The silence after which missing messages count as lost. */
  private static final long PATIENCE_NANOS = 25_000_000_000L;

  /** For clients that come back, and then for messages. */
  private static final long DRAIN_MAX_NANOS = 600_000_000_000L;

  /** What the load does without a fault in the end. Longer than a cut and what TCP sends after one. */
  private static final long CALM_MAX_MILLIS = 60_000;

  private final Row row;
  private final Request request;
  private final Stage stage;
  private final long seed;
  private final Path directory;
  private final Journal journal = new Journal();
  private final List<String> problems = new ArrayList<>();
  private final Map<String, String> figures = new LinkedHashMap<>();
  private Drops drops = Drops.NONE;

  private MqttTrial(Row row, Request request, Stage stage, long seed) {
    this.row = row;
    this.request = request;
    this.stage = stage;
    this.seed = seed;
    directory = request.out().resolve(row.name());
  }

  public static Outcome run(Row row, Request request, Stage stage, long seed) {
    return new MqttTrial(row, request, stage, seed).run();
  }

  private Outcome run() {
    try {
      Files.createDirectories(directory);
      if (row.soaks()) figures.put("minutes", String.valueOf(request.minutes()));
      else figures.put("rounds", String.valueOf(request.rounds()));
      if (request.sessionRanges() > 1) figures.put("ranges of sessions", String.valueOf(request.sessionRanges()));
      switch (row.form()) {
        case USUAL, OWN -> playOne();
        case CLUSTER, OWN_CLUSTER -> playCluster(MqttCluster.EQUAL, List.of(), HEAP_MEGABYTES);
        case SERVICES, OWN_SERVICES -> playCluster(MqttCluster.SERVICES, List.of(), HEAP_MEGABYTES);
        case MORE_SERVICES -> playCluster(MqttCluster.SERVICES, MqttCluster.ONE_OF_EACH, MORE_HEAP_MEGABYTES);
        case SPARE_CLUSTER -> playCluster(MqttCluster.EQUAL, MqttCluster.ONE_MORE_EQUAL, HEAP_MEGABYTES);
        case SPARE_SERVICES -> playCluster(MqttCluster.SERVICES, MqttCluster.ONE_WITH_REPLICAS_OF_EACH, HEAP_MEGABYTES);
      }
    } catch (IOException | RuntimeException e) {
      log.error("{} has not come to its end", row.name(), e);
      problems.add("has not come to its end: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      problems.add("interrupted");
    }
    return judge();
  }

  private void playOne() throws InterruptedException {
    var fsync = row.needs().contains(Need.FSYNC) ? new FsyncFault(program("fsync.so"), directory.resolve("fsync")) : null;
    try (var disk = row.needs().contains(Need.DISK) ? new LoopDisk(directory.resolve("image"), directory.resolve("disk"), program("powercut")) : null) {
      var data = disk == null ? directory.resolve("data") : disk.data();
      Map<String, String> environment = fsync == null ? Map.of() : fsync.environment();
      var home = Home.local(request.distribution(), data, directory.resolve("broker.log"), environment, HEAP_MEGABYTES, request.settings(row));
      try (var broker = new MqttBroker(home, fsync, journal.lives(0))) {
        broker.start();
        play(broker, disk);
      }
    }
  }

  /**
   * @param founders the roles of those that are started together
   * @param spares the roles of those that the row starts
   */
  private void playCluster(List<String> founders, List<String> spares, int heapMegabytes) throws InterruptedException {
    var links = row.needs().contains(Need.NETWORK) ? stage.links() : null;
    var roles = Stream.concat(founders.stream(), spares.stream()).toList();
    var sites = stage.sites(directory, row.needs(), roles.size());
    try (var cluster =
        new MqttCluster(request.begins(row), request.distribution(), sites, roles, spares.size(), heapMegabytes, request.settings(row), links, journal)) {
      cluster.found();
      play(cluster, null);
    } finally {
      if (links != null) links.heal();
    }
  }

  private void play(Service service, @Nullable LoopDisk disk) throws InterruptedException {
    try (var scene = new Scene(journal, service, new Random(seed), request, disk)) {
      if (row.usual()) usual(scene, service);
      else {
        row.script().play(scene);
        drain(service, () -> false);
      }
      problems.addAll(scene.problems);
      figures.putAll(scene.figures);
    }
  }

  private void usual(Scene scene, Service service) throws InterruptedException {
    try (var load = new Load(journal, service, seed, request.pauseMillis())) {
      load.start();
      row.script().play(scene);
      scene.during(untilAllHaveEnded());
      load.stop();
      drain(service, load::comeBack);
      for (String client : load.away()) problems.add(client + " cannot come back");
      problems.addAll(load.problems());
    }
  }

  /**
   * How long until brokers must have ended all connections whose sessions have moved to others by now, in ms. A history that ends sooner has little to judge about that, about delayed wills and about
   * messages that expire, since faults excuse much.
   */
  private long untilAllHaveEnded() {
    long now = System.nanoTime();
    return Math.clamp((new Facts(journal.events()).latestEnds(now) - now) / 1_000_000, 0, CALM_MAX_MILLIS);
  }

  /**
   * Waits until all messages have arrived but those that inboxes have dropped, or none has for a while.
   *
   * @param bringBack asked again and again: whether it took time in which messages could not come, or clients are still to come back
   */
  private void drain(Service service, BooleanSupplier bringBack) throws InterruptedException {
    int least = Integer.MAX_VALUE;
    long begun = System.nanoTime();
    long since = begun;
    while (System.nanoTime() - since < PATIENCE_NANOS && System.nanoTime() - begun < DRAIN_MAX_NANOS) {
      boolean away = bringBack.getAsBoolean();
      long asked = System.nanoTime();
      int outstanding = MqttChecker.outstanding(journal.events());
      if (outstanding == 0 && !away) break;
      if (outstanding < least || away) since = System.nanoTime();
      else if (outstanding == service.drops().inboxes()) break;
      least = Math.min(least, outstanding);
      // A long history takes seconds, and the processors are for the brokers.
      Thread.sleep(Math.clamp(3 * (System.nanoTime() - asked) / 1_000_000, 500, 5_000));
    }
    drops = service.drops();
    figures.put("drops counted, of inboxes and of connections", drops.inboxes() + " and " + drops.connected());
    long mended = service.mendedRoutes();
    figures.put("routes mended", String.valueOf(mended));
    if (mended > 0 && row.isQuiet()) problems.add(mended + " routes were mended, and nothing had happened to them");
    journal.broker(Deed.DRAINED, 0, "");
  }

  private Outcome judge() {
    var history = journal.events();
    count(history);
    var violations = MqttChecker.check(history, drops);
    int mutants = 0;
    var unfound = new ArrayList<String>();
    if (row.usual() && violations.isEmpty() && problems.isEmpty()) {
      var facts = new Facts(history);
      var missing = MqttChecker.missing(history);
      var placeless = new ArrayList<String>();
      var found = found(facts, missing);
      for (int i = 0; i < found.size(); i++) {
        if (found.get(i).isEmpty()) placeless.add(Mutants.ALL.get(i).name());
        else if (!found.get(i).get()) unfound.add(Mutants.ALL.get(i).name());
      }
      mutants = found.size() - placeless.size();
      if (!placeless.isEmpty()) figures.put(MqttReport.PLACELESS, String.join(", ", placeless));
    }
    if (!violations.isEmpty()) write(history);
    boolean good = violations.isEmpty() && problems.isEmpty() && unfound.isEmpty();
    return new Outcome(row, seed, good ? Outcome.PASSED : Outcome.FAILED, violations, problems, figures, mutants, unfound);
  }

  /** Whether the checker finds each mutant of a history; empty for one that the history has no place for. No broker runs by now, and the heap has room for two checks at a time. */
  private List<Optional<Boolean>> found(Facts facts, Drops missing) {
    try (var two = Executors.newFixedThreadPool(2)) {
      var asked = new ArrayList<CompletableFuture<Optional<Boolean>>>();
      for (var mutant : Mutants.ALL) {
        var random = new Random(31 * seed + asked.size()); // none of another trial's, whose seed is the next one
        asked.add(CompletableFuture.supplyAsync(() -> mutant.mutation().of(facts, random).map(changed -> finds(mutant, changed, missing)), two));
      }
      return asked.stream().map(CompletableFuture::join).toList();
    }
  }

  private static boolean finds(Mutants.Mutant mutant, List<Event> changed, Drops missing) {
    return MqttChecker.check(changed, missing).stream().anyMatch(each -> each.promise().equals(mutant.promise()));
  }

  /** Writes the history, to understand a failed row. */
  private void write(List<Event> history) {
    try {
      Files.write(directory.resolve("history.txt"), history.stream().map(Event::toString).toList());
    } catch (IOException e) {
      problems.add("the history cannot be written: " + e);
    }
  }

  private void count(List<Event> history) {
    long published = history.stream().filter(each -> each instanceof Event.Published it && !it.dup()).count();
    long acknowledged = history.stream().filter(each -> each instanceof Event.Acknowledged it && it.success()).count();
    long received = history.stream().filter(Event.Received.class::isInstance).count();
    long connected = history.stream().filter(Event.Connected.class::isInstance).count();
    figures.put(MqttReport.PUBLISHED, String.valueOf(published));
    figures.put("acknowledged", String.valueOf(acknowledged));
    figures.put(MqttReport.RECEIVED, String.valueOf(received));
    figures.put("connections", String.valueOf(connected));
    if (row.usual()) figures.put("longest wait for PUBACK, CONNACK and SUBACK, ms", journal.gaps().toString());
  }

  private Path program(String name) {
    if (request.programs() == null) throw new IllegalStateException(name + " was not built");
    return request.programs().resolve(name);
  }
}
