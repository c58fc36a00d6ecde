package dunlin.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.placement.NodeReport.Follower;
import dunlin.placement.NodeReport.Load;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.NodeReport.Replica;
import dunlin.placement.PlacementResult.Reason;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages between nodes survive encoding and decoding, and damage is noticed. */
class PlacementWireTest {
  static LongStream seeds() {
    return LongStream.range(0, 50);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void valuesAreReadAsWritten(long seed) {
    var random = new Random(seed);
    var map = map(random);
    same(map, PlacementWire::writeMap, PlacementWire::readMap);
    same(new ClusterMap.Update.Whole(map), PlacementWire::writeUpdate, PlacementWire::readUpdate);
    same(new ClusterMap.Update.Changes(random.nextLong(1000), changes(random, map)), PlacementWire::writeUpdate, PlacementWire::readUpdate);
    for (var action : actions(random)) same(action, PlacementWire::writeAction, PlacementWire::readAction);
  }

  @Test
  void reportsResultsAndOutcomesAreReadAsWritten() {
    var random = new Random(1);
    byte[] key = {1, 2, 3};
    var replica =
        new Replica(
            range(random), 7, UUID.randomUUID(), Phase.STORED, true, 3, 99, false,
            List.of(new Follower(UUID.randomUUID(), Long.MAX_VALUE)), new Load(1, 2, 3, key, null, true));
    var report = new NodeReport(UUID.randomUUID(), 4, 5, 6, List.of(replica), List.of(UUID.randomUUID(), UUID.randomUUID()));
    byte[] sent = FieldWriter.bytesOf(out -> PlacementWire.writeReport(report, out));
    var read = FieldReader.read(sent, PlacementWire::readReport);
    assertThat(FieldWriter.bytesOf(out -> PlacementWire.writeReport(read, out))).isEqualTo(sent);
    assertThat(read.replicas().getFirst().load().middle()).isEqualTo(key);
    assertThat(read.unreached()).isEqualTo(report.unreached());
    assertThat(read.replicas().getFirst().followers()).isEqualTo(replica.followers());

    for (var reason : Reason.values())
      same(new PlacementResult.Refused(reason, "why"), PlacementWire::writeResult, PlacementWire::readResult);
    same(new PlacementResult.Accepted(12), PlacementWire::writeResult, PlacementWire::readResult);
    for (var outcome :
        List.of(new RangeAdmin.Outcome.Done(), new RangeAdmin.Outcome.Outdated("a"), new RangeAdmin.Outcome.Unknown("b")))
      same(outcome, PlacementWire::writeOutcome, PlacementWire::readOutcome);
    for (var progress : List.of(Progress.UNKNOWN, new Progress(2, 3, "a", 1L << 40, "bytes", "b", Duration.ofDays(100))))
      same(progress, PlacementWire::writeProgress, PlacementWire::readProgress);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void truncatedBytesAreNoticed(long seed) {
    var random = new Random(seed);
    var map = map(random);
    byte[] whole = FieldWriter.bytesOf(out -> PlacementWire.writeMap(map, out));
    byte[] part = Arrays.copyOf(whole, random.nextInt(whole.length));
    assertThatThrownBy(() -> FieldReader.read(part, PlacementWire::readMap))
        .as("seed %d", seed)
        .isInstanceOf(IllegalStateException.class);
  }

  private static <T> void same(T value, BiConsumer<T, FieldWriter> write, Function<FieldReader, ? super T> read) {
    byte[] bytes = FieldWriter.bytesOf(out -> write.accept(value, out));
    assertThat((Object) FieldReader.read(bytes, read)).isEqualTo(value);
  }

  private static ClusterMap map(Random random) {
    var map =
        new ClusterMap(
            random.nextLong(1000), random.nextBoolean() ? id(random) : null, new TreeMap<>(), new TreeMap<>(), new TreeMap<>(),
            new TreeMap<>());
    for (var change : changes(random, map)) map.put(change);
    return map.copy();
  }

  private static List<ClusterMap.Change> changes(Random random, ClusterMap map) {
    var node =
        ClusterNode.joining(id(random), "host-" + random.nextInt(9), Map.of("raft", 1 + random.nextInt(9)), Set.of("meta"), "r", "");
    return Stream.<ClusterMap.Change>of(
            new ClusterMap.Change.Founded(id(random)),
            new ClusterMap.Change.NodeIs(node),
            new ClusterMap.Change.NodeIs(node.in(ClusterNode.State.DRAINING)),
            new ClusterMap.Change.NodeGone(id(random)),
            new ClusterMap.Change.RangeIs(new PlacedRange(range(random), random.nextInt(9) - 1)),
            new ClusterMap.Change.IntentIs(new Intent(id(random), new Operation.AddReplica(id(random), id(random)), 3, true, random.nextLong(99))),
            new ClusterMap.Change.IntentGone(id(random)),
            new ClusterMap.Change.SettingIs("name", "value" + map.version()),
            new ClusterMap.Change.SettingGone("other"))
        .toList();
  }

  private static List<Action> actions(Random random) {
    var peers = range(random).peers();
    return List.of(
        new Action.CreateReplica(id(random), range(random), id(random)),
        new Action.StartReplica(id(random), id(random)),
        new Action.DropReplica(id(random), id(random), id(random)),
        new Action.ChangePeers(id(random), id(random), random.nextInt(), peers, List.of()),
        new Action.TransferLeadership(id(random), id(random), id(random)),
        new Action.Elect(id(random), id(random)),
        new Action.FlushReplica(id(random), id(random)),
        new Action.ProposeSplit(id(random), new Operation.Split(id(random), 3, new byte[] {1}, id(random))));
  }

  private static RangeDescriptor range(Random random) {
    var peers = List.of(id(random), id(random));
    var keys = random.nextBoolean() ? KeyInterval.all() : KeyInterval.between(new byte[] {1}, new byte[] {(byte) (2 + random.nextInt(9))});
    var origin = random.nextBoolean() ? new Origin(id(random), 1, random.nextInt(99)) : null;
    return new RangeDescriptor(id(random), "routes", keys, 1 + random.nextInt(9), peers, origin);
  }

  private static UUID id(Random random) {
    return new UUID(random.nextLong(), random.nextLong());
  }
}
