package dunlin.chaos.mqtt;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.RangeRow;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** A frontend, a dist worker and a store come, the routes are split, and all three go again, while clients hold half a million routes. */
final class Scaling {
  /*
   * A node that has left cannot come back with its data, so there is one round whatever the request says.
   *
   * Owner: the thread of the row.
   * Bounds: CONNECTIONS and MORE connections of holders, with FILTERS each.
   * Failure: a step that the cluster does not complete within STEP_MAX is a problem of the row.
   */
  private static final int CONNECTIONS = 10_000;
  private static final int MORE = 500;
  private static final int FILTERS = 50;
  private static final Duration SUBSCRIBED_WITHIN = Duration.ofMinutes(10);
  private static final Duration STEP_MAX = Duration.ofMinutes(3);
  private static final SplitRows.Kind ROUTES = SplitRows.ROUTES;
  private static final String SESSIONS = "sessions";

  /** A frontend has room for all holders, and compares its routes less often than in other rows, since it has so many. */
  static final Map<String, String> SETTINGS =
      Map.of("dunlin.memory.subscriptions-max", "384MiB", "dunlin.dist.audit-interval", "1m", Probes.NEVER_FLAPPING, "0");

  private final Scene scene;
  private final MqttCluster cluster;
  private final Node frontend;
  private final Node worker;
  private final Node store;
  private final Entrance anywhere;
  private final Map<Node, Operator> operators = new HashMap<>();

  private Scaling(Scene scene) {
    this.scene = scene;
    cluster = scene.cluster();
    anywhere = cluster.entrance(scene.random);
    frontend = spare("frontend");
    worker = spare("dist");
    store = spare("store");
  }

  static void play(Scene scene) throws InterruptedException {
    new Scaling(scene).play();
  }

  private void play() throws InterruptedException {
    try (var holders = new Holders(FILTERS)) {
      long began = System.nanoTime();
      holders.open(CONNECTIONS, anywhere);
      await(SUBSCRIBED_WITHIN, () -> holders.subscribed() == CONNECTIONS, "not all holders have subscribed");
      scene.figures.put("routes of holders", "%,d, after %,d s".formatted(CONNECTIONS * FILTERS, (System.nanoTime() - began) / 1_000_000_000));
      try (var probes = Probes.start(scene)) {
        scaleOut(probes, holders);
        scaleIn(probes, holders);
      }
    } finally {
      operators.values().forEach(Operator::close);
    }
  }

  private void scaleOut(Probes probes, Holders holders) throws InterruptedException {
    scene.step(probes, "nothing", () -> {});

    scene.step(probes, "a frontend comes", frontend::start);
    scene.step(probes, MORE + " clients connect to it", () -> {
      int before = holders.subscribed();
      holders.open(MORE, () -> cluster.entrance(frontend).next().or(anywhere::next));
      await(STEP_MAX, () -> holders.subscribed() >= before + MORE, "the new frontend does not take clients");
    });

    scene.step(probes, "a dist worker comes, and gets replicas of the routes", () -> {
      worker.start();
      String id = operator(worker).getNode();
      await(STEP_MAX, () -> ranges(ROUTES.name()).allMatch(range -> range.voters().contains(id)) && idle(), "the new dist worker gets no replica");
    });
    scene.step(probes, "the routes are split", () -> {
      long before = ranges(ROUTES.name()).count();
      String cut = Holders.middle(CONNECTIONS);
      var _ = any().split(SplitRows.of(any(), ROUTES, cut).id(), ROUTES.key(cut));
      await(STEP_MAX, () -> ranges(ROUTES.name()).count() == before + 1 && idle(), "the routes are not split");
    });
    scene.step(probes, "the new dist worker leads the upper half", () -> SplitRows.lead(scene, operator(worker), ROUTES, Holders.middle(CONNECTIONS), worker));

    scene.step(probes, "a store comes, and gets the replica of the sessions of another one", () -> {
      store.start();
      String id = operator(store).getNode();
      var sessions = ranges(SESSIONS).findFirst().orElseThrow(() -> new TrialException("there is no range of sessions"));
      String from = sessions.voters().stream().filter(voter -> !voter.equals(sessions.leader())).findFirst().orElseThrow();
      await(STEP_MAX, this::idle, "an operation does not end");
      var _ = any().moveReplica(sessions.id(), from, id);
      await(STEP_MAX, () -> ranges(SESSIONS).allMatch(range -> range.voters().contains(id)) && idle(), "the new store gets no replica");
    });
  }

  private void scaleIn(Probes probes, Holders holders) throws InterruptedException {
    leave(probes, "the store leaves", store);
    leave(probes, "the dist worker leaves", worker);
    scene.step(probes, "the frontend is stopped", frontend::stop);
    scene.step(probes, "its clients are elsewhere", () -> {
      await(STEP_MAX, () -> holders.subscribed() == CONNECTIONS + MORE, "clients of the stopped frontend do not come back");
      scene.expect(holders.opened() < 2 * CONNECTIONS, "holders opened connections %,d times".formatted(holders.opened()));
    });
  }

  private void leave(Probes probes, String name, Node node) throws InterruptedException {
    String id = operator(node).getNode();
    scene.step(probes, name, () -> {
      await(STEP_MAX, this::idle, "an operation does not end");
      var _ = any().leaveNode(id);
      await(STEP_MAX, () -> any().getNodes().stream().filter(row -> row.id().equals(id)).allMatch(row -> row.state().equals("LEFT")), name + ": it does not");
    });
    scene.step(probes, name + ": its process is stopped", node::stop);
  }

  private void await(Duration most, BooleanSupplier what, String otherwise) throws InterruptedException {
    scene.expect(scene.await(most, what), otherwise);
  }

  private Node spare(String role) {
    return cluster.spares().stream().filter(node -> node.roles.startsWith(role)).findFirst().orElseThrow(() -> new TrialException("no spare " + role));
  }

  private ClusterMXBean operator(Node node) {
    return operators.computeIfAbsent(node, Node::operator).cluster();
  }

  /** The cluster as one of the nodes that remain sees it. */
  private ClusterMXBean any() {
    return operator(cluster.nodes().getFirst());
  }

  private Stream<RangeRow> ranges(String kind) {
    return any().getRanges().stream().filter(range -> range.kind().equals(kind));
  }

  private boolean idle() {
    return any().getOperations().isEmpty();
  }
}
