package dunlin.chaos.mqtt.waits;

import dunlin.chaos.Need;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Operator;
import dunlin.chaos.mqtt.Row;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Row.Script;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.waits.Probes.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The rows that measure for how long clients wait when a cluster of three loses a broker, or moves a leadership. */
public final class GapRows {
  private static final Logger LOG = LoggerFactory.getLogger(GapRows.class);

  /** With the default timeouts, and with the shortest that are sensible. */
  private static final long KILL_MAX_MILLIS = 5_000;

  private static final long KILL_TUNED_MAX_MILLIS = 1_500;
  private static final long MOVE_MAX_MILLIS = 300;
  private static final Duration MOVED_WITHIN = Duration.ofSeconds(30);

  /** Long enough for clients that come back after a fault. */
  private static final int AFTER_MILLIS = 3_000;

  private static final Map<String, String> TUNED = Map.of("dunlin.cluster.election-timeout", "300ms", "dunlin.cluster.heartbeat", "100ms", Probes.NEVER_FLAPPING, "0");

  public static final List<Row> ALL =
      List.of(
          new Row(
              "gaps-far", "three brokers: links between them take 80 ms, and 1,000 clients subscribe at once at one that does not lead the routes", Set.of(Need.NETWORK),
              Probes.SETTINGS, Form.OWN_CLUSTER, FarSubscribes::play),
          row("gaps-kill", "kill -9 of each, one after the other, with the default timeouts", Probes.SETTINGS, scene -> kill(scene, KILL_MAX_MILLIS)),
          row("gaps-kill-tuned", "the same with an election timeout of 300 ms", TUNED, scene -> kill(scene, KILL_TUNED_MAX_MILLIS)),
          new Row(
              "gaps-lost", "two frontends, two dist workers, three stores: kill -9 of a frontend with 10,000 durable sessions that have wills", Set.of(),
              LostFrontend.SETTINGS, Form.OWN_SERVICES, LostFrontend::play),
          row("gaps-move", "the leader of each range moves, with the default timeouts", Probes.SETTINGS, GapRows::move));

  private GapRows() {}

  private static Row row(String name, String what, Map<String, String> settings, Script script) {
    return new Row(name, "three brokers: " + what, Set.of(), settings, Form.OWN_CLUSTER, script);
  }

  private static void kill(Scene scene, long mostMillis) throws InterruptedException {
    var all = new Longest();
    try (var probes = Probes.start(scene)) {
      for (int round = 0; round < scene.rounds; round++) {
        for (Node node : scene.cluster().nodes()) {
          quiet(scene, probes, all);
          scene.struck(node);
          node.kill();
          all.add(node.name(), probes.since(System.nanoTime()));
          scene.during(AFTER_MILLIS);
          node.start();
          scene.healed();
          scene.cluster().settle();
        }
      }
    }
    all.judge(scene, mostMillis);
  }

  private static void move(Scene scene) throws InterruptedException {
    var nodes = scene.cluster().nodes();
    // Opened before anything is measured, since that takes a broker a good part of a second.
    var operators = new HashMap<Node, Operator>();
    var all = new Longest();
    try (var probes = Probes.start(scene)) {
      for (var node : nodes) operators.put(node, node.operator());
      for (int round = 0; round < scene.rounds; round++) {
        for (String range : List.copyOf(scene.cluster().leaders().keySet())) {
          var from = scene.cluster().leaders().get(range);
          if (from == null) continue;
          var others = nodes.stream().filter(node -> node != from).toList();
          var to = others.get(scene.random.nextInt(others.size()));
          var operator = Objects.requireNonNull(operators.get(to));
          scene.expect(scene.await(MOVED_WITHIN, () -> operator.cluster().getOperations().isEmpty()), "an operation of the cluster does not end");
          quiet(scene, probes, all);
          scene.struck(from);
          scene.cluster().transfer(range, operator);
          scene.during(AFTER_MILLIS); // to ask the brokers now and then would delay them
          boolean moved = scene.await(MOVED_WITHIN, () -> scene.cluster().leaders().get(range) == to);
          scene.expect(moved, "the leadership of %s has not moved to %s".formatted(range, to.name()));
          all.add(range.split("-", 2)[0], probes.since(System.nanoTime()));
          scene.healed();
        }
      }
    } finally {
      operators.values().forEach(Operator::close);
    }
    all.judge(scene, MOVE_MAX_MILLIS);
  }

  /** What the same requests take while nothing happens. */
  private static void quiet(Scene scene, Probes probes, Longest all) throws InterruptedException {
    probes.since(System.nanoTime());
    scene.during(AFTER_MILLIS);
    all.addQuiet(probes.since(System.nanoTime()));
  }

  /** The longest waits of each fault. */
  private static final class Longest {
    private final Map<Kind, List<Long>> waits = new EnumMap<>(Kind.class);
    private final Map<Kind, List<Long>> quiet = new EnumMap<>(Kind.class);

    void add(String what, Map<Kind, Long> one) {
      LOG.info("{} {}", what, one);
      one.forEach((kind, millis) -> waits.computeIfAbsent(kind, _ -> new ArrayList<>()).add(millis));
    }

    void addQuiet(Map<Kind, Long> one) {
      one.forEach((kind, millis) -> quiet.computeIfAbsent(kind, _ -> new ArrayList<>()).add(millis));
    }

    void judge(Scene scene, long mostMillis) {
      waits.forEach(
          (kind, each) -> {
            scene.figures.put(kind + ", ms", "median %s, longest %s (quiet: %s)".formatted(middle(each), last(each), last(quiet.getOrDefault(kind, List.of(0L)))));
            long late = each.stream().filter(millis -> millis > mostMillis).count();
            scene.expect(late == 0, "%s: %d of %d faults took longer than %,d ms".formatted(kind, late, each.size(), mostMillis));
          });
    }

    private static String middle(List<Long> all) {
      return "%,d".formatted(all.stream().sorted().toList().get(all.size() / 2));
    }

    private static String last(List<Long> all) {
      return "%,d".formatted(all.stream().mapToLong(Long::longValue).max().orElse(0));
    }
  }
}
