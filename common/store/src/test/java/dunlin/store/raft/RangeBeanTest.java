package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.raft.Command.Put;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.UUID;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node's replicas in the platform's MBean server, as an operator sees them. */
class RangeBeanTest {
  private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

  @TempDir Path directory;

  private static ObjectName name(Trio.Node node) throws JMException {
    return new ObjectName("dunlin:type=Range,node=" + node.id() + ",range=routes");
  }

  private static RangeMXBean bean(Trio.Node node) throws JMException {
    return JMX.newMXBeanProxy(SERVER, name(node), RangeMXBean.class);
  }

  private static NodeBeans show(Trio.Node node) {
    var beans = new NodeBeans(node.id().toString());
    node.store().show(beans);
    return beans;
  }

  @Test
  void theLeadersBeanShowsTheRangeAndTransfersTheLeadership() throws JMException {
    try (var trio = Trio.start(directory)) {
      for (int i = 0; i < 20; i++) trio.apply(new Put("key" + i, ""));
      var from = trio.leader();
      var to = trio.followers().getFirst();
      try (var _ = show(from);
          var _ = show(to)) {
        var leader = bean(from);
        assertThat(leader.getRole()).isEqualTo("leader");
        assertThat(leader.getLeader()).isEqualTo(from.id().toString());
        assertThat(leader.getTerm()).isPositive();
        assertThat(leader.getCommittedIndex()).isGreaterThanOrEqualTo(20);
        assertThat(leader.getAppliedIndex()).isEqualTo(leader.getCommittedIndex());
        assertThat(leader.getApplyLag()).isZero();
        assertThat(leader.getQueued()).isZero();
        assertThat(leader.getOldestMillis()).isNotNegative();
        assertThat(leader.getCommitMillis()).isPositive().isLessThanOrEqualTo(leader.getCommitMillisMax());
        await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(leader.getLogBytes()).isPositive());
        await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(leader.getPeerLags()).hasSize(3).allSatisfy((_, lag) -> assertThat(lag).isZero()));
        var follower = bean(to);
        assertThat(follower.getRole()).isEqualTo("follower");
        assertThat(follower.getOldestMillis()).isZero();
        assertThat(follower.getLeader()).isEqualTo(from.id().toString());
        assertThat(follower.getPeerLags()).hasSize(3).allSatisfy((_, lag) -> assertThat(lag).isEqualTo(-1));
        assertThatThrownBy(() -> follower.transferLeadership(to.id().toString()))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining(from.id().toString());
        assertThatThrownBy(() -> leader.transferLeadership("the other one")).hasMessageContaining("is not a node's id");
        assertThatThrownBy(() -> leader.removePeer(UUID.randomUUID().toString())).hasMessageContaining("it has no replica");

        await().atMost(Trio.DEADLINE).ignoreExceptionsMatching(e -> String.valueOf(e.getMessage()).endsWith("it does not answer")).untilAsserted(() -> leader.transferLeadership(to.id().toString()));

        assertThat(trio.leader()).isSameAs(to);
        assertThat(follower.getRole()).isEqualTo("leader");
        await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(leader.getLeader()).isEqualTo(to.id().toString()));
      }
      assertThat(SERVER.isRegistered(name(from))).isFalse();
    }
  }

  @Test
  void aReplicaHasABeanUntilItIsDropped() throws JMException {
    try (var trio = Trio.start(directory)) {
      trio.apply(new Put("a", "1"));
      var fourth = trio.newNode().startEmpty();
      var leading = trio.leader();
      try (var _ = show(fourth);
          var _ = show(leading)) {
        assertThat(SERVER.isRegistered(name(fourth))).isFalse();
        fourth.join(trio.members());
        assertThat(bean(fourth).getRole()).isEqualTo("outside");
        leading.range().add(fourth.store().member(), Trio.DEADLINE);
        await().atMost(Trio.DEADLINE).untilAsserted(() -> assertThat(bean(fourth).getRole()).isEqualTo("follower"));

        bean(leading).removePeer(fourth.id().toString());
        fourth.store().dropReplica(Trio.RANGE, Trio.DEADLINE);

        assertThat(SERVER.isRegistered(name(fourth))).isFalse();
        assertThat(fourth.meters.find("dunlin.store.applied").meters()).as("its meters have gone with it").isEmpty();
      }
    }
  }
}
