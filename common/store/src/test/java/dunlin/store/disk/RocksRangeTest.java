package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.raft.OneRange;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RocksRangeTest {
  private static final RangeId RANGE = RangeId.firstOf("routes");

  @TempDir Path directory;

  @Test
  void aCompactionThatIsCancelledByClosingIsNoFailure() throws Exception {
    List<StoreException> failures = new CopyOnWriteArrayList<>();
    try (var memory = new RocksMemory(8 << 20)) {
      var rows = RocksRange.open(RANGE, directory.resolve("rows"), memory, failures::add);
      fill(rows);
      var compacting =
          CompletableFuture.runAsync(
              () -> {
                while (true) rows.compact();
              });
      while (!rows.compacting()) Thread.onSpinWait();

      assertThat(rows.close(System.nanoTime() + OneRange.DEADLINE.toNanos())).isTrue();

      assertThatThrownBy(() -> compacting.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS))
          .hasRootCauseInstanceOf(StoreException.class)
          .hasMessageContaining("is closed");
      assertThat(failures).isEmpty();
    }
  }

  @Test
  void rowsThatWereReplacedCanBeCompacted() throws Exception {
    var failures = new ArrayList<StoreException>();
    var files = new RowsDirectory(directory.resolve("rows"));
    try (var memory = new RocksMemory(8 << 20)) {
      var newer = RocksRange.open(RANGE, directory.resolve("newer"), memory, failures::add);
      fill(newer);
      newer.flush();
      newer.snapshot(files.ready());
      newer.closeNow();
      var rows = RocksRange.open(RANGE, directory.resolve("rows"), memory, failures::add);

      rows.replaceByReady(files);
      rows.compact();

      assertThat(rows.written().index()).isEqualTo(200);
      assertThat(rows.get(key(200))).hasSize(100_000);
      rows.closeNow();
    }
    assertThat(failures).isEmpty();
  }

  /** Writes twenty megabytes that do not compress, in several files. */
  private static void fill(RocksRange rows) {
    var random = new Random(1);
    var changes = new PendingRows(rows, _ -> {});
    for (int i = 1; i <= 200; i++) {
      byte[] value = new byte[100_000];
      random.nextBytes(value);
      changes.put(key(1 + i * 79 % 200), value); // so that the files' intervals of keys overlap
      rows.write(changes, new LogPosition(1, i));
      changes.clear();
      if (i % 50 == 0) rows.flush();
    }
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }
}
