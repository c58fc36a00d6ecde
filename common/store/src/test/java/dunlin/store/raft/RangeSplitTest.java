package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.KeyInterval;
import dunlin.store.NotLeaderException;
import dunlin.store.OutdatedException;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.WrongEpochException;
import dunlin.store.disk.GroupStorage;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A range that is split on one node: the rows of each half, the commands that it accepts, and the state after a crash. */
class RangeSplitTest {
  private static final RangeId PARENT = RangeId.firstOf("routes");
  private static final RangeId CHILD =
      new RangeId("routes", new UUID(PARENT.uuid().getMostSignificantBits(), PARENT.uuid().getLeastSignificantBits() ^ 1));
  private static final byte[] CUT = Command.bytes("m");

  @TempDir Path directory;

  @Test
  void eachHalfHasItsRowsAndAcceptsOnlyCommandsOfItsEpoch() throws Exception {
    try (var node = new Node(directory)) {
      for (String key : List.of("a", "l", "m", "z")) node.apply(node.parent, 1, new Put(key, "1"));
      assertThatThrownBy(() -> node.parent.split(7, CUT, CHILD.uuid(), OneRange.DEADLINE)).isInstanceOf(OutdatedException.class);
      assertThatThrownBy(() -> node.parent.split(1, new byte[0], CHILD.uuid(), OneRange.DEADLINE)).isInstanceOf(OutdatedException.class);

      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);

      assertThat(node.rows(node.parent)).containsExactly("a=1", "l=1");
      assertThat(node.parent.descriptor().orElseThrow().keys()).isEqualTo(KeyInterval.all().below(CUT));
      assertThat(node.parentLogic.rowsAtOpen).as("what the logic was told after the split").containsExactly("a=1", "l=1");
      assertThatThrownBy(() -> node.apply(node.parent, 1, new Put("z", "lost")))
          .hasCauseInstanceOf(WrongEpochException.class)
          .hasMessageContaining("epoch 2");
      assertThatThrownBy(() -> node.apply(node.parent, 3, new Put("a", "early"))).hasCauseInstanceOf(WrongEpochException.class);
      node.apply(node.parent, 2, new Append("a", "2"));
      assertThatThrownBy(() -> node.parent.split(1, Command.bytes("c"), CHILD.uuid(), OneRange.DEADLINE)).isInstanceOf(OutdatedException.class);

      var child = node.startChild();
      assertThat(node.rows(child)).containsExactly("m=1", "z=1");
      assertThat(child.descriptor().orElseThrow().keys()).isEqualTo(KeyInterval.all().from(CUT));
      await().atMost(OneRange.DEADLINE).until(child::based);
      node.apply(child, 2, new Append("z", "2"));
      assertThat(node.rows(child)).containsExactly("m=1", "z=12");
      assertThat(node.rows(node.parent)).containsExactly("a=12", "l=1");
    }
  }

  @Test
  void aChildOpensByWhatItsParentHasKeptOrByItsRows() throws Exception {
    for (boolean takesOver : new boolean[] {true, false}) {
      try (var node = new Node(directory.resolve("takes-over-" + takesOver))) {
        node.apply(node.parent, 1, new Put("z", "1"));
        node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
        node.childLogic.takesOver = takesOver;

        var child = node.startChild();

        node.apply(child, 2, new Append("z", "2"));
        assertThat(node.rows(child)).containsExactly("z=12");
        assertThat(node.childLogic.parent).isSameAs(node.parentLogic);
        assertThat(node.childLogic.start).isEqualTo(CUT);
        assertThat(node.childLogic.rowsAtOpen).isEqualTo(takesOver ? List.of() : List.of("z=1"));
      }
    }
  }

  /** What a logic does after a split neither holds up commands nor fails the range. */
  @Test
  void eachHalfSettlesBesideItsCommands() throws Exception {
    try (var node = new Node(directory)) {
      node.apply(node.parent, 1, new Put("z", "1"));
      node.parentLogic.failsToSettle = true;
      node.childLogic.takesOver = true;
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      var child = node.startChild();

      await().atMost(OneRange.DEADLINE).until(() -> node.parentLogic.settled.get() == 1 && node.childLogic.settled.get() == 1);
      node.apply(node.parent, 2, new Put("a", "1"));
      node.apply(child, 2, new Append("z", "2"));
      assertThat(node.rows(node.parent)).containsExactly("a=1");
      assertThat(node.rows(child)).containsExactly("z=12");
    }
  }

  @Test
  void whatIsLeftOfASplitIsNotDoneForAReplicaThatIsClosed() throws Exception {
    Command.Logic logic;
    try (var node = new Node(directory)) {
      logic = node.parentLogic;
      logic.settlesLong = true;
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.apply(node.parent, 2, new Put("a", "1"));
      assertThat(logic.settled).hasValue(0);
    }

    await().atMost(OneRange.DEADLINE).until(() -> logic.settled.get() == 1);
  }

  @Test
  void aChildThatWasStartedBeforeOpensByItsRows() throws Exception {
    int port = FreePort.find();
    try (var node = new Node(directory, port)) {
      node.apply(node.parent, 1, new Put("z", "1"));
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.apply(node.startChild(), 2, new Append("z", "2"));
    }
    try (var node = new Node(directory, port)) {
      assertThat(node.rows(node.child())).containsExactly("z=12");
      assertThat(node.childLogic.parent).isNull();
      assertThat(node.childLogic.rowsAtOpen).containsExactly("z=12");
    }
  }

  @Test
  void commandsThatWaitDuringASplitAreEitherRefusedOrDone() throws Exception {
    try (var node = new Node(directory)) {
      var results = new ArrayList<CompletableFuture<String>>();
      for (int i = 0; i < 2000; i++) {
        if (i == 1000)
          results.add(
              CompletableFuture.supplyAsync(
                  () -> {
                    node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
                    return "split";
                  }));
        var result = new CompletableFuture<String>();
        if (node.parent.propose(1, new Put(String.format("z%04d", i), "1"), OneRange.completing(result))) results.add(result);
      }
      int done = 0;
      int refused = 0;
      for (var result : results) {
        try {
          if (result.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS).equals("put")) done++;
        } catch (ExecutionException e) {
          assertThat(e.getCause()).isInstanceOf(WrongEpochException.class);
          refused++;
        }
      }

      assertThat(done + refused).isEqualTo(results.size() - 1);
      assertThat(node.rows(node.parent)).isEmpty();
      assertThat(node.rows(node.startChild())).hasSize(done);
    }
  }

  @Test
  void anInterruptedSplitIsRepeatedOnceFromTheLog() throws Exception {
    Path before = directory.resolve("before");
    Path after = directory.resolve("after");
    int port = FreePort.find();
    try (var node = new Node(directory.resolve("node"), port)) {
      for (String key : List.of("a", "z")) node.apply(node.parent, 1, new Put(key, "1"));
      node.parent.flush();
      OneRange.copy(directory.resolve("node"), before);
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.apply(node.parent, 2, new Append("a", "2"));
      OneRange.copy(directory.resolve("node"), after);
    }
    for (boolean childComplete : new boolean[] {true, false}) {
      // The log is from after the split, the parent's rows are from before it; the child's rows exist or not.
      Path crashed = directory.resolve("crashed-" + childComplete);
      OneRange.copy(after, crashed);
      Path ranges = crashed.resolve("ranges");
      GroupStorage.deleteTree(ranges.resolve(PARENT.uuid().toString()));
      OneRange.copy(before.resolve("ranges").resolve(PARENT.uuid().toString()), ranges.resolve(PARENT.uuid().toString()));
      if (!childComplete) GroupStorage.deleteTree(ranges.resolve(CHILD.uuid().toString()));

      try (var node = new Node(crashed, port)) {
        await().atMost(OneRange.DEADLINE).until(() -> node.rows(node.parent), List.of("a=12")::equals);
        assertThat(node.store.unstarted()).extracting(RangeDescriptor::id).containsExactly(CHILD.uuid());
        var child = node.startChild();
        assertThat(node.rows(child)).as("child complete before: %s", childComplete).containsExactly("z=1");
      }
    }
  }

  @Test
  void aStartedChildSurvivesARestartAndAnUnwantedOneIsDeleted() throws Exception {
    int port = FreePort.find();
    try (var node = new Node(directory, port)) {
      node.apply(node.parent, 1, new Put("z", "1"));
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.apply(node.startChild(), 2, new Append("z", "2"));
      assertThat(node.store.unstarted()).isEmpty();
      assertThatThrownBy(node::startChild).isInstanceOf(OutdatedException.class);
    }
    var second = new RangeId("routes", new UUID(PARENT.uuid().getMostSignificantBits(), 7));
    try (var node = new Node(directory, port)) {
      assertThat(node.rows(node.child())).containsExactly("z=12");
      // The leader confirms it at a round of maintenance, before or after the restart.
      await().atMost(OneRange.DEADLINE).until(() -> node.child().based());

      node.parent.split(2, Command.bytes("f"), second.uuid(), OneRange.DEADLINE);
      assertThat(node.store.unstarted()).extracting(RangeDescriptor::id).containsExactly(second.uuid());
      node.store.dropUnstarted(second);
      assertThat(node.store.unstarted()).isEmpty();
    }
  }

  @Test
  void aChildWhoseStartHasFailedGoesOnWithItsRows() throws Exception {
    int port = FreePort.find();
    try (var node = new Node(directory, port)) {
      node.apply(node.parent, 1, new Put("z", "1"));
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.childLogic.failsToOpen = 2;
      for (int i = 0; i < 2; i++) assertThatThrownBy(node::startChild).hasStackTraceContaining("too many open files");

      node.apply(node.startChild(), 2, new Append("z", "2"));

      assertThat(node.rows(node.child())).containsExactly("z=12");
      assertThatThrownBy(node::startChild).as("it runs").isInstanceOf(OutdatedException.class);
    }
    try (var node = new Node(directory, port)) {
      assertThat(node.rows(node.child())).containsExactly("z=12");
    }
  }

  @Test
  void aChildWhoseStartHasFailedIsAnOrdinaryReplicaAfterARestart() throws Exception {
    int port = FreePort.find();
    try (var node = new Node(directory, port)) {
      node.apply(node.parent, 1, new Put("z", "1"));
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.childLogic.failsToOpen = 1;
      assertThatThrownBy(node::startChild).hasStackTraceContaining("too many open files");
    }
    try (var node = new Node(directory, port)) {
      node.apply(node.child(), 2, new Append("z", "2"));
      assertThat(node.rows(node.child())).containsExactly("z=12");
    }
  }

  @Test
  void aChildWhoseStartHasFailedCanBeDeleted() throws Exception {
    try (var node = new Node(directory)) {
      node.apply(node.parent, 1, new Put("z", "1"));
      node.parent.split(1, CUT, CHILD.uuid(), OneRange.DEADLINE);
      node.childLogic.failsToOpen = 1;
      assertThatThrownBy(node::startChild).hasStackTraceContaining("too many open files");

      node.store.dropUnstarted(CHILD);

      assertThat(node.store.stored()).containsExactly(PARENT.uuid());
      assertThatThrownBy(node::startChild).isInstanceOf(OutdatedException.class);
    }
  }

  @Test
  void rowsOfAnotherOriginAreNotConfirmed() {
    var origin = new Origin(PARENT.uuid(), 1, 5);
    var child = new RangeDescriptor(CHILD.uuid(), "routes", KeyInterval.all(), 2, List.of(), origin);
    RangeFence.requireOrigin(child, origin);
    assertThatThrownBy(() -> RangeFence.requireOrigin(child, new Origin(PARENT.uuid(), 1, 6))).isInstanceOf(IllegalStateException.class);
  }

  /** A store with the parent, and with the child if that was started before. */
  private static final class Node implements AutoCloseable {
    final RangeStore store;
    final Command.Logic parentLogic = new Command.Logic();
    final Command.Logic childLogic = new Command.Logic();
    final Replica<Command, String> parent;
    private final List<Replica<Command, String>> children = new ArrayList<>();

    Node(Path directory) {
      this(directory, FreePort.find());
    }

    Node(Path directory, int port) {
      store = RangeStore.open(StoreSettings.defaults().with(ClusterSettings.loopback(port)), directory, new SimpleMeterRegistry());
      var peers = List.of(store.member().node());
      var initial = new RangeDescriptor(PARENT.uuid(), "routes", KeyInterval.all(), 1, peers, null);
      parent = store.range(initial, Command.CODEC, parentLogic);
      if (store.stored().contains(CHILD.uuid())) children.add(store.range(CHILD, List.of(), Command.CODEC, childLogic));
      store.start(OneRange.DEADLINE);
    }

    Replica<Command, String> startChild() {
      var started = store.startSplit(CHILD, List.of(store.member()), Command.CODEC, childLogic, OneRange.DEADLINE);
      children.add(started);
      return started;
    }

    Replica<Command, String> child() {
      return children.getFirst();
    }

    /** Retries until the range is led, which takes a moment after its start. */
    String apply(Replica<Command, String> range, long epoch, Command command) {
      long until = System.nanoTime() + OneRange.DEADLINE.toNanos();
      while (true) {
        var result = new CompletableFuture<String>();
        if (!range.propose(epoch, command, OneRange.completing(result))) throw new AssertionError("the queue is full");
        try {
          return result.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
          if (!(e.getCause() instanceof NotLeaderException) || System.nanoTime() > until)
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
          throw new AssertionError("not applied: " + command, e);
        }
      }
    }

    List<String> rows(Replica<Command, String> range) {
      var rows = new ArrayList<String>();
      try {
        CompletableFuture.runAsync(
                () ->
                    range.reader().scan(
                        new byte[0],
                        null,
                        (key, value) -> rows.add(Command.text(key) + "=" + Command.text(value))),
                range.readers())
            .get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS);
      } catch (InterruptedException | ExecutionException | TimeoutException e) {
        throw new AssertionError("not read", e);
      }
      return rows;
    }

    @Override
    public void close() {
      OneRange.close(store);
    }
  }
}
