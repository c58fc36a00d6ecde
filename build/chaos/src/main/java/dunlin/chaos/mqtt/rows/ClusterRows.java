package dunlin.chaos.mqtt.rows;

import dunlin.chaos.Need;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.Scene;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The rows of a cluster of three brokers, in the order of the table. */
final class ClusterRows {
  private static final int FAR_MILLIS = 80;
  private static final int JITTER_MILLIS = 5;
  private static final int LOST_OF_THOUSAND = 10;
  private static final int SLOW_FSYNC_MILLIS = 20;
  private static final Duration MOVE_MAX = Duration.ofSeconds(30);

  /** Shorter than the product's, so that rounds are short; docs/RELIABILITY.md says which they are. */
  static final Map<String, String> TIMEOUTS =
      Map.of(
          "dunlin.cluster.heartbeat", "200ms",
          "dunlin.cluster.lease", "5s",
          "dunlin.cluster.down-after", "6s",
          "dunlin.cluster.election-timeout", "1s");

  static final List<Row> ALL =
      List.of(
          row("cluster-none", "nothing happens", Set.of(), scene -> scene.during(5000L * scene.rounds)),
          row("cluster-kill", "kill -9 of each, one after the other", Set.of(), Strikes.each(Strikes::kill)),
          row("cluster-kill-all", "kill -9 of all", Set.of(), ClusterRows::killAll),
          row("cluster-pause", "SIGSTOP for 8 s of each, one after the other", Set.of(), Strikes.each(Strikes::pause)),
          row("cluster-move", "the leader of each range moves", Set.of(), ClusterRows::move),
          row("cluster-stop", "each is stopped and started again, one after the other", Set.of(), Strikes.each(Strikes::stop)),
          row("cluster-power", "power loss of all, with slow fsyncs", Set.of(Need.DISK, Need.FSYNC), scene -> powerOfAll(scene, SLOW_FSYNC_MILLIS)),
          row("cluster-cut", "each out of reach of the others and of clients for 13 s, one after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::cut)),
          row("cluster-cut-nodes", "each out of reach of the others, not of clients, for 13 s, one after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::cutFromNodes)),
          row("cluster-cut-pairs", "two out of reach of each other, while the third reaches both, for 13 s, one pair after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::cutPair)),
          row("cluster-deafen", "each is heard by the others and hears nothing of them for 13 s, one after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::deafen)),
          row("cluster-far", "all links take 80 ms, 5 more or less, and lose 1 % of the packets", Set.of(Need.NETWORK), ClusterRows::far),
          row("cluster-soak", "any of these strikes any of them every 20 s", Set.of(Need.NETWORK), Soak.OF_ALL),
          row("cluster-kills", "kill -9 of any of them, the next once that one serves again and all ranges have leaders, about every 8 s at most", Set.of(), Soak.OF_KILLS),
          new Row(
              "cluster-replace", "three brokers: a fourth comes, one of the three is drained and leaves, and another one loses its disk and is replaced by a new one", Set.of(), TIMEOUTS,
              Form.SPARE_CLUSTER, Replacing::play),
          row(
              "cluster-clock", "the wall clock of each goes 10 minutes forth, back, back and forth, and that of the leader of the sessions forth while it does not run", Set.of(Need.CLOCK),
              ClockSteps::play));

  private ClusterRows() {}

  private static Row row(String name, String what, Set<Need> needs, Script script) {
    return new Row(name, "three brokers: " + what, needs, TIMEOUTS, Form.CLUSTER, script);
  }

  static void killAll(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(scene.random.nextInt(1000, 3000));
      scene.struck();
      scene.cluster().nodes().forEach(Node::kill);
      startAll(scene);
    }
  }

  private static void startAll(Scene scene) throws InterruptedException {
    scene.cluster().startAll();
    scene.outage();
    scene.healed();
  }

  /** Moves the leadership of every range to a broker that does not have it. */
  private static void move(Scene scene) throws InterruptedException {
    var nodes = scene.cluster().nodes();
    for (int round = 0; round < scene.rounds; round++) {
      for (String range : List.copyOf(scene.cluster().leaders().keySet())) {
        scene.during(scene.random.nextInt(1000, 3000));
        var from = scene.cluster().leaders().get(range);
        if (from == null) continue;
        var others = nodes.stream().filter(node -> node != from).toList();
        var to = others.get(scene.random.nextInt(others.size()));
        scene.struck(from);
        try (var operator = to.operator()) {
          boolean moved = scene.await(MOVE_MAX, () -> scene.cluster().lead(range, to, operator));
          scene.expect(moved, "the leadership of %s has not moved to %s".formatted(range, to.name()));
        }
        scene.outage();
        scene.healed();
      }
    }
  }

  static void powerOfAll(Scene scene, int fsyncMillis) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      DiskStrikes.power(scene, scene.cluster().nodes(), fsyncMillis);
      startAll(scene);
    }
  }

  static void far(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(1000);
      var leaders = scene.cluster().leaders();
      scene.struck();
      int from = scene.journal.size();
      long lost = scene.cluster().links().lost();
      scene.cluster().links().poor(FAR_MILLIS, JITTER_MILLIS, LOST_OF_THOUSAND);
      scene.during(8000);
      scene.outage();
      scene.figures.put("PUBACK, PUBREC while far, ms at p50", "%,d".formatted(scene.medianAnswer(from)));
      scene.figures.put("led by another while far", String.valueOf(moved(leaders, scene.cluster().leaders())));
      lost = scene.cluster().links().lost() - lost;
      scene.figures.put("packets lost while far", String.valueOf(lost));
      scene.expect(lost > 0, "no packet was lost while all links were to lose some");
      scene.cluster().links().heal();
      scene.during(Strikes.BACK_MILLIS);
      scene.healed();
    }
  }

  private static long moved(Map<String, Node> before, Map<String, Node> after) {
    return before.entrySet().stream().filter(each -> after.get(each.getKey()) != each.getValue()).count();
  }
}
