package dunlin.store.snapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.PendingRows;
import dunlin.store.disk.RocksMemory;
import dunlin.store.disk.RocksRange;
import dunlin.store.raft.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OpenSnapshotsTest {
  private static final RangeId RANGE = RangeId.firstOf("routes");
  private static final int OPEN_MAX = 8;
  private static final Duration IN_USE = Duration.ofSeconds(10);
  private static final Duration IDLE = Duration.ofMinutes(2);

  @TempDir Path directory;

  private RocksMemory memory;
  private RocksRange rows;
  private OpenSnapshots snapshots;
  private long now;
  private int index;

  @BeforeEach
  void open() {
    memory = new RocksMemory(8 * 1024 * 1024);
    rows = RocksRange.open(RANGE, directory.resolve("rows"), memory, _ -> {});
    snapshots = new OpenSnapshots(directory.resolve("snapshots"), () -> now);
  }

  @AfterEach
  void close() {
    rows.closeNow();
    memory.close();
  }

  @Test
  void aSnapshotThatTheLogContinuesFromIsShared() throws IOException {
    write();
    var first = snapshots.open(RANGE, rows, 0);

    assertThat(snapshots.open(RANGE, rows, index + 1).id()).isEqualTo(first.id());
    assertThat(snapshots.open(RANGE, rows, index + 2).id()).as("the log begins behind it").isNotEqualTo(first.id());
  }

  @Test
  void aCurrentSnapshotIsNeverAnEarlierOne() throws IOException {
    write();
    var first = snapshots.open(RANGE, rows, 0);
    write();

    var current = snapshots.openCurrent(RANGE, rows);

    assertThat(current.id()).isNotEqualTo(first.id());
    assertThat(RocksRange.positionIn(directory.resolve("snapshots").resolve(current.id().toString())).index()).isEqualTo(index);
  }

  @Test
  void theLeastRecentlyReadIsDeletedForTheNext() throws IOException {
    var open = fill();
    pass(IN_USE);
    for (int i = 0; i < OPEN_MAX; i++) if (i != 1) read(open.get(i));

    var next = another();

    assertThat(made()).hasSize(OPEN_MAX).contains(next.id().toString()).doesNotContain(open.get(1).id().toString());
    assertThatThrownBy(() -> read(open.get(1))).isInstanceOf(StoreException.class).hasMessageContaining("does not exist any more");
    read(open.getFirst());
  }

  @Test
  void aSnapshotInUseIsNotDeleted() throws IOException {
    var open = fill();
    pass(IN_USE.minusMillis(1));

    assertThatThrownBy(this::another).isInstanceOf(StoreException.class).hasMessageContaining("try again later");
    for (var one : open) read(one);
    assertThat(made()).hasSize(OPEN_MAX);
  }

  @Test
  void unreadSnapshotsAreDeleted() throws IOException {
    var open = fill();
    pass(IDLE);
    read(open.getLast());
    pass(Duration.ofMillis(1));

    snapshots.expire();

    assertThat(made()).containsExactly(open.getLast().id().toString());
    assertThat(snapshots.inUse(RANGE)).isTrue();
    pass(IN_USE);
    assertThat(snapshots.inUse(RANGE)).isFalse();
  }

  private List<SnapshotSource.Snapshot> fill() throws IOException {
    var open = new ArrayList<SnapshotSource.Snapshot>();
    for (int i = 0; i < OPEN_MAX; i++) open.add(another());
    return open;
  }

  /** Opens one after the log was truncated behind all earlier ones. */
  private SnapshotSource.Snapshot another() throws IOException {
    write();
    return snapshots.open(RANGE, rows, index + 1);
  }

  private void write() {
    var pending = new PendingRows(rows, _ -> {});
    index += 10;
    pending.put(Command.bytes("row"), Command.bytes(Integer.toString(index)));
    rows.write(pending, new LogPosition(1, index));
  }

  private void read(SnapshotSource.Snapshot snapshot) throws IOException {
    var file = snapshot.files().stream().filter(each -> each.name().equals("CURRENT")).findFirst().orElseThrow();
    assertThat(snapshots.read(snapshot.id(), "CURRENT", 0, (int) file.bytes())).hasSize((int) file.bytes());
  }

  private List<String> made() throws IOException {
    try (var found = Files.list(directory.resolve("snapshots"))) {
      return found.map(path -> UUID.fromString(path.getFileName().toString()).toString()).toList();
    }
  }

  private void pass(Duration time) {
    now += time.toNanos();
  }
}
