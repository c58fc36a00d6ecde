package dunlin.transport.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.transport.call.CallTier.LimitException;
import dunlin.transport.call.CallTier.NotMadeException;
import dunlin.transport.call.CallTier.UnknownException;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.MalformedFrameException;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.LinkRefusedException;
import dunlin.transport.link.Pipe;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A caller and a tier at their bounds, and when something goes wrong. */
class CallLinksTest {
  private static final CallBounds BOUNDS = new CallBounds(4, 1_000, 100);

  private CallTier tier = tier(CallTier.PROTOCOL, BOUNDS, Link.Settings.defaults());
  private CompletableFuture<Void> taken = new CompletableFuture<>();

  private static CallTier tier(CallProtocol spoken, CallBounds tierBounds, Link.Settings settings) {
    return new CallTier(new Random(1), settings, spoken, BOUNDS, tierBounds);
  }

  @BeforeEach
  void begin() {
    taken = tier.links.begin();
    tier.wires.drain();
  }

  private void begin(CallTier other) {
    tier = other;
    begin();
  }

  private static Throwable failureOf(CompletableFuture<?> call) {
    assertThat(call).isDone();
    return Objects.requireNonNull(call.handle((_, failure) -> failure).join());
  }

  private void answerLast() {
    tier.last().answer().complete(CallTier.bytes(tier.last().number() * 2, 0));
    tier.wires.drain();
  }

  @Test
  void anAnswerCompletesItsCall() {
    assertThat(taken).isCompleted();
    var call = tier.call(21);
    tier.wires.drain();
    assertThat(tier.links.calls()).isEqualTo(1);
    assertThat(tier.receiver.unanswered()).isEqualTo(1);

    answerLast();

    assertThat(call).isCompletedWithValue(42L);
    assertThat(tier.links.calls()).isZero();
    assertThat(tier.receiver.unanswered()).isZero();
  }

  @Test
  void failsAtOnceUntilTheFirstLinkIsBegun() {
    var other = tier(CallTier.PROTOCOL, BOUNDS, Link.Settings.defaults());

    assertThat(failureOf(other.call(1))).isExactlyInstanceOf(NotMadeException.class).hasMessage("there is no link to the test tier");
    assertThat(other.links.refused()).isZero();
    var first = other.links.begin();
    assertThat(other.call(2)).as("waits for the link").isNotDone();
    assertThat(first).isNotDone();
    other.wires.drain();
    assertThat(first).isDone();
    assertThat(other.numbers()).containsExactly(2L);
  }

  @Test
  void beyondTheNumberOfCallsOneFailsAtOnceAndIsCounted() {
    for (int i = 1; i <= 4; i++) assertThat(tier.call(i)).isNotDone();

    assertThat(failureOf(tier.call(5))).isExactlyInstanceOf(NotMadeException.class).hasMessageMatching("4 calls with \\d+ bytes wait for the test tier");
    assertThat(tier.links.refused()).isEqualTo(1);
    tier.wires.drain();
    answerLast();
    assertThat(tier.call(6)).isNotDone();
    tier.wires.drain();
    assertThat(tier.numbers()).containsExactly(1L, 2L, 3L, 4L, 6L);
  }

  @Test
  void beyondTheBytesOfCallsOneFailsAtOnceAndIsCounted() {
    assertThat(tier.call(1, 800, 0)).isNotDone();

    assertThat(failureOf(tier.call(2, 200, 0))).hasMessageContaining("wait for the test tier");
    assertThat(tier.call(3)).isNotDone();
    assertThat(tier.links.refused()).isEqualTo(1);
  }

  @Test
  void aCallThatIsTooLargeIsRefused() {
    byte[] large = new byte[(16 << 20) + 1];

    assertThat(failureOf(tier.links.call(large, 0, _ -> 0L))).hasMessage("a call of 16777217 bytes, the most are 16777216");
    assertThat(tier.links.refused()).isEqualTo(1);
  }

  @Test
  void largeAnswersWaitForRoomAndOtherCallsDoNot() {
    tier.call(1, 0, 60);
    tier.call(2, 0, 60);
    tier.call(3, 0, 0);
    tier.wires.drain();
    assertThat(tier.numbers()).containsExactly(1L, 3L);

    tier.arrived.getFirst().answer().complete(CallTier.bytes(1, 0));
    tier.wires.drain();
    assertThat(tier.numbers()).containsExactly(1L, 3L, 2L);
  }

