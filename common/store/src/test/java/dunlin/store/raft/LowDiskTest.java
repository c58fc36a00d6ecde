package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.LowDiskException;
import dunlin.store.RangeId;
import dunlin.store.disk.RocksRange;
import dunlin.store.disk.SpaceCompaction;
import dunlin.store.raft.Command.Append;
import dunlin.store.raft.Command.Delete;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node whose disk is nearly full. */
class LowDiskTest {
  private static final long LOW = 1000;
  private static final long CRITICAL = 400;
  private static final Duration MOMENT = Duration.ofSeconds(1);

  @TempDir Path directory;
  private final OneRange.RoomyDisk disk = new OneRange.RoomyDisk();

  @Test
  void acceptsReleasesFromTheReserveAndAllCommandsWhenThereIsRoomAgain() throws Exception {
    try (var one = OneRange.stepped(directory, settings(), disk)) {
      one.apply(new Put("a", "1"));
      one.apply(new Put("b", "1"));

      free(one, LOW - 1);
      assertThat(refused(one, new Put("c", "1"))).hasMessageContaining("dunlin.store.disk-free-min");
      assertThat(refused(one, new Append("a", "1"))).hasMessageContaining("takes no commands that need space");
      assertThat(one.apply(new Delete("a"))).isEqualTo("deleted");

      free(one, CRITICAL - 1);
      assertThat(refused(one, new Delete("b"))).hasMessageContaining("dunlin.store.disk-critical-min");

      free(one, CRITICAL * 2);
      assertThat(one.apply(new Delete("b"))).isEqualTo("deleted");
      assertThat(refused(one, new Put("c", "1"))).isNotNull();

      free(one, LOW * 2);
      one.apply(new Put("c", "1"));
      assertThat(one.rows()).containsExactly("c=1");
    }
  }

  @Test
  void deletedRowsFreeTheirSpaceWhileTheDiskIsLow() throws Exception {
    Path rows = directory.resolve("ranges/" + RangeId.firstOf("routes").uuid());
    var random = new Random(1);
    try (var one = OneRange.stepped(directory, settings(), disk)) {
      for (int i = 0; i < 400; i++) one.apply(new Put("key" + i, noise(random)));
      one.maintain(Duration.ofHours(1));
      long full = tableBytes(rows);
      assertThat(full).isGreaterThan(10_000_000);

      free(one, LOW - 1);
      for (int i = 0; i < 400; i++) one.apply(new Delete("key" + i));
      one.maintain(Duration.ofNanos(SpaceCompaction.PAUSE_NANOS));
      one.maintain(Duration.ofNanos(SpaceCompaction.PAUSE_NANOS));

      assertThat(tableBytes(rows)).isLessThan(100_000);
      assertThat(one.rows()).isEmpty();
    }
  }

  @Test
  void flushesSoonWhileTheDiskIsLow() {
    Path rows = directory.resolve("ranges/" + RangeId.firstOf("routes").uuid());
    try (var one = OneRange.stepped(directory, settings(), disk)) {
      one.maintain(Duration.ZERO);
      one.apply(new Put("a", "1"));
      one.maintain(Duration.ofSeconds(20));
      assertThat(RocksRange.holdsTables(one.range.id(), rows)).as("not due by age").isFalse();

      disk.free = CRITICAL - 1; // no compaction runs now, which would flush as well
      one.maintain(MOMENT);
      assertThat(RocksRange.holdsTables(one.range.id(), rows)).isTrue();
    }
  }

  private static void free(OneRange one, OneRange.RoomyDisk disk, long bytes) {
    disk.free = bytes;
    one.maintain(MOMENT);
  }

  private void free(OneRange one, long bytes) {
    free(one, disk, bytes);
  }

  private static Throwable refused(OneRange one, Command command) throws Exception {
    CompletableFuture<Throwable> why = one.propose(command).handle((_, e) -> e);
    assertThat(why.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isInstanceOf(LowDiskException.class);
    return why.join();
  }

  private static long tableBytes(Path rows) throws IOException {
    long bytes = 0;
    try (var files = Files.newDirectoryStream(rows, "*.sst")) {
      for (Path file : files) bytes += Files.size(file);
    }
    return bytes;
  }

  /** A text that does not compress. */
  private static String noise(Random random) {
    var text = new StringBuilder();
    while (text.length() < 50_000) text.append(Long.toString(random.nextLong(), 36));
    return text.toString();
  }

  private static StoreSettings settings() {
    var d = StoreSettings.defaults();
    return new StoreSettings(
        false,
        ClusterSettings.NONE,
        d.memoryBytes(),
        new StoreSettings.Disk(LOW, CRITICAL),
        d.queue(),
        d.entries(),
        new StoreSettings.Snapshots(d.snapshots().entries(), 1L << 40, Duration.ofMinutes(30)),
        new StoreSettings.Reads(1, 16));
  }
}
