package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.ClusterClients;
import dunlin.harness.Dunlinctl;
import dunlin.harness.PageCommands;
import dunlin.harness.ProcessCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every operation of a cluster, as an operator begins it by HTTP at any node, sees how far it has come, and sees its end. */
class ClusterOperationsIT {
  private static final int NODES = 3;
  private static final Duration LONG = Duration.ofMinutes(3);

  /** Less than the time after which a node counts as dead, and its new replica as not wanted. */
  private static final Duration STANDS_STILL = Duration.ofSeconds(50);

  @TempDir Path directory;

  private List<ApiCalls> apis;
  private List<String> ids;
  private int holder; // the node that has all ranges at first, and is asked what there is

  /** Each range has one replica, at the node that has founded the cluster, until an operation changes it. */
  @Test
  void operationsAreBegunSeenAndEndedByHttp() throws Exception {
    try (var cluster = ProcessCluster.start(directory, NODES, "dunlin.cluster.replicas=1")) {
      apis = cluster.apis();
      ids = cluster.ids();
      for (ApiCalls api : apis) await("while its map may be old").atMost(LONG).until(() -> api.get("/cluster/nodes").members("state").equals(List.of("JOINED", "JOINED", "JOINED")));
      JsonObject placed = apis.getFirst().get("/cluster/ranges").json().getAsJsonArray("items").get(0).getAsJsonObject();
      holder = ids.indexOf(placed.getAsJsonArray("voters").get(0).getAsString());
      String range = kept().getFirst();
      int next = (holder + 1) % NODES;
      int last = (holder + 2) % NODES;

      anAdditionThatCannotGoOnIsShownAndCancelled(cluster, range, next, last);
      theOperationsOfARange(range, next, last);
      try (RawClient client = ClusterClients.connected(cluster.port(next), Connect.of("publisher"))) {
        aRangeIsSplit(client, range, next);
      }
      aNodeIsDrained(last, next);
      aNodeLeavesAndIsForgotten(cluster, last, next);
      whatCannotBeDoneIsRefused(range, next);
      theCommandsOfThePageAreUnderstood(cluster, range, next);
    }
  }

  /** The node that is to get the replica stands still, so the operation stays at its first step until it is cancelled. */
  private void anAdditionThatCannotGoOnIsShownAndCancelled(ProcessCluster cluster, String range, int next, int last) throws Exception {
    cluster.signal(last, "STOP");
    try {
      String operation = begun(next, "/cluster/ranges/" + range.substring(0, 18) + "/add-replica", "{\"node\":\"" + ids.get(last) + "\"}");
      for (int node : List.of(holder, next)) {
        await("node " + node + " shows the operation").atMost(STANDS_STILL).untilAsserted(
            () -> {
              Answer answer = apis.get(node).get("/cluster/operations");
              JsonObject row = operation(answer, operation);
              assertThat(row.get("what").getAsString()).contains("AddReplica", ids.get(last));
              assertThat(row.get("range").getAsString()).isEqualTo(range);
              assertThat(row.get("step").getAsInt()).as(answer.text()).isEqualTo(1);
              assertThat(row.get("steps").getAsInt()).isEqualTo(3);
              assertThat(row.get("doing").getAsString()).isEqualTo("node " + ids.get(last) + " creates its replica");
              assertThat(row.get("cancelled").getAsBoolean()).isFalse();
              assertThat(row.get("seconds").getAsLong()).isNotNegative();
            });
      }
      Dunlinctl listed = Dunlinctl.run(directory, cluster.data(next), "cluster", "operations");
      assertThat(listed.code()).as(listed.err()).isZero();
      assertThat(listed.out()).contains(operation, "creates its replica");
      assertThat(apis.get(next).delete("/cluster/operations/" + operation).status()).isEqualTo(200);
      awaitEnded(operation);
      awaitVoters(range, holder);
    } finally {
      cluster.signal(last, "CONT");
    }
    for (ApiCalls api : apis) await("it is back").atMost(LONG).until(() -> api.get("/cluster/nodes").members("state").equals(List.of("JOINED", "JOINED", "JOINED")));
  }

