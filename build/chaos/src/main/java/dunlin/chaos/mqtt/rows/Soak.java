package dunlin.chaos.mqtt.rows;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.rows.Strikes.Strike;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Strikes at random for some minutes: what, whom and when are drawn from the row's seed. */
final class Soak implements Script {
  /*
   * Bounds: the journal has room for the minutes of one trial; the request divides longer ones. When it has not, since much is published, the trial ends early, and says so.
   */
  /** A range of the answer of the operator's command, with those that have a replica. */
  private static final Pattern RANGE = Pattern.compile("\"id\"\\s*:\\s*\"([^\"]+)\"[^{}]*\"voters\"\\s*:\\s*\\[([^]]*)][^{}]*\"leader\"\\s*:\\s*\"([^\"]*)\"");

  /** @param ofLeaders whether it needs a node that can have replicas */
  private record Kind(String name, boolean ofLeaders, Strike strike) {}

  /** All that can befall a process, and moves of leaderships. */
  static final Soak OF_ALL =
      new Soak(
          20_000,
          List.of(
              new Kind("kill", false, Strikes::kill),
              new Kind("stop", false, Strikes::stop),
              new Kind("pause", false, Strikes::pause),
              new Kind("cut", false, Strikes::cut),
              new Kind("cut from nodes", false, Strikes::cutFromNodes),
              new Kind("move", true, Soak::move)));

  /** Kill -9 alone, as often as the cluster recovers. */
  static final Soak OF_KILLS = new Soak(8_000, List.of(new Kind("kill", false, Soak::killAndRecover)));

  private final int everyMillis;
  private final List<Kind> kinds;

  /** @param everyMillis the least time from one strike to the next; one that takes longer is followed by the next one at once */
  private Soak(int everyMillis, List<Kind> kinds) {
    this.everyMillis = everyMillis;
    this.kinds = kinds;
  }

  @Override
  public boolean soaks() {
    return true;
  }

  @Override
  public void play(Scene scene) throws InterruptedException {
    long start = System.nanoTime();
    long end = start + Duration.ofMinutes(scene.minutes).toNanos();
    while (System.nanoTime() < end && scene.journal.hasRoom()) {
      long began = System.nanoTime();
      var kind = kinds.get(scene.random.nextInt(kinds.size()));
      var nodes = scene.cluster().nodes().stream().filter(each -> !kind.ofLeaders || each.canHaveReplicas()).toList();
      var node = nodes.get(scene.random.nextInt(nodes.size()));
      Strikes.once(scene, node, kind.strike);
      scene.countStrike(kind.name);
      scene.during(Math.max(0, everyMillis - (System.nanoTime() - began) / 1_000_000));
    }
    if (!scene.journal.hasRoom()) scene.figures.put("seconds until the history was full", String.valueOf((System.nanoTime() - start) / 1_000_000_000));
  }

  /** Until it serves again, and each range has a leader. */
  private static void killAndRecover(Scene scene, Node node) throws InterruptedException {
    Strikes.kill(scene, node);
    Strikes.awaitReady(scene, node);
    scene.expect(scene.await(Strikes.READY_MAX, scene.cluster()::isLed), "not all ranges have a leader after %s was killed".formatted(node.name()));
  }

  /** The leadership of any range moves, as an operator asks for it at this node. */
  private static void move(Scene scene, Node node) throws InterruptedException {
    try {
      var ranges = new ArrayList<List<String>>();
      for (Matcher range = RANGE.matcher(node.ctl("cluster", "ranges")); range.find(); ) {
        var others = Arrays.stream(range.group(2).split(",", -1)).map(each -> each.trim().replace("\"", "")).filter(each -> !each.equals(range.group(3))).toList();
        if (!others.isEmpty()) ranges.add(List.of(range.group(1), others.get(scene.random.nextInt(others.size()))));
      }
      scene.expect(!ranges.isEmpty(), node.name() + " knows no range that could move");
      if (ranges.isEmpty()) return;
      var drawn = ranges.get(scene.random.nextInt(ranges.size()));
      var _ = node.ctl("cluster", "transfer-leadership", drawn.getFirst(), "--node", drawn.getLast());
    } catch (TrialException e) {
      // It is refused, or has no answer, while the cluster changes something by itself, such as leaders after the strike before.
      scene.count("moves refused");
    }
    scene.outage();
  }
}
