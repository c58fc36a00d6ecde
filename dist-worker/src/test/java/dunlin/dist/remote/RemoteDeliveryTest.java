package dunlin.dist.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.lane.LinkAccount;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Tracer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A delivery over a pipe whose frames the test releases. */
class RemoteDeliveryTest {
  private static final Link.Settings LINK = new Link.Settings(1_000, 10_000, Duration.ofSeconds(10));
  private static final Publisher PUBLISHER = new Publisher("t", "client");

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final Frontend frontend = new Frontend();
  private final Repetitions repetitions = new Repetitions();
  private long nanos;
  private long identities = 2;
  private boolean connects = true;
  private @Nullable Link accepted;
  private final LinkAcceptor acceptor =
      new LinkAcceptor(7, LINK, 4, tasks::add, () -> nanos, (link, _) -> accepts(link));
  private final Tracer tracer = Tracer.idle();
  private final Trace trace = tracer.begin("t", "t", "client", "", "", Duration.ofMinutes(1));
  private final UnacknowledgedDrops drops = new UnacknowledgedDrops("delivery", tracer);
  private final RemoteDelivery delivery = new RemoteDelivery(this::dial, tasks::add, () -> nanos, null, drops);

  /** Records its messages. */
  private static final class Frontend implements Delivery {
    final List<String> delivered = new ArrayList<>();
    final List<Acknowledgement> held = new ArrayList<>();
    boolean holds;
    boolean fails;
    ReasonCode reason = ReasonCode.SUCCESS;
    int credit = 5;
    int asked;

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      var text = new StringBuilder(message.topic());
      for (int i = 0; i < routes.size(); i++) text.append(' ').append(routes.get(i).filter().text()).append('=').append(routes.get(i).handle());
      delivered.add(text.toString());
      if (fails) throw new IllegalStateException("the test has it fail");
      if (acknowledgement != null && holds) held.add(acknowledgement);
      else if (acknowledgement != null) acknowledgement.answer(reason);
    }