  @Test
  void anAnswerThatNeedsMoreThanAllRoomIsReadAlone() {
    tier.call(1, 0, 500);
    tier.call(2, 0, 1);
    tier.wires.drain();
    assertThat(tier.numbers()).containsExactly(1L);

    answerLast();
    assertThat(tier.numbers()).containsExactly(1L, 2L);
  }

  @Test
  void failuresKeepTheirKind() {
    var limit = tier.call(1);
    var unknown = tier.call(2);
    var other = tier.call(3);
    var wordless = tier.call(4);
    tier.wires.drain();
    tier.arrived.get(0).answer().completeExceptionally(new LimitException(9));
    tier.arrived.get(1).answer().completeExceptionally(new UnknownException("who knows"));
    tier.arrived.get(2).answer().completeExceptionally(new IllegalArgumentException("x".repeat(5_000)));
    tier.arrived.get(3).answer().completeExceptionally(new IllegalStateException());
    tier.wires.drain();

    assertThat(failureOf(limit)).isInstanceOfSatisfying(LimitException.class, failure -> assertThat(failure.limit).isEqualTo(9));
    assertThat(failureOf(unknown)).isExactlyInstanceOf(UnknownException.class).hasMessage("who knows");
    assertThat(failureOf(other)).isExactlyInstanceOf(NotMadeException.class).hasMessage("x".repeat(1_000));
    assertThat(failureOf(wordless)).hasMessage("IllegalStateException");
  }

  @Test
  void anAnswerThatIsTooLargeIsAFailure() {
    var call = tier.call(1);
    tier.wires.drain();
    tier.last().answer().complete(new byte[(16 << 20) + 1]);
    tier.wires.drain();

    assertThat(failureOf(call)).isExactlyInstanceOf(NotMadeException.class).hasMessage("an answer of 16777217 bytes, the most are 16777216");
    assertThat(tier.links.lost()).isZero();
  }

  @Test
  void whatWasSentIsUnknownWhenTheLinkIsLostAndWhatWasNotIsNot() {
    begin(tier(CallTier.PROTOCOL, BOUNDS, new Link.Settings(2, 1_000_000, Duration.ofSeconds(10))));
    var sent = tier.call(1);
    tier.wires.senderTasks.remove().run();
    var waits = tier.call(2);
    tier.wires.senderTasks.clear();

    tier.wires.senderGivesUp();

    assertThat(failureOf(sent)).isExactlyInstanceOf(UnknownException.class)
        .hasMessageStartingWith("it is unknown whether the test tier has done what it was asked: the link to the test tier is lost: ");
    assertThat(failureOf(waits)).isExactlyInstanceOf(NotMadeException.class).hasMessageStartingWith("not sent: the link to the test tier is lost: ");
    var later = tier.call(3);
    tier.wires.drain();
    answerLast();
    assertThat(later).as("waits for the next link").isCompletedWithValue(6L);
    assertThat(tier.links.lost()).isEqualTo(1);
  }

  @Test
  void whatIsNotAnsweredWhenTheLinkIsGivenUpFailsAndIsNotMadeAfterwards() {
    var sent = tier.call(1);
    tier.wires.senderTasks.remove().run();
    var waits = tier.call(2);

    var renewed = tier.links.renew("a test wants it");
    while (!tier.wires.senderTasks.isEmpty()) tier.wires.senderTasks.remove().run();
    assertThat(renewed).isNotDone();
    assertThat(failureOf(sent)).isExactlyInstanceOf(UnknownException.class).hasMessageEndingWith("is lost: a test wants it");
    assertThat(waits).isCompletedExceptionally();
    tier.wires.drain();

    assertThat(renewed).isCompleted();
    int made = tier.arrived.size();
    assertThat(tier.numbers()).doesNotContain(2L);
    var later = tier.call(3);
    tier.wires.drain();
    answerLast();
    assertThat(later).isCompletedWithValue(6L);
    assertThat(tier.arrived).hasSize(made + 1);
  }

