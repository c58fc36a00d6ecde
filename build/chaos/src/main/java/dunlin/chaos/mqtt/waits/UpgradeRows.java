package dunlin.chaos.mqtt.waits;

import dunlin.chaos.Need;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Scene;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** The rows in which the processes of an earlier version are replaced, one after the other. */
public final class UpgradeRows {
  private static final Duration MOVE_MAX = Duration.ofSeconds(30);
  /** On a busy machine a broker takes most of a minute to apply what it has missed. */
  private static final Duration READY_MAX = Duration.ofMinutes(3);

  public static final List<Row> ALL =
      List.of(
          new Row(
              "cluster-upgrade", "three brokers of an earlier version: each is stopped, started from this one, and given all leaderships, one after the other",
              Set.of(Need.PREVIOUS), Probes.SETTINGS, Form.CLUSTER, scene -> upgrade(scene, true)),
          new Row(
              "services-upgrade", "three stores, two dist workers, two frontends of an earlier version: each is stopped, and started from this one, one after the other",
              Set.of(Need.PREVIOUS), Probes.SETTINGS, Form.SERVICES, scene -> upgrade(scene, false)));

  private UpgradeRows() {}

  /**
   * As an operator does it: the next process follows when this one is ready. There is one round whatever the request says.
   *
   * @param leads whether each leads all ranges for a time, with followers of the other version
   */
  private static void upgrade(Scene scene, boolean leads) throws InterruptedException {
    try (var probes = Probes.start(scene)) {
      probes.step("nothing", () -> {});
      for (var node : scene.cluster().nodes()) {
        probes.step(node.name() + " is stopped", node::stop);
        probes.step(node.name() + " is started from this version", () -> {
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
      probes.step(node.name() + " leads all ranges", () -> {
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
}
