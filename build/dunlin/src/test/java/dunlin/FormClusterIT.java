package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.broker.users.AccessMXBean;
import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.MovingClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient;
import dunlin.harness.Restarts;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The data of a broker that ran alone becomes that of the first node of a cluster, which grows to three. */
class FormClusterIT {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int NO_SUBSCRIBERS = 0x10;
  private static final List<String> MESSAGES = List.of("1", "2", "3", "4", "5");

  @TempDir Path directory;
  private final int[] ports = IntStream.generate(FreePort::any).limit(6).toArray();
  private final List<BrokerProcess> brokers = new CopyOnWriteArrayList<>();

  private record Ended(int code, String out, String err) {}

  private static Ended form(Path data) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    int code =
        FormCluster.run(
            List.of(data.toString()), new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
    return new Ended(code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  private Path data(int node) {
    return directory.resolve("node-" + node);
  }

  private BrokerProcess launch(int node) {
    return BrokerProcess.launchMember(data(node), ports[node], ports[3 + node], "127.0.0.1:" + ports[0]);
  }

  @AfterEach
  void stopAll() {
    brokers.forEach(BrokerProcess::close);
  }

  /** Sessions with waiting messages, a group, an exchange of QoS 2 on both sides, retained messages, and a client without a durable session; then a crash. */
  private void fillAlone() {
    var broker = BrokerProcess.start(data(0));
    int port = broker.port();
    for (int i = 1; i <= 3; i++) {
      var absent = RawClient.connected(port, Connect.of("absent-" + i));
      absent.subscribe("m/#", 1);
      absent.disconnect();
    }
    var member = RawClient.connected(port, Connect.of("member"));
    member.subscribe("$share/group/w/#", 1);
    member.disconnect();
    RawClient.connected(port, Connect.of("clean").clean().expiry(0)).subscribe("gone/#", 1);
    var exact = RawClient.connected(port, Connect.of("exact"));
    exact.subscribe("x", 2);
    var publisher = RawClient.connected(port, Connect.of("publisher"));
    for (String text : MESSAGES) {
      assertThat(publisher.publishAndWait("m/" + text, text)).isZero();
      assertThat(publisher.publishAndWait("w/" + text, text)).isZero();
      assertThat(publisher.publishAndWait("r/" + text, text, true)).isEqualTo(NO_SUBSCRIBERS);
    }
    publisher.publish("x", "once", 2, 7, false, false);
    assertThat(publisher.next(RawClient.PUBREC).reason()).isZero();
    exact.pubrec(exact.next(RawClient.PUBLISH).packetId());
    exact.next(RawClient.PUBREL);
    broker.kill();
  }

  @Test
  void allDataOfABrokerThatRanAloneIsInTheCluster() {
    fillAlone();

    var formed = form(data(0));
    assertThat(formed.code()).as("%s", formed).isZero();
    assertThat(form(data(0))).as("once more").isEqualTo(formed);
    var alone = BrokerProcess.launch(data(0));
    assertThat(alone.awaitExit(LONG)).isEqualTo(1);
    assertThat(alone.err()).singleElement().asString().contains("belongs to a node of a cluster");

    interruptAt("Admin port");
    interruptAt("has founded cluster");
    brokers.add(launch(0));
    brokers.getFirst().awaitStarted(LONG);
    assertThat(form(data(0)).err()).contains("in use");
    finishPublishing();
    assertThat(waiting("absent-1")).containsExactlyElementsOf(MESSAGES);

    for (int i = 1; i < 3; i++) brokers.add(launch(i));
    for (var broker : brokers) broker.awaitStarted(LONG).awaitReplicas(3);
    brokers.getFirst().kill();
    assertThat(waiting("absent-2")).containsExactlyElementsOf(MESSAGES);
    assertThat(waiting("member")).containsExactlyElementsOf(MESSAGES);
    assertThat(retained()).containsExactlyElementsOf(MESSAGES);
    finishReceiving();

    // The address of the first node is the cluster's by now, so it has a part in elections.
    brokers.set(0, launch(0));
    brokers.getFirst().awaitStarted(LONG);
    brokers.get(1).kill();
    assertThat(waiting("absent-3")).containsExactlyElementsOf(MESSAGES);
    brokers.getFirst().terminate();
    brokers.getFirst().awaitExit(LONG);
    assertThat(form(data(0)).err()).contains("belongs to cluster");
  }

  /** Starts the first node and kills it when it has logged this. */
  private void interruptAt(String words) {
    try (var starting = launch(0)) {
      await(words).atMost(LONG).pollInterval(Duration.ofMillis(1)).until(() -> starting.out().stream().anyMatch(line -> line.contains(words)));
      starting.kill();
    }
  }

  private List<String> waiting(String client) {
    try (var resumed = new MovingClient(brokers, Connect.of(client), 0)) {
      return resumed.receive(MESSAGES.size());
    }
  }

  private Set<String> retained() {
    try (var reader = new MovingClient(brokers, Connect.of("reader").clean().expiry(0), 1)) {
      reader.subscribe("r/#");
      return new TreeSet<>(reader.receive(MESSAGES.size()));
    }
  }

  /** The message has been recorded, so it is not delivered again. And the former client's route is gone. */
  private void finishPublishing() {
    try (var publisher = new MovingClient(brokers, Connect.of("publisher"), 0)) {
      publisher.tries(
          "PUBREC",
          to -> {
            to.publish("x", "once", 2, 7, true, false);
            return to.next(RawClient.PUBREC).reason() == 0 ? to : null;
          });
      // Not with the PUBLISH: once the message is released, that would be another message.
      publisher.tries(
          "PUBCOMP",
          to -> {
            to.pubrel(7);
            return to.next(RawClient.PUBCOMP);
          });
      publisher.tries("no route", to -> to.publishAndWait("gone/1", "to nobody") == NO_SUBSCRIBERS ? to : null);
    }
  }

  private void finishReceiving() {
    try (var exact = new MovingClient(brokers, Connect.of("exact"), 1);
        var publisher = new MovingClient(brokers, Connect.of("publisher"), 1)) {
      exact.tries(
          "PUBREL",
          from -> {
            from.pubcomp(from.next(RawClient.PUBREL).packetId());
            return from;
          });
      publisher.publish("x", "next", false);
      assertThat(exact.receive()).as("nothing but the message of QoS 2 that was released").isEqualTo("next");
    }
  }

  private Dunlin alone(boolean users) {
    return alone(Map.of("dunlin.auth.users.enabled", Boolean.toString(users)));
  }

  private Dunlin alone(Map<String, String> settings) {
    var builder = Dunlin.builder();
    settings.forEach(builder::set);
    return builder
        .tcpPort(0)
        .dataDirectory(data(0))
        .set("dunlin.admin.port", "-1")
        .set("dunlin.cluster.service-port", Integer.toString(ports[0]))
        .set("dunlin.cluster.port", Integer.toString(ports[3]))
        .set("dunlin.cluster.seeds", "127.0.0.1:" + ports[0])
        .set("dunlin.cluster.bootstrap-expect", "1")
        .build();
  }

  private static int answer(Dunlin broker, String user, String password) {
    return ClusterClients.answer(broker.tcpPort(), RawClient.connect(5, 0xC2, 0, RawClient.noProperties(), "", user, password));
  }

  /** Also when the cluster is founded while the setting is off. */
  @Test
  void usersOfABrokerThatRanAloneAreInTheCluster() {
    try (var broker = TestBroker.on(data(0), Map.of("dunlin.auth.users.enabled", "true", "dunlin.admin.port", "-1"))) {
      broker.bean("Access", AccessMXBean.class).putUser("alice", "secret", "", true, 0);
    }
    assertThat(form(data(0)).code()).isZero();
    try (var broker = Restarts.again(() -> alone(false))) {
      assertThat(answer(broker, "any", "any")).isZero();
    }
    try (var broker = Restarts.again(() -> alone(true))) {
      await().atMost(LONG).until(() -> answer(broker, "alice", "secret") == 0);
      assertThat(answer(broker, "alice", "wrong")).isEqualTo(0x86);
    }
    Restarts.awaitReleased(data(0));
  }

  @Test
  void sessionsInSeveralRangesAreInTheClusterThatHasAsMany() {
    Map<String, String> three = Map.of("dunlin.inbox.ranges", "3");
    List<String> clients = IntStream.range(0, 12).mapToObj(i -> "client-" + i).toList();
    try (var broker = TestBroker.on(data(0), Map.of("dunlin.inbox.ranges", "3", "dunlin.admin.port", "-1"))) {
      for (String client : clients) RawClient.connected(broker.port(), Connect.of(client)).disconnectAfter(absent -> absent.subscribe("m/#", 1));
      try (var publisher = RawClient.connected(broker.port(), Connect.of("publisher"))) {
        assertThat(publisher.publishAndWait("m/1", "before")).isZero();
      }
    }

    var formed = form(data(0));
    assertThat(formed.code()).as("%s", formed).isZero();
    assertThat(formed.out()).contains("dunlin.inbox.ranges=3");
    for (String other : List.of("1", "2", "4")) {
      assertThatThrownBy(() -> Restarts.again(() -> alone(Map.of("dunlin.inbox.ranges", other)))).hasStackTraceContaining("dunlin.inbox.ranges is " + other).hasStackTraceContaining("stored with 3");
    }
    for (int start = 0; start < 2; start++) {
      try (var broker = Restarts.again(() -> alone(three))) {
        for (String client : clients.subList(6 * start, 6 * start + 6)) {
          try (var resumed = ClusterClients.connected(broker.tcpPort(), Connect.of(client))) {
            assertThat(resumed.sessionPresent()).as(client).isTrue();
            assertThat(resumed.take().text()).isEqualTo("before");
          }
        }
      }
    }
    Restarts.awaitReleased(data(0));
  }

  @Test
  void whatIsNoDataIsRefused() {
    assertThat(form(directory.resolve("none")).err()).contains("there is no directory");
    assertThat(form(directory).err()).contains("not a data directory");
    var err = new ByteArrayOutputStream();
    assertThat(FormCluster.run(List.of(), new PrintStream(err), new PrintStream(err))).isEqualTo(FormCluster.USAGE);
    assertThat(directory.resolve("cluster")).doesNotExist();
  }
}
