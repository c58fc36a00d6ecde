package dunlin.placement.plan;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.MemoryRows;
import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.Operation;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult;
import dunlin.placement.PlacementTest;
import dunlin.placement.Progress;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What an operator sees of an operation at each of its steps. */
class StagesTest {
  private static final UUID OPERATION = new UUID(5, 5);
  private static final UUID RANGE = new UUID(1, 1);
  private static final UUID CHILD = new UUID(1, 99);
  private static final long UNFLUSHED_MAX = 10;

  private final MemoryRows rows = new MemoryRows();
  private final Placement placement = new Placement(_ -> {});
  private final Map<UUID, Map<UUID, Replica>> reported = new TreeMap<>();

  @BeforeEach
  void threeOfFourNodesHaveTheRange() {
    apply(new FoundCluster(new UUID(7, 7)));
    for (int node = 1; node <= 4; node++) apply(new RegisterNode(PlacementTest.node(node)));
    apply(new PlaceRange(range(1, 2, 3)));
    leads(1, 100, 1, 2, 3);
    for (int node = 2; node <= 3; node++) follows(node, NodeReport.ORIGINAL, 100, true);
  }

  @Test
  void aReplicaIsCreatedCatchesUpAndHasItsRows() {
    begin(new AddReplica(RANGE, id(4)));

    assertThat(shown()).isEqualTo("1 of 3: node 4 creates its replica");
    follows(4, UUID.randomUUID(), 70, true);
    assertThat(shown()).as("a leftover is another replica").isEqualTo("1 of 3: node 4 creates its replica");
    follows(4, OPERATION, 70, false);
    assertThat(shown()).isEqualTo("2 of 3: node 4 catches up, and gets its vote, 30 entries");
    leads(1, 100, 1, 2, 3, 4);
    follows(4, OPERATION, 95, false);
    assertThat(shown()).isEqualTo("3 of 3: node 4 has its vote, and completes its rows, 5 entries");
    reported.remove(id(1));
    assertThat(shown()).as("without a leader, the map knows the voters").isEqualTo("2 of 3: node 4 catches up, and gets its vote, -1 entries");
  }

  @Test
  void aMoveAlsoRemovesTheOldReplica() {
    begin(new MoveReplica(RANGE, id(1), id(4)));
    follows(4, OPERATION, 100, true);
    leads(1, 100, 1, 2, 3, 4);

    assertThat(shown()).isEqualTo("4 of 6: node 1 hands over the leadership");
    follows(1, NodeReport.ORIGINAL, 100, true);
    leads(2, 100, 1, 2, 3, 4);
    assertThat(shown()).isEqualTo("5 of 6: node 1 loses its vote");
    leads(2, 100, 2, 3, 4);
    assertThat(shown()).isEqualTo("6 of 6: node 1 drops its replica");
    apply(new PlacementCommand.Cancel(OPERATION));
    assertThat(shown()).isEqualTo("1 of 1: undo the steps already done");
  }

  @Test
  void aReplacedReplicaLosesItsVoteFirst() {
    begin(new ReplaceReplica(RANGE, id(3)));

    assertThat(shown()).isEqualTo("1 of 4: node 3 loses the vote of its old replica");
    leads(1, 100, 1, 2);
    assertThat(shown()).isEqualTo("2 of 4: node 3 creates its replica");
    follows(3, OPERATION, 100, true);
    assertThat(shown()).isEqualTo("3 of 4: node 3 catches up, and gets its vote, 0 entries");
  }

  @Test
  void aNodeIsEmptiedReplicaByReplica() {
    begin(new DrainNode(id(3)));

    assertThat(shown()).isEqualTo("1 of 2: replicas move to other nodes, 1 replicas");
    apply(new PlacementCommand.PeersChanged(RANGE, 1, 5, List.of(id(1), id(2), id(4))));
    assertThat(shown()).isEqualTo("2 of 2: node 3 drops its last replicas, 1 replicas");
  }

