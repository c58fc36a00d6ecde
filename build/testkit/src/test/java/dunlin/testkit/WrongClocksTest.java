package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.ClusterMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import javax.management.JMX;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;

/** Three brokers of one cluster whose clocks are minutes apart, and lead the sessions one after another. */
class WrongClocksTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final Duration ERROR = Duration.ofMinutes(5);
  private static final int RIGHT = 0;
  private static final int AHEAD = 1;
  private static final int BEHIND = 2;

  /** The expiry of sessions in seconds: longer than the clocks are apart, and than all that the test waits for. */
  private static final long LASTING = ERROR.toSeconds() * 2 + 3_600;

  private static ClusterMXBean.RangeRow sessions(ClusterMXBean cluster) {
    return cluster.getRanges().stream().filter(range -> range.kind().equals("sessions")).findFirst().orElseThrow();
  }

  private static void leads(DunlinCluster cluster, int node) throws Exception {
    var beans = ManagementFactory.getPlatformMBeanServer();
    String id = cluster.node(node).nodeId();
    var operations = JMX.newMXBeanProxy(beans, beans.queryNames(new ObjectName("dunlin:type=Cluster,*"), null).iterator().next(), ClusterMXBean.class);
    await("node " + node + " leads the sessions")
        .atMost(SOON)
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptions() // of a transfer that cannot begin now
        .until(
            () -> {
              var range = sessions(operations);
              if (range.leader().equals(id)) return true;
              if (operations.getOperations().isEmpty()) operations.transferLeadership(range.id(), id);
              return false;
            });
  }

  private static void isKept(DunlinCluster cluster) throws Exception {
    try (var kept = new PahoSession(cluster.uri(RIGHT), "kept", LASTING)) {
      assertThat(kept.sessionPresent()).isTrue();
    }
  }

  @Test
  void sessionsAndWillsSurviveLeadersWithWrongClocks() throws Exception {
    try (var cluster = DunlinCluster.builder().stepClock(AHEAD, ERROR).stepClock(BEHIND, ERROR.negated()).start();
        var watcher = new PahoSession(cluster.uri(RIGHT), "watcher", LASTING)) {
      watcher.subscribe("wills");
      leads(cluster, BEHIND);
      new PahoSession(cluster.uri(RIGHT), "kept", LASTING).close();

      leads(cluster, AHEAD); // by its clock, the session ended ten minutes ago
      isKept(cluster);
      try (var willing = new PahoSession(cluster.uri(RIGHT), "willing", LASTING, "wills", 1)) {
        willing.lose();
      }

      leads(cluster, BEHIND);
      isKept(cluster);
      leads(cluster, AHEAD); // by its clock, the will is due
      assertThat(watcher.receive()).isEqualTo("willing");
      leads(cluster, RIGHT);
      isKept(cluster);
    }
  }

  @Test
  void aClockOfNoNodeIsRefused() {
    for (int none : new int[] {-1, 3}) {
      var builder = DunlinCluster.builder().nodes(3).stepClock(none, ERROR);
      assertThatThrownBy(builder::start).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("clocks for nodes [" + none + "]");
    }
  }
}
