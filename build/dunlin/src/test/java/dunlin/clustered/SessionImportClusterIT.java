package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.admin.api.Endpoints;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.ClusterClients;
import dunlin.harness.ProcessCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hundreds of sessions that are imported into a cluster, by each of its nodes: they are there once, whole, and what waits in them has its order. */
class SessionImportClusterIT {
  private static final int NODES = 3;
  private static final int SESSIONS = 600;
  private static final int WAITING = 8;
  private static final int AT_A_TIME = 50;
  private static final int RESUMED = 60;
  private static final Duration LONG = Duration.ofMinutes(3);

  @TempDir Path directory;

  private static String clientId(int number) {
    return "meter-%04d".formatted(number);
  }

  /** The lines of a session, whose sequences begin anywhere and have gaps, as acknowledged messages leave them. */
  private static List<String> lines(int number) {
    String client = clientId(number);
    List<String> lines = new ArrayList<>(List.of("{\"session\":{\"clientId\":\"%s\"}}".formatted(client)));
    for (int i = 0; i < WAITING; i++) {
      String payload = Base64.getEncoder().encodeToString(text(number, i).getBytes(StandardCharsets.UTF_8));
      lines.add("{\"message\":{\"clientId\":\"%s\",\"sequence\":%d,\"topic\":\"to/%s\",\"payload\":\"%s\"}}".formatted(client, sequence(number, i), client, payload));
    }
    lines.add("{\"subscription\":{\"clientId\":\"%s\",\"filter\":\"to/%s\",\"qos\":1}}".formatted(client, client));
    lines.add("{\"subscription\":{\"clientId\":\"%s\",\"filter\":\"all\",\"qos\":1}}".formatted(client));
    lines.add("{\"end\":{\"clientId\":\"%s\",\"expirySeconds\":4294967295}}".formatted(client));
    return lines;
  }

  private static long sequence(int number, int message) {
    return 1 + number + 3L * message;
  }

  private static String text(int number, int message) {
    return number + " " + message;
  }

  private static JsonObject request(int from, int to) {
    List<String> lines = new ArrayList<>(List.of(Endpoints.SESSIONS_HEADER));
    for (int number = from; number < to; number++) lines.addAll(lines(number));
    JsonObject body = new JsonObject();
    body.addProperty("lines", String.join("\n", lines));
    return body;
  }

  /** Those that are there by then, since an import that a change of leaders has interrupted is repeated. */
  private static void imported(ApiCalls api, int from, int to) {
    await("while leaders may still move").atMost(LONG).untilAsserted(
        () -> {
          Answer done = api.post("/import/sessions", request(from, to).toString());
          assertThat(done.status()).as(done.text()).isEqualTo(200);
          assertThat(done.json().get("sessions").getAsInt() + done.json().get("existing").getAsInt()).as(done.text()).isEqualTo(to - from);
        });
  }

  @Test
  void hundredsOfSessionsComeWholeAndInOrderOverAllNodes() {
    try (var cluster = ProcessCluster.start(directory, NODES)) {
      List<ApiCalls> apis = cluster.apis();
      for (int from = 0; from < SESSIONS; from += AT_A_TIME) imported(apis.get(from / AT_A_TIME % NODES), from, from + AT_A_TIME);

      Answer again =
          await("while leaders may still move").atMost(LONG).until(() -> apis.getFirst().post("/import/sessions", request(0, AT_A_TIME).toString()), answer -> answer.status() == 200);
      assertThat(List.of(again.member("sessions"), again.member("existing"), again.member("messages"))).as("all of them are there").containsExactly("0", Integer.toString(AT_A_TIME), "0");
      for (ApiCalls api : apis) assertThat(sessions(api)).containsExactlyElementsOf(all());
      eachIsExportedAsItCame(apis.getLast());
      clientsResumeThem(cluster);
    }
  }

  private static Set<String> all() {
    Set<String> all = new TreeSet<>();
    for (int number = 0; number < SESSIONS; number++) all.add(clientId(number));
    return all;
  }

  private static List<String> sessions(ApiCalls api) {
    List<String> clients = new ArrayList<>();
    String next = "";
    do {
      Answer page = api.answered("/sessions?limit=250&cursor=" + next);
      clients.addAll(page.members("clientId"));
      next = page.member("next");
    } while (!next.isEmpty());
    return clients;
  }

  private static void eachIsExportedAsItCame(ApiCalls api) {
    List<String> expected = new ArrayList<>();
    for (int number = 0; number < SESSIONS; number++) for (int i = 0; i < WAITING; i++) expected.add(clientId(number) + " " + sequence(number, i));
    List<String> exported = new ArrayList<>();
    String next = "";
    do {
      Answer page = api.answered("/export/sessions?limit=500&cursor=" + next);
      for (JsonElement row : page.json().getAsJsonArray("items")) {
        JsonObject message = row.getAsJsonObject().getAsJsonObject("message");
        if (message != null) exported.add(message.get("clientId").getAsString() + " " + message.get("sequence").getAsLong());
      }
      next = page.member("next");
    } while (!next.isEmpty());
    assertThat(exported).containsExactlyInAnyOrderElementsOf(expected);
    for (int number = 0; number < SESSIONS; number++) {
      String own = clientId(number) + " ";
      assertThat(exported.stream().filter(each -> each.startsWith(own))).as("in their order").containsExactlyElementsOf(
          expected.subList(number * WAITING, (number + 1) * WAITING));
    }
  }

  /** Some of them, at each node: what has waited comes in its order and before what is published now. */
  private static void clientsResumeThem(ProcessCluster cluster) {
    try (RawClient publisher = ClusterClients.connected(cluster.port(0), Connect.of("publisher").expiry(0))) {
      assertThat(publisher.publishAndWait("all", "now")).isZero();
    }
    for (int number = 0; number < SESSIONS; number += SESSIONS / RESUMED) {
      try (RawClient client = ClusterClients.connected(cluster.port(number % NODES), Connect.of(clientId(number)))) {
        assertThat(client.sessionPresent()).isTrue();
        List<String> texts = new ArrayList<>();
        for (int i = 0; i <= WAITING; i++) texts.add(client.take().text());
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < WAITING; i++) expected.add(text(number, i));
        expected.add("now");
        assertThat(texts).as(clientId(number)).isEqualTo(expected);
      }
    }
  }
}
