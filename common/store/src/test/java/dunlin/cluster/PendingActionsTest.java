package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.cluster.PendingActions.Offered;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.Action;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class PendingActionsTest {
  private final PendingActions underWay = new PendingActions();

  @Test
  void actionsUseAtMostHalfOfTheCallsToANode() {
    for (int range = 0; range < NodeCalls.CALLS_MAX / 2; range++) assertThat(offer(1, range)).isEqualTo(Offered.TAKEN);

    assertThat(offer(1, 99)).isEqualTo(Offered.FULL);
    assertThat(offer(2, 99)).as("another node").isEqualTo(Offered.TAKEN);
    underWay.ended(flush(1, 3));
    assertThat(offer(1, 99)).isEqualTo(Offered.TAKEN);
    assertThat(offer(1, 3)).isEqualTo(Offered.FULL);
  }

  @Test
  void theTotalIsBounded() {
    int nodes = PendingActions.MAX / PendingActions.NODE_MAX;
    for (int node = 0; node < nodes; node++)
      for (int range = 0; range < PendingActions.NODE_MAX; range++) assertThat(offer(node, range)).isEqualTo(Offered.TAKEN);

    assertThat(offer(nodes, 1)).isEqualTo(Offered.FULL);
    underWay.ended(flush(0, 1));
    assertThat(offer(nodes, 1)).isEqualTo(Offered.TAKEN);
  }

  @Test
  void theSameActionIsPendingOnlyOnce() {
    assertThat(offer(1, 1)).isEqualTo(Offered.TAKEN);
    assertThat(offer(1, 1)).isEqualTo(Offered.ASKED_ALREADY);
    underWay.ended(flush(1, 1));
    underWay.ended(flush(1, 1));

    for (int range = 0; range < PendingActions.NODE_MAX; range++) assertThat(offer(1, range)).isEqualTo(Offered.TAKEN);
    assertThat(offer(1, 99)).isEqualTo(Offered.FULL);
    assertThat(offer(1, 1)).isEqualTo(Offered.ASKED_ALREADY);
  }

  @Test
  void oneNodeAtATimeIsAskedToBeElectedForARange() {
    assertThat(underWay.offer(elect(1, 1))).isEqualTo(Offered.TAKEN);
    assertThat(underWay.offer(elect(2, 1))).isEqualTo(Offered.ASKED_ALREADY);
    assertThat(underWay.offer(elect(2, 2))).as("another range").isEqualTo(Offered.TAKEN);
    assertThat(offer(2, 1)).as("another action").isEqualTo(Offered.TAKEN);

    underWay.ended(flush(2, 1));
    assertThat(underWay.offer(elect(2, 1))).isEqualTo(Offered.ASKED_ALREADY);
    underWay.ended(elect(1, 1));
    assertThat(underWay.offer(elect(2, 1))).isEqualTo(Offered.TAKEN);
  }

  @Test
  void anotherNodeMayBeElectedOnceTheFirstHasAnswered() {
    assertThat(underWay.offer(elect(1, 1))).isEqualTo(Offered.TAKEN);
    underWay.answered(elect(1, 1));
    assertThat(underWay.offer(elect(1, 1))).as("it is not asked again so soon").isEqualTo(Offered.ASKED_ALREADY);
    assertThat(underWay.offer(elect(2, 1))).isEqualTo(Offered.TAKEN);

    underWay.ended(elect(1, 1));

    assertThat(underWay.offer(elect(3, 1))).as("the second is still asked").isEqualTo(Offered.ASKED_ALREADY);
  }

  private static Action elect(int node, int range) {
    return new Action.Elect(new UUID(0, node), new UUID(1, range));
  }

  private Offered offer(int node, int range) {
    return underWay.offer(flush(node, range));
  }

  private static Action flush(int node, int range) {
    return new Action.FlushReplica(new UUID(0, node), new UUID(1, range));
  }
}