  @Test
  void aLinkThatIsGivenUpBetweenTwoIsBegunOnce() {
    tier.pauses = true;
    tier.accepted().close();
    tier.wires.drain();
    tier.accepted().close();
    tier.wires.drain();
    assertThat(tier.links.isReached()).isFalse();
    var waits = tier.call(1);

    var renewed = tier.links.renew("a test wants it");
    tier.wires.drain();
    assertThat(failureOf(waits)).isExactlyInstanceOf(NotMadeException.class);
    tier.paused.forEach(tier.wires.senderTasks::add);
    tier.wires.drain();

    assertThat(renewed).isCompleted();
    assertThat(tier.links.isReached()).isTrue();
    assertThat(tier.links.lost()).isEqualTo(3);
    assertThat(tier.numbers()).isEmpty();
  }

  @Test
  void withoutALinkNothingIsGivenUp() {
    var other = tier(CallTier.PROTOCOL, BOUNDS, Link.Settings.defaults());
    var before = other.links.renew("a test wants it");
    other.wires.drain();
    assertThat(before).isCompleted();

    var closing = tier.links.renew("a test wants it");
    tier.links.close();
    while (!tier.wires.senderTasks.isEmpty()) tier.wires.senderTasks.remove().run();
    assertThat(closing).isCompleted();
  }

  @Test
  void aCallThatIsNotWantedAnyMoreWhenItIsItsTurnIsNotMade() {
    var wanted = new AtomicBoolean(true);
    var call = tier.links.call(CallTier.bytes(1, 0), 0, _ -> 0L, wanted::get);
    wanted.set(false);
    var next = tier.call(2);
    tier.wires.drain();
    answerLast();

    assertThat(failureOf(call)).isExactlyInstanceOf(NotMadeException.class).hasMessage("not sent: it is not wanted any more");
    assertThat(next).isCompletedWithValue(4L);
    assertThat(tier.numbers()).containsExactly(2L);
    assertThat(tier.links.calls()).isZero();
  }

  @Test
  void theNextLinkBeginsAtOnceOnlyWhenTheOneBeforeHasLasted() {
    tier.pauses = true;
    tier.accepted().close();
    tier.wires.drain();
    assertThat(tier.links.lost()).isEqualTo(1);
    assertThat(tier.links.isReached()).as("at once").isTrue();

    tier.accepted().close();
    tier.wires.drain();
    assertThat(tier.links.lost()).isEqualTo(2);
    assertThat(tier.links.isReached()).as("lost soon after it was taken").isFalse();

    tier.paused.forEach(tier.wires.senderTasks::add);
    tier.wires.drain();
    assertThat(tier.links.isReached()).as("after the pause").isTrue();
  }

  @Test
  void whatComesLateByAnEarlierLinkIsNotMade() {
    tier.call(1);
    tier.wires.senderTasks.remove().run();
    var earlier = tier.accepted();
    var opening = new CallOpening(CallTier.PROTOCOL.name(), "caller", 7, 2);
    var next = Link.dialling(1, new byte[0], Link.Settings.defaults(), Runnable::run, () -> 0, new Silent());

    tier.receiver.open(next, opening.encode());
    tier.wires.drain();

    assertThat(earlier.isLost()).isTrue();
    assertThat(tier.arrived).isEmpty();
  }

  private Link opens(String caller) {
    var link = Link.dialling(1, new byte[0], Link.Settings.defaults(), Runnable::run, () -> 0, new Silent());
    tier.receiver.open(link, new CallOpening(CallTier.PROTOCOL.name(), caller, 1, 1).encode());
    return link;
  }

  @Test
  void anotherCallerHasALinkOfItsOwn() {
    var other = opens("other");

    assertThat(other.isLost()).isFalse();
    assertThat(tier.accepted().isLost()).isFalse();
  }

  @Test
  void ofTooManyCallersThoseWithoutALinkAreForgotten() {
    var second = opens("2");
    for (int i = 3; i <= 4_096; i++) opens(String.valueOf(i));
    assertThatThrownBy(() -> opens("one more")).isInstanceOf(LinkRefusedException.class).hasMessage("There are 4096 callers already.");

    second.close();

    opens("one more");
    assertThatThrownBy(() -> opens("2")).isInstanceOf(LinkRefusedException.class);
    assertThat(tier.accepted().isLost()).isFalse();
  }

