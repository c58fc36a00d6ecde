package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.session.SessionView;
import dunlin.inbox.OpenExchange;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.TierAnswers;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A message for a group is offered to its durable members, since no connected one has room, and the session tier does not answer. */
class GroupAtSessionTierTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final Publication.Exchange EXCHANGE = new Publication.Exchange(4, 9);

  private final OpenFrontend open = new OpenFrontend(2, false, new FrontendSettings.GroupWaits(SOON, SOON, 65_536));
  private final FilterHandle filter = OpenFrontend.handle("$share/g/t", 2);
  private final Subscriber member = new Subscriber(open.session(0, "member"), filter, SubscriptionOptions.of(QoS.AT_MOST_ONCE));

  private static final class Answer extends Acknowledgement {
    final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();

    @Override
    public Terms terms() {
      return Terms.ANSWERED.from(new Terms.Origin(-7, 11, 3, false, List.of(1L)));
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason.complete(worst);
    }
  }

  @BeforeEach
  void joins() {
    open.sessions.holdsGroups = true;
    Objects.requireNonNull(filter.group()).add(member);
    memberTakes(false);
  }

  @AfterEach
  void closes() {
    open.close();
  }

  /** The durable members may have it. */
  @Test
  void noOtherMemberGetsItWhileTheOutcomeIsUnknown() {
    var answer = publish();
    var first = call(0);
    assertThat(first.exchange()).isEqualTo(new OpenExchange(9, 4, Terms.Origin.fromRecord(-7, 11, List.of())));
    memberTakes(true);
    outcomeIsUnknown(0);

    var second = call(1);
    assertThat(second.exchange()).isEqualTo(first.exchange());
    second.answer().completeExceptionally(new StoreException("there is no link to the session tier"));
    call(2).answer().complete(true);

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(counted("delivered")).isZero();
  }

  @Test
  void anotherMemberGetsItOnceTheDurableOnesSurelyHaveNot() {
    var answer = publish();
    memberTakes(true);
    outcomeIsUnknown(0);
    call(1).answer().complete(false);

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(counted("delivered")).isOne();
  }

  @Test
  void anotherMemberGetsItWhenTheSessionTierHasRefusedIt() {
    var answer = publish();
    memberTakes(true);
    call(0).answer().completeExceptionally(new StoreException("the inbox is full"));

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(counted("delivered")).isOne();
  }

  @Test
  void withoutARecordedExchangeQos2GoesNowhereElseWhenTheOutcomeIsUnknown() {
    var answer = publish(QoS.EXACTLY_ONCE, null, filter);
    memberTakes(true);
    outcomeIsUnknown(0);

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(TierAnswers.NO_MEMBER);
    assertThat(counted("delivered")).isZero();
    assertThat(counted("dropped")).isOne();
    assertThat(open.sessions.toGroups).hasSize(1);
  }

  /** Its exchange has brought it here, and nothing recognises what comes after it. */
  @Test
  void whatAMemberHasLeftBehindGoesNowhereElseEither() {
    dispatch(message(QoS.EXACTLY_ONCE, EXCHANGE), filter, null);
    assertThat(call(0).exchange()).isNull();
    open.on(0, () -> {
      Objects.requireNonNull(filter.group()).remove(member);
      return true;
    });
    outcomeIsUnknown(0);

    await().atMost(SOON).until(() -> counted("dropped") == 1);
    assertThat(open.groupWaiting()).isZero();
    assertThat(open.dist.redealt).isEmpty();
    assertThat(open.sessions.toGroups).hasSize(1);
  }

  @Test
  void theNextOneOfAnOrderedGroupFollows() {
    var ordered = OpenFrontend.handle("$oshare/h/t", 2);
    var first = publish(QoS.EXACTLY_ONCE, null, ordered);
    var second = publish(QoS.EXACTLY_ONCE, null, ordered);
    outcomeIsUnknown(0);
    call(1).answer().complete(true);

    await().atMost(SOON).until(() -> first.reason.isDone() && second.reason.isDone());
    assertThat(first.reason).isCompletedWithValue(TierAnswers.NO_MEMBER);
    assertThat(second.reason).isCompletedWithValue(ReasonCode.SUCCESS);
  }

  @Test
  void qos1GoesToAnotherMember() {
    var answer = publish(QoS.AT_LEAST_ONCE, null, filter);
    memberTakes(true);
    outcomeIsUnknown(0);

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(counted("delivered")).isOne();
  }

  private void outcomeIsUnknown(int call) {
    call(call).answer().completeExceptionally(new OutcomeUnknownException("the link was lost", new StoreException("lost")));
  }

  private OpenFrontend.FakeSessions.AppendToGroup call(int number) {
    await().atMost(SOON).until(() -> open.sessions.toGroups.size() > number);
    return open.sessions.toGroups.get(number);
  }

  private Answer publish() {
    return publish(QoS.EXACTLY_ONCE, EXCHANGE, filter);
  }

  private Answer publish(QoS qos, Publication.@Nullable Exchange exchange, FilterHandle to) {
    var answer = new Answer();
    dispatch(message(qos, exchange), to, answer);
    return answer;
  }

  private static Publication message(QoS qos, Publication.@Nullable Exchange exchange) {
    var plain = Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "p"), "t", qos, false, System.currentTimeMillis(), new byte[10]);
    return new Publication(plain.publisher(), plain.qos(), false, plain.acceptedAtMillis(), -1, -1, plain.topicLength(), 0, plain.body(), exchange);
  }

  private void dispatch(Publication message, FilterHandle to, @Nullable Acknowledgement acknowledgement) {
    open.on(
        0,
        () -> {
          open.loop(0).readClock();
          open.fanout().on(0).groups().dispatch(message, to, null, acknowledgement);
          return true;
        });
  }

  private void memberTakes(boolean takes) {
    open.on(
        0,
        () -> {
          Objects.requireNonNull(OpenFrontend.sessionOf(member).connection().context().channel().unsafe().outboundBuffer()).setUserDefinedWritability(1, takes);
          SessionView.updateLoad(OpenFrontend.sessionOf(member));
          return true;
        });
  }

  private long counted(String what) {
    open.on(1, () -> true);
    open.on(0, () -> true);
    return (long) open.meters.find("dunlin.messages." + what).tag("hop", "session").functionCounters().stream().mapToDouble(counter -> counter.count()).sum();
  }
}
