package dunlin.placement;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.placement.ClusterMap.Update;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.Operation.AddReplica;
import dunlin.placement.Operation.DrainNode;
import dunlin.placement.Operation.LeaveNode;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.ReplaceReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.Cancel;
import dunlin.placement.PlacementCommand.Change;
import dunlin.placement.PlacementCommand.Finish;
import dunlin.placement.PlacementCommand.ForgetNode;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementCommand.PeersChanged;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementCommand.SplitDone;
import dunlin.placement.PlacementResult.Accepted;
import dunlin.placement.PlacementResult.Reason;
import dunlin.placement.PlacementResult.Refused;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

public class PlacementTest {
  private static final UUID CLUSTER = new UUID(7, 7);
  private static final UUID RANGE = new UUID(1, 1);
  private static final PlacementCodec CODEC = new PlacementCodec();

  private final MemoryRows rows = new MemoryRows();
  private final List<ClusterMap> seen = new ArrayList<>();
  private final Placement placement = new Placement(now -> seen.add(now.map()));

  static LongStream seeds() {
    return LongStream.range(0, 40);
  }

  @Test
  void nothingHoldsBeforeTheClusterIsFounded() {
    refused(new RegisterNode(node(1)), Reason.UNKNOWN_CLUSTER);
    accepted(new FoundCluster(CLUSTER));
    accepted(new FoundCluster(CLUSTER));
    refused(new FoundCluster(new UUID(8, 8)), Reason.CONFLICT);
    assertThat(placement.map().cluster()).contains(CLUSTER);
  }

  @Test
  void everyChangeRaisesTheVersionAndNothingElseDoes() {
    founded(3);
    long version = placement.map().version();

    accepted(new RegisterNode(node(1)));
    accepted(new PlaceRange(range(1, 2, 3)));
    assertThat(placement.map().version()).as("both were there").isEqualTo(version);
    accepted(new Change("a", "b"));
    assertThat(placement.map().version()).isEqualTo(version + 1);
    refused(new Begin(new UUID(5, 5), new AddReplica(RANGE, id(9))), Reason.UNKNOWN_NODE);
    assertThat(placement.map().version()).isEqualTo(version + 1);
    assertThat(seen.getLast()).isEqualTo(placement.map());
  }

  @Test
  void aWatcherGetsTheChangesSinceItsVersion() {
    founded(3);
    var known = placement.map();
    accepted(new Change("a", "1"));
    accepted(new MarkNode(id(2), State.JOINED, State.SUSPECT));
    accepted(new Change("a", null));

    assertThat(placement.since(known.version())).isInstanceOf(Update.Changes.class);
    assertThat(known.with(placement.since(known.version()))).isEqualTo(placement.map());
    assertThat(placement.since(placement.map().version())).isEqualTo(new Update.Changes(placement.map().version(), List.of()));
    assertThat(placement.since(placement.map().version() + 1)).as("of another life").isInstanceOf(Update.Whole.class);
  }

  @Test
  void aWatcherThatIsTooFarBehindGetsTheWholeMap() {
    founded(3);
    var known = placement.map();
    for (int i = 0; i <= Placement.HISTORY_MAX; i++) accepted(new Change("a", "" + i));

    assertThat(placement.since(known.version())).isInstanceOf(Update.Whole.class);
    assertThat(known.with(placement.since(known.version()))).isEqualTo(placement.map());
    assertThat(placement.since(known.version() + 1)).isInstanceOf(Update.Changes.class);
  }

  @Test
  void theStateIsReadBackFromTheRows() {
    founded(4);
    accepted(new Change("a", "b"));
    accepted(new Begin(new UUID(5, 5), new MoveReplica(RANGE, id(1), id(4))));

    var again = new Placement(_ -> {});
    again.open(rows);

    assertThat(again.map()).isEqualTo(placement.map());
    assertThat(again.since(0)).as("the history is gone").isInstanceOf(Update.Whole.class);
  }

  @Test
  void aRangeHasOneOperationAtATime() {
    founded(5);
    var first = new Begin(new UUID(5, 5), new MoveReplica(RANGE, id(1), id(4)));
    accepted(first);
    accepted(first);

    refused(new Begin(new UUID(5, 6), new MoveReplica(RANGE, id(2), id(5))), Reason.BUSY);
    refused(new Begin(new UUID(5, 5), new MoveReplica(RANGE, id(2), id(5))), Reason.CONFLICT);
    accepted(new Finish(new UUID(5, 5)));
    refused(new Finish(new UUID(5, 5)), Reason.UNKNOWN_OPERATION);
    accepted(new Begin(new UUID(5, 6), new MoveReplica(RANGE, id(2), id(5))));
  }

