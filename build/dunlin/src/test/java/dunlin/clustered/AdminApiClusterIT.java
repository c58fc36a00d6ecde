package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
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
  }
}
