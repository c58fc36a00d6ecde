package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * What clients notice while a range has no leader. Each of the sessions, the routes and the retained messages has two replicas, at a process that clients do not connect
 * to and at their broker. The former leads. It stands still, so there is no majority for another leader.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class NoLeaderIT {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final List<String> ROLES = List.of("store,frontend", "inbox", "dist", "retain");
  private static final int SESSIONS = 1;
  private static final int ROUTES = 2;
  private static final int RETAINED = 3;
  private static final int MESSAGES = 50;

  /** What clients receive while a leader is missing, in CONNACK and elsewhere. */
  private static final int UNAVAILABLE = 0x88;
  private static final int NOT_NOW = 0x83;
  private static final int BUSY = 0x89;

  /** Much more than the lane, the broker's reads and the sockets take together. */
  private static final int FLOOD = 8_192;
  private static final String LARGE = "x".repeat(16_384);

  private final List<BrokerProcess> processes = new ArrayList<>();
  private final List<String> ids = new ArrayList<>();
  private ApiCalls api;

  @BeforeAll
  void start(@TempDir Path directory) {
    int[] ports = IntStream.generate(FreePort::any).limit(2L * ROLES.size()).toArray();
    for (int node = 0; node < ROLES.size(); node++) {
      processes.add(
          BrokerProcess.launchMember(
              directory.resolve("node-" + node), ports[node], ports[ROLES.size() + node], "127.0.0.1:" + ports[0],
              "dunlin.roles=" + ROLES.get(node),
              "dunlin.lane.bytes-max=1MiB",
              "dunlin.mqtt.connect-timeout=3s"));
    }
    for (int node = 0; node < ROLES.size(); node++) {
      processes.get(node).awaitStarted(LONG);
      var own = ApiCalls.of(directory.resolve("node-" + node));
      ids.add(own.get("/cluster").member("node"));
      if (node == 0) api = own;
      else own.close();
    }
  }

  @AfterAll
  void stop() {
    if (api != null) api.close();
    processes.forEach(BrokerProcess::close);
  }

  private void awaitLeader(String kind, int node) {
    await("node " + node + " leads the " + kind)
        .atMost(LONG)
        .pollInterval(Duration.ofMillis(100))
        .until(
            () -> {
              var ranges = api.get("/cluster/ranges");
              return ranges.members("leader").get(ranges.members("kind").indexOf(kind)).equals(ids.get(node));
            });
  }

  private RawClient connected(Connect connect) {
    return ClusterClients.connected(broker().port(), connect);
  }

  private BrokerProcess broker() {
    return processes.getFirst();
  }

  /** Publishes with QoS 1 until a message is accepted, which the subscriber then receives; it may have received others before. */
  private static void goesOn(RawClient publisher, String topic, RawClient subscriber) {
    int tries = 1;
    while (publisher.publishAndWait(topic, "after " + tries) >= 0x80) tries++;
    subscriber.before("after " + tries);
  }

  /** The messages that the broker has dropped, at each hop and for each reason. */
  private double dropped() {
    return broker().answer("/metrics").body().lines().filter(line -> line.startsWith("dunlin_messages_dropped_total"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
  }

  private static void asks(RawClient client, int packetId, String filter) {
    client.send(RawClient.SUBSCRIBE, RawClient.u16(packetId), RawClient.noProperties(), filter, 1);
  }

  private static int answered(RawClient client, int type, int packetId) {
    var answer = client.next(type);
    assertThat(answer.packetId()).isEqualTo(packetId);
    return answer.reason();
  }

  @Test
  void theSessions() throws InterruptedException {
    awaitLeader("sessions", SESSIONS);
    try (var durable = connected(Connect.of("durable").clean());
        var flooded = connected(Connect.of("flooded").clean());
        var online = connected(Connect.of("online").clean().expiry(0));
        var publisher = connected(Connect.of("publisher").clean().expiry(0));
        var once = connected(Connect.of("once").clean().expiry(0));
        var flooder = ClusterClients.connected(broker().port(), RawClient.connect(4, true, 0, "flooder", RawClient.noProperties()));
        var refused = new RawClient(broker().port())) {
      durable.subscribe("stored", 1);
      flooded.subscribe("flood", 1);
      online.subscribe("live/#", 1);

      processes.get(SESSIONS).signal("STOP");
      try {
        publisher.publish("stored", 1, 1_001, "held");
        once.publish("stored", 2, 1_002, "held once");
        asks(durable, 1_003, "more");
        refused.send(Connect.of("refused").packet());

        // What no stored session takes.
        for (int i = 0; i < MESSAGES; i++) publisher.publish("live/0", 0, 0, "live " + i);
        for (int i = 0; i < MESSAGES; i++) assertThat(online.take().text()).isEqualTo("live " + i);
        once.publish("live/1", 1, 1_004, "needs no session");
        assertThat(online.take().text()).isEqualTo("needs no session");
        assertThat(answered(once, RawClient.PUBACK, 1_004)).isZero();

        floodsNoFurtherThanItsWindow(flooder);

        assertThat(refused.expect(RawClient.CONNACK).reason()).isEqualTo(UNAVAILABLE);
        assertThat(answered(publisher, RawClient.PUBACK, 1_001)).isEqualTo(NOT_NOW);
        assertThat(answered(once, RawClient.PUBREC, 1_002)).isEqualTo(NOT_NOW);
      } finally {
        processes.get(SESSIONS).signal("CONT");
      }
      assertThat(answered(durable, RawClient.SUBACK, 1_003)).as("of a SUBSCRIBE that has waited").isEqualTo(1);
      goesOn(publisher, "stored", durable);
      goesOn(publisher, "more", durable);
    }
  }

  /** Its client writes on, so the broker has ceased to read when not all can be written. */
  private void floodsNoFurtherThanItsWindow(RawClient flooder) throws InterruptedException {
    var all = new CountDownLatch(1);
    Thread.startVirtualThread(
        () -> {
          try {
            for (int i = 1; i <= FLOOD; i++) flooder.publish("flood", 1, i, LARGE);
            all.countDown();
          } catch (UncheckedIOException _) {
            // Messages of MQTT 3 that cannot be stored in time end their connection.
          }
        });
    await("the flooder is not read from").atMost(LONG).pollInterval(Duration.ofMillis(50)).until(() -> broker().metric("dunlin_lane_held_connections") > 0);
    flooder.awaitClosed();
    assertThat(all.getCount()).as("not all could be written").isEqualTo(1);
  }

  @Test
  void theRoutes() throws InterruptedException {
    awaitLeader("routes", ROUTES);
    try (var subscriber = connected(Connect.of("subscriber").clean().expiry(0));
        var publisher = connected(Connect.of("publisher").clean().expiry(0));
        var flooder = ClusterClients.connected(broker().port(), RawClient.connect(4, true, 0, "flooder", RawClient.noProperties()))) {
      subscriber.subscribe("t", 1);

      processes.get(ROUTES).signal("STOP");
      try {
        double dropped = dropped();
        for (int i = 0; i < MESSAGES; i++) publisher.publish("t", 0, 0, "live " + i);
        asks(subscriber, 1_001, "more");
        publisher.publish("t", 1, 1_002, "held");
        publisher.publish("t", 2, 1_003, "held once");
        try (var other = connected(Connect.of("other").clean())) {
          other.ping(); // sessions need no routes
        }
        floodsNoFurtherThanItsWindow(flooder);
        assertThat(answered(publisher, RawClient.PUBACK, 1_002)).isEqualTo(NOT_NOW);
        assertThat(answered(publisher, RawClient.PUBREC, 1_003)).isEqualTo(NOT_NOW);
        assertThat(answered(subscriber, RawClient.SUBACK, 1_001)).isEqualTo(NOT_NOW);
        assertThat(subscriber.untilPong()).as("QoS 0 needs the routes, too").isEmpty();
        await("what was lost with the link is counted").atMost(LONG).until(() -> dropped() >= dropped + MESSAGES);
      } finally {
        processes.get(ROUTES).signal("CONT");
      }
      subscriber.subscribe("t", 1);
      goesOn(publisher, "t", subscriber);
    }
  }

  @Test
  void theRetainedMessages() {
    awaitLeader("retain", RETAINED);
    try (var subscriber = connected(Connect.of("reader").clean().expiry(0));
        var publisher = connected(Connect.of("writer").clean().expiry(0));
        var other = connected(Connect.of("other writer").clean().expiry(0))) {
      subscriber.subscribe("r/#", 1);
      assertThat(publisher.publishAndWait("r/1", "before", true)).isZero();
      subscriber.before("before");

      processes.get(RETAINED).signal("STOP");
      try (var newcomer = connected(Connect.of("newcomer").clean().expiry(0))) {
        publisher.publish("r/1", "set", 1, 1_001, false, true);
        assertThat(other.publishAndWait("r/2", "not to be retained")).isZero();
        subscriber.before("not to be retained");

        asks(newcomer, 1_003, "r/#");
        assertThat(answered(newcomer, RawClient.SUBACK, 1_003)).as("of a SUBSCRIBE, which needs routes alone").isEqualTo(1);
        assertThat(answered(publisher, RawClient.PUBACK, 1_001)).isEqualTo(NOT_NOW);
        newcomer.expectDisconnect(BUSY); // or it would take what it gets for all there is
      } finally {
        processes.get(RETAINED).signal("CONT");
      }
      int tries = 1;
      while (publisher.publishAndWait("r/1", "after " + tries, true) >= 0x80) tries++;
      try (var later = connected(Connect.of("later").clean().expiry(0))) {
        later.subscribe("r/#", 1);
        assertThat(later.take().text()).isEqualTo("after " + tries);
      }
    }
  }
}
