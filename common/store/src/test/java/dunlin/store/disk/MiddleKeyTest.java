package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.KeyInterval;
import dunlin.store.raft.Command;
import java.util.Arrays;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MiddleKeyTest {
  private final NavigableMap<byte[], Long> rows = new TreeMap<>(Arrays::compareUnsigned);
  private int questions;

  private final MiddleKey.Rows asRows =
      new MiddleKey.Rows() {
        @Override
        public byte @Nullable [] ceiling(byte[] key) {
          return rows.ceilingKey(key);
        }

        @Override
        public byte @Nullable [] lower(byte @Nullable [] key) {
          return key == null ? (rows.isEmpty() ? null : rows.lastKey()) : rows.lowerKey(key);
        }

        @Override
        public long bytes(byte[] from, byte[] to) {
          questions++;
          return rows.subMap(from, to).values().stream().mapToLong(bytes -> bytes).sum();
        }
      };

  static LongStream seeds() {
    return LongStream.range(0, 300);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aboutHalfOfTheBytesAreBelowForAnyKeys(long seed) {
    var random = new Random(seed);
    int count = 50 + random.nextInt(2000);
    while (rows.size() < count) rows.put(key(random, (int) (seed % 5)), 50L + random.nextInt(100));

    byte[] middle = MiddleKey.find(asRows, KeyInterval.all()).orElseThrow();

    long all = rows.values().stream().mapToLong(bytes -> bytes).sum();
    long below = rows.headMap(middle).values().stream().mapToLong(bytes -> bytes).sum();
    assertThat(rows).as("seed %d", seed).containsKey(middle);
    assertThat((double) below / all).as("seed %d", seed).isBetween(0.4, 0.6);
    assertThat(questions).as("seed %d", seed).isLessThan(66);
  }

  private static byte[] key(Random random, int form) {
    return switch (form) {
      case 0 -> Command.bytes("tenant-with-a-long-name/inbox/client-" + random.nextInt(1_000_000) + "/" + random.nextInt(10));
      case 1 -> Command.bytes(String.format("%020d", random.nextInt(3000)));
      case 2 -> bytes(random, 1 + random.nextInt(40));
      // Nearly all close together, and a few far away.
      case 3 -> Command.bytes((random.nextInt(50) == 0 ? "z" : "aaaaaaaaaaaaaaaaaaaaaaaa") + random.nextInt(100_000));
      // Zeros at the end, so that keys are prefixes of each other.
      default -> Arrays.copyOf(bytes(random, 2), 2 + random.nextInt(30));
    };
  }

  private static byte[] bytes(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  @Test
  void aHugeRowOrItsNeighbourIsFound() {
    for (char c = 'a'; c <= 'z'; c++) rows.put(Command.bytes("" + c), c == 'q' ? 1_000_000L : 1L);

    assertThat(MiddleKey.find(asRows, KeyInterval.all()).map(Command::text).orElseThrow()).isIn("q", "r");
  }

  @Test
  void onlyKeysOfTheIntervalCount() {
    for (int i = 0; i < 100; i++) rows.put(Command.bytes(String.format("%02d", i)), 1L);
    var keys = KeyInterval.between(Command.bytes("10"), Command.bytes("30"));

    assertThat(MiddleKey.find(asRows, keys).map(Command::text).orElseThrow()).isBetween("17", "23");
  }

  @Test
  void withoutTwoRowsThereIsNoMiddle() {
    assertThat(MiddleKey.find(asRows, KeyInterval.all())).isEmpty();
    rows.put(Command.bytes("a"), 1L);
    assertThat(MiddleKey.find(asRows, KeyInterval.all())).isEmpty();
    rows.put(Command.bytes("b"), 1L);
    assertThat(MiddleKey.find(asRows, KeyInterval.all()).map(Command::text)).contains("b");
  }
}
