package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.admin.api.Endpoints;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.ClusterClients;
import dunlin.harness.Dunlinctl;
import dunlin.harness.ProcessCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The admin API of the brokers of a cluster: each shows the cluster, and answers for what the other nodes have. */
class AdminApiClusterIT {
  /** The hops of which each reading balances. */
  private static final Set<String> BALANCED_ALWAYS = Set.of("publish", "session", "routes");

  private static final int NODES = 3;
  private static final int ADMINISTRATIVE_ACTION = 0x98;
  private static final Duration LONG = Duration.ofMinutes(3);

  /** Less than the time after which a node counts as dead. */
  private static final Duration STANDS_STILL = Duration.ofSeconds(50);

  @TempDir Path directory;

  private ProcessCluster cluster;
  private List<ApiCalls> apis;

  @BeforeEach
  void start() {
    cluster = ProcessCluster.start(directory, NODES);
    apis = cluster.apis();
  }

  @AfterEach
  void stop() {
    if (cluster != null) cluster.close();
  }

  @Test
  void eachNodeAnswersForTheWholeCluster() throws Exception {
    for (ApiCalls api : apis) {
      await("while its map may be old").atMost(LONG).until(() -> api.get("/cluster").json().get("nodes").getAsInt() == NODES);
      await().atMost(LONG).untilAsserted(() -> assertThat(api.get("/cluster/nodes").members("state")).hasSize(NODES).containsOnly("JOINED"));
      assertThat(api.get("/cluster/nodes?limit=1").members("id")).hasSize(1);
      Answer wrong = api.post("/cluster/ranges/ffffffff/split", "{\"cut\":\"00\"}");
      assertThat(wrong.status()).isEqualTo(400);
      assertThat(wrong.member("detail")).startsWith("There is no range");
    }
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int node = 0; node < NODES; node++) {
        RawClient client = ClusterClients.connected(cluster.port(node), Connect.of("meter-" + node).clean().expiry(0));
        clients.add(client);
        client.subscribe("a", 1);
        client.subscribe("$share/g/shared", 1);
      }
      try (RawClient absent = ClusterClients.connected(cluster.port(0), Connect.of("van-1"))) {
        absent.subscribe("vans", 1);
        absent.disconnect();
      }
      assertThat(clients.getFirst().publishAndWait("vans", "waits")).isZero();
      assertThat(clients.getFirst().publishAndWait("kept", "kept", true)).isLessThan(0x80);
      await("while leaders may still move").atMost(LONG).untilAsserted(this::eachNodeAnswersForAll);
      await("while leaders may still move").atMost(LONG).untilAsserted(this::whatIsImportedAtOneNodeIsThereForAll);
      String session = await("while leaders may still move").atMost(LONG).until(() -> exportedSessions(apis.getFirst()), lines -> lines.contains("\"van-1\""));
      for (ApiCalls api : apis) await("while leaders may still move").atMost(LONG).untilAsserted(() -> aSessionThatIsGoneIsImportedBy(api, session));
      String trace = aTraceFollowsAMessageThroughAllNodes(clients);
      aClientIsDisconnectedFromAnyNode(clients.get(2));
      aNodeThatStandsStillIsNamed(trace);
    } finally {
      clients.forEach(RawClient::close);
    }
  }

  private void eachNodeAnswersForAll() {
    List<String> ids = cluster.ids();
    for (ApiCalls api : apis) {
      assertThat(api.get("/cluster/health").members("node")).containsExactlyInAnyOrderElementsOf(ids);
      assertThat(api.get("/cluster/health").members("readiness")).containsOnly("ready");

      Map<String, List<String>> examined = verdicts(api.get("/doctor?all=true&limit=1000"));
      assertThat(examined.get("ready")).containsExactly("ok", "ok", "ok");
      assertThat(examined.get("membership")).containsExactly("ok", "ok", "ok");
      assertThat(examined.get("roles")).containsExactly("ok", "ok", "ok");
      assertThat(examined.get("ranges")).containsExactly("ok", "ok", "ok");
      assertThat(examined.get("replicas")).containsExactly("ok", "ok", "ok");
      assertThat(examined.get("clock-of-nodes")).as("two clocks beside that of the node that is asked").containsExactly("ok", "ok");
      assertThat(Set.copyOf(api.get("/doctor?all=true&limit=1000").members("node"))).containsExactlyInAnyOrderElementsOf(ids);
      assertThat(Set.copyOf(api.get("/doctor").members("node"))).containsExactly(api.get("/cluster").member("node"));

      assertThat(api.get("/clients").members("clientId")).containsExactly("meter-0", "meter-1", "meter-2");
      assertThat(api.get("/clients").members("node")).isEqualTo(ids);
      assertThat(api.get("/clients").json().getAsJsonArray("unanswered")).isEmpty();
      assertThat(pages(api, "/clients?limit=1")).as("the cursor goes on over nodes").containsExactly("meter-0", "meter-1", "meter-2");
      assertThat(api.get("/top/clients?by=subscriptions").members("clientId")).containsExactly("meter-0", "meter-1", "meter-2");
      for (int node = 0; node < NODES; node++) {
        assertThat(api.get("/clients/meter-" + node).member("node")).isEqualTo(ids.get(node));
        assertThat(api.get("/clients/meter-" + node + "/subscriptions").members("filter")).containsExactly("$share/g/shared", "a");
        Answer explained = api.get("/explain?client=meter-" + node + "&topic=a&publisher=meter-" + (node + 1) % NODES);
        assertThat(explained.member("conclusion")).as(explained.text()).isEqualTo("delivered now");
        assertThat(api.get("/explain?client=meter-" + node + "&topic=shared").member("conclusion")).isEqualTo("one member of its group gets it");
      }
      assertThat(api.get("/explain?client=meter-0&topic=kept&retain=true").text()).contains("It replaces the retained message that kept has.");
      eachLedgerBalances(api);
      assertThat(api.get("/clients/never").status()).isEqualTo(404);
      assertThat(api.get("/explain?client=never&topic=a").status()).isEqualTo(404);

      assertThat(api.get("/sessions?prefix=van").members("clientId")).containsExactly("van-1");
      assertThat(api.get("/sessions/van-1").member("connected")).isEqualTo("false");
      assertThat(api.get("/sessions/van-1/subscriptions").members("filter")).containsExactly("vans");
      assertThat(api.get("/sessions/van-1/messages").members("topic")).as("twice if a leader was lost").isNotEmpty().containsOnly("vans");
      assertThat(api.get("/explain?client=van-1&topic=vans").member("conclusion")).isEqualTo("stored until the client is back");
      assertThat(api.get("/retained").members("topic")).containsExactly("kept");
      assertThat(api.get("/retained/export").members("topic")).containsExactly("kept");
      assertThat(api.get("/routes?topic=a").members("shard")).containsExactlyInAnyOrderElementsOf(ids);
      assertThat(api.get("/routes?topic=%23").status()).as("what the other node refuses").isEqualTo(400);
      assertThat(api.get("/groups").members("filter")).containsExactly("$share/g/shared");
      assertThat(api.get("/groups").members("clients")).containsExactly("3");
      assertThat(api.get("/groups").members("sessions")).containsExactly("0");
      Answer members = api.get("/subscribers?filter=$share/g/shared");
      assertThat(members.members("clientId")).containsExactly("meter-0", "meter-1", "meter-2");
      assertThat(members.members("node")).isEqualTo(ids);
      assertThat(pages(api, "/subscribers?topic=a&limit=1")).containsExactly("meter-0", "meter-1", "meter-2");
      assertThat(api.get("/subscribers?topic=vans").members("clientId")).containsExactly("van-1");
      assertThat(api.get("/clients/meter-1/inflight").status()).isEqualTo(200);
    }
  }

  /** Of all nodes, from any of them. */
  private void eachLedgerBalances(ApiCalls api) {
    Answer ledger = api.get("/ledger?all=true");
    assertThat(ledger.status()).as(ledger.text()).isEqualTo(200);
    assertThat(ledger.json().getAsJsonArray("unanswered")).isEmpty();
    List<String> accounts = new ArrayList<>();
    for (JsonElement each : ledger.json().getAsJsonArray("items")) {
      JsonObject row = each.getAsJsonObject();
      if (row.get("received").getAsLong() < 0) continue;
      accounts.add(row.get("node").getAsString() + " " + row.get("hop").getAsString());
      if (!BALANCED_ALWAYS.contains(row.get("hop").getAsString())) continue;
      long known = Stream.of("delivered", "unmatched", "returned", "dropped", "inFlight").mapToLong(figure -> row.get(figure).getAsLong()).sum();
      assertThat(known).as(each.toString()).isEqualTo(row.get("received").getAsLong());
    }
    assertThat(accounts).doesNotHaveDuplicates();
    assertThat(accounts).containsAll(cluster.ids().stream().flatMap(id -> Stream.of(id + " publish", id + " session", id + " retained")).toList());
    for (String led : List.of("inbox", "routes", "will")) assertThat(accounts).as("of its leader").filteredOn(each -> each.endsWith(" " + led)).hasSize(1);
    assertThat(Set.copyOf(api.get("/ledger").members("node"))).containsExactly(api.get("/cluster").member("node"));
  }

  private void whatIsImportedAtOneNodeIsThereForAll() {
    String exported = apis.getFirst().get("/retained/export").json().getAsJsonArray("items").get(0).toString();
    JsonObject body = new JsonObject();
    body.addProperty("lines", String.join("\n", Endpoints.EXPORT_HEADER, exported.replace("\"kept\"", "\"imported\""), exported));
    for (ApiCalls api : apis) {
      Answer done = api.post("/retained/import", body.toString());
      assertThat(done.status()).as(done.text()).isEqualTo(200);
      assertThat(done.json().get("imported").getAsInt() + done.json().get("kept").getAsInt()).isEqualTo(2);
      assertThat(api.get("/retained/export").members("topic")).containsExactly("imported", "kept");
    }
  }

  private static String exportedSessions(ApiCalls api) {
    List<String> lines = new ArrayList<>(List.of(Endpoints.SESSIONS_HEADER));
    Answer page = api.get("/export/sessions");
    if (page.status() == 200) for (JsonElement line : page.json().getAsJsonArray("items")) lines.add(line.toString());
    return String.join("\n", lines);
  }

  private void aSessionThatIsGoneIsImportedBy(ApiCalls api, String session) {
    assertThat(api.delete("/sessions/van-1").status()).isIn(200, 404);
    JsonObject body = new JsonObject();
    body.addProperty("lines", session);
    Answer done = api.post("/import/sessions", body.toString());
    assertThat(done.status()).as(done.text()).isEqualTo(200);
    assertThat(done.member("sessions")).as(done.text()).isEqualTo("1");
    for (ApiCalls each : apis) {
      assertThat(each.get("/sessions/van-1/subscriptions").members("filter")).containsExactly("vans");
      assertThat(each.get("/sessions/van-1/messages").members("topic")).isNotEmpty().containsOnly("vans");
    }
  }

  /** The verdicts of each check. */
  private static Map<String, List<String>> verdicts(Answer examined) {
    Map<String, List<String>> verdicts = new HashMap<>();
    for (JsonElement each : examined.json().getAsJsonArray("items")) {
      JsonObject found = each.getAsJsonObject();
      verdicts.computeIfAbsent(found.get("check").getAsString(), _ -> new ArrayList<>()).add(found.get("verdict").getAsString());
    }
    return verdicts;
  }

  private static List<String> pages(ApiCalls api, String path) {
    List<String> clients = new ArrayList<>();
    String next = "";
    do {
      Answer page = api.get(path + "&cursor=" + next);
      clients.addAll(page.members("clientId"));
      next = page.member("next");
    } while (!next.isEmpty());
    return clients;
  }

  /** Begun at one node, read at each of them, of a message that is published at another one. Answers the trace. */
  private String aTraceFollowsAMessageThroughAllNodes(List<RawClient> clients) {
    List<String> ids = cluster.ids();
    Answer begun = apis.getFirst().post("/traces", "{\"topic\":\"a\",\"minutes\":10}");
    assertThat(begun.json().get("nodes").getAsInt()).as(begun.text()).isEqualTo(NODES);
    String trace = begun.member("trace");
    assertThat(clients.get(1).publishAndWait("a", "traced")).isZero();
    for (RawClient client : clients) assertThat(client.take().text()).isEqualTo("traced");
    for (ApiCalls api : apis) {
      await().atMost(LONG).untilAsserted(
          () -> {
            List<String> said = linesOf(api, trace, 1_000);
            assertThat(said.getFirst()).isEqualTo("publish received at " + ids.get(1));
            assertThat(said).contains("publish handed-on at " + ids.get(1), "publish answered at " + ids.get(1));
            assertThat(said.stream().filter(each -> each.startsWith("routes forwarded at "))).as("to each node").hasSize(NODES);
            for (String id : ids) assertThat(said).contains("session sent at " + id);
            assertThat(linesOf(api, trace, 1)).as("one by one").containsExactlyElementsOf(said);
          });
      assertThat(api.get("/traces").members("nodes")).containsExactly(Integer.toString(NODES));
    }
    return trace;
  }

  private static List<String> linesOf(ApiCalls api, String trace, int limit) {
    List<String> said = new ArrayList<>();
    String cursor = "";
    while (true) {
      Answer part = api.get("/traces/" + trace + "/lines?limit=" + limit + "&cursor=" + cursor);
      assertThat(part.status()).as(part.text()).isEqualTo(200);
      assertThat(part.json().getAsJsonArray("unanswered")).isEmpty();
      List<JsonElement> lines = part.json().getAsJsonArray("lines").asList();
      if (lines.isEmpty()) return said;
      for (JsonElement line : lines) {
        JsonObject of = line.getAsJsonObject();
        said.add("%s %s at %s".formatted(of.get("hop").getAsString(), of.get("step").getAsString(), of.get("node").getAsString()));
      }
      cursor = part.member("next");
    }
  }

  private void aClientIsDisconnectedFromAnyNode(RawClient client) {
    assertThat(apis.getFirst().delete("/clients/meter-2").status()).isEqualTo(200);
    assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(ADMINISTRATIVE_ACTION);
    for (ApiCalls api : apis) await().atMost(LONG).until(() -> api.get("/clients/meter-2").status() == 404);
    assertThat(apis.getFirst().delete("/clients/meter-2").status()).isEqualTo(404);
  }

  /** A node that leads nothing, so that only what it has itself is missing. */
  private void aNodeThatStandsStillIsNamed(String trace) {
    int still = cluster.notLeading();
    String id = apis.get(still).get("/cluster").member("node");
    ApiCalls api = apis.get((still + 1) % NODES);
    cluster.signal(still, "STOP");
    try {
      await("while another node may be too busy to answer in time").atMost(STANDS_STILL).untilAsserted(() -> theOthersNameIt(still, id, api, trace));
    } finally {
      cluster.signal(still, "CONT");
    }
  }

  private void theOthersNameIt(int still, String id, ApiCalls api, String trace) throws IOException, InterruptedException {
    Answer page = api.get("/clients");
    assertThat(page.status()).isEqualTo(200);
    assertThat(page.json().getAsJsonArray("unanswered").toString()).contains("node " + id + " at 127.0.0.1 did not answer within 2 s");
    assertThat(page.members("node")).doesNotContain(id);
    Dunlinctl listed = Dunlinctl.run(directory, cluster.data((still + 1) % NODES), "clients", "list");
    assertThat(listed.code()).as(listed.err()).isZero();
    assertThat(listed.err()).contains("node " + id + " at 127.0.0.1 did not answer within 2 s; its rows are missing");
    String silent = "node " + id + " at 127.0.0.1 did not answer within 2 s";
    assertThat(api.get("/traces/" + trace + "/lines").json().getAsJsonArray("unanswered").toString()).contains(silent);
    Answer begun = api.post("/traces", "{\"topic\":\"b\"}");
    assertThat(begun.json().getAsJsonArray("unanswered").toString()).contains(silent);
    assertThat(begun.json().get("nodes").getAsInt()).isEqualTo(NODES - 1);
    assertThat(api.get("/ledger?all=true").json().getAsJsonArray("unanswered").toString()).contains(silent);
    Answer health = api.get("/cluster/health");
    assertThat(health.members("health")).hasSize(NODES).contains("alive").anyMatch(text -> text.contains(id + " at 127.0.0.1 did not answer within 2 s"));
    Dunlinctl examined = Dunlinctl.run(directory, cluster.data((still + 1) % NODES), "doctor", "--all");
    assertThat(examined.code()).as(examined.err()).isEqualTo(4);
    assertThat(examined.out()).containsPattern(id + " +answer +wrong +It was not examined: " + silent).containsPattern("clock-of-nodes +ok");
    Answer one = api.get("/clients/never");
    assertThat(one.status()).as("it may be connected to the node that does not answer").isEqualTo(503);
    assertThat(one.member("detail")).contains("did not answer within 2 s");
  }
}
