package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page of a node of a cluster: what other nodes have, and a node that does not answer. */
class ClusterPageIT extends PageInChromium {
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
  void aNodeThatDoesNotAnswerIsShownAsSuch() throws Exception {
    start();
    List<String> ids = apis.stream().map(api -> api.get("/cluster").member("node")).toList();
    int still = notLeading(ids);
    ApiCalls asked = apis.get((still + 1) % NODES);
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int node = 0; node < NODES; node++) clients.add(RawClient.connected(processes.get(node).port(), Connect.of("meter-" + node).clean().expiry(0)));
      signIn(asked.address(), asked.token());
      view("clients", "Clients");
      await("the clients of all nodes", () -> rows() == NODES || pressedAgain());
      for (String id : ids) assertThat(shown()).contains(id.substring(0, 8));
      assertThat(shown()).doesNotContain("Rows are missing");

      signal(still, "STOP");
      try {
        press("#view form button");
        await("what is missing", () -> shown().contains("Rows are missing: node " + ids.get(still) + " at 127.0.0.1 did not answer within 2 s."));
        await("the others", () -> rows() == NODES - 1);
        view("clients/never/default", "Clients");
        awaitTrouble("did not answer within 2 s");
        view("cluster", "Cluster");
        await("its health", () -> shown().matches("(?s).*" + ids.get(still).substring(0, 8) + "[^\\n]*\\s[^\\n]*did not answer within 2 s.*"));
        assertThat(shown()).as("that of the others").contains("alive");
      } finally {
        signal(still, "CONT");
      }
    } finally {
      clients.forEach(RawClient::close);
    }
  }

  /** A connection may be too young to be listed at another node. */
  private static boolean pressedAgain() throws Exception {
    press("#view form button");
    return false;
  }

  private void start() {
    int[] ports = IntStream.generate(FreePort::any).limit(2 * NODES).toArray();
    String seeds = IntStream.range(0, NODES).mapToObj(node -> "127.0.0.1:" + ports[node]).collect(Collectors.joining(","));
    for (int node = 0; node < NODES; node++) {
      processes.add(
          BrokerProcess.launchMember(
              directory.resolve("node" + node), ports[node], ports[NODES + node], seeds, "dunlin.cluster.bootstrap-expect=" + NODES, "dunlin.cluster.down-after=60s"));
    }
    for (BrokerProcess process : processes) process.awaitStarted(LONG);
    for (int node = 0; node < NODES; node++) apis.add(ApiCalls.of(directory.resolve("node" + node)));
  }

  /** A node that leads nothing, so that only what it has itself is missing. */
  private int notLeading(List<String> ids) {
    List<String> leaders = apis.getFirst().get("/cluster/ranges").members("leader");
    return IntStream.range(0, NODES).filter(node -> !leaders.contains(ids.get(node))).findFirst().orElse(NODES - 1);
  }

  private void signal(int node, String signal) throws IOException, InterruptedException {
    int exit = new ProcessBuilder("kill", "-" + signal, Long.toString(processes.get(node).pid())).inheritIO().start().waitFor();
    assertThat(exit).isZero();
  }
}
