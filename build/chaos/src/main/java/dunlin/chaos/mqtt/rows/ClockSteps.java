package dunlin.chaos.mqtt.rows;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Facts;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;

/** The wall clocks of leaders and frontends are moved forth and back while they run, and at last that of a leader of sessions while it does not. */
final class ClockSteps {
  /*
   * A step while a process runs is no fault, by D11: the rules apply as if nothing had happened. Time by which a process begins too late or too early is one, for what depends on clocks.
   *
   * Owner: the thread of the row.
   * Failure: a step that a process does not notice has tested nothing, and is a problem of the row.
   */
  private static final Duration STEP = Duration.ofNanos(Facts.CLOCK_STEP_NANOS);

  /** Longer than a short session, a delayed will or a message that expires lives. */
  private static final int HELD_MILLIS = 5_000;

  private static final int WRONG_MILLIS = 15_000;
  private static final Duration NOTICED_MAX = Duration.ofMinutes(1);

  /** What a process logs. */
  private static final String NOTICED = "The wall clock was moved by ";

  private static final String SESSIONS = "sessions";

  private ClockSteps() {}

  static void play(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      long terms = scene.cluster().terms();
      int from = scene.journal.size();
      for (var node : leadersAndFrontends(scene)) for (var ahead : List.of(STEP, Duration.ZERO, STEP.negated(), Duration.ZERO)) move(scene, node, ahead);
      scene.figures.put("elections while clocks were moved", String.valueOf(scene.cluster().terms() - terms));
      scene.figures.put("connections closed while clocks were moved", String.valueOf(scene.closedSince(from)));
      startAhead(scene);
    }
  }

  private static List<Node> leadersAndFrontends(Scene scene) {
    var leaders = new HashSet<>(scene.cluster().leaders().values());
    return scene.cluster().nodes().stream().filter(node -> leaders.contains(node) || node.hasClients()).toList();
  }

  private static void move(Scene scene, Node node, Duration ahead) throws InterruptedException {
    long before = node.logged(NOTICED);
    scene.journal.broker(Deed.CLOCK_MOVED, node.number, "%s, which leads %s: %d s ahead of the machine's clock".formatted(node.name(), node.leads(), ahead.toSeconds()));
    node.site.steeredClock().ahead(ahead);
    scene.count("clocks moved");
    scene.during(HELD_MILLIS);
    scene.expect(scene.await(NOTICED_MAX, () -> node.logged(NOTICED) > before), "%s has not noticed that its clock is %d s ahead of the machine's".formatted(node.name(), ahead.toSeconds()));
  }

  /** What it takes for the time that it was away is too long by the step. It leads the sessions by its clock then. */
  private static void startAhead(Scene scene) throws InterruptedException {
    String sessions = scene.cluster().leaders().keySet().stream().filter(range -> range.startsWith(SESSIONS)).findFirst().orElseThrow(() -> new TrialException("no range of sessions has a leader"));
    var node = scene.cluster().leaders().get(sessions);
    if (node == null) throw new TrialException(sessions + " has no leader");
    Strikes.once(scene, node, (_, struck) -> {
      struck.kill();
      scene.journal.broker(Deed.CLOCK_MOVED_WHILE_AWAY, struck.number, struck.name());
      struck.site.steeredClock().ahead(STEP);
      scene.outage();
      struck.start();
      Strikes.awaitReady(scene, struck);
      try (var operator = struck.operator()) {
        boolean leads = scene.await(Strikes.READY_MAX, () -> scene.cluster().lead(sessions, struck, operator));
        scene.expect(leads, "%s does not lead %s again".formatted(struck.name(), sessions));
      }
    });
    scene.during(WRONG_MILLIS);
  }
}
