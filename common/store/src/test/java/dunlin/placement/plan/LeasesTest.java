package dunlin.placement.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.placement.ClusterNode.State;
import dunlin.placement.MemoryRows;
import dunlin.placement.NodeReport;
import dunlin.placement.Operation;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementTest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class LeasesTest {
  private static final long TERM = 4;
  private static final UUID ONE = PlacementTest.id(1);
  private static final UUID TWO = PlacementTest.id(2);

  private final MemoryRows rows = new MemoryRows();
  private final Placement placement = new Placement(_ -> {});
  private final Leases leases = new Leases(TERM, seconds(6), seconds(18), seconds(1000));

  LeasesTest() {
    apply(new FoundCluster(new UUID(7, 7)));
    apply(new RegisterNode(PlacementTest.node(1)));
    apply(new RegisterNode(PlacementTest.node(2)));
  }

  @Test
  void aNewLeaderWaitsForOneLease() {
    assertThat(due(1005)).isEmpty();
    assertThat(due(1006))
        .containsExactly(new MarkNode(ONE, State.JOINED, State.SUSPECT), new MarkNode(TWO, State.JOINED, State.SUSPECT));
  }

  @Test
  void aSilentNodeIsSuspectedAndThenDown() {
    heard(1, 1, 1, 1001);
    heard(2, 1, 1, 1004);
    assertThat(due(1007)).containsExactly(new MarkNode(ONE, State.JOINED, State.SUSPECT));
    apply(due(1007).getFirst());
    heard(2, 1, 2, 1015);
    assertThat(due(1018)).isEmpty();
    assertThat(due(1019)).containsExactly(new MarkNode(ONE, State.SUSPECT, State.DOWN));
    apply(due(1019).getFirst());

    heard(1, 1, 2, 1020);

    assertThat(due(1020)).containsExactly(new MarkNode(ONE, State.DOWN, State.JOINED));
  }

  @Test
  void aSuspectThatIsHeardAgainHasItsLeaseBack() {
    apply(new MarkNode(ONE, State.JOINED, State.SUSPECT));
    assertThat(due(1001)).as("it has not been heard by this leader").isEmpty();
    heard(1, 1, 1, 1002);
    assertThat(due(1002)).containsExactly(new MarkNode(ONE, State.SUSPECT, State.JOINED));
  }

  @Test
  void anOperationsAgeCountsFromWhenThisLeaderFirstSawIt() {
    var operation = new UUID(5, 5);
    apply(new PlacementCommand.Begin(operation, new Operation.DrainNode(TWO)));

    assertThat(leases.observation(placement.map(), seconds(1001)).age(operation)).isZero();
    assertThat(leases.observation(placement.map(), seconds(1004)).age(operation)).isEqualTo(seconds(3));
    assertThat(new Leases(TERM + 1, seconds(6), seconds(18), seconds(1005)).observation(placement.map(), seconds(1006)).age(operation)).isZero();
    apply(new PlacementCommand.Finish(operation));
    assertThat(leases.observation(placement.map(), seconds(1005)).ages()).isEmpty();
  }

  @Test
  void itIsCalmALeaseAfterTheLastChangeOfAStateOrALeader() {
    assertThat(leases.observation(placement.map(), seconds(1001)).isCalm()).isFalse();
    assertThat(leases.observation(placement.map(), seconds(1006)).isCalm()).isFalse();
    assertThat(leases.observation(placement.map(), seconds(1007)).isCalm()).isTrue();

    apply(new MarkNode(ONE, State.JOINED, State.SUSPECT));
    assertThat(leases.observation(placement.map(), seconds(1008)).calm()).isZero();
    assertThat(leases.observation(placement.map(), seconds(1014)).isCalm()).isTrue();

    leads(1, 3, 1, 1015);
    assertThat(leases.observation(placement.map(), seconds(1015)).calm()).isZero();
    leads(1, 3, 2, 1017);
    assertThat(leases.observation(placement.map(), seconds(1021)).isCalm()).as("the same leader in the same term").isTrue();
    leads(1, 4, 3, 1022);
    assertThat(leases.observation(placement.map(), seconds(1022)).calm()).isZero();
  }

  @Test
  void itIsCalmALeaseAfterANodeHasReachedAnotherOneAgain() {
    leases.observation(placement.map(), seconds(1001));
    reaches(1, 1, List.of(), 1002);
    reaches(1, 2, List.of(TWO), 1003);
    assertThat(leases.observation(placement.map(), seconds(1007)).calm()).as("leaders must move when one is lost").isEqualTo(seconds(6));
    reaches(1, 3, List.of(), 1008);
    assertThat(leases.observation(placement.map(), seconds(1008)).calm()).isZero();
  }

  /** A network that fails again and again must not keep leaders where they are. */
  @Test
  void thatCountsOnceForEachLease() {
    leases.observation(placement.map(), seconds(1001));
    for (int second = 1002; second < 1008; second++) {
      reaches(1, 2L * second, List.of(TWO), second);
      reaches(1, 2L * second + 1, List.of(), second);
    }
    assertThat(leases.observation(placement.map(), seconds(1007)).calm()).isEqualTo(seconds(5));
    reaches(1, 9_000, List.of(TWO), 1008);
    reaches(1, 9_001, List.of(), 1008);
    assertThat(leases.observation(placement.map(), seconds(1008)).calm()).isZero();
  }

  @Test
  void aNodeRunsSinceItsPresentLifeWasHeardOf() {
    heard(1, 2, 5, 1001);
    heard(1, 2, 6, 1003);
    assertThat(leases.observation(placement.map(), seconds(1004)).uptimes()).containsOnly(Map.entry(ONE, seconds(3)));
    heard(1, 3, 1, 1005);
    heard(1, 2, 7, 1006);
    assertThat(leases.observation(placement.map(), seconds(1007)).uptimes()).containsOnly(Map.entry(ONE, seconds(2)));
  }

  private void reaches(int node, long number, List<UUID> unreached, int second) {
    leases.heard(new NodeReport(PlacementTest.id(node), TERM, 1, number, List.of(), unreached), placement.map(), seconds(second));
  }

  private void leads(int node, long term, long number, int second) {
    var replica =
        new NodeReport.Replica(
            PlacementTest.range(1, 2, 3), -1, NodeReport.ORIGINAL, NodeReport.Phase.RUNNING, true, term, 9, true, List.of(), NodeReport.Load.NONE);
    leases.heard(new NodeReport(PlacementTest.id(node), TERM, 1, number, List.of(replica), List.of()), placement.map(), seconds(second));
  }

  @Test
  void olderReportsDoNotReplaceNewerOnes() {
    assertThat(heard(1, 2, 5, 1001)).isTrue();
    assertThat(heard(1, 2, 5, 1004)).as("twice").isFalse();
    assertThat(heard(1, 2, 4, 1004)).as("overtaken").isFalse();
    assertThat(heard(1, 1, 9, 1004)).as("before its restart").isFalse();
    assertThat(heard(1, 3, 1, 1005)).isTrue();
    assertThat(leases.observation(placement.map(), seconds(1006)).silence(ONE)).isEqualTo(seconds(1));
  }

  @Test
  void reportsFromBeforeThisTermAreIgnored() {
    var report = new NodeReport(ONE, TERM - 1, 1, 1, List.of(), List.of());

    assertThat(leases.heard(report, placement.map(), seconds(1001))).isFalse();

    assertThat(leases.observation(placement.map(), seconds(1001)).heard(ONE)).isFalse();
    assertThat(leases.leadership()).as("which the report is answered with").isEqualTo(TERM);
  }

  /** It says nothing of this term while it carries out an action of the leader before. */
  @Test
  void aNodeThatReportsUnderAnEarlierTermIsAlive() {
    heard(2, 1, 1, 1012);
    for (int number = 1; number <= 3; number++) leases.heard(new NodeReport(ONE, TERM - 1, 1, number, List.of(), List.of()), placement.map(), seconds(1000 + 4 * number));
    assertThat(due(1017)).isEmpty();
    assertThat(leases.observation(placement.map(), seconds(1017)).silence(ONE)).as("what is decided by").isEqualTo(seconds(17));

    leases.heard(new NodeReport(ONE, TERM - 1, 1, 3, List.of(), List.of()), placement.map(), seconds(1017));
    heard(2, 1, 2, 1018);
    assertThat(due(1018)).as("no newer report").containsExactly(new MarkNode(ONE, State.JOINED, State.SUSPECT));
  }

  @Test
  void reportsOfUnknownNodesAreDropped() {
    var report = new NodeReport(PlacementTest.id(9), TERM, 1, 1, List.of(), List.of());
    assertThat(leases.heard(report, placement.map(), seconds(1001))).isFalse();
    assertThat(leases.observation(placement.map(), seconds(1001)).reports()).isEmpty();
  }

  @Test
  void aLeaseIsNoLongerThanTheTimeUntilDown() {
    assertThatThrownBy(() -> new Leases(1, seconds(6), seconds(5), seconds(0))).hasMessageContaining("before its lease");
    assertThatThrownBy(() -> new Leases(1, seconds(0), seconds(5), seconds(0))).isInstanceOf(IllegalArgumentException.class);
  }

  private boolean heard(int node, long incarnation, long number, int at) {
    return leases.heard(
        new NodeReport(PlacementTest.id(node), TERM, incarnation, number, List.of(), List.of()), placement.map(), seconds(at));
  }

  private List<MarkNode> due(int at) {
    return leases.due(placement.map(), seconds(at));
  }

  private void apply(PlacementCommand command) {
    placement.apply(List.of(command), rows);
  }

  private static Duration seconds(int seconds) {
    return Duration.ofSeconds(seconds);
  }
}
