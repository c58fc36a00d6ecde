package dunlin.chaos.mqtt.rows;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Scene;
import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.NodeRow;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Map;
import java.util.stream.Collectors;

/** Nodes are replaced while clients are served: for each spare that comes, one with the same roles is drained and leaves, and another one dies with its disk. */
final class Replacing {
  /*
   * Owner: the thread of the row.
   * Failure: a step that the cluster does not complete within DRAINED_MAX is a problem of the row.
   */
  private static final Duration DRAINED_MAX = Duration.ofMinutes(3);

  private Replacing() {}

  static void play(Scene scene) throws InterruptedException {
    Map<String, Integer> before;
    try (var operator = scene.cluster().nodes().getFirst().operator()) {
      before = voters(operator.cluster());
    }
    for (var spare : scene.cluster().spares()) replace(scene, spare);
    for (var node : scene.cluster().running()) Strikes.awaitReady(scene, node);
    try (var operator = scene.cluster().running().getFirst().operator()) {
      var cluster = operator.cluster();
      boolean complete = scene.await(DRAINED_MAX, () -> voters(cluster).equals(before) && cluster.getOperations().isEmpty());
      scene.expect(complete, "replicas of each range before: %s; after: %s".formatted(before, voters(cluster)));
      var running = scene.cluster().running().stream().map(Node::id).collect(Collectors.toSet());
      for (var range : cluster.getRanges())
        scene.expect(running.containsAll(range.voters()), "%s %s has replicas at %s; the nodes that run are %s".formatted(range.kind(), range.id(), range.voters(), running));
    }
  }

  private static void replace(Scene scene, Node spare) throws InterruptedException {
    var same = new ArrayList<>(scene.cluster().nodes().stream().filter(node -> node.roles.equals(spare.roles)).toList());
    Collections.shuffle(same, scene.random);
    var goes = same.getFirst();
    scene.during(scene.random.nextInt(1000, 3000));
    change(scene, spare.name() + " comes", () -> {
      spare.start();
      Strikes.awaitReady(scene, spare);
    });
    change(scene, goes.name() + " is drained and leaves", () -> drain(scene, spare, goes));
    change(scene, goes.name() + " is stopped", goes::stop);
    Strikes.once(scene, same.getLast(), DiskStrikes::wiped);
  }

  /** Something that is done to the cluster by its operator. */
  private interface Change {
    void make() throws InterruptedException;
  }

  private static void change(Scene scene, String what, Change change) throws InterruptedException {
    scene.struck(what);
    long began = System.nanoTime();
    change.make();
    scene.figures.put(what + ", s", String.valueOf((System.nanoTime() - began) / 1_000_000_000));
    scene.answersAgain();
    scene.healed();
  }

  private static void drain(Scene scene, Node asked, Node goes) throws InterruptedException {
    String id = goes.id();
    try (var operator = asked.operator()) {
      var cluster = operator.cluster();
      scene.expect(scene.await(DRAINED_MAX, () -> DiskStrikes.accepted(() -> cluster.drainNode(id))), goes.name() + " cannot be drained");
      scene.expect(scene.await(DRAINED_MAX, () -> row(cluster, id).replicas() == 0 && cluster.getOperations().isEmpty()), goes.name() + " is not drained");
      DiskStrikes.leave(scene, cluster, id, goes.name());
    }
  }

  private static NodeRow row(ClusterMXBean cluster, String id) {
    return cluster.getNodes().stream().filter(row -> row.id().equals(id)).findFirst().orElseThrow(() -> new TrialException("the cluster does not know node " + id));
  }

  /** How many replicas each range has. */
  private static Map<String, Integer> voters(ClusterMXBean cluster) {
    return cluster.getRanges().stream().collect(Collectors.toMap(range -> range.kind() + " " + range.id(), range -> range.voters().size()));
  }
}