  @Test
  void aReplicaIsMovedOnlyToASuitableNode() {
    founded(4);
    refusedTo(new AddReplica(RANGE, id(1)), Reason.UNSUITABLE_NODE);
    refusedTo(new AddReplica(RANGE, id(9)), Reason.UNKNOWN_NODE);
    refusedTo(new AddReplica(new UUID(9, 9), id(4)), Reason.UNKNOWN_RANGE);
    refusedTo(new MoveReplica(RANGE, id(4), id(4)), Reason.STALE);
    accepted(new RegisterNode(ClusterNode.joining(id(5), "frontend", Map.of(), Set.of("frontend"), "r", "z")));
    refusedTo(new AddReplica(RANGE, id(5)), Reason.UNSUITABLE_NODE);
    accepted(new MarkNode(id(4), State.JOINED, State.SUSPECT));
    refusedTo(new AddReplica(RANGE, id(4)), Reason.UNSUITABLE_NODE);
    refusedTo(new TransferLeadership(RANGE, id(4)), Reason.UNSUITABLE_NODE);
  }

  @Test
  void noOperationBeginsThatWouldLoseTheQuorum() {
    founded(4);
    down(2);
    accepted(new Begin(new UUID(5, 5), new MoveReplica(RANGE, id(2), id(4)))); // two of three are up
    accepted(new Abandon(new UUID(5, 5)));
    refusedTo(new ReplaceReplica(RANGE, id(1)), Reason.LOSES_QUORUM);
    down(3);
    refusedTo(new MoveReplica(RANGE, id(2), id(4)), Reason.LOSES_QUORUM);
  }

  @Test
  void aNodeLeavesOnlyWhenItsReplicasFindAPlace() {
    founded(3);
    refusedTo(new LeaveNode(id(1)), Reason.LOSES_QUORUM);
    refusedTo(new DrainNode(id(1)), Reason.LOSES_QUORUM);
    accepted(new RegisterNode(node(4)));
    accepted(new Begin(new UUID(5, 5), new LeaveNode(id(1))));
    assertThat(state(1)).isEqualTo(State.DRAINING);
    refusedTo(new LeaveNode(id(1)), Reason.BUSY);
    refusedTo(new LeaveNode(id(2)), Reason.LOSES_QUORUM); // the last spare node is reserved
    refusedTo(new AddReplica(RANGE, id(4)), Reason.LOSES_QUORUM);
    refused(new Finish(new UUID(5, 5)), Reason.LOSES_QUORUM);

    accepted(new PeersChanged(RANGE, 1, 10, range(2, 3, 4).peers()));
    accepted(new Finish(new UUID(5, 5)));

    assertThat(state(1)).isEqualTo(State.LEFT);
    refused(new RegisterNode(node(1)), Reason.CONFLICT);
    refusedTo(new LeaveNode(id(1)), Reason.STALE);
    accepted(new ForgetNode(id(1)));
    refused(new ForgetNode(id(2)), Reason.STALE);
  }

  @Test
  void aCancelledDrainLeavesTheNodeAsItWas() {
    founded(4);
    accepted(new Begin(new UUID(5, 5), new DrainNode(id(1))));
    accepted(new MarkNode(id(1), State.DRAINING, State.SUSPECT));
    accepted(new MarkNode(id(1), State.SUSPECT, State.JOINED));
    assertThat(state(1)).as("it is still being drained").isEqualTo(State.DRAINING);

    accepted(new Cancel(new UUID(5, 5)));

    assertThat(state(1)).isEqualTo(State.JOINED);
    assertThat(placement.map().intents()).isEmpty();
  }

  @Test
  void statesAreComparedBeforeTheyAreChanged() {
    founded(3);
    refused(new MarkNode(id(1), State.SUSPECT, State.DOWN), Reason.STALE);
    refused(new MarkNode(id(1), State.JOINED, State.LEFT), Reason.STALE);
    refused(new MarkNode(id(1), State.JOINED, State.DRAINING), Reason.STALE);
    refused(new MarkNode(id(9), State.JOINED, State.SUSPECT), Reason.UNKNOWN_NODE);
    accepted(new MarkNode(id(1), State.JOINED, State.SUSPECT));
  }

