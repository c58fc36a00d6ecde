package dunlin.placement.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.KeyInterval;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.ToIntFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CutChoiceTest {
  private static int eachRow(byte[] key) {
    return key.length;
  }

  /** Rows of one inbox, up to the slash, stay together. */
  private static int inbox(byte[] key) {
    for (int i = 0; i < key.length; i++) if (key[i] == '/') return i + 1;
    return key.length;
  }

  static LongStream seeds() {
    return LongStream.range(0, 200);
  }

  @Test
  void aRangeOfIndependentRowsIsCutAtItsMiddle() {
    assertThat(byBytes(CutChoiceTest::eachRow, "m", 0.5)).contains("m");
    assertThat(byBytes(CutChoiceTest::eachRow, "m", 0.13)).contains("m");
    assertThat(byBytes(CutChoiceTest::eachRow, "m", 0.12)).as("too little below").isEmpty();
    assertThat(byBytes(CutChoiceTest::eachRow, "m", 0.88)).as("too little above").isEmpty();
    assertThat(byBytes(_ -> 0, "m", 0.5)).as("a kind that is not split").isEmpty();
  }

  private static Optional<String> byBytes(ToIntFunction<byte[]> together, String middle, double below) {
    return new CutChoice(KeyInterval.all(), together).byBytes(bytes(middle), _ -> (long) (below * 1000), 1000).map(CutChoiceTest::text);
  }

  @Test
  void aGroupOfRowsStaysOnOneSide() {
    var choice = new CutChoice(KeyInterval.between(bytes("b/"), bytes("y/")), CutChoiceTest::inbox);

    // In the middle of inbox d, of which most is above its beginning.
    assertThat(choice.byBytes(bytes("d/17"), cut -> text(cut).equals("d/") ? 400 : 900, 1000).map(CutChoiceTest::text)).contains("d/");
    assertThat(choice.byBytes(bytes("d/17"), cut -> text(cut).equals("d/") ? 100 : 600, 1000).map(CutChoiceTest::text)).contains("d0");
    assertThat(choice.byBytes(bytes("d/17"), cut -> text(cut).equals("d/") ? 10 : 990, 1000)).as("one large inbox").isEmpty();
    assertThat(choice.byBytes(bytes("b/17"), _ -> 500, 1000).map(CutChoiceTest::text)).as("never at the first key").contains("b0");
  }

  @Test
  void aLongKeyIsShortenedToABoundary() {
    byte[] key = new byte[9000];
    Arrays.fill(key, (byte) 7);

    assertThat(new CutChoice(KeyInterval.all(), CutChoiceTest::eachRow).byBytes(key, _ -> 5, 10).orElseThrow())
        .hasSize(KeyInterval.BOUNDARY_BYTES_MAX);
  }

  @Test
  void nothingIsBehindTheHighestKeys() {
    byte[] highest = {(byte) 0xFF, (byte) 0xFF};
    var choice = new CutChoice(KeyInterval.all(), CutChoiceTest::eachRow);

    assertThat(choice.byBytes(highest, _ -> 5, 10)).contains(highest);
    assertThat(choice.byBytes(highest, _ -> 10, 10)).isEmpty();
  }

  @Test
  void oneHotKeyGivesNoCut() {
    var choice = new CutChoice(KeyInterval.all(), CutChoiceTest::eachRow);
    var sample = new ArrayList<byte[]>();
    for (int i = 0; i < 60; i++) sample.add(bytes("hot"));
    for (int i = 0; i < 3; i++) sample.add(bytes("a" + i));
    for (int i = 0; i < 3; i++) sample.add(bytes("x" + i));

    assertThat(choice.byLoad(sample)).isEmpty();
    assertThat(choice.tells(sample)).isTrue();
    assertThat(choice.byLoad(sample.subList(0, 10))).isEmpty();
    assertThat(choice.tells(sample.subList(0, 10))).isFalse();
    assertThat(new CutChoice(KeyInterval.all().from(bytes("i")), CutChoiceTest::eachRow).tells(sample)).as("of other ranges' keys").isFalse();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aCutByLoadBalancesTheSampleAndSeparatesNoGroup(long seed) {
    var random = new Random(seed);
    ToIntFunction<byte[]> together = random.nextBoolean() ? CutChoiceTest::inbox : CutChoiceTest::eachRow;
    int inboxes = 1 + random.nextInt(40);
    var sample = new ArrayList<byte[]>();
    int size = random.nextInt(128);
    for (int i = 0; i < size; i++) sample.add(bytes("c" + (int) (inboxes * Math.pow(random.nextDouble(), 2)) + "/" + random.nextInt(1000)));

    var cut = new CutChoice(KeyInterval.all(), together).byLoad(sample);

    if (cut.isEmpty()) return;
    long below = sample.stream().filter(key -> Arrays.compareUnsigned(key, cut.get()) < 0).count();
    assertThat(below).as("seed %d", seed).isBetween(size / 8L, size - size / 8L);
    for (byte[] key : sample) {
      byte[] group = Arrays.copyOf(key, together.applyAsInt(key));
      for (byte[] other : List.copyOf(sample)) {
        if (!Arrays.equals(group, Arrays.copyOf(other, together.applyAsInt(other)))) continue;
        boolean same = Arrays.compareUnsigned(key, cut.get()) < 0 == Arrays.compareUnsigned(other, cut.get()) < 0;
        assertThat(same).as("seed %d: %s and %s", seed, text(key), text(other)).isTrue();
      }
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
