package dunlin.inbox.between;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.OpenExchange;
import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.GroupPart;
import dunlin.inbox.between.OtherRange.Held;
import dunlin.inbox.between.OtherRange.Picked;
import dunlin.inbox.between.OtherRange.SetAside;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.inbox.between.OtherRange.Taken;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.TopicFilter;
import dunlin.store.ways.WantedTenants;
import dunlin.transport.Terms;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import java.nio.charset.StandardCharsets;
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
    var tenants = new RangeQuestion.AskHeld(question.sessions().stream().map(Birth::tenant).toList());
    var held = tenants.tenants().stream().map(_ -> new Held(random.nextLong() >>> 1, random.nextLong() >>> 1, random.nextLong() >>> 1)).toList();
    assertThat(RangeQuestionCodec.decode(RangeQuestionCodec.encode(tenants))).isEqualTo(tenants);
    assertThat(RangeQuestionCodec.decodeHeld(RangeQuestionCodec.encodeHeld(held))).isEqualTo(held);
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
    byte[] held = RangeQuestionCodec.encodeHeld(List.of(new Held(1, 2, 3)));
    assertThatThrownBy(() -> RangeQuestionCodec.decodeHeld(Arrays.copyOf(held, held.length - 1))).isInstanceOf(MalformedFrameException.class);
    assertThatThrownBy(() -> RangeQuestionCodec.decodeHeld(Arrays.copyOf(held, held.length + 1))).isInstanceOf(MalformedFrameException.class);
    assertThatThrownBy(() -> RangeQuestionCodec.decodeFlags(Arrays.copyOf(flags, flags.length - 1))).isInstanceOf(MalformedFrameException.class);
  }

  @Test
  void whatNoLeaderWritesIsRefused() {
    assertThatThrownBy(() -> RangeQuestionCodec.decode(new byte[] {9})).isInstanceOf(MalformedFrameException.class).hasMessageContaining("kind 9");
    byte[] many = new FrameWriter().octet(2).number(OtherRange.SESSIONS_MAX + 1).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decode(many)).isInstanceOf(MalformedFrameException.class);
    byte[] tenants = new FrameWriter().octet(8).number(WantedTenants.TENANTS_MAX + 1).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decode(tenants)).isInstanceOf(MalformedFrameException.class);
    byte[] flag = new FrameWriter().number(1).octet(2).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decodeFlags(flag)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("flag 2");
    byte[] below = new FrameWriter().number(1).number(-2).number(3).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decodeSums(below)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("-2");
    byte[] little = new FrameWriter().number(1).number(1).number(-2).number(3).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decodeHeld(little)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("-2");
  }

  private static final GroupKey GROUP = new GroupKey("t", TopicFilter.parse("$share/g/a").orElseThrow());

  private static OpenExchange exchange(Random random) {
    return new OpenExchange(1 + random.nextInt(65_535), random.nextLong() >>> 1, Terms.Origin.fromRecord(random.nextLong(), random.nextLong() >>> 1, List.of(random.nextLong())));
  }

  private static Publication message(String payload) {
    byte[] body = ("a" + payload).getBytes(StandardCharsets.UTF_8);
    return new Publication(new Publisher("t", "p"), QoS.EXACTLY_ONCE, false, 1, -1, -1, 1, 0, body, null);
  }

  /** Questions about groups, and what is brought for them. */
  private static List<RangeQuestion> ofGroups(Random random) {
    var append = new SessionCommand.AppendToGroup(random.nextLong() >>> 1, GROUP.filter(), message("m"), exchange(random));
    return List.of(
        new RangeQuestion.AskParts(List.of(GROUP)),
        new RangeQuestion.AskOver(List.of(new SetAside(GROUP, random.nextLong()))),
        new RangeQuestion.Store(new SessionCommand.AcceptTransfer(1, GROUP, random.nextLong() >>> 1, List.of(message("m1"), message("m2")))),
        new RangeQuestion.Store(new SessionCommand.AppendToGroup(1, GROUP.filter(), message("m"), null)),
        new RangeQuestion.Store(new SessionCommand.AppendToGroupOfExchange(random.nextLong() >>> 1, append)),
        new RangeQuestion.Pick(new SessionCommand.PickForGroup("t", "p", exchange(random), GROUP.filter(), random.nextLong())));
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatIsAskedAboutGroupsComesAsItWas(long seed) throws Exception {
    var random = new Random(seed);
    for (var question : ofGroups(random)) {
      byte[] frame = RangeQuestionCodec.encode(question);
      assertThat(RangeQuestionCodec.decode(frame)).usingRecursiveComparison().isEqualTo(question);
      for (int length = 0; length < frame.length; length++) {
        byte[] cut = Arrays.copyOf(frame, length);
        assertThatThrownBy(() -> RangeQuestionCodec.decode(cut)).isInstanceOf(MalformedFrameException.class);
      }
    }
    var parts = List.of(new GroupPart(random.nextInt(1, 100), true), GroupPart.NONE);
    var picked = new Picked(random.nextLong(), random.nextLong() >>> 1);
    assertThat(RangeQuestionCodec.decodeParts(RangeQuestionCodec.encodeParts(parts))).isEqualTo(parts);
    assertThat(RangeQuestionCodec.decodePicked(RangeQuestionCodec.encode(picked))).isEqualTo(picked);
    for (Taken taken : Taken.values()) assertThat(RangeQuestionCodec.decodeTaken(RangeQuestionCodec.encode(taken))).isEqualTo(taken);
  }

  @Test
  void commandsThatOtherRangesDoNotProposeAreRefused() {
    var random = new Random(1);
    var forget = new RangeQuestion.Store(new SessionCommand.ForgetTransfer(GROUP, 7));
    var withExchange = new RangeQuestion.Store(new SessionCommand.AppendToGroup(1, GROUP.filter(), message("m"), exchange(random)));
    for (var each : List.of(forget, withExchange)) {
      assertThatThrownBy(() -> RangeQuestionCodec.decode(RangeQuestionCodec.encode(each))).isInstanceOf(MalformedFrameException.class).hasMessageContaining("do not propose");
    }
    byte[] noGroup = new FrameWriter().octet(4).number(1).text("t").text("a").take();
    assertThatThrownBy(() -> RangeQuestionCodec.decode(noGroup)).isInstanceOf(MalformedFrameException.class).hasMessageContaining("shared");
    byte[] noOutcome = {9};
    assertThatThrownBy(() -> RangeQuestionCodec.decodeTaken(noOutcome)).isInstanceOf(MalformedFrameException.class);
    byte[] withoutCredit = new FrameWriter().number(1).number(0).octet(1).take();
    assertThatThrownBy(() -> RangeQuestionCodec.decodeParts(withoutCredit)).isInstanceOf(MalformedFrameException.class);
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
        new QuietRange() {
          @Override
          public CompletableFuture<Sums> sums() {
            return CompletableFuture.completedFuture(new Sums(1, 2, 3));
          }

          @Override
          public CompletableFuture<List<Held>> held(List<String> tenants) {
            return CompletableFuture.completedFuture(tenants.stream().map(_ -> Held.NONE).toList());
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
