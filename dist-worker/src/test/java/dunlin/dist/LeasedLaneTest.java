package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A leader's lane, whose proofs the test gives. */
class LeasedLaneTest {
  private final List<String> delivered = new ArrayList<>();
  private final ArrayDeque<CompletableFuture<@Nullable Void>> barriers = new ArrayDeque<>();
  private boolean fails;

  /** How many messages keep their routes. */
  private int kept;

  private long epoch = 1;
  private final LeasedLane lane =
      new LeasedLane(
          (message, _, _, _) -> {
            delivered.add(message.topic());
            if (fails) throw new IllegalStateException("the test has it fail");
          },
          () -> {
            var barrier = new CompletableFuture<@Nullable Void>();
            barriers.add(barrier);
            return barrier;
          },
          () -> epoch,
          Runnable::run);

  private final Elsewhere.Memory memory =
      new Elsewhere.Memory() {
        @Override
        public void keep() {
          kept++;
        }

        @Override
        public void release() {
          kept--;
        }
      };

  private NotedAnswer append(String topic, QoS qos) {
    var answer = new NotedAnswer();
    var message = Publication.of(new Publisher("t", "client"), topic, qos, false, 0, new byte[0]);
    lane.append(message, new Elsewhere(epoch, 1, List.of(), memory), null, qos == QoS.AT_MOST_ONCE ? null : answer);
    if (qos != QoS.AT_MOST_ONCE) answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  private void proved() {
    barriers.remove().complete(null);
  }

  private void notProved() {
    barriers.remove().completeExceptionally(new IllegalStateException("not the leader"));
  }

  @Test
  void qos1IsDeliveredAtOnceAndAcknowledgedWithTheProof() {
    var answer = append("one", QoS.AT_LEAST_ONCE);
    assertThat(delivered).containsExactly("one");
    assertThat(answer.reason).isNull();

    proved();
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void qos2IsNotDeliveredBeforeTheProof() {
    var one = append("one", QoS.EXACTLY_ONCE);
    var two = append("two", QoS.EXACTLY_ONCE);
    append("zero", QoS.AT_MOST_ONCE);
    assertThat(delivered).containsExactly("zero");
    assertThat(kept).isEqualTo(2);

    proved();
    assertThat(kept).isEqualTo(1);
    assertThat(delivered).containsExactly("zero", "one");
    assertThat(one.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(two.reason).isNull();
    proved();
    assertThat(delivered).containsExactly("zero", "one", "two");
    assertThat(two.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(barriers).isEmpty();
  }

  @Test
  void aWillWhoseSendingIsRecordedIsNotDeliveredBeforeTheProof() {
    var answer = new NotedAnswer();
    var will = Publication.of(new Publisher("t", "client"), "will", QoS.AT_LEAST_ONCE, false, 0, new byte[0]).asWillOf(7);
    lane.append(will, Elsewhere.nothing(epoch), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    assertThat(delivered).isEmpty();

    proved();
    assertThat(delivered).containsExactly("will");
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void withoutTheProofAllThatWaitsIsRefusedAndQos2IsNotDelivered() {
    var one = append("one", QoS.AT_LEAST_ONCE);
    var two = append("two", QoS.EXACTLY_ONCE);
    var three = append("three", QoS.AT_LEAST_ONCE);

    notProved();
    var four = append("four", QoS.AT_LEAST_ONCE);
    notProved();

    assertThat(delivered).containsExactly("one", "three", "four");
    assertThat(four.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(one.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(two.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(three.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(barriers).isEmpty();
    assertThat(kept).isZero();
    append("five", QoS.EXACTLY_ONCE);
    proved();
    assertThat(delivered).endsWith("five");
  }

  /** A refusal ends the link of a lane, and all that is on its way is sent again. */
  @Test
  void aBarrierThatFailsIsAskedForOnceMoreBeforeAnythingIsRefused() {
    var one = append("one", QoS.AT_LEAST_ONCE);
    var two = append("two", QoS.EXACTLY_ONCE);

    notProved();
    assertThat(one.reason).isNull();
    assertThat(barriers).hasSize(1);
    var three = append("three", QoS.EXACTLY_ONCE);
    assertThat(delivered).containsExactly("one");

    proved();
    assertThat(delivered).containsExactly("one", "two");
    assertThat(one.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(two.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(three.reason).isNull();
    notProved();
    proved();
    assertThat(delivered).containsExactly("one", "two", "three");
    assertThat(three.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(barriers).isEmpty();
  }

  @Test
  void aDestinationThatFailsKeepsNothingBehindFromItsDelivery() {
    append("first", QoS.AT_LEAST_ONCE);
    var one = append("one", QoS.EXACTLY_ONCE);
    var two = append("two", QoS.EXACTLY_ONCE);
    proved();
    fails = true;
    proved();

    assertThat(delivered).containsExactly("first", "one", "two");
    assertThat(kept).isZero();
    assertThat(one.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(two.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  /** It may lack routes that only the new range has. What comes behind it must not pass it when it is sent again. */
  @Test
  void whatWasMatchedBeforeASplitHasNoProofAndNothingPassesIt() {
    var one = append("one", QoS.AT_LEAST_ONCE);
    epoch = 2;
    var two = append("two", QoS.AT_LEAST_ONCE);
    var three = append("three", QoS.AT_LEAST_ONCE);
    assertThat(delivered).containsExactly("one");

    proved();

    assertThat(delivered).containsExactly("one");
    assertThat(one.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(two.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(three.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(barriers).isEmpty();
    var again = append("one", QoS.AT_LEAST_ONCE);
    proved();
    assertThat(delivered).containsExactly("one", "one");
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void qos2ThatASplitHasOvertakenIsNotDelivered() {
    append("first", QoS.AT_LEAST_ONCE);
    var two = append("two", QoS.EXACTLY_ONCE);
    proved();
    epoch = 2;
    proved();

    assertThat(delivered).containsExactly("first");
    assertThat(two.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
  }

  @Test
  void qos2ThatItsSenderSendsAgainIsNotDelivered() {
    append("first", QoS.AT_LEAST_ONCE);
    var two = append("two", QoS.EXACTLY_ONCE);
    two.comesAgain = true;
    proved();
    proved();

    assertThat(delivered).containsExactly("first");
    assertThat(kept).isZero();
    assertThat(two.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
  }
}