  @Test
  void changesOfPeersFollowTheRangesOwnLog() {
    founded(4);
    accepted(new PeersChanged(RANGE, 1, 10, range(2, 3, 4).peers()));
    refused(new PeersChanged(RANGE, 1, 10, range(1, 2, 3).peers()), Reason.STALE);
    refused(new PeersChanged(RANGE, 2, 11, range(1, 2, 3).peers()), Reason.STALE);
    assertThat(placement.map().rangesOn(id(1))).isEmpty();
  }

  @Test
  void aSplitGivesEachKeyToOneRange() {
    founded(3);
    byte[] cut = {50};
    var split = SplitChoice.at(range(1, 2, 3), cut);
    refusedTo(new Split(RANGE, 2, cut, split.child()), Reason.STALE);
    refusedTo(new Split(RANGE, 1, new byte[0], split.child()), Reason.UNSUITABLE_CUT);
    refusedTo(new Split(RANGE, 1, cut, RANGE), Reason.CONFLICT);
    accepted(new Begin(new UUID(5, 5), split));
    refused(new Cancel(new UUID(5, 5)), Reason.STALE);
    refused(new Finish(new UUID(5, 5)), Reason.STALE);

    var child = range(1, 2, 3).upper(cut, split.child(), new Origin(RANGE, 1, 9));
    var other = range(1, 2, 3).upper(new byte[] {51}, split.child(), new Origin(RANGE, 1, 9));
    refused(new SplitDone(new UUID(5, 5), other, 0), Reason.CONFLICT);
    accepted(new SplitDone(new UUID(5, 5), child, 3));

    assertThat(placement.map().intents()).isEmpty();
    assertThat(placement.map().find("routes", new byte[] {49}).map(RangeDescriptor::id)).contains(RANGE);
    assertThat(placement.map().find("routes", cut)).contains(child);
    assertThat(requireNonNull(placement.map().ranges().get(RANGE)).range().epoch()).isEqualTo(2);
    refused(new PeersChanged(RANGE, 1, 20, List.of()), Reason.STALE);
  }

  @Test
  void rangesOfOneKindDoNotOverlap() {
    founded(3);
    var other = new RangeDescriptor(new UUID(1, 2), "routes", KeyInterval.all().from(new byte[] {9}), 1, List.of(), null);
    refused(new PlaceRange(other), Reason.OVERLAP);
    accepted(new PlaceRange(new RangeDescriptor(new UUID(1, 2), "retained", KeyInterval.all(), 1, List.of(), null)));
    var routes = new RangeDescriptor(new UUID(1, 2), "routes", KeyInterval.all(), 1, List.of(), null);
    refused(new PlaceRange(routes), Reason.CONFLICT);
    var stranger = List.of(id(9));
    var inbox = new RangeDescriptor(new UUID(1, 3), "inbox", KeyInterval.all(), 1, stranger, null);
    refused(new PlaceRange(inbox), Reason.UNKNOWN_NODE);
  }

