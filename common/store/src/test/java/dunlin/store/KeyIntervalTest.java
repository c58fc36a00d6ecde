package dunlin.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class KeyIntervalTest {
  static LongStream seeds() {
    return LongStream.range(0, 200);
  }

  @Test
  void bytesAreUnsigned() {
    var low = KeyInterval.between(key(0x10), key(0x80));

    assertThat(low.contains(key(0x7F))).isTrue();
    assertThat(low.contains(key(0x80))).as("the end is not in it").isFalse();
    assertThat(low.contains(key(0xFF))).isFalse();
    assertThat(KeyInterval.between(key(0x80), null).contains(key(0xFF, 0xFF))).isTrue();
  }

  @Test
  void thereIsNoKeyOutsideAll() {
    assertThat(KeyInterval.all().contains(new byte[0])).isTrue();
    assertThat(KeyInterval.all().contains(key(0xFF, 0xFF))).isTrue();
    assertThat(KeyInterval.all()).hasToString("[start, end)");
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aCutGivesEachKeyToOneHalf(long seed) {
    var random = new Random(seed);
    var whole = interval(random);
    byte[] cut = key(random);
    if (!whole.splitsAt(cut)) {
      assertThatThrownBy(() -> whole.below(cut)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("split");
      assertThatThrownBy(() -> whole.from(cut)).isInstanceOf(IllegalArgumentException.class);
      return;
    }

    var lower = whole.below(cut);
    var upper = whole.from(cut);

    assertThat(lower.meets(upper)).as("seed %d", seed).isTrue();
    assertThat(lower.overlaps(upper)).isFalse();
    assertThat(whole.contains(lower) && whole.contains(upper)).isTrue();
    for (int i = 0; i < 50; i++) {
      byte[] key = key(random);
      int halves = (lower.contains(key) ? 1 : 0) + (upper.contains(key) ? 1 : 0);
      assertThat(halves).as("seed %d", seed).isEqualTo(whole.contains(key) ? 1 : 0);
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void relationsAgreeWithTheKeys(long seed) {
    var random = new Random(seed);
    var one = interval(random);
    var other = interval(random);
    boolean shared = false;
    boolean outside = false;
    for (int i = 0; i < 256; i++) {
      for (int j = -1; j < 256; j += 16) {
        byte[] key = j < 0 ? key(i) : key(i, j);
        shared |= one.contains(key) && other.contains(key);
        outside |= !one.contains(key) && other.contains(key);
      }
    }
    if (shared) assertThat(one.overlaps(other)).as("seed %d", seed).isTrue();
    if (outside) assertThat(one.contains(other)).as("seed %d", seed).isFalse();
    assertThat(one.overlaps(other)).isEqualTo(other.overlaps(one));
    if (one.contains(other)) assertThat(one.overlaps(other)).isTrue();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void readsWhatItWrote(long seed) {
    var interval = interval(new Random(seed));
    byte[] bytes = FieldWriter.bytesOf(interval::writeTo);

    var read = FieldReader.read(bytes, KeyInterval::readFrom);

    assertThat(read).as("seed %d", seed).isEqualTo(interval).hasSameHashCodeAs(interval);
  }

  @Test
  void emptyAndLongIntervalsAreRefused() {
    assertThatThrownBy(() -> KeyInterval.between(key(5), key(5))).hasMessage("empty interval from 05 to 05");
    assertThatThrownBy(() -> KeyInterval.between(key(0x80), key(0x7F))).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> KeyInterval.between(key(5), new byte[0])).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> KeyInterval.between(new byte[4097], null)).hasMessageContaining("4096");
    assertThat(KeyInterval.all().splitsAt(new byte[4097])).isFalse();
    assertThat(KeyInterval.all().splitsAt(new byte[0])).as("nothing would be below").isFalse();
  }

  @Test
  void anIntervalKeepsItsBytes() {
    byte[] start = key(1);
    var interval = KeyInterval.between(start, key(9));
    start[0] = 8;
    interval.start()[0] = 8;

    assertThat(interval).isEqualTo(KeyInterval.between(key(1), key(9)));
  }

  private static KeyInterval interval(Random random) {
    while (true) {
      byte[] start = random.nextInt(4) == 0 ? new byte[0] : key(random);
      byte @Nullable [] end = random.nextInt(4) == 0 ? null : key(random);
      if (end == null || Arrays.compareUnsigned(start, end) < 0) return KeyInterval.between(start, end);
    }
  }

  private static byte[] key(Random random) {
    byte[] key = new byte[1 + random.nextInt(3)];
    random.nextBytes(key);
    return key;
  }

  private static byte[] key(int... bytes) {
    byte[] key = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) key[i] = (byte) bytes[i];
    return key;
  }
}
