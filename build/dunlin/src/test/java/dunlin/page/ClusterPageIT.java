package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.ApiCalls;
import dunlin.harness.ClusterClients;
import dunlin.harness.ProcessCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page of a node of a cluster: what other nodes have, and a node that does not answer. */
class ClusterPageIT extends PageInChromium {
  private static final int NODES = 3;

  @TempDir Path directory;

  private ProcessCluster cluster;

  @BeforeEach
  void startCluster() {
    cluster = ProcessCluster.start(directory, NODES);
  }

  @AfterEach
  void stopCluster() {
    if (cluster != null) cluster.close();
  }

  @Test
  void aNodeThatDoesNotAnswerIsShownAsSuch() throws Exception {
    List<String> ids = cluster.ids();
    int still = cluster.notLeading();
    ApiCalls asked = cluster.apis().get((still + 1) % NODES);
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int node = 0; node < NODES; node++) clients.add(ClusterClients.connected(cluster.port(node), Connect.of("meter-" + node).clean().expiry(0)));
      signIn(asked.address(), asked.token());
      view("clients", "Clients");
      await("the clients of all nodes", () -> rows() == NODES || pressedAgain());
      for (String id : ids) assertThat(shown()).contains(id.substring(0, 8));
      assertThat(shown()).doesNotContain("Rows are missing");

      cluster.signal(still, "STOP");
      try {
        press("#view form button");
        String missing = "Rows are missing: node " + ids.get(still) + " at 127.0.0.1 did not answer within 2 s.";
        // Another node may have been too busy to answer in time.
        await("what is missing, and no more", () -> shown().contains("Rows are missing") && ((shown().contains(missing) && rows() == NODES - 1) || pressedAgain()));
        view("clients/never/default", "Clients");
        awaitTrouble("did not answer within 2 s");
        view("cluster", "Cluster");
        await("its health", () -> shown().matches("(?s).*" + ids.get(still).substring(0, 8) + "[^\\n]*\\s[^\\n]*did not answer within 2 s.*"));
        assertThat(shown()).as("that of the others").contains("alive");
      } finally {
        cluster.signal(still, "CONT");
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

  @Test
  void theLeaderOfARangeIsMovedAndNoReplicaWhereEachNodeHasOne() throws Exception {
    ApiCalls asked = cluster.apis().getFirst();
    signIn(asked.address(), asked.token());
    view("cluster", "Cluster");
    press("button[aria-label^=\"Change replicas of\"]");
    await("the form", () -> focused().equals("move"));
    await("no node is left", () -> browser().text("move-none").startsWith("No node is there"));
    assertThat(js("document.getElementById('move-begin').disabled")).isEqualTo("true");
    choose("move", "move-replica");
    assertThat(js("document.getElementById('move-from').length + ',' + document.getElementById('move-begin').disabled")).isEqualTo(NODES + ",true");

    choose("move", "transfer-leadership");
    await("the other nodes", () -> js("document.getElementById('move-to').length").equals(Integer.toString(NODES - 1)));
    assertThat(js("document.getElementById('move-from').checkVisibility()")).isEqualTo("false");
    String range = js("document.querySelector('#moved-range code').title");
    String to = js("document.getElementById('move-to').value");
    press("#move-begin");
    answer("Begin");
    await("begun", () -> browser().text("done").matches("The operation .+ has begun\\."));
    await("it leads", () -> leaderOf(range).equals(to));
    awaitShown("This node has made no backup since its start.");
    assertThat(browser().errors()).isEmpty();
  }

  private String leaderOf(String range) {
    ApiCalls.Answer ranges = cluster.apis().getFirst().get("/cluster/ranges");
    return ranges.members("leader").get(ranges.members("id").indexOf(range));
  }
}