  private void theOperationsOfARange(String range, int next, int last) {
    String of = "/cluster/ranges/" + range;
    done(next, of + "/add-replica", "{\"node\":\"" + ids.get(next) + "\"}");
    awaitVoters(range, holder, next);
    done(last, of + "/transfer-leadership", "{\"node\":\"" + ids.get(next) + "\"}");
    await("the leader is known").atMost(LONG).until(() -> row(range).get("leader").getAsString().equals(ids.get(next)));
    done(holder, of + "/move-replica", "{\"from\":\"" + ids.get(holder) + "\",\"to\":\"" + ids.get(last) + "\"}");
    awaitVoters(range, next, last);
    done(holder, of + "/replace-replica", "{\"node\":\"" + ids.get(last) + "\"}");
    awaitVoters(range, next, last); // it was whole, so it stays
  }

  private void aRangeIsSplit(RawClient client, String range, int at) {
    done(at, "/cluster/ranges/" + range + "/split", "{\"topic\":\"plant/7\"}");
    await("both parts are led").atMost(LONG).until(() -> kept().size() == 2 && kept().stream().allMatch(each -> !row(each).get("leader").getAsString().isEmpty()));
    String upper = kept().stream().filter(each -> !each.equals(range)).findFirst().orElseThrow();
    assertThat(row(upper).get("keys").getAsString()).as("the key of plant/7").contains("000764656661756c74706c616e740037");

    String whole = "/cluster/ranges/" + range + "/split";
    await("its leader has seen where the load is").atMost(LONG).until(
        () -> {
          boolean kept = true;
          for (int i = 0; i < 100; i++) kept &= client.publishAndWait("building/%02d".formatted(i), "kept", true) < 0x80;
          return kept && apis.get(at).post(whole, "{}").status() == 200;
        });
    await("the middle was found").atMost(LONG).until(() -> kept().size() == 3 && operations().isEmpty());
    for (int i = 0; i < 100; i++) {
      int topic = i;
      await("while leaders may move").atMost(LONG).until(() -> apis.get(holder).get("/retained/message?topic=building/%02d".formatted(topic)).status() == 200);
    }
  }

  private void aNodeIsDrained(int node, int other) {
    String operation = begun(other, "/cluster/nodes/" + ids.get(node) + "/drain", "{}");
    awaitEnded(operation);
    for (ApiCalls api : apis) await("its replicas are gone").atMost(LONG).until(() -> replicas(api, node) == 0);
    assertThat(apis.get(other).get("/cluster/nodes").members("id")).contains(ids.get(node));
  }

  private void aNodeLeavesAndIsForgotten(ProcessCluster cluster, int node, int other) {
    Answer early = apis.get(other).delete("/cluster/nodes/" + ids.get(node));
    assertThat(early.status()).isEqualTo(409);
    assertThat(early.member("detail")).contains("has not left");
    String operation = begun(other, "/cluster/nodes/" + ids.get(node) + "/leave", "{}");
    awaitEnded(operation);
    await("it has left").atMost(LONG).until(() -> state(apis.get(other), node).equals("LEFT"));
    cluster.signal(node, "KILL");
    assertThat(apis.get(other).delete("/cluster/nodes/" + ids.get(node)).status()).isEqualTo(200);
    await("it is forgotten").atMost(LONG).until(() -> !apis.get(other).get("/cluster/nodes").members("id").contains(ids.get(node)));
  }

  private void whatCannotBeDoneIsRefused(String range, int other) {
    ApiCalls api = apis.get(other);
    String split = "/cluster/ranges/" + range + "/split";
    assertRefused(api.post(split, "{\"cut\":\"6z\"}"), 400, "is no key in hexadecimal");
    assertRefused(api.post(split, "{\"cut\":\"61\",\"topic\":\"a\"}"), 400, "not at both");
    assertRefused(api.post(split, "{\"topic\":\"a\\u0000b\"}"), 400, "U+0000");
    assertRefused(api.post(split, "{\"topic\":\"zebra\"}"), 409, "UNSUITABLE_CUT");
    String sessions = ofKind("sessions").getFirst();
    assertRefused(api.post("/cluster/ranges/" + sessions + "/split", "{\"topic\":\"a\"}"), 400, "stand for no topics");
    assertRefused(api.post("/cluster/ranges/" + sessions + "/split", "{}"), 409, "must be kept together");
    assertRefused(api.delete("/cluster/operations/" + UUID.randomUUID()), 400, "no operation");
    assertRefused(api.post("/cluster/nodes/" + ids.get(other) + "/leave", "{}"), 409, "LOSES_QUORUM");
  }

