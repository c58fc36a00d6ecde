package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.cluster.ClusterMXBean;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.SteadyClients;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Four brokers of which one is drained while it leads the sessions of clients that publish and receive, also over connections to itself. */
class DrainedLeaderIT {
  private static final int NODES = 4;
  private static final Duration LONG = Duration.ofMinutes(2);

  @Test
  void clientsNoticeNothing(@TempDir Path directory) {
    try (var cluster = EmbeddedCluster.start(directory, NODES, Map.of())) {
      var clients = new SteadyClients();
      var topics = new ArrayList<String>();
      for (int i = 0; i < NODES; i++) topics.add("steady/%d-%d".formatted(1 + i % 2, i));
      for (int i = 0; i < NODES; i++) {
        for (boolean durable : new boolean[] {false, true}) {
          String name = (durable ? "durable-" : "online-") + i;
          var subscriber = cluster.connected(i, Connect.of(name).clean().expiry(durable ? 600 : 0));
          subscriber.subscribe("steady/#", 2);
          clients.receives(name, topics.size(), subscriber);
        }
      }
      for (int i = 0; i < NODES; i++) clients.publishes(topics.get(i), 1 + i % 2, cluster.connected(i, Connect.of("publisher-" + i).clean()));
      clients.goOn();

      var operations = cluster.operations();
      String drained = leaderOfSessions(operations);
      await("the drain begins").atMost(TestBroker.SOON).ignoreExceptions().until(() -> !operations.drainNode(drained).isEmpty());
      await("it has no replica").atMost(LONG).until(() -> operations.getRanges().stream().noneMatch(range -> range.voters().contains(drained)));
      await("the drain ends").atMost(LONG).until(() -> operations.getOperations().isEmpty());

      clients.goOn();
      clients.check();
      assertThat(leaderOfSessions(operations)).isNotEqualTo(drained);
    }
  }

  private static String leaderOfSessions(ClusterMXBean operations) {
    return EmbeddedCluster.ranges(operations, "sessions").getFirst().leader();
  }
}
