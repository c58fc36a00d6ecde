package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.MovingClient;
import dunlin.harness.ProcessCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A backup of a cluster of three, whose retained messages are in two ranges and whose sessions in three, becomes a new cluster of three. */
class BackupClusterIT {
  private static final Duration LONG = Duration.ofMinutes(3);
  private static final List<String> MESSAGES = List.of("1", "2", "3", "4", "5");
  private static final int NODES = 3;
  private static final int SESSIONS = 9;
  private static final String RANGES = "dunlin.inbox.ranges=3";

  @TempDir private Path directory;
  private final List<BrokerProcess> brokers = new CopyOnWriteArrayList<>();

  @AfterEach
  void stopAll() {
    brokers.forEach(BrokerProcess::close);
  }

  @Test
  void aBackupOfAClusterBecomesAnotherCluster() {
    try (var cluster = ProcessCluster.start(directory, NODES, RANGES, "dunlin.backup.directory=" + directory.resolve("backups"))) {
      fill(cluster.port(0));
      splitRetained(cluster.apis().getFirst());
      ApiCalls asked = cluster.apis().get(cluster.notLeading());
      Answer begun = asked.post("/backup/whole", "{}");
      assertThat(begun.status()).as(begun.text()).isEqualTo(200);
      await().atMost(LONG).until(() -> !asked.get("/backup").member("state").equals("running"));
      Answer made = asked.get("/backup");
      assertThat(made.member("state")).as(made.text()).isEqualTo("complete");
      assertThat(made.json().get("ranges").getAsInt()).as("three of sessions, and two of retained messages").isEqualTo(5);
      try (var publisher = ClusterClients.connected(cluster.port(1), Connect.of("late").clean().expiry(0))) {
        assertThat(publisher.publishAndWait("m/late", "not in the backup")).isZero();
      }
    }

    Path data = directory.resolve("new-0");
    var restored = RestoreRun.of(directory.resolve("backups").resolve("whole").toString(), data.toString());
    assertThat(restored.code()).as("%s", restored).isZero();
    assertThat(restored.out()).contains(RANGES);
    var err = new ByteArrayOutputStream();
    var out = new ByteArrayOutputStream();
    int formed = FormCluster.run(List.of(data.toString()), new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
    assertThat(formed).as(err.toString(StandardCharsets.UTF_8)).isZero();
    int[] ports = IntStream.generate(FreePort::any).limit(2L * NODES).toArray();
    try (var other = launch(0, ports, "dunlin.inbox.ranges=2")) {
      assertThat(other.awaitExit(LONG)).isEqualTo(1);
      assertThat(other.err()).singleElement().asString().contains("dunlin.inbox.ranges is 2", "stored with 3");
    }
    launchAll(ports);

    try (var publisher = new MovingClient(brokers, Connect.of("after").clean().expiry(0), 2)) {
      publisher.publish("m/after", "after", false);
    }
    for (int i = 0; i < SESSIONS; i++) assertThat(waiting("absent-" + i, i % NODES)).containsExactly("1", "2", "3", "4", "5", "after");
    brokers.getFirst().kill();
    try (var reader = new MovingClient(brokers, Connect.of("reader").clean().expiry(0), 1)) {
      reader.subscribe("r/#");
      assertThat(reader.receive(MESSAGES.size())).containsExactlyInAnyOrderElementsOf(MESSAGES);
    }
  }

  @Test
  void aLeaderThatIsLostWhileItIsCopiedIsReplacedByTheNext() {
    try (var cluster = ProcessCluster.start(directory, NODES, "dunlin.backup.directory=" + directory.resolve("backups"), "dunlin.backup.bytes-per-second=64KiB")) {
      try (var publisher = ClusterClients.connected(cluster.port(0), Connect.of("publisher"))) {
        byte[] noise = new byte[100_000];
        new Random(1).nextBytes(noise);
        String incompressible = new String(noise, StandardCharsets.ISO_8859_1).replace('\0', 'x');
        for (int i = 0; i < 10; i++) assertThat(publisher.publishAndWait("large/" + i, incompressible, true)).isLessThan(0x80);
      }
      int leader = cluster.ids().indexOf(leaderOfRetained(cluster.apis().getFirst()));
      ApiCalls asked = cluster.apis().get((leader + 1) % NODES);
      assertThat(asked.post("/backup/whole", "{}").status()).isEqualTo(200);
      await().atMost(LONG).until(() -> asked.get("/backup").json().get("bytes").getAsLong() > 400_000);
      cluster.signal(leader, "KILL");
      await().atMost(LONG).until(() -> !asked.get("/backup").member("state").equals("running"));
      Answer made = asked.get("/backup");
      assertThat(made.member("state")).as(made.text()).isEqualTo("complete");
    }
    Path data = directory.resolve("alone");
    var restored = RestoreRun.of(directory.resolve("backups").resolve("whole").toString(), data.toString());
    assertThat(restored.code()).as("%s", restored).isZero();
    try (var broker = TestBroker.on(data);
        var reader = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0))) {
      reader.subscribe("large/#", 1);
      Set<String> topics = new TreeSet<>();
      while (topics.size() < 10) topics.add(reader.take().topic());
    }
  }

  private static String leaderOfRetained(ApiCalls api) {
    await().atMost(LONG).until(() -> api.get("/cluster/ranges").members("leader").stream().noneMatch(String::isEmpty));
    Answer ranges = api.get("/cluster/ranges");
    return ranges.members("leader").get(ranges.members("kind").indexOf("retain"));
  }

  private static void fill(int port) {
    for (int i = 0; i < SESSIONS; i++) {
      try (var absent = ClusterClients.connected(port, Connect.of("absent-" + i))) {
        absent.subscribe("m/#", 1);
        absent.disconnect();
      }
    }
    try (var publisher = ClusterClients.connected(port, Connect.of("publisher"))) {
      for (String text : MESSAGES) {
        assertThat(publisher.publishAndWait("m/" + text, text)).isZero();
        assertThat(publisher.publishAndWait("r/" + text, text, true)).isLessThan(0x80);
      }
    }
  }

  /** Between the topics r/2 and r/3. */
  private static void splitRetained(ApiCalls api) {
    String cut = "0007" + HexFormat.of().formatHex("defaultr\0003".getBytes(StandardCharsets.UTF_8));
    await("the split is begun, and the range has its replicas before")
        .atMost(LONG)
        .until(
            () -> {
              String range = retainRanges(api).getFirst();
              return retainRanges(api).size() == 2 || api.post("/cluster/ranges/" + range + "/split", "{\"cut\":\"" + cut + "\"}").status() == 200;
            });
    await("both parts are led").atMost(LONG).until(() -> retainRanges(api).size() == 2 && api.get("/cluster/ranges").members("leader").stream().noneMatch(String::isEmpty));
  }

  private static List<String> retainRanges(ApiCalls api) {
    Answer ranges = api.get("/cluster/ranges");
    List<String> kinds = ranges.members("kind");
    List<String> ids = ranges.members("id");
    return IntStream.range(0, ids.size()).filter(i -> kinds.get(i).equals("retain")).mapToObj(ids::get).toList();
  }

  private BrokerProcess launch(int node, int[] ports, String ranges) {
    return BrokerProcess.launchMember(directory.resolve("new-" + node), ports[node], ports[NODES + node], "127.0.0.1:" + ports[0], "dunlin.cluster.down-after=60s", ranges);
  }

  private void launchAll(int[] ports) {
    for (int node = 0; node < NODES; node++) {
      brokers.add(launch(node, ports, RANGES));
      if (node == 0) brokers.getFirst().awaitStarted(LONG);
    }
    for (BrokerProcess broker : brokers) broker.awaitStarted(LONG).awaitReplicas(NODES);
  }

  private List<String> waiting(String client, int node) {
    try (var resumed = new MovingClient(brokers, Connect.of(client), node)) {
      return resumed.receive(MESSAGES.size() + 1);
    }
  }
}
