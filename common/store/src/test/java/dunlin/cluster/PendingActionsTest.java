package dunlin.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.cluster.PendingActions.Offered;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.Action;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PendingActionsTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private long now;
  private final PendingActions underWay = new PendingActions(() -> now);

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
    underWay.answered(elect(1, 1), true);
    assertThat(underWay.offer(elect(1, 1))).as("it is not asked again so soon").isEqualTo(Offered.ASKED_ALREADY);
    assertThat(underWay.offer(elect(2, 1))).isEqualTo(Offered.TAKEN);

    underWay.ended(elect(1, 1));

    assertThat(underWay.offer(elect(3, 1))).as("the second is still asked").isEqualTo(Offered.ASKED_ALREADY);
  }

  @Test
  void aStartThatFailsAgainAndAgainIsAskedForEverLessOften() {
    for (int i = 0; i < PendingActions.EARLY; i++) fail(1, 1);
    for (long pause = SECOND; pause < PendingActions.AGAIN_MAX_NANOS; pause *= 2) failAndAwait(pause);
    for (int i = 0; i < 100; i++) failAndAwait(PendingActions.AGAIN_MAX_NANOS);

    fail(1, 1);
    assertThat(underWay.offer(start(2, 1))).as("another node").isEqualTo(Offered.TAKEN);
    assertThat(underWay.offer(start(1, 2))).as("another range").isEqualTo(Offered.TAKEN);
    assertThat(offer(1, 1)).as("another action").isEqualTo(Offered.TAKEN);
    underWay.ended(flush(1, 1));
    now += PendingActions.AGAIN_MAX_NANOS;
    assertThat(underWay.offer(start(1, 1))).isEqualTo(Offered.TAKEN);
    underWay.answered(start(1, 1), true);
    underWay.ended(start(1, 1));
    fail(1, 1);
    assertThat(underWay.offer(start(1, 1))).as("it is not the next failure of many").isEqualTo(Offered.TAKEN);
  }

  @Test
  void failedStartsAreRememberedOfSoManyReplicas() {
    for (int range = 0; range <= PendingActions.MAX; range++) for (int i = 0; i <= PendingActions.EARLY; i++) fail(1, range);

    assertThat(underWay.offer(start(1, 1))).isEqualTo(Offered.ASKED_ALREADY);
    assertThat(underWay.offer(start(1, 0))).as("the oldest").isEqualTo(Offered.TAKEN);
  }

  private void failAndAwait(long pause) {
    fail(1, 1);
    now += pause - 1;
    assertThat(underWay.offer(start(1, 1))).isEqualTo(Offered.ASKED_ALREADY);
    now++;
  }

  private void fail(int node, int range) {
    assertThat(underWay.offer(start(node, range))).isEqualTo(Offered.TAKEN);
    underWay.answered(start(node, range), false);
    underWay.ended(start(node, range));
  }

  private static Action start(int node, int range) {
    return new Action.StartReplica(new UUID(0, node), new UUID(1, range));
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
