package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.lane.Messages;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages that are dealt again, over a pipe whose frames the test releases. */
class RedealLaneTest {
  private static final Link.Settings LINK = new Link.Settings(1_000, 100 << 20, Duration.ofSeconds(10));
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Publisher PUBLISHER = new Publisher("t", "client");

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final ArrayDeque<Runnable> timers = new ArrayDeque<>();
  private final List<String> arrived = new ArrayList<>();
  private final List<Acknowledgement> held = new ArrayList<>();
  private boolean holds;
  private boolean found = true;
  private ReasonCode reason = ReasonCode.SUCCESS;
  private long nanos;
  private long identities = 2;
  private boolean connects = true;
  private @Nullable Link accepted;
  private final LinkAcceptor acceptor = new LinkAcceptor(7, LINK, 4, tasks::add, () -> nanos, (link, _) -> accepts(link));
  private final RedealLane lane =
      new RedealLane(
          this::dial, tasks::add, new Repeating(5, PATIENCE, () -> nanos, (task, _) -> timers.add(task)), UnacknowledgedDrops.unwatched());

  private static final class Answer extends Acknowledgement {
    @Nullable ReasonCode reason;

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
    }
  }

  private Link.Handler accepts(Link link) {
    accepted = link;
    var receiver =
        RedealLane.into(
            (message, _, acknowledgement) -> {
              var of = Objects.requireNonNull(acknowledgement);
              var left = Objects.requireNonNull(of.leftBehind());
              arrived.add(message.topic() + " of " + left.group().text() + " from " + left.frontend());
              of.expect();
              if (found) of.markMatched();
              if (holds) held.add(of);
              else of.answer(reason);
            },
            "n");
    return new ReceivingStream(link, tasks::add, receiver, timers::add);
  }

  private Link dial(Link.Handler handler) {
    return QueuedPipe.dial(++identities, LINK, connects ? acceptor : null, tasks::add, () -> nanos, handler);
  }

  private void run() {
    for (int i = 0; i < 1_000_000 && !tasks.isEmpty(); i++) tasks.remove().run();
    assertThat(tasks).isEmpty();
  }

  /** Runs what is due later as well, but for what comes of it. */
  private void later() {
    run();
    for (int left = timers.size(); left > 0; left--) timers.remove().run();
    run();
  }

  private Answer redeal(String topic, QoS qos, int bytes, String group) {
    var answer = new Answer();
    lane.redeal(Publication.of(PUBLISHER, topic, qos, false, 0, new byte[bytes]), TopicFilter.parse(group).orElseThrow(), answer);
    return answer;
  }

  private Answer redeal(int bytes) {
    return redeal("a", QoS.AT_LEAST_ONCE, bytes, "$share/g/a");
  }

  @Test
  void eachMessageArrivesInItsOrderWithItsGroupAndWhereItWas() {
    var answers = List.of(redeal("a", QoS.AT_LEAST_ONCE, 1, "$share/g/a"), redeal("b", QoS.EXACTLY_ONCE, 1, "$oshare/h/+"), redeal("c", QoS.AT_LEAST_ONCE, 1, "$share/g/c"));
    found = false;
    run();

    assertThat(arrived).containsExactly("a of $share/g/a from n", "b of $oshare/h/+ from n", "c of $share/g/c from n");
    assertThat(answers).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
    assertThat(answers).noneMatch(Answer::matched);
    found = true;
    var taken = redeal(1);
    run();
    assertThat(taken.matched()).isTrue();
    reason = ReasonCode.QUOTA_EXCEEDED;
    var refused = redeal(1);
    run();
    assertThat(refused.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void onlySoManyBytesAreWithTheLeaderAtATime() {
    holds = true;
    int size = (int) RedealLane.AT_A_TIME / 4 - 1; // and the topic
    var answers = IntStream.range(0, 10).mapToObj(_ -> redeal(size)).toList();
    var large = redeal(3 * size * 4);
    run();
    assertThat(arrived).hasSize(4);

    while (!held.isEmpty()) {
      int inFlight = held.size();
      assertThat(inFlight).isBetween(1, 4);
      held.removeFirst().answer(ReasonCode.SUCCESS);
      run();
    }
    assertThat(answers).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
    assertThat(large.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void messagesBeyondTheBoundAreAnsweredAtOnce() {
    connects = false;
    int size = 1 << 20;
    int room = (int) (RedealLane.BYTES_MAX / (size + 1));
    var kept = IntStream.range(0, room).mapToObj(_ -> redeal(size)).toList();
    assertThat(redeal(size).reason).isEqualTo(ReasonCode.SERVER_BUSY);
    run();
    assertThat(kept).allSatisfy(each -> assertThat(each.reason).isNull());

    lane.close();
    later();
    assertThat(kept).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE));
    redeal((int) RedealLane.BYTES_MAX + 1);
    var late = redeal(1);
    assertThat(late.reason).as("there is one of any size, and no other").isEqualTo(ReasonCode.SERVER_BUSY);
    run();
    assertThat(redeal(1).reason).as("there is room again").isNull();
    run();
  }

  @Test
  void soManyMessagesAreKeptAtMost() {
    connects = false;
    for (int i = 0; i < RedealLane.MESSAGES_MAX; i++) assertThat(redeal(0).reason).isNull();
    assertThat(redeal(0).reason).isEqualTo(ReasonCode.SERVER_BUSY);
  }

  @Test
  void afterALostLinkQos1IsSentAgainAndQos2IsNot() {
    holds = true;
    var once = redeal("a", QoS.EXACTLY_ONCE, 1, "$share/g/a");
    var again = redeal("b", QoS.AT_LEAST_ONCE, 1, "$share/g/b");
    run();
    assertThat(arrived).hasSize(2);

    Objects.requireNonNull(accepted).close();
    holds = false;
    later();

    assertThat(arrived).containsExactly("a of $share/g/a from n", "b of $share/g/b from n", "b of $share/g/b from n");
    assertThat(once.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aLeaderIsLookedForAsLongAsTheLaneIsPatient() {
    connects = false;
    var answer = redeal(1);
    later();
    nanos += PATIENCE.toNanos() - 1;
    later();
    assertThat(answer.reason).isNull();

    nanos += 1;
    later();
    assertThat(answer.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void theTimeOfWhatWaitsBehindOthersBeginsWhenItComes() {
    connects = false;
    var answers = IntStream.range(0, 10).mapToObj(_ -> redeal((int) RedealLane.AT_A_TIME)).toList();
    later();
    nanos += PATIENCE.toNanos() - 1;
    var last = redeal(1);
    later();
    assertThat(answers).allSatisfy(each -> assertThat(each.reason).isNull());

    nanos += 1;
    later();
    later(); // what has followed the first one to the stream
    assertThat(answers).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE));
    assertThat(last.reason).as("it came later").isNull();

    nanos += PATIENCE.toNanos() - 1;
    later();
    later();
    assertThat(last.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void aLeaderThatIsSlowKeepsWhatItHasAndNotWhatWaitsBehindIt() {
    holds = true;
    var slow = redeal((int) RedealLane.AT_A_TIME);
    var behind = redeal(1);
    run();
    nanos += PATIENCE.toNanos();
    var next = redeal(1);
    later();
    assertThat(behind.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(slow.reason).isNull();

    held.removeFirst().answer(ReasonCode.SUCCESS);
    run();
    held.removeFirst().answer(ReasonCode.SUCCESS);
    run();
    assertThat(slow.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(next.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(arrived).hasSize(2);
  }

  @Test
  void theTimeOfWhatHasWaitedDoesNotBeginAgainWhenItIsSent() {
    holds = true;
    redeal((int) RedealLane.AT_A_TIME);
    var behind = redeal(1);
    run();
    nanos += PATIENCE.toNanos() - 1;
    held.removeFirst().answer(ReasonCode.SUCCESS);
    run();
    assertThat(arrived).hasSize(2);
    connects = false;
    Objects.requireNonNull(accepted).close();
    later();
    assertThat(behind.reason).isNull();

    nanos += 1;
    later();
    later(); // the pause before the next link, or the look at it
    assertThat(behind.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  /** A link over which a message for a group's filter has come. */
  private Link over(String group) {
    var link = Link.dialling(++identities, new byte[0], LINK, tasks::add, () -> nanos, new Link.Handler() {
      @Override
      public void received(byte[] frame) {}

      @Override
      public void lost(String reason) {}
    });
    var out = new FrameWriter();
    new Messages().write(out, Publication.of(PUBLISHER, "a", QoS.AT_LEAST_ONCE, false, 0, new byte[1]), Terms.ANSWERED);
    accepts(link).received(out.number(1).text(group).take());
    return link;
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "$share/g", ""})
  void aMessageForNoGroupEndsTheLink(String filter) {
    assertThat(over(filter).isLost()).isTrue();
    assertThat(arrived).isEmpty();
  }

  @Test
  void aMessageForAGroupDoesNot() {
    assertThat(over("$share/g/a").isLost()).isFalse();
    assertThat(arrived).hasSize(1);
  }
}
