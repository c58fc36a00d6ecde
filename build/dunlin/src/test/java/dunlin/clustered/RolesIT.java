package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.MovingClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One broker of separate services: three stores, two dist workers and two frontends, each a process of its own. */
class RolesIT {
  private static final int STORES = 3;
  private static final List<String> ROLES = List.of("store,retain,inbox", "store,retain,inbox", "store,retain,inbox", "dist", "dist", "frontend", "frontend");
  private static final int MESSAGES = 20;
  private static final Duration LONG = Duration.ofMinutes(4);

  /** A gauge of the node that leads the routes. */
  private static final String LEADS_ROUTES = "dunlin_dist_in_flight_bytes";

  @TempDir Path directory;
  private final int[] ports = IntStream.generate(FreePort::any).limit(2L * ROLES.size()).toArray();
  private final List<BrokerProcess> processes = new CopyOnWriteArrayList<>();

  private BrokerProcess launch(int node) {
    String seeds = IntStream.range(0, STORES).mapToObj(i -> "127.0.0.1:" + ports[i]).collect(Collectors.joining(","));
    return BrokerProcess.launchMember(
        data(node), ports[node], ports[ROLES.size() + node], seeds,
        "dunlin.roles=" + ROLES.get(node),
        "dunlin.cluster.bootstrap-expect=" + STORES,
        "dunlin.cluster.lease=10s",
        "dunlin.cluster.down-after=12s");
  }

  private Path data(int node) {
    return directory.resolve("node-" + node);
  }

  private void startAll() {
    for (int node = 0; node < ROLES.size(); node++) processes.add(launch(node));
    for (var process : processes) process.awaitStarted(LONG);
    for (var process : processes) process.awaitReplicas(ROLES.size());
  }

  @AfterEach
  void stopAll() {
    processes.forEach(BrokerProcess::close);
  }

  /** The frontends, as they are replaced. */
  private List<BrokerProcess> frontends() {
    return new AbstractList<>() {
      @Override
      public BrokerProcess get(int number) {
        return processes.get(STORES + 2 + number);
      }

      @Override
      public int size() {
        return ROLES.size() - STORES - 2;
      }
    };
  }

  /** Waits until a node of some of them leads, and returns its number. */
  private int leader(String what, Predicate<BrokerProcess> leads, Set<Integer> among) {
    return await(what)
        .atMost(LONG)
        .pollInterval(Duration.ofMillis(200))
        .ignoreExceptions() // of a process that is too busy to answer
        .until(() -> among.stream().filter(node -> leads.test(processes.get(node))).findFirst().orElse(-1), node -> node >= 0);
  }

  @Test
  void anyProcessMayBeLost() {
    startAll();
    int worker = leader("a dist worker leads the routes", each -> each.hasMetric(LEADS_ROUTES), Set.of(STORES, STORES + 1));
    for (int node = STORES + 2; node < ROLES.size(); node++) {
      assertThat(data(node).resolve("raft")).isEmptyDirectory();
      assertThat(data(node).resolve("ranges")).isEmptyDirectory();
    }
    for (int node = 0; node < STORES + 2; node++) assertThat(processes.get(node).listens()).isFalse();

    try (var willing = ClusterClients.connected(frontends().getFirst().port(), Connect.of("willing").clean().will("wills", "gone", 1, 0))) {
      var subscriber = new MovingClient(frontends(), Connect.of("subscriber"), 0);
      subscriber.subscribe("t");
      subscriber.subscribe("wills");
      var publisher = new MovingClient(frontends(), Connect.of("publisher").clean().expiry(0), 1);
      var published = new ArrayList<String>();
      var received = new LinkedHashSet<String>();

      eachRoleAnswersForTheWholeCluster();
      int sessions = leader("a store leads the sessions", each -> each.hasBean("Sessions"), Set.of(0, 1, 2));
      for (int lost : List.of(worker, sessions, STORES + 2)) {
        for (int i = 0; i < MESSAGES; i++) {
          if (i == MESSAGES / 2) processes.get(lost).kill();
          String text = lost + "." + i;
          publisher.publish("t", text, false);
          published.add(text);
        }
        if (lost == STORES + 2) published.add("gone"); // the will of a client of the lost frontend
        while (received.size() < published.size()) received.add(subscriber.receive());
        assertThat(received).containsExactlyInAnyOrderElementsOf(published);
        assertThat(received.stream().filter(text -> text.contains("."))).containsExactlyElementsOf(published.stream().filter(text -> text.contains(".")).toList());
        if (lost == STORES + 2) continue; // the last one
        processes.set(lost, launch(lost));
        processes.get(lost).awaitStarted(LONG).awaitReplicas(ROLES.size());
      }
      subscriber.close();
      publisher.close();
      assertThat(willing).isNotNull();
    }
  }

