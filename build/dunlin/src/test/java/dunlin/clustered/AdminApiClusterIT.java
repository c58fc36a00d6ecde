package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The admin API of the brokers of a cluster: each shows the cluster, and says who leads what it does not lead itself. */
class AdminApiClusterIT {
  private static final int NODES = 3;
  private static final Duration LONG = Duration.ofMinutes(3);

  @TempDir Path directory;

  private final List<BrokerProcess> processes = new ArrayList<>();
  private final List<ApiCalls> apis = new ArrayList<>();

  @AfterEach
  void stop() {
    apis.forEach(ApiCalls::close);
    processes.forEach(BrokerProcess::close);
  }

  @Test
  void eachNodeShowsTheClusterAndNamesTheLeader() {
    int[] ports = IntStream.generate(FreePort::any).limit(2 * NODES).toArray();
    String seeds = IntStream.range(0, NODES).mapToObj(node -> "127.0.0.1:" + ports[node]).collect(Collectors.joining(","));
    for (int node = 0; node < NODES; node++) {
      processes.add(
          BrokerProcess.launchMember(
              directory.resolve("node" + node), ports[node], ports[NODES + node], seeds, "dunlin.cluster.bootstrap-expect=" + NODES));
    }
    for (BrokerProcess process : processes) process.awaitStarted(LONG);
    for (int node = 0; node < NODES; node++) apis.add(ApiCalls.of(directory.resolve("node" + node)));

    for (ApiCalls api : apis) {
      assertThat(api.get("/cluster").json().get("nodes").getAsInt()).isEqualTo(NODES);
      assertThat(api.get("/cluster/nodes").members("state")).containsOnly("JOINED");
      assertThat(api.get("/cluster/nodes?limit=1").members("id")).hasSize(1);
      Answer wrong = api.post("/cluster/ranges/ffffffff/split", "{\"cut\":\"00\"}");
      assertThat(wrong.status()).isEqualTo(400);
      assertThat(wrong.member("detail")).startsWith("There is no range");
    }
    for (String path : List.of("/sessions", "/retained", "/routes?topic=a")) {
      await(path)
          .atMost(LONG)
          .untilAsserted(
              () -> {
                List<Integer> leaders = IntStream.range(0, NODES).filter(node -> apis.get(node).get(path).status() == 200).boxed().toList();
                assertThat(leaders).hasSize(1);
                String leader = apis.get(leaders.getFirst()).get("/cluster").member("node");
                for (int node = 0; node < NODES; node++) {
                  if (node == leaders.getFirst()) continue;
                  Answer elsewhere = apis.get(node).get(path);
                  assertThat(elsewhere.status()).isEqualTo(409);
                  assertThat(elsewhere.member("detail")).contains("are led by another node: ask node " + leader + " at 127.0.0.1");
                }
              });
    }
    eachNodeExplainsWhatItKnows();
  }

  private void eachNodeExplainsWhatItKnows() {
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int node = 0; node < NODES; node++) {
        RawClient client = RawClient.connected(processes.get(node).port(), Connect.of("meter-" + node));
        clients.add(client);
        client.subscribe("a", 1);
      }
      await("while leaders may still move").atMost(LONG).untilAsserted(this::explanationsNameTheNodesToAsk);
    } finally {
      clients.forEach(RawClient::close);
    }
  }

  private void explanationsNameTheNodesToAsk() {
    int sessions = leader("/sessions");
    int routes = leader("/routes?topic=a");
    int other = (sessions + 1) % NODES;
    Answer there = apis.get(other).get("/explain?client=meter-" + other + "&topic=a");
    assertThat(there.member("conclusion")).isEqualTo("not known on this node");
    assertThat(there.text())
        .contains("The client meter-" + other + " has subscribed to a with QoS 1.")
        .contains("The sessions are led by another node: ask node " + id(sessions));
    if (other != routes) assertThat(there.text()).contains("The routes are led by another node: ask node " + id(routes));
    Answer nothing = apis.get(other).get("/explain?client=meter-" + other + "&topic=unmatched");
    assertThat(nothing.member("conclusion")).as("what stops a message is certain without the other nodes").isEqualTo("not delivered");

    Answer atLeader = apis.get(sessions).get("/explain?client=meter-" + other + "&topic=a");
    assertThat(atLeader.member("conclusion")).isEqualTo("not known on this node");
    assertThat(atLeader.text())
        .contains("The client meter-" + other + " has subscribed to a with QoS 1.")
        .contains("The client meter-" + other + " is connected to node " + id(other) + ": ask that node what waits for it.")
        .contains("The inbox of the session holds 0 messages");

    Answer elsewhere = apis.get(other).get("/explain?client=meter-" + sessions + "&topic=a");
    assertThat(elsewhere.member("conclusion")).isEqualTo("not known on this node");
    assertThat(elsewhere.member("reason"))
        .contains("is not connected to this node. The sessions are led by another node: ask node " + id(sessions) + " at 127.0.0.1");
    assertThat(apis.get(sessions).get("/explain?client=never&topic=a").status()).as("the leader knows all sessions").isEqualTo(404);
  }

  private int leader(String path) {
    List<Integer> leaders = IntStream.range(0, NODES).filter(node -> apis.get(node).get(path).status() == 200).boxed().toList();
    assertThat(leaders).as(path).hasSize(1);
    return leaders.getFirst();
  }

  private String id(int node) {
    return apis.get(node).get("/cluster").member("node");
  }
}