  @Test
  void aSplitFlushesCutsStartsAndElects() {
    begin(new Split(RANGE, 1, new byte[] {1, 8}, CHILD));

    assertThat(shown()).isEqualTo("2 of 4: the range is cut");
    report(2, new Replica(range(1, 2, 3), -1, NodeReport.ORIGINAL, Phase.RUNNING, false, 2, 9, true, List.of(), Load.unmeasured(UNFLUSHED_MAX + 1)));
    assertThat(shown()).isEqualTo("1 of 4: rows are written to disk before the cut, 11 bytes");
    report(1, new Replica(range(1, 2, 3).lower(new byte[] {1, 8}), 5, NodeReport.ORIGINAL, Phase.RUNNING, true, 2, 100, true, List.of(), Load.NONE));
    part(2, Phase.STORED);
    part(3, Phase.RUNNING);
    assertThat(shown()).isEqualTo("3 of 4: replicas of the upper part start, 2 replicas");
    part(1, Phase.RUNNING);
    part(2, Phase.RUNNING);
    assertThat(shown()).isEqualTo("4 of 4: the upper part gets a leader");
  }

  @Test
  void aStalledOperationSaysWhy() {
    begin(new TransferLeadership(RANGE, id(2)));

    Progress progress = progress(Map.of(OPERATION, "no leader"));
    assertThat(progress.waiting()).isEqualTo("no leader");
    assertThat(progress.age()).isEqualTo(Duration.ofSeconds(3));
    assertThat(shown()).isEqualTo("1 of 1: node 2 takes the leadership");
  }

  private String shown() {
    Progress now = progress(Map.of());
    String what = now.doing();
    for (int node = 1; node <= 4; node++) what = what.replace(id(node).toString(), Integer.toString(node));
    return "%d of %d: %s%s".formatted(now.step(), now.steps(), what, now.unit().isEmpty() ? "" : ", " + now.left() + " " + now.unit());
  }

  private Progress progress(Map<UUID, String> waiting) {
    var settings = new OperationSettings(1000, UNFLUSHED_MAX, 4, 3, SplitSettings.never(), null, false);
    var reports = new TreeMap<UUID, NodeReport>();
    var silences = new TreeMap<UUID, Duration>();
    reported.forEach((node, of) -> reports.put(node, new NodeReport(node, 1, 1, 1, List.copyOf(of.values()), List.of())));
    for (UUID node : placement.map().nodes().keySet()) silences.put(node, Duration.ZERO);
    var ages = new TreeMap<>(Map.of(OPERATION, Duration.ofSeconds(3)));
    var observation = new ClusterObservation(reports, silences, new TreeMap<>(), ages, Duration.ZERO, Duration.ofSeconds(6));
    return requireNonNull(new Operations(settings).progress(placement.map(), observation, waiting).get(OPERATION));
  }

  private void begin(Operation operation) {
    apply(new Begin(OPERATION, operation));
  }

  private void leads(int node, long applied, int... voters) {
    report(node, new Replica(range(voters), 5, NodeReport.ORIGINAL, Phase.RUNNING, true, node, applied, true, List.of(), Load.NONE));
  }

  private void follows(int node, UUID creation, long applied, boolean based) {
    report(node, new Replica(range(1, 2, 3), 5, creation, Phase.RUNNING, false, 1, applied, based, List.of(), Load.NONE));
  }

  /** A node reports its replica of the upper part. */
  private void part(int node, Phase phase) {
    var range = range(1, 2, 3);
    var upper = range.upper(new byte[] {1, 8}, CHILD, new RangeDescriptor.Origin(RANGE, 1, 10));
    report(node, new Replica(upper, -1, NodeReport.ORIGINAL, phase, false, 0, -1, false, List.of(), Load.NONE));
  }

  private void report(int node, Replica replica) {
    reported.computeIfAbsent(id(node), _ -> new TreeMap<>()).put(replica.range().id(), replica);
  }

  private void apply(PlacementCommand command) {
    assertThat(placement.apply(List.of(command), rows).getFirst()).isInstanceOf(PlacementResult.Accepted.class);
  }

  private static UUID id(int node) {
    return PlacementTest.id(node);
  }

  private static RangeDescriptor range(int... nodes) {
    var peers = IntStream.of(nodes).mapToObj(PlacementTest::id).toList();
    return new RangeDescriptor(RANGE, "routes", KeyInterval.between(new byte[] {1}, new byte[] {2}), 1, peers, null);
  }
}
