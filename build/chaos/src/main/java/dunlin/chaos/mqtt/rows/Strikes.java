package dunlin.chaos.mqtt.rows;

import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.check.Event.Deed;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/** What can befall one process of a cluster, until it is as before: its end, a pause, and what networks do. */
final class Strikes {
  /** A broker that is cut off loses its lease after 5 s, counts as dead after 6 s, and its links are lost after 10 s. */
  static final int CUT_MILLIS = 13_000;

  /** Longer than a lease, and than the time after which a node counts as dead: it has lost what it had when it goes on. */
  private static final int PAUSE_MILLIS = 8_000;

  private static final int DOWN_MILLIS = 20_000;
  private static final int FLAPS = 20;
  private static final int FLAP_MILLIS = 1_000;
  private static final int SLOW_MILLIS = 200;
  private static final int SLOW_FOR_MILLIS = 6_000;

  /** For what a broker does when it reaches the others again. */
  static final int BACK_MILLIS = 3_000;

  /** On a busy machine a node takes most of a minute to apply what it has missed. */
  static final Duration READY_MAX = Duration.ofMinutes(3);

  private Strikes() {}

  /** What befalls one process. */
  interface Strike {
    void on(Scene scene, Node node) throws InterruptedException;
  }

  /** Each process in turn, in each round; before the next one, messages are acknowledged again. */
  static Script each(Strike strike) {
    return each(nodes -> nodes, strike);
  }

  /** The same with each that can have replicas. */
  static Script eachWithReplicas(Strike strike) {
    return each(nodes -> nodes.stream().filter(Node::canHaveReplicas).toList(), strike);
  }

  static Script each(Function<List<Node>, List<Node>> which, Strike strike) {
    return scene -> {
      for (int round = 0; round < scene.rounds; round++) for (var node : which.apply(scene.cluster().nodes())) once(scene, node, strike);
    };
  }

  static void once(Scene scene, Node node, Strike strike) throws InterruptedException {
    scene.during(scene.random.nextInt(1000, 3000));
    scene.struck(node);
    strike.on(scene, node);
    scene.answersAgain();
    scene.healed();
  }

  static void kill(Scene scene, Node node) throws InterruptedException {
    end(scene, node, Node::kill);
  }

  static void stop(Scene scene, Node node) throws InterruptedException {
    end(scene, node, Node::stop);
  }

  private static void end(Scene scene, Node node, Consumer<Node> how) throws InterruptedException {
    how.accept(node);
    scene.outage();
    scene.during(scene.random.nextInt(2000));
    node.start();
  }

  /** It misses what is written for a while. Then the logs of the others must be enough: not a byte of a snapshot may be fetched. */
  static void down(Scene scene, Node node) throws InterruptedException {
    node.kill();
    scene.outage();
    scene.during(DOWN_MILLIS);
    node.start();
    awaitReady(scene, node);
    long bytes = node.broker.sum("dunlin_store_install_bytes_total");
    scene.expect(bytes == 0, "%s has fetched %,d bytes of snapshots".formatted(node.name(), bytes));
  }

  static void awaitReady(Scene scene, Node node) throws InterruptedException {
    scene.expect(scene.await(READY_MAX, () -> node.ready() && node.knowsAllReplicas()), node.name() + " is not ready");
  }

  static void pause(Scene scene, Node node) throws InterruptedException {
    node.broker.signal("STOP");
    Thread.sleep(PAUSE_MILLIS);
    node.broker.signal("CONT");
    scene.during(BACK_MILLIS);
  }

  /** Fsyncs of its log take long. */
  static void slow(Scene scene, Node node) throws InterruptedException {
    int before = scene.journal.size();
    scene.during(SLOW_FOR_MILLIS);
    long quiet = scene.medianAnswer(before);
    int from = scene.journal.size();
    node.site.steeredFsync().slow(SLOW_MILLIS);
    scene.during(SLOW_FOR_MILLIS);
    scene.outage();
    long slow = scene.medianAnswer(from);
    node.site.steeredFsync().none();
    scene.figures.put(node.name() + " slow: PUBACK, PUBREC before and during it, ms at p50", "%,d and %,d".formatted(quiet, slow));
  }

  // ------------------------------------------------------------------------------------------------------------- networks

  /** Out of reach of all others, and of clients. */
  static void cut(Scene scene, Node node) throws InterruptedException {
    scene.journal.broker(Deed.UNREACHABLE, node.number, "");
    cut(scene, node, () -> scene.cluster().links().isolate(node.site.port()), false);
  }

  static void cutFromNodes(Scene scene, Node node) throws InterruptedException {
    cut(scene, node, () -> scene.cluster().links().isolateFromNodes(node.site.port()), true);
  }

  /** Out of reach of the next one. */
  static void cutPair(Scene scene, Node node) throws InterruptedException {
    var nodes = scene.cluster().nodes();
    var next = nodes.get((nodes.indexOf(node) + 1) % nodes.size());
    scene.struck(next); // in the fault of the first one
    cut(scene, node, () -> scene.cluster().links().cut(node.site.port(), next.site.port()), false);
  }

  static void deafen(Scene scene, Node node) throws InterruptedException {
    cut(scene, node, () -> scene.cluster().links().deafen(node.site.port()), true);
  }

  /** A frontend out of reach of all stores, and not of dist workers. */
  static void cutFromStores(Scene scene, Node frontend) throws InterruptedException {
    cut(
        scene, frontend,
        () -> scene.cluster().nodes().stream().filter(Node::isStore).forEach(store -> scene.cluster().links().cut(frontend.site.port(), store.site.port())), false);
  }

  /** @param reached whether clients reach the process, which the others do not reach */
  private static void cut(Scene scene, Node node, Runnable cutting, boolean reached) throws InterruptedException {
    long before = scene.cluster().links().lost();
    cutting.run();
    if (reached) scene.journal.broker(Deed.CUT, node.number, "");
    scene.outage();
    scene.during(CUT_MILLIS);
    scene.expect(scene.cluster().links().lost() > before, "the links were not cut");
    if (reached) scene.journal.broker(Deed.MENDED, node.number, "");
    scene.cluster().links().heal();
    scene.during(BACK_MILLIS);
  }

  /** Out of reach of the others for a second, and again and again. No range may have an election each time. */
  static void flap(Scene scene, Node node) throws InterruptedException {
    long terms = scene.cluster().terms();
    for (int i = 0; i < FLAPS; i++) {
      long lost = scene.cluster().links().lost();
      scene.cluster().links().isolateFromNodes(node.site.port());
      scene.journal.broker(Deed.CUT, node.number, "");
      scene.during(FLAP_MILLIS);
      scene.expect(scene.cluster().links().lost() > lost, "no packet was lost while %s was cut off for the %d. time".formatted(node.name(), i + 1));
      scene.journal.broker(Deed.MENDED, node.number, "");
      scene.cluster().links().heal();
      scene.during(FLAP_MILLIS);
    }
    scene.outage();
    long more = scene.cluster().terms() - terms;
    scene.figures.put(node.name() + " cut off %d times: more terms, of all ranges".formatted(FLAPS), String.valueOf(more));
    scene.expect(more <= FLAPS, "%d elections, when %s was cut off %d times".formatted(more, node.name(), FLAPS));
  }
}
