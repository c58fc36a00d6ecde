package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SnapshotInstallerTest {
  private static final UUID NODE = new UUID(1, 1);

  /** Ratis drops unwritten log entries when a snapshot is installed. */
  @Test
  void aSnapshotIsOfferedOnlyWhenTheLogIsWritten(@TempDir Path directory) throws Exception {
    var written = new AtomicBoolean();
    var meters = new SimpleMeterRegistry();
    try (var leader = OneRange.start(directory.resolve("leader"));
        var data = DataDirectory.open(directory.resolve("here"));
        var disk = new DiskSpace(data.disk(() -> 0), 0, 0)) {
      leader.apply(new Put("a", "1"));
      var copies = new DirectSnapshots();
      copies.opened(leader.store);
      var node = leader.store.member().node();
      var range = leader.range.id();
      var rows = new RowsDirectory(data.rows(range));
      var installer =
          new SnapshotInstaller(range, rows, ClusterSettings.NONE, disk, copies, new RangeMeters(meters, range), () -> false, written::get);

      var fetching = installer.offer(node, 0, "fetching");
      await().atMost(OneRange.DEADLINE).until(() -> installer.waitingSeconds() > 0);
      var waiting = installer.offer(node, 0, "waiting");
      assertThat(fetching).isNotDone();
      assertThat(waiting).isNotDone();
      written.set(true);
      assertAsksAgain(fetching);
      assertAsksAgain(waiting);
      assertThat(installer.offer(node, 0, "taken")).isCompleted();

      written.set(false); // more entries have arrived since
      var again = installer.offer(node, 0, "again");
      assertThat(again).isNotDone();
      written.set(true);
      assertAsksAgain(again);
    }
  }

  @Test
  void aSnapshotThatDoesNotFitShowsAtTheDisk(@TempDir Path directory) throws Exception {
    var room = new OneRange.RoomyDisk();
    room.free = 2000;
    try (var leader = OneRange.start(directory.resolve("leader"));
        var data = DataDirectory.open(directory.resolve("here"));
        var disk = new DiskSpace(room, 1990, 0)) {
      leader.apply(new Put("a", "1"));
      var copies = new DirectSnapshots();
      copies.opened(leader.store);
      var range = leader.range.id();
      var meters = new RangeMeters(new SimpleMeterRegistry(), range);
      var installer = new SnapshotInstaller(range, new RowsDirectory(data.rows(range)), ClusterSettings.NONE, disk, copies, meters, () -> false, () -> true);
      assertThat(disk.lacksRoom()).isFalse();

      var fetching = installer.offer(leader.store.member().node(), 0, "fetching");

      assertThatThrownBy(() -> fetching.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS)).hasMessageContaining("has no room for a snapshot");
      assertThat(disk.lacksRoom()).isTrue();
      assertThat(disk.low()).isFalse();
    }
  }

  private static void assertAsksAgain(CompletableFuture<LogPosition> offered) {
    assertThatThrownBy(() -> offered.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS))
        .hasCauseInstanceOf(IOException.class)
        .hasMessageContaining("installed when the leader asks again");
  }

  @Test
  void anAttemptIsCancelledDuringItsDownload() {
    var one = new SnapshotInstaller.Attempt(NODE);

    one.giveUp();

    assertThat(Thread.interrupted()).isTrue();
    one.fetched();
  }

  @Test
  void aCompleteDownloadCannotBeCancelled() {
    var one = new SnapshotInstaller.Attempt(NODE);
    one.fetched();

    one.giveUp();

    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void aLateCancellationHasNoEffect() {
    var one = new SnapshotInstaller.Attempt(NODE);
    one.giveUp();

    one.fetched();

    assertThat(Thread.interrupted()).isFalse();
  }
}
