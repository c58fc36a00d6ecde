package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of the routes of a frontend that is dead, and of one that only seemed to be: a store and two frontends, each a process of its own. */
class DeadFrontendIT {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int FILTERS = 30;
  private static final int MESSAGES = 50;

  /** More than links and sockets take. */
  private static final int FLOOD = 4_096;

  private static final String LARGE = "x".repeat(16_384);

  /** Less than the ten seconds after which a silent link is lost, and much more than the flood takes to fill it. */
  private static final Duration FLOODED = Duration.ofSeconds(8);

  /** Less than a publisher would wait for the end of that link. */
  private static final Duration UNNOTICED = Duration.ofSeconds(5);

  @TempDir Path directory;
  private final int seed = FreePort.any();
  private final List<BrokerProcess> processes = new ArrayList<>();
  private final List<ApiCalls> apis = new ArrayList<>();

  private BrokerProcess launch(String name, int service, String roles, String kept) {
    var launched =
        BrokerProcess.launchMember(
            directory.resolve(name), service, FreePort.any(), "127.0.0.1:" + seed, "dunlin.roles=" + roles, "dunlin.dist.routes-kept=" + kept,
            "dunlin.cluster.lease=10s", "dunlin.cluster.down-after=12s");
    processes.add(launched);
    launched.awaitStarted(LONG);
    apis.add(ApiCalls.of(directory.resolve(name)));
    return launched;
  }

  private void startAll(String kept) {
    launch("store", seed, "store,dist,retain,inbox", kept);
    launch("one", FreePort.any(), "frontend", kept);
    launch("other", FreePort.any(), "frontend", kept);
  }

  @AfterEach
  void stopAll() {
    apis.forEach(ApiCalls::close);
    processes.forEach(BrokerProcess::close);
  }

  private RawClient connected(int process, Connect connect) {
    return ClusterClients.connected(processes.get(process).port(), connect);
  }

  private List<String> routes(String topic) {
    return apis.getFirst().get("/routes?topic=" + topic).members("destination");
  }

  private void awaitRoutes(String topic, String... destinations) {
    await("routes of " + topic).atMost(LONG).untilAsserted(() -> assertThat(routes(topic)).containsExactlyInAnyOrder(destinations));
  }

  private String id(int process) {
    return apis.get(process).get("/cluster").member("node");
  }

  private void leaves(String id) {
    assertThat(apis.getFirst().post("/cluster/nodes/" + id + "/leave", "{}").status()).isLessThan(300);
  }

  private void awaitState(String id, String state) {
    await(state)
        .atMost(LONG)
        .until(
            () -> {
              var nodes = apis.getFirst().get("/cluster/nodes");
              return nodes.members("state").get(nodes.members("id").indexOf(id)).equals(state);
            });
  }

  @Test
  void itsRoutesAreRemovedAndWhenItIsBackItsClientsMissNothing() throws Exception {
    startAll("2s");
    long before = returns();
    try (var passing = connected(1, Connect.of("passing").clean().expiry(0));
        var durable = connected(1, Connect.of("durable").clean())) {
      for (int i = 0; i < FILTERS; i++) passing.subscribe("t/" + i, 1);
      durable.subscribe("t/0", 1);
      awaitRoutes("t/0", "frontend", "inbox");

      processes.get(1).signal("STOP");
      try {
        awaitRoutes("t/0", "inbox");
        for (int i = 1; i < FILTERS; i++) awaitRoutes("t/" + i);
        await("says so").atMost(LONG).until(() -> processes.getFirst().out().stream().anyMatch(line -> line.contains(FILTERS + " routes of its clients were removed")));
      } finally {
        processes.get(1).signal("CONT");
      }
    }

    awaitReturn(before);
    try (var publisher = connected(2, Connect.of("publisher").clean());
        var again = connected(1, Connect.of("passing").clean().expiry(0))) {
      for (int i = 0; i < MESSAGES; i++) {
        String topic = "t/" + i % FILTERS;
        if (i < FILTERS) again.subscribe(topic, 1);
        assertThat(publisher.publishAndWait(topic, "message " + i)).isZero();
        assertThat(again.take().text()).isEqualTo("message " + i);
      }
      awaitRoutes("t/0", "frontend", "inbox");
    }
  }

