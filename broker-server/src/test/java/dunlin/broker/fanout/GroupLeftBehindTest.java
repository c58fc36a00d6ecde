package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.OpenFrontend.Answer;
import dunlin.broker.OpenFrontend.FakeDist.Redealt;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.transport.TierAnswers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the last member of a group at a frontend has not acknowledged when it leaves. */
class GroupLeftBehindTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  /** Number of messages that a member takes without acknowledging: one in flight, and a queue. */
  private static final int ROOM = 1 + OpenFrontend.QUEUE_MESSAGES;

  private final List<OpenFrontend> opened = new ArrayList<>();

  @AfterEach
  void closes() {
    opened.forEach(OpenFrontend::close);
  }

  /** A group with one member, which takes messages and does not acknowledge them. */
  private final class Silent {
    final OpenFrontend open;
    final FilterHandle filter;
    final ShareGroup group;
    final Subscriber member;

    Silent(String filter, boolean alone, QoS qos) {
      open = new OpenFrontend(2, alone);
      opened.add(open);
      this.filter = OpenFrontend.handle(filter, 2);
      group = Objects.requireNonNull(this.filter.group());
      member = new Subscriber(open.session(1, "member"), this.filter, SubscriptionOptions.of(qos));
      group.add(member);
    }

    /** The member has taken as many messages as it has room for; their publisher has its answers. */
    Silent takes(QoS qos, Publication.@Nullable Exchange exchange) {
      for (int i = 0; i < ROOM; i++) {
        byte[] text = ("t" + i).getBytes(StandardCharsets.UTF_8);
        var by = new Publisher(Publisher.DEFAULT_TENANT, "publisher");
        var message = new Publication(by, qos, false, System.currentTimeMillis(), Publication.NEVER_EXPIRES, -1, 1, 0, text, exchange);
        var answer = new Answer();
        open.on(
            0,
            () -> {
              open.fanout().on(0).groups().dispatch(message, filter, null, answer);
              return true;
            });
        await().atMost(SOON).until(answer.reason::isDone);
        assertThat(answer.reason.join()).isEqualTo(ReasonCode.SUCCESS);
      }
      return this;
    }

    Silent takes() {
      return takes(QoS.AT_LEAST_ONCE, null);
    }

    Silent leaves() {
      open.on(
          1,
          () -> {
            group.remove(member);
            OpenFrontend.sessionOf(member).end();
            return true;
          });
      return this;
    }

    List<Redealt> redealt(int count) {
      await().atMost(SOON).until(() -> open.dist.redealt.size() >= count);
      assertThat(open.dist.redealt).hasSize(count);
      return open.dist.redealt;
    }

    void answer(Redealt message, boolean found, ReasonCode reason) {
      if (found) message.acknowledgement().markMatched();
      message.acknowledgement().answer(reason);
    }

    /** Publishers may use all credit of their lanes. */
    void creditIsReturned() {
      for (int loop = 0; loop < 2; loop++) {
        int of = loop;
        await().atMost(SOON).until(() -> open.on(of, () -> open.loop(of).window().messages()) == 0);
      }
    }

    /** Messages that are counted as dropped, once nothing waits and holds credit. */
    double dropped(String reason) {
      await().atMost(SOON).until(() -> open.groupWaiting() == 0);
      creditIsReturned();
      return open.meters.get("dunlin.messages.dropped").tag("hop", "session").tag("reason", reason).functionCounter().count();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"$share/g/t", "$oshare/g/t"})
  void isDealtAgainInItsOrder(String filter) {
    var group = new Silent(filter, false, QoS.AT_LEAST_ONCE).takes().leaves();

    var redealt = group.redealt(ROOM);
    assertThat(redealt).extracting(Redealt::text).containsExactly("0", "1", "2", "3", "4");
    assertThat(redealt).allSatisfy(each -> assertThat(each.group().text()).isEqualTo(filter));
    group.creditIsReturned();
    assertThat(group.open.groupWaiting()).as("until the dist tier has answered").isEqualTo(ROOM);

    for (Redealt each : redealt) group.answer(each, true, ReasonCode.SUCCESS);
    assertThat(group.dropped("no-member")).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "true,  SUCCESS,                 0, 0", "false, SUCCESS,            5, 0", "false, SERVER_UNAVAILABLE, 0, 5", "false, SERVER_BUSY,        0, 5",
    "true,  QUOTA_EXCEEDED,          5, 0"
  })
  void isCountedWhenNoOtherMemberHasTakenIt(boolean found, ReasonCode reason, int withoutMember, int unreached) {
    var group = new Silent("$share/g/t", false, QoS.AT_LEAST_ONCE).takes().leaves();

    for (Redealt each : group.redealt(ROOM)) group.answer(each, found, reason);

    assertThat(group.dropped("no-member")).isEqualTo(withoutMember);
    assertThat(group.dropped("overloaded")).isEqualTo(unreached);
  }

  @Test
  void isNotCountedAgainWhereMembersElsewhereHadNoRoom() {
    var group = new Silent("$share/g/t", false, QoS.AT_LEAST_ONCE).takes().leaves();

    for (Redealt each : group.redealt(ROOM)) group.answer(each, true, TierAnswers.NO_MEMBER);

    assertThat(group.dropped("no-member")).isZero();
  }

  @Test
  void isDroppedAndCountedWithoutOtherFrontends() {
    var group = new Silent("$share/g/t", true, QoS.AT_LEAST_ONCE).takes().leaves();

    assertThat(group.dropped("no-member")).isEqualTo(ROOM);
    assertThat(group.open.dist.redealt).isEmpty();
  }

  @Test
  void goesToAnotherMemberOfTheSameFrontend() {
    var group = new Silent("$share/g/t", false, QoS.AT_LEAST_ONCE).takes();
    group.group.add(new Subscriber(group.open.session(0, "other"), group.filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));

    group.leaves();

    assertThat(group.dropped("no-member")).isZero();
    assertThat(group.open.dist.redealt).isEmpty();
  }

  /** The first exchange has begun, so no other member may get that message [MQTT-4.8.2-5]. */
  @Test
  void aQos2MessageThatTheMemberMayHaveStaysWithIt() {
    var group = new Silent("$share/g/t", false, QoS.EXACTLY_ONCE).takes(QoS.EXACTLY_ONCE, new Publication.Exchange(1, 9)).leaves();

    var redealt = group.redealt(ROOM - 1);
    assertThat(redealt).extracting(Redealt::text).containsExactly("1", "2", "3", "4");
    assertThat(redealt).allSatisfy(each -> assertThat(each.message().exchange()).as("its publisher has its answer").isNull());
    assertThat(redealt).allSatisfy(each -> assertThat(each.message().qos()).isEqualTo(QoS.EXACTLY_ONCE));

    for (Redealt each : redealt) group.answer(each, true, ReasonCode.SUCCESS);
    assertThat(group.dropped("session-ended")).isOne();
  }
}
