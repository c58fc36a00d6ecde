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
import java.util.function.Predicate;
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
  private Predicate<String> holds = _ -> false;
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
              if (holds.test(left.group().text())) held.add(of);
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
    return redeal(PUBLISHER, topic, qos, bytes, group);
  }

  private Answer redeal(Publisher publisher, String topic, QoS qos, int bytes, String group) {
    var answer = new Answer();
    lane.redeal(Publication.of(publisher, topic, qos, false, 0, new byte[bytes]), TopicFilter.parse(group).orElseThrow(), answer);
    return answer;
  }

  /** A message that counts for so many bytes, with its topic. */
  private Answer redeal(String group, long size) {
    return redeal("a", QoS.AT_LEAST_ONCE, (int) size - 1, group);
  }

  private static String group(int number) {
    return "$share/g" + number + "/a";
  }

  private long arrivedOf(String group) {
    return arrived.stream().filter(each -> each.contains(" " + group + " ")).count();
  }

  /** The leader answers what it has had for longest. */
  private void answerFirst() {
    held.removeFirst().answer(ReasonCode.SUCCESS);
    run();
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
    holds = _ -> true;
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
  void aGroupWhoseMembersTakeNothingHoldsUpNoOther() {
    holds = group(0)::equals;
    var slow = IntStream.range(0, 12).mapToObj(_ -> redeal(group(0), RedealLane.AT_A_TIME / 4)).toList();
    var large = redeal(group(1), 3 * RedealLane.AT_A_TIME);
    var others = IntStream.range(0, 40).mapToObj(i -> redeal(group(1 + i % 4), RedealLane.AT_A_TIME / 3)).toList();
    run();

    assertThat(others).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
    assertThat(large.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(slow).allSatisfy(each -> assertThat(each.reason).isNull());
    assertThat(arrivedOf(group(0))).isEqualTo(4);
    while (!held.isEmpty()) answerFirst();
    assertThat(slow).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SUCCESS));
  }

  @Test
  void groupsOfTwoTenantsAreTwoGroups() {
    holds = _ -> true;
    for (int i = 0; i < 2; i++) redeal(group(0), RedealLane.AT_A_TIME);
    run();
    assertThat(arrived).hasSize(1);

    redeal(new Publisher("u", "client"), "a", QoS.AT_LEAST_ONCE, 1, group(0));
    run();
    assertThat(arrived).hasSize(2);
  }

  @Test
  void theMessagesOfAGroupKeepTheirOrderAndGroupsTakeTurns() {
    holds = _ -> true;
    for (String topic : List.of("1", "2", "3")) redeal(topic, QoS.AT_LEAST_ONCE, (int) RedealLane.AT_A_TIME / 2, group(0));
    for (String topic : List.of("4", "5", "6")) redeal(topic, QoS.AT_LEAST_ONCE, (int) RedealLane.AT_A_TIME / 2, group(1));
    run();
    assertThat(arrived).extracting(each -> each.substring(0, 1)).containsExactly("1", "4");

    while (!held.isEmpty()) answerFirst();
    assertThat(arrived).extracting(each -> each.substring(0, 1)).containsExactly("1", "4", "2", "5", "3", "6");
  }

  /** Then the others wait, as long as the leader does for members: each comes to its turn. */
  @Test
  void whatIsWithTheLeaderOfAllGroupsIsBoundedAsWell() {
    holds = _ -> true;
    int full = (int) (RedealLane.ALL_AT_A_TIME / RedealLane.AT_A_TIME);
    for (int i = 0; i < full + 3; i++) for (int each = 0; each < 2; each++) redeal(group(i), RedealLane.AT_A_TIME);
    var large = redeal(group(full + 3), 2 * RedealLane.ALL_AT_A_TIME);
    run();
    assertThat(arrived).hasSize(full);

    for (int i = 0; i < 3; i++) answerFirst();
    for (int i = 0; i < full; i++) assertThat(arrivedOf(group(i))).isOne();
    assertThat(arrived).hasSize(full + 3);
    answerFirst();
    assertThat(arrivedOf(group(full + 3))).as("the large one is not overtaken").isOne();
    for (int i = 0; i < full - 1; i++) answerFirst();
    assertThat(arrived).as("nothing is sent beside it").hasSize(full + 4);
    while (!held.isEmpty()) answerFirst();
    assertThat(large.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(arrived).hasSize(2 * (full + 3) + 1);
  }

  @Test
  void whatWaitsInTheLinesOfGroupsIsGivenUpInTheOrderInWhichItCame() {
    holds = _ -> true;
    redeal(group(0), RedealLane.AT_A_TIME);
    redeal(group(1), RedealLane.AT_A_TIME);
    var first = redeal(group(1), RedealLane.AT_A_TIME);
    var second = redeal(group(0), RedealLane.AT_A_TIME);
    run();
    nanos += PATIENCE.toNanos() - 1;
    var small = redeal(group(0), 2);
    later();
    assertThat(List.of(first, second, small)).allSatisfy(each -> assertThat(each.reason).isNull());

    nanos += 1;
    later();
    assertThat(List.of(first, second)).allSatisfy(each -> assertThat(each.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE));
    assertThat(small.reason).as("it came later").isNull();
    for (int i = 0; i < 3; i++) answerFirst();
    assertThat(small.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(arrived).hasSize(3);
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
    holds = _ -> true;
    var once = redeal("a", QoS.EXACTLY_ONCE, 1, "$share/g/a");
    var again = redeal("b", QoS.AT_LEAST_ONCE, 1, "$share/g/b");
    run();
    assertThat(arrived).hasSize(2);

    Objects.requireNonNull(accepted).close();
    holds = _ -> false;
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
    holds = _ -> true;
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
    holds = _ -> true;
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