  /** Why the link of a verified caller is lost; empty when it is taken. */
  private String refusal(String verified, String caller) {
    var reason = new AtomicReference<>("");
    var frames = new ArrayDeque<Runnable>();
    var acceptor = new LinkAcceptor(5, Link.Settings.defaults(), 10, frames::add, () -> 0, tier.receiver);
    var handler =
        new Link.Handler() {
          @Override
          public void received(byte[] frame) {}

          @Override
          public void lost(String why) {
            reason.set(why);
          }
        };
    var link = Link.dialling(9, new CallOpening(CallTier.PROTOCOL.name(), caller, 8, 1).encode(), Link.Settings.defaults(), frames::add, () -> 0, handler);
    var ends = new Pipe[2];
    ends[0] = new Wire("", frame -> frames.add(() -> acceptor.arrived(ends[1], frame)));
    ends[1] = new Wire(verified, frame -> frames.add(() -> link.arrived(ends[0], frame)));
    acceptor.connected(ends[1]);
    link.connected(ends[0]);
    for (var next = frames.poll(); next != null; next = frames.poll()) next.run();
    return reason.get();
  }

  private record Wire(String caller, Consumer<byte[]> to) implements Pipe {
    @Override
    public void send(byte[] frame) {
      to.accept(frame);
    }

    @Override
    public void close() {}
  }

  @Test
  void aVerifiedCallerCallsInItsOwnNameOnly() {
    assertThat(refusal("n1", "n1")).isEmpty();
    assertThat(refusal("n1", "n1/sessions")).isEmpty();
    assertThat(refusal("n1", "n2")).contains("The caller is n1, and calls itself \"n2\".");
    assertThat(refusal("n1", "n11/sessions")).contains("calls itself \"n11/sessions\"");
  }

  @ParameterizedTest
  @MethodSource("openingsThatAreNotTaken")
  void anOpeningThatIsNotTakenIsRefusedWithASentence(byte[] opening, String sentence) {
    var link = Link.dialling(1, new byte[0], Link.Settings.defaults(), Runnable::run, () -> 0, new Silent());

    assertThatThrownBy(() -> tier.receiver.open(link, opening)).isInstanceOf(LinkRefusedException.class).hasMessageContaining(sentence);
    assertThat(tier.accepted().isLost()).isFalse();
  }

  static Object[][] openingsThatAreNotTaken() {
    return new Object[][] {
      {new CallOpening("test 1", "caller", 7, 1).encode(), "A later link of the same caller has begun."},
      {new CallOpening("test 1", "caller", 6, 9).encode(), "A later link of the same caller has begun."},
      {new CallOpening("test 2", "caller", 8, 1).encode(), "The caller speaks \"test 2\", the test tier \"test 1\"."},
      {new CallOpening("test 1", "", 8, 1).encode(), "no name"},
      {new byte[] {6, 't'}, "cannot be read"},
      {new FrameWriter().text("test 1").text("caller").number(8).number(1).number(1).take(), "something behind it"},
    };
  }

  @Test
  void aCallerOfAnotherProtocolIsRefusedAndTriesAgain() {
    var other = tier(CallTier.protocol("test 2"), BOUNDS, Link.Settings.defaults());
    other.links.begin();
    for (int i = 0; i < 1_000 && other.links.lost() < 3; i++) other.wires.step();

    assertThat(other.links.lost()).isEqualTo(3);
    var waits = other.call(1);
    for (int i = 0; i < 1_000 && other.links.lost() < 4; i++) other.wires.step();
    assertThat(failureOf(waits)).isExactlyInstanceOf(NotMadeException.class).hasMessageStartingWith("not sent: the link to the test tier is lost: ");
  }

  @ParameterizedTest
  @MethodSource("answersThatCannotBeRead")
  void anAnswerThatCannotBeReadEndsTheLinkWithASentence(byte[] frame, String sentence) {
    var call = tier.call(1);
    tier.wires.drain();

    tier.accepted().send(frame);
    tier.wires.drain();

    assertThat(failureOf(call)).isExactlyInstanceOf(UnknownException.class).hasMessageContaining("it has sent a frame that cannot be read: " + sentence);
    assertThat(tier.links.lost()).isEqualTo(1);
    assertThat(tier.call(2)).isNotDone();
  }

