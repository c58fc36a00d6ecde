package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Both sides know the same values, and hold few bytes however long values are. */
class ValueDictionaryTest {
  private static final int LONGEST = 65_535;
  private static final long OF_A_LENGTH = (long) ValueDictionary.PLACES * ValueDictionary.SHORT;

  private final ValueDictionary<String> sender = new ValueDictionary<>(String::length);
  private final ValueDictionary<String> receiver = new ValueDictionary<>(String::length);
  private final FrameWriter out = new FrameWriter();

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 8) : LongStream.of(seed);
  }

  /** Returns how many bytes it took. */
  private int send(String value) throws MalformedFrameException {
    sender.write(out, value, FrameWriter::text);
    byte[] frame = out.take();
    assertThat(receiver.read(new FrameReader(frame), FrameReader::text)).isEqualTo(value);
    return frame.length;
  }

  private static String value(int number, int length) {
    String name = Integer.toString(number);
    return name + "x".repeat(length - name.length());
  }

  @Test
  void thousandsOfLongValuesAreNotHeld() throws Exception {
    for (int i = 0; i < 1_000; i++) send(value(i, 60_000));

    assertThat(sender.length()).isPositive().isLessThanOrEqualTo(OF_A_LENGTH);
    assertThat(receiver.length()).isEqualTo(sender.length());
  }

  @Test
  void valuesOfAllLengthsAreBoundedTogether() throws Exception {
    for (int length = 64; length <= LONGEST; length = length * 10 / 9) { // the longest last, since short ones may have their places
      for (int i = 0; i < 4 * ValueDictionary.places(length); i++) send(value(i, length));
    }

    assertThat(sender.length()).isBetween(2 * OF_A_LENGTH, 6 * OF_A_LENGTH);
    assertThat(receiver.length()).isEqualTo(sender.length());
  }

  @Test
  void longValuesLeaveMostShortOnesKnown() throws Exception {
    for (int i = 0; i < 1_000; i++) send("client-" + i);
    int again = 0;
    for (int i = 0; i < 1_000; i++) if (send("client-" + i) > 2) again++;
    for (int i = 0; i < 500; i++) send(value(i, 60_000));

    int written = 0;
    for (int i = 0; i < 1_000; i++) if (send("client-" + i) > 2) written++;

    assertThat(written).isLessThanOrEqualTo(again + 8);
  }

  @Test
  void aLongValueIsWrittenOnceWhileItIsTheOnlyOne() throws Exception {
    assertThat(send(value(1, 60_000))).isGreaterThan(60_000);
    assertThat(send(value(1, 60_000))).isLessThanOrEqualTo(2);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void bothSidesAgreeWhateverTheLengths(long seed) throws Exception {
    var random = new Random(seed);
    for (int i = 0; i < 5_000; i++) {
      int length = 1 << random.nextInt(15);
      send(value(random.nextInt(300), 5 + length));
    }
    assertThat(receiver.length()).isEqualTo(sender.length());
  }

  /** It places each value by its hash code alone. */
  @Test
  void whatASenderOfAnEarlierVersionPlacesAnywhereIsFoundThere() throws Exception {
    for (int place = 0; place < ValueDictionary.PLACES; place += 7) {
      String value = value(place, 2_000);
      out.number((long) place << 1 | 1).text(value);
      assertThat(receiver.read(new FrameReader(out.take()), FrameReader::text)).isEqualTo(value);
    }
    for (int place = 0; place < ValueDictionary.PLACES; place += 7) {
      out.number((long) place << 1);
      assertThat(receiver.read(new FrameReader(out.take()), FrameReader::text)).isEqualTo(value(place, 2_000));
    }
  }

  @Test
  void aValueOfTwiceTheLengthHasHalfThePlaces() {
    assertThat(ValueDictionary.places(0)).isEqualTo(ValueDictionary.PLACES);
    assertThat(ValueDictionary.places(ValueDictionary.SHORT)).isEqualTo(ValueDictionary.PLACES);
    assertThat(ValueDictionary.places(ValueDictionary.SHORT + 1)).isEqualTo(ValueDictionary.PLACES / 2);
    assertThat(ValueDictionary.places(2 * ValueDictionary.SHORT)).isEqualTo(ValueDictionary.PLACES / 2);
    assertThat(ValueDictionary.places(LONGEST)).isEqualTo(8);
    assertThat(ValueDictionary.places(Integer.MAX_VALUE)).isEqualTo(1);
  }
}
