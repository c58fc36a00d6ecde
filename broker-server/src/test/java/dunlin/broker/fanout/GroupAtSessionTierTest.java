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
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A QoS 2 message for a group is offered to its durable members, since no connected one has room, and the session tier does not answer. */
class GroupAtSessionTierTest {
  private static final Duration SOON = Duration.ofMinutes(2);

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
    first.answer().completeExceptionally(new OutcomeUnknownException("the link was lost", new StoreException("lost")));

    var second = call(1);
    assertThat(second.exchange()).isEqualTo(first.exchange());
    second.answer().completeExceptionally(new StoreException("there is no link to the session tier"));
    call(2).answer().complete(true);

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(delivered()).isZero();
  }

  @Test
  void anotherMemberGetsItOnceTheDurableOnesSurelyHaveNot() {
    var answer = publish();
    memberTakes(true);
    call(0).answer().completeExceptionally(new OutcomeUnknownException("the link was lost", new StoreException("lost")));
    call(1).answer().complete(false);

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(delivered()).isOne();
  }

  @Test
  void anotherMemberGetsItWhenTheSessionTierHasRefusedIt() {
    var answer = publish();
    memberTakes(true);
    call(0).answer().completeExceptionally(new StoreException("the inbox is full"));

    await().atMost(SOON).until(answer.reason::isDone);
    assertThat(answer.reason).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(delivered()).isOne();
  }

  private OpenFrontend.FakeSessions.AppendToGroup call(int number) {
    await().atMost(SOON).until(() -> open.sessions.toGroups.size() > number);
    return open.sessions.toGroups.get(number);
  }

  private Answer publish() {
    var plain = Publication.of(new Publisher(Publisher.DEFAULT_TENANT, "p"), "t", QoS.EXACTLY_ONCE, false, System.currentTimeMillis(), new byte[10]);
    var message =
        new Publication(
            plain.publisher(), plain.qos(), false, plain.acceptedAtMillis(), -1, -1, plain.topicLength(), 0, plain.body(), new Publication.Exchange(4, 9));
    var answer = new Answer();
    open.on(
        0,
        () -> {
          open.loop(0).readClock();
          open.fanout().on(0).groups().dispatch(message, filter, null, answer);
          return true;
        });
    return answer;
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

  private long delivered() {
    open.on(1, () -> true);
    open.on(0, () -> true);
    return (long) open.meters.find("dunlin.messages.delivered").tag("hop", "session").functionCounters().stream().mapToDouble(counter -> counter.count()).sum();
  }
}
