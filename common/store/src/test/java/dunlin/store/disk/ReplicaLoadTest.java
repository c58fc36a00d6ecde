package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.KeyInterval;
import dunlin.store.raft.Command;
import dunlin.store.raft.Command.Delete;
import dunlin.store.raft.Command.Put;
import dunlin.store.raft.OneRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** RocksDB's estimates for real rows, in memory and on disk. */
class ReplicaLoadTest {
  private static final int ROWS = 4000;
  private static final long BYTES = ROWS * 500L;

  @TempDir Path directory;

  @Test
  void sizesAreAboutRightInMemoryAndOnDiskAndForPartsOfTheKeys() {
    try (var one = OneRange.start(directory)) {
      var replica = one.range;
      var load = replica.load();
      assertThat(load.bytes(KeyInterval.all())).isZero();
      assertThat(load.middle(KeyInterval.all())).isEmpty();

      fill(one);
      for (boolean flushed : new boolean[] {false, true}) {
        if (flushed) replica.flush();
        assertThat(load.bytes(KeyInterval.all())).as("flushed %s", flushed).isBetween(BYTES / 2, BYTES * 2);
        byte[] middle = load.middle(KeyInterval.all()).orElseThrow();
        assertThat(Integer.parseInt(Command.text(middle))).as("flushed %s", flushed).isBetween(ROWS / 4, ROWS * 3 / 4);
        long lower = load.bytes(KeyInterval.all().below(middle));
        long upper = load.bytes(KeyInterval.all().from(middle));
        assertThat(lower).as("flushed %s, of %d", flushed, upper).isBetween(upper / 3, upper * 3);
      }
    }
  }

  @Test
  void commandsAndReadsAreCountedAndKeysAreSampled() {
    try (var one = OneRange.start(directory)) {
      var load = one.range.load();
      long before = load.operations();
      one.apply(new Put("a", "1"));
      one.apply(new Delete("b"));
      assertThat(one.value("a")).isEqualTo("1");

      assertThat(load.operations() - before).isEqualTo(3);
      assertThat(load.writtenLately().stream().map(Command::text)).containsExactlyInAnyOrder("a", "b");
    }
  }

  /** Writes values that hardly compress. */
  private static void fill(OneRange one) {
    var random = new Random(1);
    var results = new ArrayList<CompletableFuture<String>>();
    for (int i = 0; i < ROWS; i++) {
      var value = new StringBuilder();
      while (value.length() < BYTES / ROWS) value.append((char) ('0' + random.nextInt(75)));
      results.add(one.propose(new Put(String.format("%08d", i), value.toString())));
    }
    results.forEach(CompletableFuture::join);
  }
}