  /** Each is done or refused with a reason; none is wrong, as one would be that the command line does not have. */
  private void theCommandsOfThePageAreUnderstood(ProcessCluster cluster, String range, int node) throws Exception {
    Map<String, String> values =
        Map.of("RANGE", range, "NODE", ids.get(node), "TOPIC", "a/b", "TENANT", "default", "KEY", "0001", "OPERATION", UUID.randomUUID().toString());
    List<String> commands = PageCommands.all().stream().filter(command -> command.startsWith("cluster ")).toList();
    assertThat(commands).hasSizeGreaterThan(12);
    for (String command : commands) {
      for (String[] words : PageCommands.filled(command, values)) {
        Dunlinctl ended = Dunlinctl.run(directory, cluster.data(node), words);
        assertThat(ended.code()).as("%s: %s", command, ended.err()).isIn(0, 1);
      }
    }
  }

  private static void assertRefused(Answer answer, int status, String reason) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(status);
    assertThat(answer.member("detail")).contains(reason);
  }

  /** Begins an operation, as soon as nothing else is done to its range, and waits for its end. */
  private void done(int node, String path, String body) {
    awaitEnded(begun(node, path, body));
  }

  private String begun(int node, String path, String body) {
    Answer[] answer = new Answer[1];
    await(path)
        .atMost(LONG)
        .until(
            () -> {
              answer[0] = apis.get(node).post(path, body);
              assertThat(answer[0].status()).as(answer[0].text()).isIn(200, 409);
              return answer[0].status() == 200;
            });
    return answer[0].member("operation");
  }

  /** The holder leads the meta group, so it knows every operation that has begun. */
  private void awaitEnded(String operation) {
    await("operation " + operation + " ends").atMost(LONG).until(() -> !operations().contains(operation));
  }

  private List<String> operations() {
    return apis.get(holder).get("/cluster/operations").members("id");
  }

  private static JsonObject operation(Answer answer, String id) {
    for (JsonElement row : answer.json().getAsJsonArray("items")) if (row.getAsJsonObject().get("id").getAsString().equals(id)) return row.getAsJsonObject();
    throw new AssertionError("no operation " + id + ": " + answer.text());
  }

  private List<String> kept() {
    return ofKind("retain");
  }

  private List<String> ofKind(String kind) {
    return rows("/cluster/ranges").stream().filter(row -> row.get("kind").getAsString().equals(kind)).map(row -> row.get("id").getAsString()).toList();
  }

  private JsonObject row(String range) {
    return rows("/cluster/ranges").stream().filter(row -> row.get("id").getAsString().equals(range)).findFirst().orElseThrow();
  }

  /** The map of a node may be a moment behind the end of an operation. */
  private void awaitVoters(String range, int... nodes) {
    Set<String> expected = Arrays.stream(nodes).mapToObj(ids::get).collect(Collectors.toSet());
    await("voters").atMost(LONG).until(() -> row(range).getAsJsonArray("voters").asList().stream().map(JsonElement::getAsString).collect(Collectors.toSet()).equals(expected));
  }

  private List<JsonObject> rows(String path) {
    return apis.get(holder).get(path).json().getAsJsonArray("items").asList().stream().map(JsonElement::getAsJsonObject).toList();
  }

  private int replicas(ApiCalls api, int node) {
    return node(api, node).get("replicas").getAsInt();
  }

  private String state(ApiCalls api, int node) {
    return node(api, node).get("state").getAsString();
  }

  private JsonObject node(ApiCalls api, int node) {
    return api.get("/cluster/nodes").json().getAsJsonArray("items").asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(row -> row.get("id").getAsString().equals(ids.get(node)))
        .findFirst()
        .orElseThrow();
  }
}
