package dunlin.chaos.attack;

import dunlin.chaos.mqtt.MqttBroker;
import dunlin.chaos.mqtt.MqttBroker.Home;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One row: a broker with an empty directory, its neighbour without and under the attack, a {@code kill -9} and a restart. */
final class AttackTrial {
  /*
   * Owner: the thread of the run.
   * Failure: any error only fails this row; the broker has ended afterwards.
   */
  private static final Logger log = LoggerFactory.getLogger(AttackTrial.class);
  private static final int WARM_SECONDS = 15;
  private static final Duration SETTLE = Duration.ofSeconds(3);
  private static final Duration QUIET = Duration.ofSeconds(10);
  private static final Duration P99_MAX = Duration.ofMillis(50);
  private static final List<String> DEADLY = List.of("OutOfMemoryError", "OutOfDirectMemoryError", "StackOverflowError", " ERROR ");

  /**
   * The outcome of a row.
   *
   * @param problems empty when it passed
   */
  record Outcome(Attack attack, String done, Duration quiet, Duration attacked, Duration start, long memoryMegabytes, List<String> problems) {
    boolean good() {
      return problems.isEmpty();
    }
  }

  private final Attack attack;
  private final Path directory;
  private final int seconds;
  private final List<String> problems = new ArrayList<>();
  private String done = "";
  private Duration quiet = Duration.ZERO;
  private Duration attacked = Duration.ZERO;
  private Duration start = Duration.ZERO;
  private long memoryMegabytes;

  private AttackTrial(Attack attack, Path directory, int seconds) {
    this.attack = attack;
    this.directory = directory;
    this.seconds = seconds;
  }

  /** @param seconds the duration of the attack */
  static Outcome run(Attack attack, Path distribution, Path directory, int heapMegabytes, int seconds) {
    return new AttackTrial(attack, directory, seconds).run(distribution, heapMegabytes);
  }

  private Outcome run(Path distribution, int heapMegabytes) {
    Path printed = directory.resolve("broker.log");
    try {
      Files.createDirectories(directory.getParent());
      Files.createDirectory(directory); // a directory of an earlier run would prove nothing
      var data = directory.resolve("data");
      var settings = settings();
      try (var broker = new MqttBroker(Home.local(distribution, data, printed, heapMegabytes, settings), null, MqttBroker.Lives.UNTOLD)) {
        play(broker, printed);
      }
      logged(printed, DEADLY).ifPresent(line -> problems.add("the broker has logged: " + line));
    } catch (IOException | RuntimeException e) {
      log.error("{} has not come to its end", attack.name(), e);
      problems.add("has not come to its end: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      problems.add("interrupted");
    }
    return new Outcome(attack, done, quiet, attacked, start, memoryMegabytes, problems);
  }

  private Map<String, String> settings() throws IOException {
    if (attack.passwords().isEmpty()) return Map.of();
    var file = Files.writeString(directory.resolve("passwords"), attack.passwords());
    return Map.of("dunlin.auth.password-file", file.toString(), "dunlin.auth.anonymous", "true");
  }

  private void play(MqttBroker broker, Path printed) throws IOException, InterruptedException {
    broker.start();
    try (var neighbour = new Neighbour(broker.port(), "first")) {
      try (var day = new Assault(broker.port(), WARM_SECONDS)) {
        Everyday.play(day);
      }
      Thread.sleep(SETTLE);
      int mark = neighbour.mark();
      Thread.sleep(QUIET);
      quiet = Neighbour.percentile(neighbour.delays(mark), 99);
      mark = neighbour.mark();
      try (var assault = new Assault(broker.port(), seconds)) {
        attack.play().play(assault);
        attacked = Neighbour.percentile(neighbour.delays(mark), 99);
        done = assault.figures();
        problems.addAll(assault.problems());
      }
      if (neighbour.lost()) problems.add("the neighbour was disconnected");
    }
    var most = Duration.ofNanos(Math.max(P99_MAX.toNanos(), 2 * quiet.toNanos()));
    if (attacked.compareTo(most) > 0) problems.add("the neighbour's p99 rose to %d ms".formatted(attacked.toMillis()));
    memoryMegabytes = mostMemory(broker.pid());
    if (!attack.mustLog().isEmpty() && logged(printed, List.of(attack.mustLog())).isEmpty()) problems.add("the broker has not logged: " + attack.mustLog());
    broker.kill();
    start = broker.start();
    if (start.compareTo(attack.startMax()) > 0) problems.add("the start after kill -9 took %d ms".formatted(start.toMillis()));
    try (var neighbour = second(broker, attack.startMax().minus(Attack.START_MAX))) {
      Thread.sleep(Duration.ofSeconds(2));
      if (neighbour.mark() == 0 || neighbour.lost()) problems.add("the neighbour is not served after the start");
    }
    broker.mustRun();
  }

  /**
   * A broker that has as much as it can hold may refuse a subscription until it knows that its start has left room.
   *
   * @param patience zero for a row that leaves less behind
   */
  private static Neighbour second(MqttBroker broker, Duration patience) throws IOException, InterruptedException {
    long until = System.nanoTime() + patience.toNanos();
    while (true) {
      try {
        return new Neighbour(broker.port(), "second");
      } catch (IOException refused) {
        if (System.nanoTime() - until >= 0) throw refused;
        Thread.sleep(500);
      }
    }
  }

  /** The peak resident memory of the process, in megabytes; 0 where it is unknown. */
  private static long mostMemory(long pid) {
    try (Stream<String> lines = Files.lines(Path.of("/proc", String.valueOf(pid), "status"))) {
      return lines.filter(line -> line.startsWith("VmHWM:")).mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) / 1024).findFirst().orElse(0);
    } catch (IOException e) {
      return 0;
    }
  }

  /** The first line of a log that has one of these texts in it. */
  private static Optional<String> logged(Path printed, List<String> texts) throws IOException {
    try (Stream<String> lines = Files.lines(printed)) {
      return lines.filter(line -> texts.stream().anyMatch(line::contains)).findFirst();
    }
  }
}
