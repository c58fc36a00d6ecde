package dunlin.broker.fanout;

import static dunlin.broker.fanout.OfferedGroup.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages for a group at a broker that has lost its lease: other brokers may have dealt them by then. Its member is still connected. */
class GroupWithoutLeaseTest {
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void whatArrivesGoesToTheSessionTierAndThenElsewhere(int loopOfMember) {
    try (var group = new OfferedGroup("$share/g/t", loopOfMember)) {
      group.open.leased = false;
      var answer = group.publish(QoS.AT_LEAST_ONCE, null, group.filter);
      await().atMost(SOON).until(() -> !group.open.sessions.toGroups.isEmpty());
      group.memberLeaves();
      group.open.sessions.toGroups.getFirst().answer().complete(false);

      await().atMost(SOON).until(answer.reason::isDone);
      assertThat(answer.reason).isCompletedWithValue(ReasonCode.USE_ANOTHER_SERVER);
      assertThat(group.counted("delivered")).isZero();
    }
  }

  /** The exchange may be released by now, by which the session tier would recognise a message that another member has got. */
  @ParameterizedTest
  @ValueSource(strings = {"$share/g/t", "$oshare/g/t"})
  void aRecordedMessageIsReturnedAndNotGivenToTheDurableMembers(String name) {
    try (var group = new OfferedGroup(name, 0)) {
      group.open.leased = false;
      var answer = group.publish(QoS.EXACTLY_ONCE, OfferedGroup.EXCHANGE, group.filter);
      group.memberLeaves();

      await().atMost(SOON).until(answer.reason::isDone);
      assertThat(answer.reason).isCompletedWithValue(ReasonCode.USE_ANOTHER_SERVER);
      assertThat(group.open.sessions.toGroups).isEmpty();
      assertThat(group.counted("delivered")).isZero();
      assertThat(group.open.on(0, () -> group.open.loop(0).window().messages())).isZero();
    }
  }

  @Test
  void whatIsOnItsWayToAMemberOnAnotherLoopDoesNotReachIt() {
    try (var group = new OfferedGroup("$share/g/t", 1)) {
      group.open.on(
          0,
          () -> {
            group.open.fanout().on(0).groups().dispatch(OfferedGroup.message(QoS.AT_LEAST_ONCE, null), group.filter, null, new OfferedGroup.Answer());
            group.open.leased = false;
            return true;
          });
      await().atMost(SOON).until(() -> !group.open.sessions.toGroups.isEmpty());
      assertThat(group.counted("delivered")).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"$share/g/t", "$oshare/g/t"})
  void whatWaitsForTheMemberLeavesWithIt(String name) {
    try (var group = new OfferedGroup(name, 0)) {
      group.memberTakes(false);
      var answer = group.publish(QoS.AT_LEAST_ONCE, null, group.filter);
      group.open.leased = false;
      group.memberTakes(true);
      group.memberLeaves();
      await()
          .atMost(SOON)
          .until(
              () -> {
                group.open.sessions.toGroups.forEach(call -> call.answer().complete(false));
                return answer.reason.isDone();
              });
      assertThat(answer.reason).isCompletedWithValue(ReasonCode.USE_ANOTHER_SERVER);
      assertThat(group.counted("delivered")).isZero();
    }
  }

  @Test
  void itIsOfferedAgainWithTheNextLease() {
    try (var group = new OfferedGroup("$oshare/g/t", 0)) {
      group.open.leased = false;
      var answer = group.publish(QoS.AT_LEAST_ONCE, null, group.filter);
      assertThat(answer.reason).isNotDone();

      group.open.leased = true;
      await().atMost(SOON).until(answer.reason::isDone);
      assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
      assertThat(group.counted("delivered")).isOne();
    }
  }
}
