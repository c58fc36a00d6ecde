package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.RatisPeers;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.raftlog.RaftLogBase;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ends of the threads of Ratis' logs. */
class LogWorkersTest {
  private static final Duration DEADLINE = Duration.ofMinutes(2);

  private final LogWorkers workers = new LogWorkers();

  @Test
  void theThreadOfALogIsLeftAloneUntilTheLogIsClosed(@TempDir Path directory) throws Exception {
    try (var served = Served.in(directory)) {
      var node = served.node;
      var removed = served.group();
      var kept = served.group();
      assertThat(workers.woken(removed.log)).isFalse();

      node.remove(removed.id, DEADLINE);
      assertThat(workers.woken(removed.log)).isTrue();
      assertThat(workers.woken(kept.log)).isFalse();

      node.close();
      assertThat(workers.woken(kept.log)).isTrue();
    }
  }

  /** Ratis waits for the thread with the lock of the log in its hands; the thread needs the same lock. */
  @Test
  void theThreadThatEvictsEndsBeforeTheLockOfItsLogIsTaken(@TempDir Path directory) throws Exception {
    try (var served = Served.in(directory)) {
      var node = served.node;
      var removed = served.group();
      var kept = served.group();
      var ofRemoved = evicting(node, removed);
      var ofKept = evicting(node, kept);

      endsWhileLocked(removed, ofRemoved, () -> node.remove(removed.id, DEADLINE));
      assertThat(ofKept.isAlive()).isTrue();
      endsWhileLocked(kept, ofKept, () -> close(node));
    }
  }

  private static void endsWhileLocked(Group group, Thread evicting, Runnable close) throws Exception {
    CompletableFuture<Void> closing;
    try (var _ = ((RaftLogBase) group.log).writeLock()) {
      closing = CompletableFuture.runAsync(close);
      assertThat(evicting.join(DEADLINE)).isTrue();
    }
    closing.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
  }

  private static Thread evicting(RaftNode node, Group group) throws Exception {
    var name = node.division(group.id).getMemberId() + "-cacheEviction-AwaitToRun";
    return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().equals(name)).findFirst().orElseThrow();
  }

  private static void close(RaftNode node) {
    try {
      node.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Group(RaftGroupId id, RaftLog log) {}

  /** A node and what it needs. The node is closed by its test. */
  private record Served(DataDirectory data, PeerCallers callers, RaftNode node) implements AutoCloseable {
    static Served in(Path directory) throws Exception {
      var data = DataDirectory.open(directory);
      var callers = new PeerCallers(new SimpleMeterRegistry(), System::nanoTime);
      Files.createDirectories(data.raft());
      var node = RaftNode.build(data.identity().nodeId(), StoreSettings.defaults(), data, callers, new SimpleMeterRegistry(), _ -> new BaseStateMachine());
      node.start();
      return new Served(data, callers, node);
    }

    Group group() throws Exception {
      var id = RaftGroupId.randomId();
      node.add(RaftGroup.valueOf(id, RaftPeer.newBuilder().setId(RatisPeers.id(data.identity().nodeId())).build()), DEADLINE);
      return new Group(id, node.division(id).getRaftLog());
    }

    @Override
    public void close() throws IOException {
      callers.close();
      data.close();
    }
  }
}