  /** A store and a dist worker have no clients, and a frontend leads nothing. */
  private void eachRoleAnswersForTheWholeCluster() {
    for (int node : List.of(0, STORES, STORES + 2, STORES + 3)) {
      try (var api = ApiCalls.of(data(node))) {
        await(ROLES.get(node))
            .atMost(LONG)
            .ignoreExceptions()
            .untilAsserted(
                () -> {
                  assertThat(api.get("/clients").members("clientId")).containsExactly("subscriber", "willing");
                  assertThat(api.get("/clients/willing").member("clientId")).isEqualTo("willing");
                  assertThat(api.get("/sessions/subscriber/subscriptions").members("filter")).containsExactly("t", "wills");
                  assertThat(api.get("/routes?topic=t").members("destination")).containsExactly("inbox");
                  assertThat(api.get("/explain?client=subscriber&topic=t").member("conclusion")).isEqualTo("delivered now");
                  assertThat(api.get("/cluster/health").members("health")).hasSize(ROLES.size()).containsOnly("alive");
                });
      }
    }
  }

  @Test
  void theCommandsOfTheDocumentMakeABrokerOfSeparateServices() {
    try (var cluster = DocumentedCluster.of(Path.of("../../docs/running.md"), "### Separate services", "bin/dunlin", directory)) {
      assertThat(cluster.size()).isEqualTo(4);
      while (cluster.brokers().size() < cluster.size()) cluster.launch(BrokerProcess.MEMBER.toArray(String[]::new));
      for (var process : cluster.brokers()) process.awaitStarted(LONG);
      try (var subscriber = ClusterClients.connected(cluster.brokers().get(2).port(), Connect.of("subscriber").clean());
          var publisher = ClusterClients.connected(cluster.brokers().get(3).port(), Connect.of("publisher").clean())) {
        subscriber.subscribe("t", 1);
        assertThat(publisher.publishAndWait("t", "from the other frontend")).isZero();
        assertThat(subscriber.take().text()).isEqualTo("from the other frontend");
      }
    }
  }

  /** Processes with one role each, of which a cluster needs but one store: each tier is led by the process that is for it. */
  @Test
  void eachTierIsLedByTheProcessThatIsForIt() {
    List<String> roles = List.of("store", "dist", "retain", "inbox", "frontend");
    for (int node = 0; node < roles.size(); node++) {
      processes.add(
          BrokerProcess.launchMember(
              data(node), ports[node], ports[ROLES.size() + node], "127.0.0.1:" + ports[0], "dunlin.roles=" + roles.get(node), "dunlin.cluster.lease=10s",
              "dunlin.cluster.down-after=12s"));
      processes.getLast().awaitStarted(LONG);
    }
    var all = Set.of(0, 1, 2, 3);
    await("a dist worker, a process for retained messages and one for sessions lead")
        .atMost(LONG)
        .pollInterval(Duration.ofMillis(200))
        .ignoreExceptions()
        .until(
            () ->
                leaders(all, each -> each.hasMetric(LEADS_ROUTES)).equals(List.of(1)) && leaders(all, each -> each.hasBean("RetainedMessages")).equals(List.of(2))
                    && leaders(all, each -> each.hasBean("Sessions")).equals(List.of(3)));

    int port = processes.getLast().port();
    try (var publisher = ClusterClients.connected(port, Connect.of("publisher").clean())) {
      var subscriber = new MovingClient(List.of(processes.getLast()), Connect.of("subscriber"), 0);
      subscriber.subscribe("t");
      assertThat(publisher.publishAndWait("t", "live")).isZero();
      assertThat(subscriber.receive()).isEqualTo("live");
      assertThat(publisher.publishAndWait("kept", "retained", true)).as("no matching subscribers").isEqualTo(0x10);
      subscriber.subscribe("kept");
      assertThat(subscriber.receive()).isEqualTo("retained");
      subscriber.close();
    }
  }

  private List<Integer> leaders(Set<Integer> among, Predicate<BrokerProcess> leads) {
    return among.stream().filter(node -> leads.test(processes.get(node))).toList();
  }

  @Test
  void aFrontendDoesNotStartWhereThereAreReplicas() {
    TestBroker.on(data(0)).close();
    try (var process = BrokerProcess.launchMember(data(0), ports[0], ports[1], "127.0.0.1:" + ports[2], "dunlin.roles=frontend")) {
      assertThat(process.awaitExit(LONG)).isEqualTo(1);
      assertThat(process.err()).singleElement().asString().startsWith("dunlin: dunlin.roles: ").contains("has replicas of ranges");
    }
    TestBroker.on(data(0)).close();
  }

  @Test
  void aFrontendWithoutAClusterSaysWhatItWaitsFor() {
    try (var process =
        BrokerProcess.launchMember(
            data(0), ports[0], ports[1], "127.0.0.1:" + ports[0], "dunlin.roles=frontend", "dunlin.cluster.join-timeout=1s")) {
      assertThat(process.awaitExit(LONG)).isEqualTo(1);
      assertThat(process.err()).singleElement().asString().contains("no cluster in time").contains("does not have the role store");
    }
  }
}