    @Override
    public int groupCredit(Route route) {
      asked++;
      return credit;
    }
  }

  private static final class Answer extends Acknowledgement {
    @Nullable ReasonCode reason;
    private final Terms terms;

    Answer(Terms terms) {
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
    }
  }

  private Link.Handler accepts(Link link) {
    accepted = link;
    return new ReceivingStream(link, tasks::add, new RemoteDeliveries(frontend, repetitions));
  }

  private Link dial(Link.Handler handler) {
    return QueuedPipe.dial(++identities, LINK, connects ? acceptor : null, tasks::add, () -> nanos, handler);
  }

  private void run() {
    for (int i = 0; i < 10_000 && !tasks.isEmpty(); i++) tasks.remove().run();
    assertThat(tasks).isEmpty();
  }

  private static Route route(String filter, int handle) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.frontend("n"), 4, handle);
  }

  /** As between processes, where each message is answered. */
  private Answer deliverQos0(int bytes, Route route) {
    var matched = new MatchedRoutes();
    matched.add(route);
    var answer = new Answer(Terms.ANSWERED);
    delivery.deliver(Publication.of(PUBLISHER, "a/b", QoS.AT_MOST_ONCE, false, 0, new byte[bytes]), matched, null, answer);
    return answer;
  }

  private Answer deliver(QoS qos, int bytes, Route... routes) {
    return deliver(delivery, qos, bytes, Terms.ANSWERED, routes);
  }

  private static Answer deliver(RemoteDelivery to, QoS qos, int bytes, Terms terms, Route... routes) {
    var matched = new MatchedRoutes();
    for (Route each : routes) matched.add(each);
    var answer = new Answer(terms);
    to.deliver(Publication.of(PUBLISHER, "a/b", qos, false, 0, new byte[bytes]), matched, null, qos == QoS.AT_MOST_ONCE ? null : answer);
    return answer;
  }

  @Test
  void theFrontendGetsEachMessageWithItsRoutes() {
    var one = deliver(QoS.AT_LEAST_ONCE, 3, route("a/+", 1), route("$share/g/a/b", 2));
    var two = deliver(QoS.EXACTLY_ONCE, 3, route("a/+", 1));
    deliver(QoS.AT_MOST_ONCE, 3, route("#", -5));
    run();

    assertThat(frontend.delivered).containsExactly("a/b a/+=1 $share/g/a/b=2", "a/b a/+=1", "a/b #=-5");
    assertThat(one.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(two.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  /** The terms of a message of the lane 5. */
  private static Terms from(long number, long settled, boolean repeated) {
    return Terms.ANSWERED.from(new Terms.Origin(5, number, settled, repeated));
  }

  private Answer deliver(RemoteDelivery leader, long number, long settled, boolean repeated) {
    return deliver(leader, QoS.EXACTLY_ONCE, 3, from(number, settled, repeated), route("a/+", 1));
  }

  @Test
  void whatANewLeaderRepeatsIsDeliveredOnceAndGetsTheAnswerOfTheFirst() {
    var next = new RemoteDelivery(this::dial, tasks::add, () -> nanos, null, drops);
    frontend.reason = ReasonCode.QUOTA_EXCEEDED;
    var first = deliver(delivery, 1, 1, false);
    run();
    frontend.holds = true;
    var waiting = deliver(delivery, 2, 1, false);
    run();

    var firstAgain = deliver(next, 1, 1, true);
    var waitingAgain = deliver(next, 2, 2, true);
    run();
    assertThat(firstAgain.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(waitingAgain.reason).isNull();
    frontend.held.getFirst().answer(ReasonCode.SUCCESS);
    run();

    assertThat(frontend.delivered).hasSize(2);
    assertThat(first.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(waiting.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(waitingAgain.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void whatTheLeaderBeforeHadNotDeliveredIsDelivered() {
    deliver(delivery, 1, 1, false);
    run();
    deliver(delivery, 2, 1, true);
    run();

    assertThat(frontend.delivered).hasSize(2);
  }

  /** A leader sends a message for each group, and for all plain routes. */
  @Test
  void theGroupsOfAMessageAreToldApart() {
    for (int i = 0; i < 2; i++) {
      var terms = from(1, 1, i > 0);
      deliver(delivery, QoS.EXACTLY_ONCE, 3, terms, route("a/+", 1), route("#", 2));
      deliver(delivery, QoS.EXACTLY_ONCE, 3, terms, route("$share/g/a/b", 3));
      deliver(delivery, QoS.EXACTLY_ONCE, 3, terms, route("$share/h/a/b", 4));
      run();
    }

    assertThat(frontend.delivered).containsExactly("a/b a/+=1 #=2", "a/b $share/g/a/b=3", "a/b $share/h/a/b=4");
    deliver(delivery, 2, 2, false);
    run();
    assertThat(repetitions.size()).as("those that are settled are kept for a while").isEqualTo(4);
  }

  @Test
  void ofSettledMessagesTheLastAreKept() {
    for (int number = 1; number <= 1_000; number++) {
      deliver(delivery, number, Math.max(1, number - 9), false);
      run();
    }

    assertThat(repetitions.size()).isEqualTo(10 + 256);
    int before = frontend.delivered.size();
    deliver(delivery, QoS.EXACTLY_ONCE, 3, fromRecord(735), route("a/+", 1));
    deliver(delivery, QoS.EXACTLY_ONCE, 3, fromRecord(734), route("a/+", 1));
    run();
    assertThat(frontend.delivered).as("734 is forgotten").hasSize(before + 1);
  }

  /** The terms of a message of the lane 5 that its client publishes again, by another lane. */
  private static Terms fromRecord(long number) {
    return Terms.ANSWERED.from(Terms.Origin.fromRecord(5, number, List.of()));
  }

  @Test
  void whatAClientPublishesAgainIsDeliveredIfItWasNot() {
    var other = new RemoteDelivery(this::dial, tasks::add, () -> nanos, null, drops);
    deliver(delivery, 1, 1, false);
    run();

    var again = deliver(other, QoS.EXACTLY_ONCE, 3, fromRecord(1), route("a/+", 1));
    run();
    assertThat(frontend.delivered).hasSize(1);
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
    var lost = deliver(other, QoS.EXACTLY_ONCE, 3, fromRecord(2), route("a/+", 1));
    run();
    assertThat(frontend.delivered).hasSize(2);
    assertThat(lost.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void whatAClientPublishesAgainIsNotRefusedBecauseItWasBefore() {
    frontend.reason = ReasonCode.QUOTA_EXCEEDED;
    var first = deliver(delivery, 1, 1, false);
    run();
    var again = deliver(delivery, QoS.EXACTLY_ONCE, 3, fromRecord(1), route("a/+", 1));
    run();

    assertThat(first.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(frontend.delivered).hasSize(1);
  }

  private Answer deliverWill(RemoteDelivery leader, long epoch, boolean again) {
    return deliver(leader, QoS.AT_LEAST_ONCE, 3, Terms.WILL.from(Terms.Origin.ofWill(epoch, again)), route("a/+", 1));
  }

  @Test
  void aWillIsDeliveredOnceWhicheverLeaderSendsIt() {
    var next = new RemoteDelivery(this::dial, tasks::add, () -> nanos, null, drops);
    frontend.reason = ReasonCode.QUOTA_EXCEEDED;
    var first = deliverWill(delivery, 7, false);
    run();
    frontend.reason = ReasonCode.SUCCESS;
    deliverWill(delivery, 3, false);
    run();
    for (int lane = 1; lane <= 2_000; lane++) deliver(delivery, QoS.EXACTLY_ONCE, 3, Terms.ANSWERED.from(new Terms.Origin(lane, 1, 1, false)), route("a/+", 1));
    run();
    int before = frontend.delivered.size();

    var again = deliverWill(next, 7, true);
    var late = deliverWill(delivery, 7, false);
    deliverWill(next, 3, true);
    run();

    assertThat(frontend.delivered).hasSize(before);
    assertThat(first.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(late.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void theLastWillsAreKept() {
    for (int epoch = 1; epoch <= Repetitions.WILLS_KEPT + 10; epoch++) {
      deliverWill(delivery, epoch, false);
      run();
    }

    assertThat(repetitions.size()).isLessThanOrEqualTo(Repetitions.WILLS_KEPT + 1);
    int before = frontend.delivered.size();
    deliverWill(delivery, 11, true);
    run();
    assertThat(frontend.delivered).hasSize(before);
    deliverWill(delivery, 1, true);
    run();
    assertThat(frontend.delivered).hasSize(before + 1);
  }

  @Test
  void lanesBeyondTheBoundAreForgotten() {
    for (int lane = 1; lane <= 2_000; lane++) {
      deliver(delivery, QoS.EXACTLY_ONCE, 3, Terms.ANSWERED.from(new Terms.Origin(lane, 1, 1, false)), route("a/+", 1));
      run();
    }

    assertThat(repetitions.size()).isEqualTo(1_024);
  }

  @Test
  void aDeliveryThatFailsIsNoFirst() {
    frontend.fails = true;
    deliver(delivery, 1, 1, false);
    run();
    frontend.fails = false;
    var again = deliver(delivery, 1, 1, true);
    run();

    assertThat(frontend.delivered).hasSize(2);
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void whatWasReturnedIsNoFirst() {
    frontend.reason = ReasonCode.USE_ANOTHER_SERVER;
    var first = deliver(delivery, QoS.EXACTLY_ONCE, 3, from(1, 1, false), route("$share/g/a/b", 3));
    run();
    frontend.reason = ReasonCode.SUCCESS;
    var again = deliver(delivery, QoS.EXACTLY_ONCE, 3, from(1, 1, true), route("$share/g/a/b", 3));
    run();

    assertThat(frontend.delivered).hasSize(2);
    assertThat(first.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(again.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void theCreditOfAGroupIsRequestedBeforeItsFirstMessageAndAgainWhenOld() {
    var group = route("$share/g/a/b", 2);
    assertThat(delivery.groupCredit(group)).as("unknown yet").isEqualTo(2);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(5);
    assertThat(frontend.delivered).isEmpty();

    frontend.credit = 0;
    assertThat(delivery.groupCredit(group)).as("believed").isEqualTo(5);
    run();
    assertThat(delivery.groupCredit(group)).as("still believed").isEqualTo(5);
    nanos += TimeUnit.MILLISECONDS.toNanos(100);
    assertThat(delivery.groupCredit(group)).as("asked again").isEqualTo(5);
    run();
    assertThat(delivery.groupCredit(group)).isZero();
    assertThat(frontend.asked).isEqualTo(2);
  }

  @Test
  void aGroupHasOnePendingRequest() {
    var group = route("$share/g/a/b", 2);
    delivery.groupCredit(group);
    nanos += TimeUnit.SECONDS.toNanos(1);
    delivery.groupCredit(group);
    run();

    assertThat(frontend.asked).isEqualTo(1);
  }

  @Test
  void creditThatChangesByHalfIsReported() {
    var group = route("$share/g/a/b", 2);
    deliver(QoS.AT_LEAST_ONCE, 3, group);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(5);

    frontend.credit = 6;
    deliver(QoS.AT_LEAST_ONCE, 3, group);
    run();
    assertThat(delivery.groupCredit(group)).as("about the same").isEqualTo(5);
    frontend.credit = 9;
    deliver(QoS.AT_LEAST_ONCE, 3, group);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(9);
  }

  @Test
  void aGroupWithoutCreditIsReportedOnceForAFrame() {
    var group = route("$share/g/a/b", 2);
    frontend.credit = 0;
    for (int i = 0; i < 10; i++) deliver(QoS.AT_LEAST_ONCE, 3, group);
    run();
    assertThat(delivery.groupCredit(group)).isZero();
    assertThat(frontend.asked).isEqualTo(1);

    frontend.credit = 3;
    deliver(QoS.AT_LEAST_ONCE, 3, group);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(3);
  }

  @Test
  void manyGroupsOfAFrameAreAllReported() {
    var groups = IntStream.range(0, 200).mapToObj(i -> route("$share/g" + i + "/a/b", 2)).toList();
    for (Route group : groups) deliver(QoS.AT_LEAST_ONCE, 3, group);
    run();
    assertThat(groups).allSatisfy(group -> assertThat(delivery.groupCredit(group)).isEqualTo(5));
    assertThat(frontend.asked).isEqualTo(200);
  }

  @Test
  void creditOfGroupsIsForgottenWithTheLink() {
    var group = route("$share/g/a/b", 2);
    delivery.groupCredit(group);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(5);

    Objects.requireNonNull(accepted).close();
    run();
    frontend.credit = 7;

    assertThat(delivery.groupCredit(group)).isEqualTo(2);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(7);
  }

  @Test
  void nothingIsRequestedWhileTheLinkIsHalfFull() {
    connects = false;
    var first = deliver(QoS.AT_LEAST_ONCE, 6_000, route("#", 1));
    run();

    for (int i = 0; i < 1_000; i++) delivery.groupCredit(route("$share/group-" + i + "/a/b", 1));
    run();

    assertThat(first.reason).as("questions have not ended the link").isNull();
    delivery.close();
  }

  /** All its members may be absent, while those of other destinations are connected. */
  @Test
  void inboxShardsCountAsOnlyKeepingMessagesBeforeTheirFirstAnswer() {
    var group = new Route("t", TopicFilter.parse("$share/g/a/b").orElseThrow(), ShardId.inbox(3), 1, 0);

    assertThat(delivery.groupCredit(group)).isEqualTo(1);
    run();
    assertThat(delivery.groupCredit(group)).isEqualTo(5);
  }

  /** Their routes have no handles. */
  @Test
  void groupsOfInboxShardsHaveSeparateCredit() {
    var filter = TopicFilter.parse("$share/g/a/b").orElseThrow();
    var one = new Route("t", filter, ShardId.inbox(3), 1, 0);
    var two = new Route("t", filter, ShardId.inbox(4), 1, 0);

    deliver(QoS.AT_LEAST_ONCE, 3, one);
    run();
    frontend.credit = 9;
    deliver(QoS.AT_LEAST_ONCE, 3, two);
    run();

    assertThat(delivery.groupCredit(one)).isEqualTo(5);
    assertThat(delivery.groupCredit(two)).isEqualTo(9);
  }

  @Test
  void aMessageIsAnsweredWhenItsLinkIsLostDuringDialling() {
    var answer = new Answer(Terms.ANSWERED);
    var refused =
        new RemoteDelivery(
            handler -> {
              handler.lost("refused at once");
              return Link.dialling(9, new byte[0], LINK, tasks::add, () -> nanos, handler);
            },
            tasks::add,
            () -> nanos,
            null,
            drops);
    var matched = new MatchedRoutes();
    matched.add(route("#", 1));

    refused.deliver(Publication.of(PUBLISHER, "a/b", QoS.AT_LEAST_ONCE, false, 0, new byte[3]), matched, null, answer);

    assertThat(answer.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void unacknowledgedMessagesAreDroppedAndCountedWhileTheFrontendIsStuck() {
    connects = false;
    var first = deliver(QoS.AT_LEAST_ONCE, 6_000, route("#", 1));
    run();

    deliver(QoS.AT_MOST_ONCE, 3, route("#", 1));
    assertThat(drops.overloaded()).isEqualTo(1);

    delivery.close();
    assertThat(first.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  private List<String> traced() {
    return trace.read(0, 100).events().stream().map(event -> event.hop() + " " + event.step() + " " + event.reason()).toList();
  }

  /** The answer gives the publisher its credit back. */
  @Test
  @Tag("drop:delivery:overloaded")
  void qos0IsDroppedCountedAndAnsweredWhileTheLinkIsHalfFull() {
    connects = false;
    var first = deliver(QoS.AT_LEAST_ONCE, 6_000, route("#", 1));
    run();

    var dropped = deliverQos0(3, route("#", 1));

    assertThat(dropped.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(drops.overloaded()).isEqualTo(1);
    assertThat(traced()).containsExactly("delivery dropped overloaded");
    assertThat(first.reason).isNull();
    assertThat(drops.account()).isEqualTo(new LinkAccount(2, 0, 0, 1, 1));
    delivery.close();
    assertThat(drops.unreachable()).isZero();
    assertThat(drops.account()).as("the publisher of the other one has an error").isEqualTo(new LinkAccount(2, 0, 1, 1, 0));
    deliver(QoS.AT_LEAST_ONCE, 3, route("#", 1));
    assertThat(drops.account()).as("after its end").isEqualTo(new LinkAccount(3, 0, 2, 1, 0));
  }

  @Test
  void qos0ThatIsLostWithItsLinkIsCounted() {
    frontend.holds = true;
    var lost = deliverQos0(3, route("#", 1));
    run();

    Objects.requireNonNull(accepted).close();
    run();

    assertThat(lost.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(drops.unreachable()).isEqualTo(1);
    assertThat(drops.overloaded()).isZero();
    assertThat(traced()).containsExactly("delivery dropped unreachable");
    assertThat(drops.account()).isEqualTo(new LinkAccount(1, 0, 0, 1, 0));
  }

  @Test
  void requestsForCreditOfOneRoundAreOneTask() {
    connects = false;
    deliver(QoS.AT_LEAST_ONCE, 6_000, route("#", 1));
    run();

    for (int i = 0; i < 1_000; i++) delivery.groupCredit(route("$share/group-" + i + "/a/b", 1));

    assertThat(tasks).hasSize(1);
    run();
    delivery.close();
  }
}
