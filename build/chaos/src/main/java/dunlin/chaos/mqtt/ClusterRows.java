package dunlin.chaos.mqtt;

import dunlin.chaos.Need;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.check.Event.Deed;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The rows of a cluster of three brokers, and of one of separate services, in the order of the table. */
final class ClusterRows {
  /** A broker that is cut off loses its lease after 5 s, counts as dead after 6 s, and its links are lost after 10 s. */
  private static final int CUT_MILLIS = 13_000;

  private static final int PAUSE_MILLIS = 5000;
  private static final int FAR_MILLIS = 80;
  /** For what a broker does when it reaches the others again. */
  private static final int BACK_MILLIS = 3000;

  private static final Duration MOVE_MAX = Duration.ofSeconds(30);
  /** On a busy machine a broker takes most of a minute to apply what it has missed. */
  private static final Duration READY_MAX = Duration.ofMinutes(3);

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
          row("cluster-kill", "kill -9 of each, one after the other", Set.of(), ClusterRows::kill),
          row("cluster-kill-all", "kill -9 of all", Set.of(), ClusterRows::killAll),
          row("cluster-pause", "SIGSTOP for 5 s of each, one after the other", Set.of(), ClusterRows::pause),
          row("cluster-move", "the leader of each range moves", Set.of(), ClusterRows::move),
          row("cluster-stop", "each is stopped and started again, one after the other", Set.of(), ClusterRows::stop),
          row("cluster-power", "power loss of all, with slow fsyncs", Set.of(Need.DISK, Need.FSYNC), ClusterRows::power),
          row("cluster-cut", "each out of reach of the others and of clients for 13 s, one after the other", Set.of(Need.NETWORK), ClusterRows::cut),
          row("cluster-cut-nodes", "each out of reach of the others, not of clients, for 13 s, one after the other", Set.of(Need.NETWORK), ClusterRows::cutNodes),
          row("cluster-cut-pairs", "two out of reach of each other, while the third reaches both, for 13 s, one pair after the other", Set.of(Need.NETWORK), ClusterRows::cutPairs),
          row("cluster-deafen", "each is heard by the others and hears nothing of them for 13 s, one after the other", Set.of(Need.NETWORK), ClusterRows::deafen),
          row("cluster-far", "all links take 80 ms", Set.of(Need.NETWORK), ClusterRows::far),
          services("services-none", "nothing happens", Set.of(), scene -> scene.during(5000L * scene.rounds)),
          services("services-kill", "kill -9 of each, one after the other", Set.of(), ClusterRows::kill),
          services("services-pause", "SIGSTOP for 5 s of each, one after the other", Set.of(), ClusterRows::pause),
          services("services-stop", "each is stopped and started again, one after the other", Set.of(), ClusterRows::stop),
          services("services-cut-nodes", "each out of reach of the others, not of clients, for 13 s, one after the other", Set.of(Need.NETWORK), ClusterRows::cutNodes),
          new Row(
              "services-scale", "the same with half a million routes of 10,000 clients: one more of each service comes, the routes are split, and the three go again", Set.of(),
              Scaling.SETTINGS, Form.MORE_SERVICES, Scaling::play),
          new Row(
              "cluster-upgrade", "three brokers of an earlier version: each is stopped, started from this one, and given all leaderships, one after the other",
              Set.of(Need.PREVIOUS), Probes.SETTINGS, Form.CLUSTER, scene -> upgrade(scene, true)),
          new Row(
              "services-upgrade", "three stores, two dist workers, two frontends of an earlier version: each is stopped, and started from this one, one after the other",
              Set.of(Need.PREVIOUS), Probes.SETTINGS, Form.SERVICES, scene -> upgrade(scene, false)));

  private ClusterRows() {}

  private static Row row(String name, String what, Set<Need> needs, Script script) {
    return new Row(name, "three brokers: " + what, needs, TIMEOUTS, Form.CLUSTER, script);
  }

  private static Row services(String name, String what, Set<Need> needs, Script script) {
    return new Row(name, "three stores, two dist workers, two frontends: " + what, needs, TIMEOUTS, Form.SERVICES, script);
  }

  /** What befalls one broker, until it is as before. */
  private interface Strike {
    void on(Scene scene, Node node) throws InterruptedException;
  }

  /** Each broker in turn, in each round; before the next one, messages are acknowledged again. */
  private static void eachInTurn(Scene scene, Strike strike) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      for (var node : scene.cluster().nodes()) {
        scene.during(scene.random.nextInt(1000, 3000));
        scene.struck(node);
        strike.on(scene, node);
        scene.answersAgain();
        scene.healed();
      }
    }
  }

  private static void kill(Scene scene) throws InterruptedException {
    eachInTurn(
        scene,
        (_, node) -> {
          node.kill();
          outage(scene);
          scene.during(scene.random.nextInt(2000));
          node.start();
        });
  }

  private static void outage(Scene scene) throws InterruptedException {
    long began = System.nanoTime();
    scene.answersAgain();
    scene.outage(began);
  }

  private static void killAll(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(scene.random.nextInt(1000, 3000));
      scene.struck();
      scene.cluster().nodes().forEach(Node::kill);
      startAll(scene);
    }
  }

  private static void startAll(Scene scene) throws InterruptedException {
    scene.cluster().startAll();
    outage(scene);
    scene.healed();
  }

  private static void pause(Scene scene) throws InterruptedException {
    eachInTurn(
        scene,
        (_, node) -> {
          node.broker.signal("STOP");
          Thread.sleep(PAUSE_MILLIS);
          node.broker.signal("CONT");
          scene.during(BACK_MILLIS);
        });
  }

  private static void stop(Scene scene) throws InterruptedException {
    eachInTurn(
        scene,
        (_, node) -> {
          node.stop();
          outage(scene);
          scene.during(scene.random.nextInt(2000));
          node.start();
        });
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
        outage(scene);
        scene.healed();
      }
    }
  }

  /**
   * As an operator does it: the next process follows when this one is ready. There is one round whatever the request says.
   *
   * @param leads whether each leads all ranges for a time, with followers of the other version
   */
  private static void upgrade(Scene scene, boolean leads) throws InterruptedException {
    try (var probes = Probes.start(scene)) {
      scene.step(probes, "nothing", () -> {});
      for (var node : scene.cluster().nodes()) {
        scene.step(probes, node.name() + " is stopped", node::stop);
        scene.step(probes, node.name() + " is started from this version", () -> {
          node.upgrade();
          node.start();
          scene.expect(scene.await(READY_MAX, node::ready), node.name() + " is not ready");
        });
        if (leads) leadAll(scene, probes, node);
      }
    }
  }

  private static void leadAll(Scene scene, Probes probes, Node node) throws InterruptedException {
    try (var operator = node.operator()) { // opened before the step, since that takes a broker a good part of a second
      scene.step(probes, node.name() + " leads all ranges", () -> {
        for (String range : List.copyOf(scene.cluster().leaders().keySet())) {
          scene.expect(scene.await(MOVE_MAX, () -> operator.cluster().getOperations().isEmpty()), "an operation of the cluster does not end");
          if (scene.cluster().leaders().get(range) == node) continue;
          scene.cluster().transfer(range, operator);
          boolean moved = scene.await(MOVE_MAX, () -> scene.cluster().leaders().get(range) == node);
          scene.expect(moved, "the leadership of %s has not moved to %s".formatted(range, node.name()));
        }
      });
    }
  }

  private static void power(Scene scene) throws InterruptedException {
    var nodes = scene.cluster().nodes();
    for (int round = 0; round < scene.rounds; round++) {
      // Only messages in flight at the power loss can be lost.
      for (var node : nodes) node.site.steeredFsync().slow(20);
      scene.during(scene.random.nextInt(2000, 4000));
      scene.journal.broker(Deed.KILLED, 0, "power");
      for (var node : nodes) node.site.ownDisk().cutPower();
      for (var node : nodes) node.killWithoutAsking();
      for (var node : nodes) node.site.steeredFsync().none();
      for (var node : nodes) node.site.ownDisk().restorePower();
      startAll(scene);
    }
  }

  private static void cut(Scene scene) throws InterruptedException {
    cut(scene, node -> scene.cluster().links().isolate(node.site.port()), false);
  }

  private static void cutNodes(Scene scene) throws InterruptedException {
    cut(scene, node -> scene.cluster().links().isolateFromNodes(node.site.port()), true);
  }

  private static void cutPairs(Scene scene) throws InterruptedException {
    var nodes = scene.cluster().nodes();
    cut(scene, node -> scene.cluster().links().cut(node.site.port(), nodes.get((nodes.indexOf(node) + 1) % nodes.size()).site.port()), false);
  }

  private static void deafen(Scene scene) throws InterruptedException {
    cut(scene, node -> scene.cluster().links().deafen(node.site.port()), true);
  }

  private interface Cutting {
    void cut(Node node);
  }

  /** @param reached whether clients reach the broker, which the others do not reach */
  private static void cut(Scene scene, Cutting cutting, boolean reached) throws InterruptedException {
    eachInTurn(
        scene,
        (_, node) -> {
          long before = scene.cluster().links().lost();
          cutting.cut(node);
          if (reached) scene.journal.broker(Deed.CUT, node.number, "");
          outage(scene);
          scene.during(CUT_MILLIS);
          scene.expect(scene.cluster().links().lost() > before, "the links were not cut");
          if (reached) scene.journal.broker(Deed.MENDED, node.number, "");
          scene.cluster().links().heal();
          scene.during(BACK_MILLIS);
        });
  }

  private static void far(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(1000);
      scene.struck();
      scene.cluster().links().slow(FAR_MILLIS);
      scene.during(8000);
      outage(scene);
      scene.cluster().links().heal();
      scene.during(BACK_MILLIS);
      scene.healed();
    }
  }
}
