package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cluster whose nodes leave out roles says so, and the nodes that are there stay ready. */
class MissingRolesIT {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String NO_FRONTEND = "no node of the cluster has the role frontend: no client can connect\n";
  private static final String NO_DIST = "no node of the cluster has the role dist: nodes with the role store lead in its place\n";

  @TempDir Path directory;
  private final int seed = FreePort.any();

  private BrokerProcess launch(String name, int service, String roles) {
    return BrokerProcess.launchMember(directory.resolve(name), service, FreePort.any(), "127.0.0.1:" + seed, "dunlin.roles=" + roles);
  }

  private static void awaitReady(BrokerProcess node, String text) {
    await("ready").atMost(LONG).untilAsserted(() -> assertThat(node.answer("/ready").body()).isEqualTo("ready\n" + text));
    assertThat(node.answer("/ready").statusCode()).isEqualTo(200);
  }

  private static void awaitLogged(BrokerProcess node, int times, String words) {
    await(words).atMost(LONG).until(() -> logged(node, words).count() == times);
  }

  private static Stream<String> logged(BrokerProcess node, String words) {
    return node.out().stream().filter(line -> line.contains(words));
  }

  @Test
  void aStoreNamesTheRolesThatNoNodeHas() {
    try (var store = launch("store", seed, "store,retain,inbox").awaitStarted(LONG);
        var api = ApiCalls.of(directory.resolve("store"))) {
      awaitReady(store, NO_FRONTEND + NO_DIST);
      assertThat(api.get("/cluster").text()).contains("\"missingRoles\":[\"frontend\",\"dist\"]");
      awaitLogged(store, 1, "no client can connect");
      assertThat(logged(store, "no client can connect")).allMatch(line -> line.contains("WARN"));
      awaitLogged(store, 1, "has the role dist:");
      assertThat(logged(store, "has the role dist:")).as("the stores do it").noneMatch(line -> line.contains("WARN"));

      try (var frontend = launch("frontend", FreePort.any(), "frontend").awaitStarted(LONG)) {
        awaitReady(store, NO_DIST);
        awaitReady(frontend, NO_DIST);
        awaitLogged(store, 1, "A node of the cluster has the role frontend now");

        frontend.kill();
        awaitReady(store, NO_FRONTEND + NO_DIST);
        awaitLogged(store, 2, "no client can connect");
        awaitLogged(store, 1, "has the role dist:");
      }
    }
  }
}