  static Object[][] answersThatCannotBeRead() {
    return new Object[][] {
      {new FrameWriter().number(0).take(), "the link is taken twice"},
      {new FrameWriter().number(2).octet(0).bytes(new byte[1]).take(), "call 2 is not waited for"},
      {new FrameWriter().number(1).octet(4).text("").take(), "octet 4 of an answer"},
      {new FrameWriter().number(1).octet(0).number(9).take(), "9 bytes where 0 are left"},
      {new FrameWriter().number(1).take(), "a frame of 1 bytes ends too early"},
      {new FrameWriter().number(1).octet(0).bytes(new byte[0]).take(), "a frame of 0 bytes ends too early"},
      {new FrameWriter().number(1).octet(3).bytes(new byte[0]).take(), "a frame of 0 bytes ends too early"},
    };
  }

  @Test
  void anAnswerThatComesTwiceEndsTheLink() {
    tier.call(1);
    tier.wires.drain();
    byte[] answer = new FrameWriter().number(1).octet(0).bytes(CallTier.bytes(5, 0)).take();
    tier.accepted().send(answer);
    tier.accepted().send(answer);
    tier.wires.drain();

    assertThat(tier.links.lost()).isEqualTo(1);
  }

  @Test
  void aCallThatCannotBeReadEndsTheLink() {
    for (byte[] frame : new byte[][] {{9, 1}, {0}, {-1, -1}}) {
      long before = tier.links.lost();
      var call = tier.call(1);
      tier.wires.drain();
      tier.wires.dialled().send(frame);
      tier.wires.drain();

      assertThat(failureOf(call)).isExactlyInstanceOf(UnknownException.class);
      assertThat(tier.links.lost()).isEqualTo(before + 1);
    }
    assertThat(tier.numbers()).containsExactly(1L, 1L, 1L);
  }

  @Test
  void aCallThatThrowsIsAnsweredSo() {
    tier.does =
        _ -> {
          throw new LimitException(3);
        };
    var call = tier.call(1);
    tier.wires.drain();

    assertThat(failureOf(call)).isInstanceOf(LimitException.class);
    assertThat(tier.receiver.unanswered()).isZero();
  }

  @Test
  void moreCallsThanTheTierAllowsEndTheLink() {
    begin(tier(CallTier.PROTOCOL, new CallBounds(2, 1_000, 100), Link.Settings.defaults()));
    var calls = new CompletableFuture<?>[] {tier.call(1), tier.call(2), tier.call(3)};
    tier.wires.drain();

    for (var call : calls) assertThat(failureOf(call)).isExactlyInstanceOf(UnknownException.class);
    assertThat(tier.numbers()).containsExactly(1L, 2L);
    tier.arrived.forEach(each -> each.answer().complete(new byte[0]));
    tier.wires.drain();
    assertThat(tier.receiver.unanswered()).isZero();
  }

  @Test
  void answersWaitWhileTheirLinkIsHalfFull() throws MalformedFrameException {
    begin(tier(CallTier.PROTOCOL, BOUNDS, new Link.Settings(4, 1_000_000, Duration.ofSeconds(10))));
    var calls = new CompletableFuture<?>[] {tier.call(1), tier.call(2), tier.call(3), tier.call(4)};
    tier.wires.drain();
    for (var each : tier.arrived) {
      each.answer().complete(CallTier.bytes(each.number(), 0));
      while (!tier.wires.receiverTasks.isEmpty()) tier.wires.receiverTasks.remove().run();
    }
    assertThat(tier.accepted().unconfirmedFrames()).isEqualTo(2);

    tier.wires.drain();
    for (var call : calls) assertThat(call).isCompleted();
  }

  @Test
  void theEndOfACallerFailsWhatIsNotAnsweredAndNoLinkFollows() {
    var call = tier.call(1);
    tier.wires.drain();

    tier.links.close();
    tier.wires.drain();

    assertThat(failureOf(call)).isExactlyInstanceOf(UnknownException.class).hasMessageContaining("was closed");
    assertThat(failureOf(tier.call(2))).hasMessage("there is no link to the test tier");
    assertThat(tier.links.lost()).isZero();
    assertThat(tier.links.calls()).isZero();
  }

  private static final class Silent implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {}
  }
}
