package dunlin.chaos.mqtt.rows;

import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.Entrance;
import dunlin.chaos.mqtt.MqttClient;
import dunlin.chaos.mqtt.MqttClient.Draft;
import dunlin.chaos.mqtt.MqttCluster;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Operator;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.waits.Probes;
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
  private static final Duration ANSWERED_MAX = Duration.ofSeconds(30);
  private static final int BYTES = 64;
  private static final String STOPPED = "the frontend is stopped";
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
  private final MqttClient publisher;
  private final Map<Node, Operator> operators = new HashMap<>();

  private int asks;

  private Scaling(Scene scene) {
    this.scene = scene;
    cluster = scene.cluster();
    anywhere = cluster.entrance(scene.random);
    publisher = scene.client("asker", 5, 0);
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
      scene.expect(publisher.connect(true), "the publisher cannot connect");
      try (var probes = Probes.start(scene)) {
        scaleOut(probes, holders);
        scaleIn(probes, holders);
      }
    } finally {
      operators.values().forEach(Operator::close);
    }
  }

  private void scaleOut(Probes probes, Holders holders) throws InterruptedException {
    step(probes, holders, "nothing", () -> {});

    step(probes, holders, "a frontend comes", frontend::start);
    step(probes, holders, MORE + " clients connect to it", () -> {
      int before = holders.subscribed();
      holders.open(MORE, () -> cluster.entrance(frontend).next().or(anywhere::next));
      await(STEP_MAX, () -> holders.subscribed() >= before + MORE, "the new frontend does not take clients");
    });

    step(probes, holders, "a dist worker comes, and gets replicas of the routes", () -> {
      worker.start();
      String id = operator(worker).getNode();
      await(STEP_MAX, () -> ranges(ROUTES.name()).allMatch(range -> range.voters().contains(id)) && idle(), "the new dist worker gets no replica");
    });
    step(probes, holders, "the routes are split", () -> {
      long before = ranges(ROUTES.name()).count();
      String cut = Holders.middle(CONNECTIONS);
      var _ = any().split(SplitRows.of(any(), ROUTES, cut).id(), ROUTES.key(cut));
      await(STEP_MAX, () -> ranges(ROUTES.name()).count() == before + 1 && idle(), "the routes are not split");
    });
    step(probes, holders, "the new dist worker leads the upper half", () -> SplitRows.lead(scene, operator(worker), ROUTES, Holders.middle(CONNECTIONS), worker));
    long mended = cluster.mendedRoutes();
    scene.expect(mended == 0, mended + " routes were mended after the split");

    step(probes, holders, "a store comes, and gets the replica of the sessions of another one", () -> {
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
    leave(probes, holders, "the store leaves", store);
    leave(probes, holders, "the dist worker leaves", worker);
    step(probes, holders, STOPPED, frontend::stop);
    step(probes, holders, "its clients are elsewhere", () -> {
      await(STEP_MAX, () -> holders.subscribed() == CONNECTIONS + MORE, "clients of the stopped frontend do not come back");
      scene.expect(holders.opened() < 2 * CONNECTIONS, "holders opened connections %,d times".formatted(holders.opened()));
    });
  }

  private void leave(Probes probes, Holders holders, String name, Node node) throws InterruptedException {
    String id = operator(node).getNode();
    step(probes, holders, name, () -> {
      await(STEP_MAX, this::idle, "an operation does not end");
      var _ = any().leaveNode(id);
      await(STEP_MAX, () -> any().getNodes().stream().filter(row -> row.id().equals(id)).allMatch(row -> row.state().equals("LEFT")), name + ": it does not");
    });
    step(probes, holders, name + ": its process is stopped", node::stop);
  }

  private void step(Probes probes, Holders holders, String name, Probes.Step step) throws InterruptedException {
    probes.step(name, step);
    // While its frontend stops, a holder may have no route.
    if (!name.equals(STOPPED)) ask(name, holders);
  }

  /** A message to some of the holders must come: their routes are where they should be. */
  private void ask(String when, Holders holders) throws InterruptedException {
    var topics = holders.topics(asks++);
    if (!publisher.connected()) scene.expect(publisher.connect(true), when + ": the publisher cannot connect");
    for (String topic : topics) publisher.publish(Draft.of(topic, 1, BYTES));
    scene.expect(publisher.awaitAcknowledged(ANSWERED_MAX), when + ": messages to holders were not acknowledged");
    boolean came = scene.await(ANSWERED_MAX, () -> holders.seen().containsAll(topics));
    scene.expect(came, "%s: %d of %d messages to holders came".formatted(when, topics.stream().filter(holders.seen()::contains).count(), topics.size()));
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