  @Test
  void whileTheyAreRemovedItMayComeBackAtAnyTime() throws Exception {
    startAll("1ms");
    String id = id(1);
    try (var publisher = connected(2, Connect.of("publisher").clean())) {
      for (int round = 0; round < 2; round++) {
        long before = returns();
        try (var client = connected(1, Connect.of("client").clean().expiry(0))) {
          for (int i = 0; i < FILTERS; i++) client.subscribe("t/" + i, 1);
        }
        processes.get(1).signal("STOP");
        try {
          awaitState(id, "DOWN");
        } finally {
          processes.get(1).signal("CONT");
        }
        String topic = "back/" + round;
        awaitReturn(before);
        try (var client = connected(1, Connect.of("client").clean().expiry(0))) {
          client.subscribe(topic, 1);
          for (int i = 0; i < MESSAGES; i++) {
            assertThat(publisher.publishAndWait(topic, "message " + i)).isZero();
            assertThat(client.take().text()).isEqualTo("message " + i);
          }
        }
      }
    }
  }

  /** How often it has found that it was away. Before, it accepts clients that it then disconnects. */
  private long returns() {
    return processes.get(1).out().stream().filter(line -> line.contains("This node holds its lease in the cluster again, and accepts clients")).count();
  }

  private void awaitReturn(long before) {
    await("its lease is held again").atMost(LONG).until(() -> returns() > before);
  }

  /** Until its link counts as lost, messages for its clients wait: for less than a publisher of other messages would notice. */
  @Test
  void aFrontendThatStandsStillDelaysNoOtherClients() throws Exception {
    startAll("0s");
    try (var waited = connected(1, Connect.of("waited").clean().expiry(0));
        var subscriber = connected(2, Connect.of("subscriber").clean().expiry(0));
        var publisher = connected(2, Connect.of("publisher").clean());
        var flooder = connected(2, Connect.of("flooder").clean())) {
      waited.subscribe("t", 1);
      subscriber.subscribe("own", 1);
      assertThat(publisher.publishAndWait("t", "reaches it")).isZero();
      assertThat(waited.take().text()).isEqualTo("reaches it");

      processes.get(1).signal("STOP");
      try {
        Thread.startVirtualThread(() -> floods(flooder));
        long since = System.nanoTime();
        for (int i = 0; System.nanoTime() - since < FLOODED.toNanos(); i++) {
          long begun = System.nanoTime();
          assertThat(publisher.publishAndWait("own", "message " + i)).isZero();
          assertThat(subscriber.take().text()).isEqualTo("message " + i);
          assertThat(Duration.ofNanos(System.nanoTime() - begun)).as("message %d", i).isLessThan(UNNOTICED);
        }
      } finally {
        processes.get(1).signal("CONT");
      }
    }
  }

  private static void floods(RawClient client) {
    try {
      for (int i = 0; i < FLOOD; i++) client.publish("t", 0, 0, LARGE);
    } catch (UncheckedIOException _) {
      // It is not read from, and the test has ended.
    }
  }

  @Test
  void aFrontendThatHasLeftLeavesNoRoutes() {
    startAll("0s");
    try (var passing = connected(1, Connect.of("passing").clean().expiry(0))) {
      passing.subscribe("t", 1);
      awaitRoutes("t", "frontend");
      String id = id(1);

      processes.get(1).kill();
      awaitState(id, "DOWN");
      assertThat(routes("t")).containsExactly("frontend");
      leaves(id);
      awaitRoutes("t");
    }
  }

  /** Its routes are removed, so it may not have clients that believe to be subscribed. */
  @Test
  void aFrontendThatLeavesWhileItRunsDisconnectsItsClients() {
    startAll("0s");
    try (var passing = connected(1, Connect.of("passing").clean().expiry(0))) {
      passing.subscribe("t", 1);
      awaitRoutes("t", "frontend");

      leaves(id(1));

      passing.awaitClosed();
      awaitRoutes("t");
      assertThat(processes.get(1).answer("/ready").body()).contains("or it counts as dead or has left");
    }
  }
}
