package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.Certificates;
import dunlin.harness.ProcessCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Operators of a cluster, whichever node they are changed at. */
class OperatorsClusterIT {
  private static final int NODES = 3;
  private static final Duration LONG = Duration.ofMinutes(3);

  @TempDir Path directory;

  private static List<String> files(ProcessCluster cluster) {
    return IntStream.range(0, NODES).mapToObj(node -> file(cluster, node)).distinct().toList();
  }

  private static String file(ProcessCluster cluster, int node) {
    try {
      return Files.readString(cluster.data(node).resolve("admin-operators"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void put(ApiCalls api, String name) {
    assertThat(api.put("/operators/" + name, "{\"role\":\"viewer\",\"newPassword\":\"correct horse battery staple\"}").status()).isEqualTo(200);
  }

  private static void awaitEverywhere(ProcessCluster cluster, String... names) {
    for (ApiCalls api : cluster.apis()) await().atMost(LONG).untilAsserted(() -> assertThat(api.get("/operators").members("name")).containsExactly(names));
    await().atMost(LONG).untilAsserted(() -> assertThat(files(cluster)).hasSize(1));
  }

  @Test
  void allNodesHaveTheSameOperators() throws Exception {
    Certificates.Issued issued = new Certificates().server();
    Path certificate = Files.writeString(directory.resolve("admin.pem"), issued.certificatePem());
    Path key = Files.writeString(directory.resolve("admin.key"), issued.keyPem());
    try (var cluster =
        ProcessCluster.start(
            directory, NODES, "dunlin.admin.tls.port=0", "dunlin.admin.tls.host=127.0.0.1", "dunlin.admin.tls.certificate=" + certificate, "dunlin.admin.tls.key=" + key)) {
      List<ApiCalls> apis = cluster.apis();
      awaitEverywhere(cluster, "admin");

      put(apis.getFirst(), "vera");
      awaitEverywhere(cluster, "admin", "vera");
      assertThat(apis.get(1).delete("/operators/vera").status()).isEqualTo(200);
      awaitEverywhere(cluster, "admin");

      cluster.signal(2, "STOP");
      try {
        put(apis.getFirst(), "walter");
      } finally {
        cluster.signal(2, "CONT");
      }
      awaitEverywhere(cluster, "admin", "walter");
    }
  }
}
