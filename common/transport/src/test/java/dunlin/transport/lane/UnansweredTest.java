package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The unanswered messages of a link against a sorted map, whatever the order of the answers. */
class UnansweredTest {
  private static final Publication MESSAGE = Publication.of(new Publisher("t", "client"), "a", QoS.AT_LEAST_ONCE, false, 0, new byte[0]);
  private static final int PLACES_MAX = 256;

  private final Unanswered<String> unanswered = new Unanswered<>(4, 64, PLACES_MAX);
  private final TreeMap<Long, Pending<String>> model = new TreeMap<>();
  private long last;

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.generate(() -> System.nanoTime() ^ new Random().nextLong()).limit(30) : LongStream.of(seed);
  }

  private static Pending<String> pending(long number) {
    return new Pending<>(MESSAGE, "", null, null, number, null, 0, UnacknowledgedDrops.unwatched());
  }

  private void add() {
    var message = pending(++last);
    assertThat(unanswered.next()).isEqualTo(last);
    unanswered.add(message);
    model.put(last, message);
  }

  private void answer(long number) {
    unanswered.remove(number);
    model.remove(number);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void itHasWhatIsNotAnswered(long seed) {
    var random = new Random(seed);
    int most = 1 + random.nextInt(2_000);
    int oneWaitsIn = 1 + random.nextInt(100);
    for (int step = 0; step < 20_000; step++) {
      if (model.size() < most && random.nextInt(3) > 0) add();
      if (model.isEmpty() || random.nextInt(3) == 0) continue;
      long oldest = model.firstKey();
      long any = oldest + random.nextLong(last - oldest + 1);
      if (random.nextInt(50) == 0) answer(oldest);
      else if (model.containsKey(any) && random.nextInt(oneWaitsIn) > 0) answer(any);

      assertThat(unanswered.size()).as("seed %d, step %d", seed, step).isEqualTo(model.size());
      assertThat(unanswered.places()).as("seed %d, step %d", seed, step).isLessThanOrEqualTo(PLACES_MAX);
      assertThat(unanswered.get(any)).as("seed %d, step %d, message %d", seed, step, any).isSameAs(model.get(any));
      if (!model.isEmpty()) assertThat(unanswered.oldest()).as("seed %d, step %d", seed, step).isSameAs(model.firstEntry().getValue());
    }

    assertThat(unanswered.all()).as("seed %d", seed).containsExactlyElementsOf(model.values());
    for (long each : new ArrayList<>(model.keySet())) answer(each);
    assertThat(unanswered.size()).as("seed %d", seed).isZero();
    assertThat(unanswered.straggling()).as("seed %d", seed).isZero();
    assertThat(unanswered.get(0)).isNull();
    assertThat(unanswered.get(last + 1)).isNull();
  }

  @Test
  void fewThatWaitDoNotMakeItGrow() {
    add();
    for (int i = 0; i < 1_000_000; i++) {
      add();
      answer(last);
    }

    assertThat(unanswered.places()).isEqualTo(64);
    assertThat(unanswered.straggling()).isEqualTo(1);
    assertThat(unanswered.oldest()).isSameAs(model.get(1L));
  }
}
