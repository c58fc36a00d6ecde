package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.admin.peers.AllNodesMXBean;
import dunlin.dist.RoutesMXBean;
import dunlin.dist.RoutesMXBean.RouteRow;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.retain.RetainedMessagesMXBean.RetainedRow;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What one node of a cluster leads, the beans of each node show and change. */
class BeansOfAllNodesIT {
  private static final int NODES = 3;

  @TempDir Path directory;

  private static <T> T bean(Dunlin broker, String type, Class<T> shape) {
    return EmbeddedCluster.bean("dunlin:type=%s,node=%s".formatted(type, broker.nodeId().substring(0, 8)), shape);
  }

  @Test
  void eachNodeShowsAndChangesWhatAnotherOneLeads() {
    try (EmbeddedCluster cluster = EmbeddedCluster.start(directory, NODES, Map.of())) {
      try (RawClient absent = cluster.connected(0, Connect.of("absent"))) {
        absent.subscribe("a/#", 1);
        assertThat(absent.publishAndWait("kept", "x", true)).isLessThan(0x80);
        absent.disconnect();
      }
      for (Dunlin each : cluster.brokers()) {
        SessionsMXBean sessions = bean(each, "AllSessions", SessionsMXBean.class);
        RetainedMessagesMXBean retained = bean(each, "AllRetainedMessages", RetainedMessagesMXBean.class);
        RoutesMXBean routes = bean(each, "AllRoutes", RoutesMXBean.class);
        AllNodesMXBean nodes = bean(each, "AllNodes", AllNodesMXBean.class);
        await("while leaders may still move").atMost(TestBroker.SOON).ignoreExceptions().untilAsserted(
            () -> {
              assertThat(sessions.getSessions()).isEqualTo(1);
              assertThat(sessions.list("default", "", "", 10)).extracting(SessionRow::clientId).containsExactly("absent");
              assertThat(sessions.subscriptions("default", "absent", "", 10)).hasSize(1);
              assertThat(retained.getTopics()).isEqualTo(1);
              assertThat(retained.list("default", "", "", 10)).extracting(RetainedRow::topic).containsExactly("kept");
              assertThat(routes.match("default", "a/1", "", 10)).extracting(RouteRow::filter).containsExactly("a/#");
              assertThat(nodes.ledger().unanswered()).isEmpty();
              assertThat(nodes.ledger().hops()).filteredOn(hop -> hop.hop().equals("publish")).hasSize(NODES);
            });
      }
      SessionsMXBean ofLast = bean(cluster.brokers().getLast(), "AllSessions", SessionsMXBean.class);
      await().atMost(TestBroker.SOON).ignoreExceptions().until(() -> ofLast.deleteOne("default", "absent") || ofLast.getSessions() == 0);
      for (Dunlin each : cluster.brokers()) {
        await().atMost(TestBroker.SOON).ignoreExceptions().until(() -> bean(each, "AllSessions", SessionsMXBean.class).getSessions() == 0);
      }
    }
  }
}
