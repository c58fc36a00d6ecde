package dunlin.chaos.mqtt.rows;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.Scene;
import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.RangeRow;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/** The rows in which ranges are split: those of retained messages between the topics of the load's writers, and those of routes between the filters of its subscribers. */
final class SplitRows {
  private static final Duration SPLIT_MAX = Duration.ofSeconds(60);
  private static final String TENANT = "default";

  /**
   * What is split.
   *
   * @param name of the kind of ranges
   * @param slash stands for a slash in keys
   * @param cuts one for each round
   */
  record Kind(String name, char slash, List<String> cuts) {
    /** As ranges show their keys: length of the tenant, tenant, topic or filter. */
    String key(String cut) {
      return "%04x".formatted(TENANT.length()) + HexFormat.of().formatHex((TENANT + cut.replace('/', slash)).getBytes(StandardCharsets.UTF_8));
    }
  }

  /** All topics of a writer are in different ranges at the end. */
  private static final Kind RETAINED = new Kind("retain", '\0', List.of("r/1/0", "r/0/1", "r/1/2", "r/0/2", "r/1/1", "r/0/0"));

  /** The filters of a message's subscribers are in several ranges, and those of groups in one of their own. */
  static final Kind ROUTES = new Kind("routes", '/', List.of("d/+", "s/#", "d/1", "w/#", "d/2", "r/#"));

  static final List<Row> ALL =
      List.of(
          row(
              "cluster-split", "a range of retained messages is split, and a broker of an operator's choice leads the upper part",
              scene -> split(scene, RETAINED, false)),
          row("cluster-split-kill", "a range of retained messages is split, and kill -9 of one of them at about that time", scene -> split(scene, RETAINED, true)),
          row("routes-split", "a range of routes is split, and a broker of an operator's choice leads the upper part", scene -> split(scene, ROUTES, false)),
          row("routes-split-kill", "a range of routes is split, and kill -9 of one of them at about that time", scene -> split(scene, ROUTES, true)),
          new Row(
              "services-split-kill", "three stores, two dist workers, two frontends: a range of routes is split, and kill -9 of a dist worker at about that time", Set.of(),
              ClusterRows.TIMEOUTS, Form.SERVICES, scene -> split(scene, ROUTES, true)));

  private SplitRows() {}

  private static Row row(String name, String what, Script script) {
    return new Row(name, "three brokers: " + what, Set.of(), ClusterRows.TIMEOUTS, Form.CLUSTER, script);
  }

  private static void split(Scene scene, Kind kind, boolean kills) throws InterruptedException {
    var nodes = scene.cluster().nodes().stream().filter(Node::isMatcher).toList();
    for (int round = 0; round < Math.min(scene.rounds, kind.cuts.size()); round++) {
      scene.during(scene.random.nextInt(1000, 3000));
      String cut = kind.cuts.get(round);
      var killed = nodes.get(scene.random.nextInt(nodes.size()));
      var asked = nodes.get((nodes.indexOf(killed) + 1) % nodes.size());
      try (var operator = asked.operator()) {
        var cluster = operator.cluster();
        int before = ranges(cluster, kind).size();
        scene.struck(killed);
        var _ = cluster.split(of(cluster, kind, cut).id(), kind.key(cut));
        if (kills) {
          Thread.sleep(scene.random.nextInt(500));
          killed.kill();
        }
        long began = System.nanoTime();
        scene.answersAgain();
        scene.outage(began);
        if (kills) {
          scene.during(scene.random.nextInt(2000));
          killed.start();
        }
        boolean split = scene.await(SPLIT_MAX, () -> ranges(cluster, kind).size() == before + 1 && cluster.getOperations().isEmpty());
        scene.expect(split, "no range was split at " + cut);
        lead(scene, cluster, kind, cut, asked);
        scene.answersAgain();
        scene.healed();
      }
    }
  }

  static List<RangeRow> ranges(ClusterMXBean cluster, Kind kind) {
    return cluster.getRanges().stream().filter(range -> range.kind().equals(kind.name)).toList();
  }

  /** The range that has a key: the last one that begins with it or before it. */
  static RangeRow of(ClusterMXBean cluster, Kind kind, String cut) {
    return ranges(cluster, kind).stream()
        .filter(range -> start(range).compareTo(kind.key(cut)) <= 0)
        .max(Comparator.comparing(SplitRows::start))
        .orElseThrow(() -> new TrialException("no range has " + cut));
  }

  private static String start(RangeRow range) {
    String first = range.keys().substring(1, range.keys().indexOf(','));
    return first.equals("start") ? "" : first;
  }

  static void lead(Scene scene, ClusterMXBean cluster, Kind kind, String cut, Node next) throws InterruptedException {
    String node = cluster.getNode();
    boolean moved =
        scene.await(
            SPLIT_MAX,
            () -> {
              var range = of(cluster, kind, cut);
              if (range.leader().equals(node)) return true;
              if (cluster.getOperations().isEmpty()) transfer(cluster, range, node);
              return false;
            });
    scene.expect(moved, next.name() + " does not lead the range that was split off");
  }

  private static void transfer(ClusterMXBean cluster, RangeRow range, String node) {
    try {
      var _ = cluster.transferLeadership(range.id(), node);
    } catch (RuntimeException e) {
      // It is refused while the range has no leader or no replica there; it is asked for again.
    }
  }
}
