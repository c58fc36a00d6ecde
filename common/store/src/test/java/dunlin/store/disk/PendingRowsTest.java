package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.RangeId;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PendingRowsTest {
  private static final RangeId RANGE = RangeId.firstOf("routes");
  private static final int MIB = 1024 * 1024;

  @TempDir Path directory;

  static LongStream seeds() {
    return LongStream.range(0, 8);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsLikeASortedMapWhateverIsFlushed(long seed) {
    var random = new Random(seed);
    var model = new TreeMap<byte[], byte[]>(Arrays::compareUnsigned);
    try (var memory = new RocksMemory(8 * MIB)) {
      var rows = open(memory);
      var pending = new PendingRows(rows, _ -> {});
      for (int step = 0; step < 2000; step++) {
        byte[] key = key(random);
        switch (random.nextInt(10)) {
          case 0, 1, 2, 3 -> {
            byte[] value = new byte[random.nextInt(4)];
            random.nextBytes(value);
            pending.put(key, value);
            model.put(key, value);
          }
          case 4, 5 -> {
            pending.delete(key);
            model.remove(key);
          }
          case 6 -> assertThat(pending.get(key)).as("seed %d step %d", seed, step).isEqualTo(model.get(key));
          case 7, 8 -> {
            byte[] to = random.nextInt(4) == 0 ? null : key(random);
            int enough = 1 + random.nextInt(20);
            assertThat(some(pending, key, to, enough))
                .as("seed %d step %d", seed, step)
                .isEqualTo(some(reader(model), key, to, enough));
          }
          default -> {
            if (random.nextInt(5) > 0) continue;
            rows.write(pending, new LogPosition(1, step));
            pending.clear();
            if (random.nextBoolean()) rows.flush();
            assertThat(some(rows, new byte[0], null, 9999)).isEqualTo(some(reader(model), new byte[0], null, 9999));
          }
        }
      }
      rows.closeNow();
    }
  }

  @Test
  void aVisitorMayChangeRowsWhileItLooks() {
    try (var memory = new RocksMemory(8 * MIB)) {
      var rows = open(memory);
      var pending = new PendingRows(rows, _ -> {});
      pending.put(new byte[] {1}, new byte[0]);
      pending.put(new byte[] {3}, new byte[0]);
      rows.write(pending, new LogPosition(1, 0));
      pending.clear();
      pending.put(new byte[] {2}, new byte[0]);
      pending.put(new byte[] {4}, new byte[0]);

      var seen = new ArrayList<Byte>();
      pending.scan(
          new byte[0],
          null,
          (key, _) -> {
            pending.delete(new byte[] {4});
            pending.put(new byte[] {(byte) (key[0] + 10)}, new byte[0]);
            return seen.add(key[0]);
          });

      assertThat(seen).as("the rows as of the beginning").containsExactly((byte) 1, (byte) 2, (byte) 3, (byte) 4);
      assertThat(pending.get(new byte[] {4})).isNull();
      rows.closeNow();
    }
  }

  @Test
  void theEmptyKeyIsReserved() {
    try (var memory = new RocksMemory(8 * MIB)) {
      var rows = open(memory);
      var pending = new PendingRows(rows, _ -> {});
      assertThatThrownBy(() -> pending.put(new byte[0], new byte[1])).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> pending.delete(new byte[0])).isInstanceOf(IllegalArgumentException.class);
      rows.write(pending, new LogPosition(3, 17));

      assertThat(rows.get(new byte[0])).isNull();
      assertThat(some(rows, new byte[0], null, 9)).isEmpty();
      rows.closeNow();
      var again = open(memory);
      assertThat(again.written()).as("closing flushes").isEqualTo(new LogPosition(3, 17));
      assertThatThrownBy(() -> rows.get(new byte[1])).isInstanceOf(StoreException.class).hasMessageContaining("closed");
      again.closeNow();
    }
  }

  private RocksRange open(RocksMemory memory) {
    return RocksRange.open(RANGE, directory.resolve("rows"), memory, _ -> {});
  }

  private static byte[] key(Random random) {
    byte[] key = new byte[1 + random.nextInt(2)];
    random.nextBytes(key);
    for (int i = 0; i < key.length; i++) key[i] &= (byte) 0x8F; // few distinct keys, with and without the sign bit
    return key;
  }

  private static List<String> some(RangeReader reader, byte[] from, byte @Nullable [] to, int enough) {
    var seen = new ArrayList<String>();
    reader.scan(
        from,
        to,
        (key, value) -> {
          seen.add(Arrays.toString(key) + Arrays.toString(value));
          return seen.size() < enough;
        });
    return seen;
  }

  private static RangeReader reader(NavigableMap<byte[], byte[]> model) {
    return new RangeReader() {
      @Override
      public byte @Nullable [] get(byte[] key) {
        return model.get(key);
      }

      @Override
      public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
        for (var row : model.tailMap(from, true).entrySet()) {
          if (to != null && Arrays.compareUnsigned(row.getKey(), to) >= 0) return;
          if (!visitor.row(row.getKey(), row.getValue())) return;
        }
      }
    };
  }
}
