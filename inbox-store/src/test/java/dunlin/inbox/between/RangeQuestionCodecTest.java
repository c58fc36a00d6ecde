package dunlin.inbox.between;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class RangeQuestionCodecTest {
  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 20) : LongStream.of(seed);
  }

  private static List<Birth> sessions(Random random) {
    var sessions = new ArrayList<Birth>();
    for (int left = random.nextInt(5); left > 0; left--) sessions.add(new Birth("t" + random.nextInt(), "é" + random.nextInt(), random.nextLong()));
    return sessions;
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatIsAskedAndAnsweredComesAsItWas(long seed) throws Exception {
    var random = new Random(seed);
    var question = new RangeQuestion.AskEnded(sessions(random));
    var sums = new Sums(random.nextLong() >>> 1, random.nextLong() >>> 1, random.nextLong() >>> 1);
    var flags = question.sessions().stream().map(_ -> random.nextBoolean()).toList();

    assertThat(RangeQuestionCodec.decode(RangeQuestionCodec.encode(question))).isEqualTo(question);
    assertThat(RangeQuestionCodec.decode(RangeQuestionCodec.encode(new RangeQuestion.AskSums()))).isEqualTo(new RangeQuestion.AskSums());
    assertThat(RangeQuestionCodec.decodeSums(RangeQuestionCodec.encode(sums))).isEqualTo(sums);
    assertThat(RangeQuestionCodec.decodeFlags(RangeQuestionCodec.encode(flags))).isEqualTo(flags);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void eachBeginningOfAFrameAndMoreThanOneIsRefused(long seed) {
    byte[] question = RangeQuestionCodec.encode(new RangeQuestion.AskEnded(sessions(new Random(seed))));
    for (int length = 0; length < question.length; length++) {
      byte[] cut = Arrays.copyOf(question, length);
      assertThatThrownBy(() -> RangeQuestionCodec.decode(cut)).isInstanceOf(MalformedFrameException.class);
    }
    byte[] sums = RangeQuestionCodec.encode(new Sums(1, 2, 3));
    byte[] flags = RangeQuestionCodec.encode(List.of(true, false));
    assertThatThrownBy(() -> RangeQuestionCodec.decode(Arrays.copyOf(question, question.length + 1))).isInstanceOf(MalformedFrameException.class);
    assertThatThrownBy(() -> RangeQuestionCodec.decodeSums(Arrays.copyOf(sums, sums.length - 1))).isInstanceOf(MalformedFrameException.class);
    assertThatThrownBy(() -> RangeQuestionCodec.decodeSums(Arrays.copyOf(sums, sums.length + 1))).isInstanceOf(MalformedFrameException.class);
    assertThatThrownBy(() -> RangeQuestionCodec.decodeFlags(Arrays.copyOf(flags, flags.length - 1))).isInstanceOf(MalformedFrameException.class);
  }

  @Test
  void whatNoLeaderWritesIsRefused() {
    assertThatThrownBy(() -> RangeQuestionCodec.decode(new byte[] {3})).isInstanceOf(MalformedFrameException.class).hasMessageContaining("kind 3");
    byte[] many = new FrameWriter().octet(2).number(OtherRange.SESSIONS_MAX + 1).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decode(many)).isInstanceOf(MalformedFrameException.class);
    byte[] flag = new FrameWriter().number(1).octet(2).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decodeFlags(flag)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("flag 2");
    byte[] below = new FrameWriter().number(1).number(-2).number(3).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decodeSums(below)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("-2");
  }

  @Test
  void aQuestionHasTheMostSessionsThatOneMayHave() throws Exception {
    var question = new RangeQuestion.AskEnded(Collections.nCopies(OtherRange.SESSIONS_MAX, new Birth("t", "c", 7)));
    assertThat(RangeQuestionCodec.decode(RangeQuestionCodec.encode(question))).isEqualTo(question);
  }

  @Test
  void aRangeAnswersWhatItIsAsked() throws Exception {
    var asked = new ArrayList<List<Birth>>();
    var range =
        new OtherRange() {
          @Override
          public CompletableFuture<Sums> sums() {
            return CompletableFuture.completedFuture(new Sums(1, 2, 3));
          }

          @Override
          public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
            asked.add(sessions);
            return CompletableFuture.completedFuture(List.of(true));
          }
        };
    var answers = RangeQuestions.of(range);
    var question = List.of(new Birth("t", "c", 7));

    assertThat(RangeQuestionCodec.decodeSums(answers.answer(RangeQuestionCodec.encode(new RangeQuestion.AskSums())).join())).isEqualTo(new Sums(1, 2, 3));
    assertThat(RangeQuestionCodec.decodeFlags(answers.answer(RangeQuestionCodec.encode(new RangeQuestion.AskEnded(question))).join())).containsExactly(true);
    assertThat(asked).containsExactly(question);
  }
}
