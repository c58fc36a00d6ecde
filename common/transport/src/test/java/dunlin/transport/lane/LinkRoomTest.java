package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.link.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** More messages at once than a link may have unconfirmed: they wait for room, and the link goes on. */
class LinkRoomTest {
  private static final int BODY = 100_000;
  private static final int MESSAGES = 64;

  private final List<String> taken = new ArrayList<>();
  private final List<Answer> answers = new ArrayList<>();
  private final List<Runnable> later = new ArrayList<>();
  private final CountedCredit credit = new CountedCredit();
  private final UnacknowledgedDrops drops = UnacknowledgedDrops.unwatched();
  private final SharedWindow window = new SharedWindow(1 << 20);

  private static final class Answer extends Acknowledgement {
    @Nullable ReasonCode reason;
    boolean forsaken;

    @Override
    public boolean isForsaken() {
      return forsaken;
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
    }
  }

  private Wires wires(Link.Settings settings) {
    return new Wires(new Random(1), settings, (link, _) -> receiver(link));
  }

  private @Nullable Wires receiving;

  private ReceivingStream receiver(Link link) {
    var wires = receiving;
    if (wires == null) throw new AssertionError("no side to receive");
    return new ReceivingStream(
        link, wires.receiverTasks::add,
        RemoteLane.into(
            (message, _, acknowledgement) -> {
              taken.add(message.topic());
              if (acknowledgement != null) acknowledgement.markMatched();
            },
            window));
  }

  private RemoteLane lane(Wires wires, boolean repeats) {
    receiving = wires;
    var repeating = new Repeating(1, Duration.ofSeconds(10), () -> 0, (task, _) -> later.add(task));
    return new RemoteLane(wires::dial, wires.senderTasks::add, credit, repeats ? repeating : null, drops);
  }

  /** Of QoS 1, and every fourth of QoS 0. */
  private void append(RemoteLane lane, int count) {
    for (int i = 0; i < count; i++) {
      var answer = new Answer();
      boolean acknowledged = i % 4 != 3;
      var qos = acknowledged ? QoS.AT_LEAST_ONCE : QoS.AT_MOST_ONCE;
      lane.append(Publication.of(new Publisher("t", "client"), "t/" + i, qos, false, 0, new byte[BODY]), null, acknowledged ? answer : null);
      if (!acknowledged) continue;
      answer.answer(ReasonCode.SUCCESS);
      answers.add(answer);
    }
  }

