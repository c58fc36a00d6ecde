package dunlin.chaos.mqtt.rows;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.check.Event.Deed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The network between separate services is cut into a majority and a minority, with a store, a dist worker and a frontend at least on each side. Clients reach both. */
final class Halves {
  /*
   * Each range has its majority on the side of the majority, which must go on. What the minority may not do is for the checker (D14).
   */
  private static final Duration LED_MAX = Duration.ofMinutes(1);

  private Halves() {}

  static void play(Scene scene) throws InterruptedException {
    for (int round = 0; round < scene.rounds; round++) {
      scene.during(scene.random.nextInt(1000, 3000));
      var minority = minority(scene);
      var majority = scene.cluster().nodes().stream().filter(node -> !minority.contains(node)).toList();
      var links = scene.cluster().links();
      long lost = links.lost();
      scene.struck("out of reach of the others: " + minority.stream().map(node -> "%s, which leads %s".formatted(node.name(), node.leads())).collect(Collectors.joining("; ")));
      for (var here : minority) for (var there : majority) links.cut(here.site.port(), there.site.port());
      for (var each : minority) if (each.hasClients()) scene.journal.broker(Deed.CUT, each.number, "");
      scene.outage();
      scene.during(Strikes.CUT_MILLIS);
      scene.expect(scene.await(LED_MAX, () -> scene.cluster().isLedBy(majority)), "the majority does not lead all ranges");
      scene.expect(links.lost() > lost, "the links were not cut");
      for (var each : minority) if (each.hasClients()) scene.journal.broker(Deed.MENDED, each.number, "");
      links.heal();
      scene.during(Strikes.BACK_MILLIS);
      scene.answersAgain();
      scene.healed();
    }
  }

  /** One of each service, drawn so that no range has most of its replicas there. */
  private static List<Node> minority(Scene scene) {
    var replicas = new HashMap<String, List<Node>>();
    for (var node : scene.cluster().nodes()) for (String range : node.replicas()) replicas.computeIfAbsent(range, _ -> new ArrayList<>()).add(node);
    var frontend = drawn(scene, Node::isFrontend).getFirst();
    for (var store : drawn(scene, Node::isStore))
      for (var worker : drawn(scene, Node::isMatcher))
        if (replicas.values().stream().allMatch(nodes -> 2 * nodes.stream().filter(node -> node == store || node == worker).count() < nodes.size())) return List.of(store, worker, frontend);
    throw new TrialException("each store has the majority of a range together with a dist worker");
  }

  private static List<Node> drawn(Scene scene, Predicate<Node> which) {
    var found = new ArrayList<>(scene.cluster().nodes().stream().filter(which).toList());
    Collections.shuffle(found, scene.random);
    return found;
  }
}