  @Test
  void everythingIsBounded() {
    accepted(new FoundCluster(CLUSTER));
    for (int i = 0; i < Placement.NODES_MAX; i++) accepted(new RegisterNode(node(i)));
    refused(new RegisterNode(node(5000)), Reason.FULL);
    for (int i = 0; i < Placement.SETTINGS_MAX; i++) accepted(new Change("s" + i, "v"));
    refused(new Change("more", "v"), Reason.FULL);
    refused(new Change("s1", "v".repeat(5000)), Reason.FULL);
    refused(new Change("", "v"), Reason.FULL);
    accepted(new Change("s1", "w"));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void replicasThatApplyTheSameLogHaveTheSameRows(long seed) {
    var random = new Random(seed);
    var other = new Placement(_ -> {});
    var otherRows = new MemoryRows();
    founded(5);
    otherFounded(other, otherRows);
    for (int i = 0; i < 200; i++) {
      var command = reread(command(random));
      var one = placement.apply(List.of(command), rows);
      if (random.nextInt(10) == 0) {
        other = new Placement(_ -> {}); // restarted on its rows
        other.open(otherRows);
      }
      assertThat(other.apply(List.of(command), otherRows)).as("seed %d, %s", seed, command).isEqualTo(one);
    }
    assertThat(other.map()).as("seed %d", seed).isEqualTo(placement.map());
    assertThat(otherRows.lines()).as("seed %d", seed).isEqualTo(rows.lines());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedCommandsAreRefusedOrDecoded(long seed) {
    var random = new Random(seed);
    for (int i = 0; i < 200; i++) {
      byte[] bytes = encode(command(random));
      bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 5));
      if (bytes.length > 0) bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      try {
        CODEC.decode(ByteBuffer.wrap(bytes));
      } catch (IllegalStateException expected) {
        // Refused, as expected.
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
  }

  @Test
  void unknownKindsAreRefused() {
    assertThatThrownBy(() -> CODEC.decode(ByteBuffer.wrap(new byte[] {99}))).hasMessage("command of kind 99");
  }

  private PlacementCommand command(Random random) {
    var id = new UUID(5, random.nextInt(6));
    var node = id(1 + random.nextInt(6));
    var other = id(1 + random.nextInt(6));
    var states = State.values();
    return switch (random.nextInt(14)) {
      case 0 -> new RegisterNode(node(1 + random.nextInt(6)));
      case 1 -> new MarkNode(node, states[random.nextInt(4)], states[random.nextInt(4)]);
      case 2 -> new PeersChanged(RANGE, 1, random.nextInt(300), range(1, 2, 1 + 2 + random.nextInt(3)).peers());
      case 3 -> new Begin(id, new MoveReplica(RANGE, node, other));
      case 4 -> new Begin(id, new AddReplica(RANGE, node));
      case 5 -> new Begin(id, new ReplaceReplica(RANGE, node));
      case 6 -> new Begin(id, random.nextBoolean() ? new DrainNode(node) : new LeaveNode(node));
      case 7 -> new Begin(id, new TransferLeadership(RANGE, node));
      case 8 -> new Begin(id, SplitChoice.at(range(1, 2, 3), new byte[] {(byte) random.nextInt()}));
      case 9 -> new Cancel(id);
      case 10 -> new Finish(id);
      case 11 -> random.nextBoolean() ? new Abandon(id) : new ForgetNode(node);
      case 12 -> new SplitDone(id, range(1, 2, 3).upper(new byte[] {50}, new UUID(9, 9), new Origin(RANGE, 1, 2)), 1);
      default -> new Change("s" + random.nextInt(4), random.nextBoolean() ? "v" + random.nextInt(3) : null);
    };
  }

  private void founded(int nodes) {
    accepted(new FoundCluster(CLUSTER));
    for (int i = 1; i <= nodes; i++) accepted(new RegisterNode(node(i)));
    accepted(new PlaceRange(range(1, 2, 3)));
  }

  private static void otherFounded(Placement other, MemoryRows rows) {
    other.apply(List.of(new FoundCluster(CLUSTER)), rows);
    for (int i = 1; i <= 5; i++) other.apply(List.of(new RegisterNode(node(i))), rows);
    other.apply(List.of(new PlaceRange(range(1, 2, 3))), rows);
  }

  private void down(int node) {
    accepted(new MarkNode(id(node), State.JOINED, State.SUSPECT));
    accepted(new MarkNode(id(node), State.SUSPECT, State.DOWN));
  }

  private State state(int node) {
    return requireNonNull(placement.map().nodes().get(id(node))).state();
  }

  private void accepted(PlacementCommand command) {
    assertThat(apply(command)).isInstanceOf(Accepted.class);
  }

  private void refused(PlacementCommand command, Reason reason) {
    assertThat(apply(command)).isInstanceOfSatisfying(Refused.class, refused -> assertThat(refused.reason()).isEqualTo(reason));
  }

  private void refusedTo(Operation operation, Reason reason) {
    refused(new Begin(new UUID(6, 6), operation), reason);
  }

  private PlacementResult apply(PlacementCommand command) {
    return placement.apply(List.of(reread(command)), rows).getFirst();
  }

  /** The command as a replica reads it from the log. */
  private static PlacementCommand reread(PlacementCommand command) {
    return CODEC.decode(ByteBuffer.wrap(encode(command)));
  }

  private static byte[] encode(PlacementCommand command) {
    var out = ByteBuffer.allocate(CODEC.encodedLength(command));
    CODEC.encode(command, out);
    assertThat(out.hasRemaining()).isFalse();
    return out.array();
  }

  public static UUID id(int node) {
    return new UUID(0, node);
  }

  public static ClusterNode node(int number) {
    return ClusterNode.joining(id(number), "n" + number, Map.of("raft", 7000), Set.of("routes"), "r", "z" + number);
  }

  public static RangeDescriptor range(int... nodes) {
    var peers = new ArrayList<UUID>();
    for (int node : nodes) peers.add(id(node));
    return new RangeDescriptor(RANGE, "routes", KeyInterval.all(), 1, peers, null);
  }
}