  private static List<String> topics(int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "t/" + i).toList();
  }

  private void allAreAnswered(ReasonCode... allowed) {
    assertThat(answers).allSatisfy(each -> assertThat(each.reason).isIn((Object[]) allowed));
    assertThat(credit.messages).isZero();
    assertThat(credit.bytes).isZero();
  }

  @ParameterizedTest(name = "repeats {0}")
  @ValueSource(booleans = {false, true})
  void bytesBeyondHalfALinkWaitAndKeepTheirOrder(boolean repeats) {
    var wires = wires(new Link.Settings(1_000, 1 << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, repeats);

    append(lane, MESSAGES);

    assertThat(wires.dialled().isLost()).isFalse();
    assertThat(wires.dialled().unconfirmedBytes()).isBetween(1L << 19, (1L << 19) + 2 * BODY);
    assertThat(lane.stream().hasRoom()).isFalse();
    assertThat(lane.stream().pending()).isEqualTo(MESSAGES);
    wires.drain();
    assertThat(taken).isEqualTo(topics(0, MESSAGES));
    assertThat(lane.stream().pending()).isZero();
    assertThat(lane.stream().hasRoom()).isTrue();
    allAreAnswered(ReasonCode.SUCCESS);
    assertThat(drops.account()).isEqualTo(new LinkAccount(MESSAGES, MESSAGES, 0, 0, 0));
  }

  @ParameterizedTest(name = "repeats {0}")
  @ValueSource(booleans = {false, true})
  void framesBeyondHalfALinkWaitAndKeepTheirOrder(boolean repeats) {
    var wires = wires(new Link.Settings(8, 64L << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, repeats);

    append(lane, MESSAGES);

    assertThat(wires.dialled().isLost()).isFalse();
    assertThat(wires.dialled().unconfirmedFrames()).isEqualTo(4);
    wires.drain();
    assertThat(taken).isEqualTo(topics(0, MESSAGES));
    allAreAnswered(ReasonCode.SUCCESS);
  }

  @Test
  void whatItsClientPublishesElsewhereWhileItWaitsIsNotSent() {
    var wires = wires(new Link.Settings(8, 64L << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, true);
    append(lane, MESSAGES);
    var forsaken = answers.getLast();
    forsaken.forsaken = true;

    wires.drain();

    assertThat(forsaken.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(taken).hasSize(MESSAGES - 1).doesNotContain("t/" + (MESSAGES - 2)); // the last one has QoS 0
    allAreAnswered(ReasonCode.SUCCESS, ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void whatComesWhileOthersWaitComesBehindThem() {
    var wires = wires(new Link.Settings(8, 64L << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, false);
    append(lane, MESSAGES);
    var random = new Random(5);
    for (int i = 0; i < 40; i++) wires.step();

    for (int i = 0; i < 30; i++) {
      var small = Publication.of(new Publisher("t", "other"), "s/" + i, QoS.AT_MOST_ONCE, false, 0, new byte[3]);
      lane.append(small, null, null);
      for (int steps = random.nextInt(6); steps > 0; steps--) wires.step();
    }
    wires.drain();

    assertThat(taken.subList(0, MESSAGES)).isEqualTo(topics(0, MESSAGES));
    assertThat(taken.subList(MESSAGES, taken.size())).isEqualTo(IntStream.range(0, 30).mapToObj(i -> "s/" + i).toList());
    allAreAnswered(ReasonCode.SUCCESS);
  }

  @Test
  void whatWaitsIsAnsweredWhenItsLinkIsLostAndTheNextMessageBeginsAnother() {
    var wires = wires(new Link.Settings(8, 64L << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, false);
    append(lane, MESSAGES);
    for (int i = 0; i < 12; i++) wires.step();

    wires.receiverRestarts();
    wires.drain();

    assertThat(taken).hasSizeLessThan(MESSAGES).isEqualTo(topics(0, taken.size()));
    assertThat(lane.stream().pending()).isZero();
    allAreAnswered(ReasonCode.SUCCESS, ReasonCode.SERVER_UNAVAILABLE);
    assertThat(answers.getLast().reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(drops.unreachable()).isPositive();
    taken.clear();
    append(lane, 1);
    wires.drain();
    assertThat(taken).containsExactly("t/0");
  }

  @Test
  void whatWaitsComesOverTheNextLinkInItsOrder() {
    var wires = wires(new Link.Settings(8, 64L << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, true);
    append(lane, MESSAGES);
    for (int i = 0; i < 12; i++) wires.step();

    wires.receiverRestarts();
    wires.drain();
    taken.clear();
    List.copyOf(later).forEach(Runnable::run);
    assertThat(wires.dialled().unconfirmedFrames()).isLessThanOrEqualTo(4);
    wires.drain();

    assertThat(taken).isSubsetOf(topics(0, MESSAGES)).containsSubsequence(topics(20, MESSAGES));
    allAreAnswered(ReasonCode.SUCCESS);
  }

  @ParameterizedTest(name = "repeats {0}")
  @ValueSource(booleans = {false, true})
  void whatWaitsIsAnsweredWhenTheLaneIsClosed(boolean repeats) {
    var wires = wires(new Link.Settings(8, 64L << 20, Duration.ofSeconds(10)));
    var lane = lane(wires, repeats);
    append(lane, MESSAGES);

    lane.stream().close();

    assertThat(lane.stream().pending()).isZero();
    allAreAnswered(ReasonCode.SERVER_UNAVAILABLE);
    wires.drain();
    assertThat(taken).isEmpty();
  }
}
