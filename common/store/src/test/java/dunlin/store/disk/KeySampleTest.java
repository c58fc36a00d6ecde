package dunlin.store.disk;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.KeyInterval;
import dunlin.store.raft.Command;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class KeySampleTest {
  private static final long SECOND = 1_000_000_000;

  private long now;

  static LongStream seeds() {
    return LongStream.range(0, 20);
  }

  @Test
  void allKeysOfAFewWritesAreSampled() {
    var sample = new KeySample(1, () -> now);
    assertThat(sample.keys()).isEmpty();

    for (int i = 0; i < 10; i++) sample.written(key(i));

    assertThat(sample.keys()).hasSize(10);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void theSampleCoversTheLastSecondsEvenlyAtAnyRate(long seed) {
    var random = new Random(seed);
    var sample = new KeySample(seed, () -> now);
    int perWrite = 1 + random.nextInt(20);
    int writesPerSecond = 50 + random.nextInt(300);
    for (int second = 0; second < 60; second++) write(sample, writesPerSecond, perWrite, second, random);

    var keys = sample.keys();
    assertThat(keys).as("seed %d", seed).hasSize(KeySample.SIZE);
    assertThat(keys).as("seed %d: of the last seconds", seed).allMatch(key -> second(key) >= 40);
    long old = keys.stream().filter(key -> second(key) < 58).count();
    assertThat(old).as("seed %d: and not of the last moment only", seed).isGreaterThan(KeySample.SIZE / 8);
    long lower = keys.stream().filter(key -> digit(key) < 50).count();
    assertThat(lower).as("seed %d: keys of the lower half", seed).isBetween(32L, 96L);
  }

  @Test
  void theSampleFollowsAFallingRate() {
    var random = new Random(3);
    var sample = new KeySample(3, () -> now);
    for (int second = 0; second < 20; second++) write(sample, 1000, 5, second, random);
    for (int second = 20; second < 60; second++) {
      write(sample, 100, 1, second, random);
      assertThat(sample.keys()).allMatch(key -> second(key) >= 9);
      if (second >= 40) assertThat(sample.keys()).hasSizeGreaterThan(KeySample.SIZE / 4).allMatch(key -> second(key) >= 20);
    }
  }

  @Test
  void theSameSeedTakesTheSameKeys() {
    var one = new KeySample(9, () -> now);
    var other = new KeySample(9, () -> now);
    for (int i = 0; i < 10_000; i++) {
      now += SECOND / 1000;
      for (var sample : List.of(one, other)) sample.written(key(i));
    }

    assertThat(one.keys()).containsExactlyElementsOf(other.keys());
  }

  @Test
  void aLongKeyIsCutShort() {
    var sample = new KeySample(1, () -> now);
    sample.written(new byte[60_000]);

    assertThat(sample.keys().getFirst()).hasSize(KeyInterval.BOUNDARY_BYTES_MAX);
  }

  private void write(KeySample sample, int writes, int rows, int second, Random random) {
    for (int write = 0; write < writes; write++) {
      now += SECOND / writes;
      for (int row = 0; row < rows; row++) sample.written(key(second * 100 + random.nextInt(100)));
    }
  }

  private static byte[] key(int number) {
    return Command.bytes(String.format("%06d", number));
  }

  private static int second(byte[] key) {
    return Integer.parseInt(Command.text(key)) / 100;
  }

  private static int digit(byte[] key) {
    return Integer.parseInt(Command.text(key)) % 100;
  }
}
