package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.inbox.OpenExchange;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.Terms;
import dunlin.transport.TierAnswers;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A message for a group is offered to its durable members, since no connected one has room, and the session tier does not answer. */
class GroupAtSessionTierTest {
  private final OfferedGroup group = new OfferedGroup("$share/g/t", 0);
  private final OpenFrontend open = group.open;

  @BeforeEach
  void isFull() {
    group.memberTakes(false);
  }

  @AfterEach
  void closes() {
    group.close();
  }

  /** The durable members may have it. */
  @Test
  void noOtherMemberGetsItWhileTheOutcomeIsUnknown() {
    var answer = publish();
    var first = call(0);
    assertThat(first.exchange()).isEqualTo(new OpenExchange(9, 4, Terms.Origin.fromRecord(-7, 11, List.of())));
    group.memberTakes(true);
    outcomeIsUnknown(0);

    var second = call(1);
    assertThat(second.exchange()).isEqualTo(first.exchange());
    second.answer().completeExceptionally(new StoreException("there is no link to the session tier"));
    call(2).answer().complete(true);

    await().atMost(OfferedGroup.SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(group.counted("delivered")).isZero();
  }

  @Test
  void anotherMemberGetsItOnceTheDurableOnesSurelyHaveNot() {
    var answer = publish();
    group.memberTakes(true);
    outcomeIsUnknown(0);
    call(1).answer().complete(false);

    await().atMost(OfferedGroup.SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(group.counted("delivered")).isOne();
  }

  @Test
  void anotherMemberGetsItWhenTheSessionTierHasRefusedIt() {
    var answer = publish();
    group.memberTakes(true);
    call(0).answer().completeExceptionally(new StoreException("the inbox is full"));

    await().atMost(OfferedGroup.SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(group.counted("delivered")).isOne();
  }

  @Test
  void withoutARecordedExchangeQos2GoesNowhereElseWhenTheOutcomeIsUnknown() {
    var answer = group.publish(QoS.EXACTLY_ONCE, null, group.filter);
    group.memberTakes(true);
    outcomeIsUnknown(0);

    await().atMost(OfferedGroup.SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(TierAnswers.NO_MEMBER);
    assertThat(group.counted("delivered")).isZero();
    assertThat(group.counted("dropped")).isOne();
    assertThat(open.sessions.toGroups).hasSize(1);
  }

  /** Its exchange has brought it here, and nothing recognises what comes after it. */
  @Test
  void whatAMemberHasLeftBehindGoesNowhereElseEither() {
    group.dispatch(OfferedGroup.message(QoS.EXACTLY_ONCE, OfferedGroup.EXCHANGE), group.filter, null);
    assertThat(call(0).exchange()).isNull();
    group.memberLeaves();
    outcomeIsUnknown(0);

    await().atMost(OfferedGroup.SOON).until(() -> group.counted("dropped") == 1);
    assertThat(open.groupWaiting()).isZero();
    assertThat(open.dist.redealt).isEmpty();
    assertThat(open.sessions.toGroups).hasSize(1);
  }

  @Test
  void theNextOneOfAnOrderedGroupFollows() {
    var ordered = OpenFrontend.handle("$oshare/h/t", 2);
    var first = group.publish(QoS.EXACTLY_ONCE, null, ordered);
    var second = group.publish(QoS.EXACTLY_ONCE, null, ordered);
    outcomeIsUnknown(0);
    call(1).answer().complete(true);

    await().atMost(OfferedGroup.SOON).until(() -> first.reason.isDone() && second.reason.isDone());
    assertThat(first.reason).isCompletedWithValue(TierAnswers.NO_MEMBER);
    assertThat(second.reason).isCompletedWithValue(ReasonCode.SUCCESS);
  }

  @Test
  void qos1GoesToAnotherMember() {
    var answer = group.publish(QoS.AT_LEAST_ONCE, null, group.filter);
    group.memberTakes(true);
    outcomeIsUnknown(0);

    await().atMost(OfferedGroup.SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(group.counted("delivered")).isOne();
  }

  private void outcomeIsUnknown(int call) {
    call(call).answer().completeExceptionally(new OutcomeUnknownException("the link was lost", new StoreException("lost")));
  }

  private OpenFrontend.FakeSessions.AppendToGroup call(int number) {
    await().atMost(OfferedGroup.SOON).until(() -> open.sessions.toGroups.size() > number);
    return open.sessions.toGroups.get(number);
  }

  private OfferedGroup.Answer publish() {
    return group.publish(QoS.EXACTLY_ONCE, OfferedGroup.EXCHANGE, group.filter);
  }
}
