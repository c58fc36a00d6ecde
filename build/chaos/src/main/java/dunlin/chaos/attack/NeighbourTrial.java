package dunlin.chaos.attack;

import dunlin.chaos.mqtt.Journal;
import dunlin.chaos.mqtt.MqttBroker;
import dunlin.chaos.mqtt.MqttBroker.Home;
import dunlin.chaos.mqtt.check.Drops;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.MqttChecker;
import dunlin.chaos.mqtt.check.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One row: a broker with 64 tenants, of which 63 do the same in quiet and while the other one floods. */
final class NeighbourTrial {
  /*
   * Owner: the thread of the run.
   * Failure: any error only fails this row; the broker and the process of the flood have ended afterwards.
   */
  private static final Logger log = LoggerFactory.getLogger(NeighbourTrial.class);
  private static final int WARM_SECONDS = 10;
  private static final Duration SETTLE = Duration.ofSeconds(3);
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /**
   * The outcome of a row.
   *
   * @param figures what came of the flood
   * @param lost messages of the neighbours that were not delivered
   * @param problems empty when it passed
   */
  record Outcome(Flood flood, int perSecond, String figures, List<Delays.Change> changes, long lost, List<String> problems) {
    boolean good() {
      return problems.isEmpty();
    }
  }

  private final Flood flood;
  private final NeighbourRows.Request request;
  private final Path directory;
  private final Journal journal = new Journal();
  private final List<String> problems = new ArrayList<>();
  private List<Delays.Change> changes = List.of();
  private String figures = "";
  private long lost;

  private NeighbourTrial(Flood flood, NeighbourRows.Request request) {
    this.flood = flood;
    this.request = request;
    directory = request.out().resolve(flood.name());
  }

  static Outcome run(Flood flood, NeighbourRows.Request request) {
    return new NeighbourTrial(flood, request).run();
  }

  private int perSecond() {
    return flood.share() * request.times();
  }

  private Outcome run() {
    try {
      Files.createDirectories(request.out());
      Files.createDirectory(directory); // a directory of an earlier run would prove nothing
      var home = Home.local(request.distribution(), directory.resolve("data"), directory.resolve("broker.log"), request.heapMegabytes(), Neighbourhood.settings());
      try (var broker = new MqttBroker(home, null, MqttBroker.Lives.UNTOLD)) {
        broker.start();
        play(broker);
      }
    } catch (IOException | RuntimeException e) {
      log.error("{} has not come to its end", flood.name(), e);
      problems.add("has not come to its end: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      problems.add("interrupted");
    }
    return new Outcome(flood, perSecond(), figures, changes, lost, problems);
  }

  private void play(MqttBroker broker) throws IOException, InterruptedException {
    int port = broker.port(Neighbourhood.tenant(0));
    try (var flooding = FloodProcess.start(flood, port, perSecond(), request.seconds(), directory.resolve("flood.log"));
        var neighbours = new Neighbourhood(journal)) {
      neighbours.start(broker);
      try (var day = new Assault(port, WARM_SECONDS)) {
        Everyday.play(day);
      }
      Thread.sleep(SETTLE);
      long began = System.nanoTime();
      Thread.sleep(Duration.ofSeconds(request.seconds()));
      long ended = System.nanoTime();
      figures = flooding.play(problems);
      long over = System.nanoTime();
      if (!neighbours.stop()) problems.add("publishers have no acknowledgement");
      drain();
      broker.mustRun();
      judge(began, ended, over, broker.drops());
    }
  }

  /** Waits until all messages have arrived. */
  private void drain() throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (System.nanoTime() - deadline < 0 && lost(journal.events()) + MqttChecker.outstanding(journal.events()) > 0) Thread.sleep(100);
    journal.broker(Deed.DRAINED, 0, "");
  }

  private void judge(long began, long ended, long over, Drops drops) throws IOException {
    var history = journal.events();
    changes = Delays.changes(history, began, ended, over);
    lost = lost(history);
    if (lost > 0) problems.add(lost + " messages were lost");
    List<Violation> violations = MqttChecker.check(history, drops);
    violations.stream().limit(3).forEach(each -> problems.add(each.toString()));
    if (!violations.isEmpty()) Files.write(directory.resolve("history.txt"), history.stream().map(Event::toString).toList());
    if (history.stream().anyMatch(Event.ConnectFailed.class::isInstance)) problems.add("a neighbour could not connect");
    if (history.stream().anyMatch(each -> each instanceof Event.Ended it && it.how() == Event.End.BY_BROKER)) problems.add("a neighbour was disconnected");
    for (var each : changes) if (!each.isFair(request.ratio())) problems.add("%s: %.1f times as long".formatted(each.kind(), each.ratio()));
  }

  /** The messages that were published and are missing at one of the two subscribers of their tenant, QoS 0 too. */
  static long lost(List<Event> history) {
    var expected = new HashSet<String>();
    for (var event : history) {
      if (event instanceof Event.Published it && !it.retain()) for (int qos = 0; qos < 2; qos++) expected.add(it.id() + " " + qos);
    }
    for (var event : history) if (event instanceof Event.Received it) expected.remove(it.id() + " " + it.qos());
    return expected.size();
  }
}
