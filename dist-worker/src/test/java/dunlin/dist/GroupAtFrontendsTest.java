package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RouteResult;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.LeftBehind;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A message for a group that comes to a frontend of a cluster which has no member of it any more. */
class GroupAtFrontendsTest {
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final ShardId HOME = ShardId.inbox(5);

  private final AtomicReference<@Nullable InMemoryRange<RouteCommand, RouteResult>> made = new AtomicReference<>();
  private final DistWorker worker =
      new DistWorker(
          (_, codec, logic) -> {
            var range = new InMemoryRange<>(codec, logic);
            made.set(range);
            return range;
          },
          List.of(),
          DistSettings.defaults(Runtime.getRuntime().maxMemory()),
          _ -> HOME,
          new SimpleMeterRegistry(),
          Tracer.idle(),
          DeliveryThreads.inline());
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final LocalLane lane = new LocalLane(worker, _ -> HOME, 0, tasks::add, true);
  private final Frontend first = new Frontend(100);
  private final Frontend second = new Frontend(1);
  private final Frontend third = new Frontend(0);
  private final Frontend inboxes = new Frontend(0);

  /** Returns the messages of some groups. A frontend with more credit is picked first. */
  private static final class Frontend implements Delivery {
    private final int credit;
    final List<String> delivered = new ArrayList<>();
    final List<String> left = new ArrayList<>();

    /** Of the messages, as far as they are acknowledged. */
    final List<Terms> terms = new ArrayList<>();

    /** What the record has when a message comes again. */
    List<Long> recorded = List.of();

    @Nullable Acknowledgement held;
    boolean holds;

    Frontend(int credit) {
      this.credit = credit;
    }

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      var filters = new ArrayList<String>();
      for (int i = 0; i < routes.size(); i++) filters.add(routes.get(i).filter().text());
      delivered.add(String.join(" ", filters));
      if (acknowledgement != null) terms.add(acknowledgement.terms());
      if (acknowledgement != null) acknowledgement.recorded(recorded);
      if (holds) held = acknowledgement;
      else if (acknowledgement != null)
        acknowledgement.answer(filters.stream().anyMatch(left::contains) ? ReasonCode.USE_ANOTHER_SERVER : ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return credit;
    }
  }

  private static final class Answer extends Acknowledgement {
    private final Terms terms;
    private @Nullable LeftBehind leftBehind;
    final List<Long> picked = new ArrayList<>();
    final List<ReasonCode> foretold = new ArrayList<>();
    boolean comesAgain;
    @Nullable ReasonCode reason;

    Answer(Terms terms) {
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    public @Nullable LeftBehind leftBehind() {
      return leftBehind;
    }

    @Override
    public boolean comesAgain() {
      return comesAgain;
    }

    @Override
    public void willFail(ReasonCode why) {
      foretold.add(why);
    }

    @Override
    public void picked(long shard) {
      picked.add(shard);
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
    }
  }

  GroupAtFrontendsTest() {
    worker.attachInboxShards(Deliveries.of(inboxes));
    worker.attachFrontend("1", Deliveries.of(first));
    worker.attachFrontend("2", Deliveries.of(second));
    worker.attachFrontend("3", Deliveries.of(third));
  }

  private void add(String filter, ShardId... shards) {
    for (ShardId shard : shards) {
      var added = worker.addRoute(new Route("t", TopicFilter.parse(filter).orElseThrow(), shard, 1, 0));
      Objects.requireNonNull(made.get()).applyAll();
      assertThat(added).isCompleted();
    }
  }

  private void add(String filter, int... frontends) {
    for (int frontend : frontends) add(filter, ShardId.frontend(Integer.toString(frontend)));
  }

  private static long pickOf(String filter, ShardId shard) {
    return Terms.Pick.of(TopicFilter.parse(filter).orElseThrow(), shard);
  }

  private static Route route(String filter, int frontend) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.frontend(Integer.toString(frontend)), 1, 0);
  }

  private Answer publish(QoS qos, boolean inExchange) {
    return publish(qos, inExchange, Terms.ANSWERED);
  }

  private Answer publish(QoS qos, boolean inExchange, Terms terms) {
    return publish(qos, inExchange, new Answer(terms));
  }

  /** The last member of a group at a frontend has left a message behind. */
  private Answer redeal(String group, int frontend) {
    var answer = new Answer(Terms.ANSWERED);
    answer.leftBehind = new LeftBehind(TopicFilter.parse(group).orElseThrow(), Integer.toString(frontend));
    return publish(QoS.AT_LEAST_ONCE, false, answer);
  }

  private Answer publish(QoS qos, boolean inExchange, Answer answer) {
    byte[] topic = "a".getBytes(StandardCharsets.UTF_8);
    var exchange = inExchange ? new Publication.Exchange(1, 9) : null;
    lane.append(new Publication(PUBLISHER, qos, false, 0, -1, -1, topic.length, 0, topic, exchange), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  private void run() {
    while (!tasks.isEmpty()) tasks.remove().run();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatAFrontendReturnsGoesToAnother(boolean inExchange) {
    add("$share/g/a", 1, 2, 3);
    first.left.add("$share/g/a");

    var answer = publish(QoS.EXACTLY_ONCE, inExchange);
    assertThat(answer.reason).as("while it is on its way").isNull();
    run();

    assertThat(first.delivered).hasSize(1);
    assertThat(second.delivered).containsExactly("$share/g/a");
    assertThat(third.delivered).isEmpty();
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.matched()).isTrue();
  }

  /** So that what waits for a worker behind a message that is lost does not overtake it. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFrontendLearnsThatAMessageForAGroupComesAgainAndSaysAtOnceThatItFails(boolean inExchange) {
    add("$share/g/a", 1);
    first.holds = true;
    var answer = publish(QoS.EXACTLY_ONCE, inExchange);
    run();
    var held = Objects.requireNonNull(first.held);

    assertThat(held.comesAgain()).isFalse();
    answer.comesAgain = true;
    assertThat(held.comesAgain()).isTrue();
    held.willFail(ReasonCode.USE_ANOTHER_SERVER); // it goes to another frontend
    held.willFail(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(answer.foretold).containsExactly(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void whatTheLastMemberHasLeftBehindGoesToItsGroupOnly() {
    add("a", 1, 2, 3);
    add("+", HOME);
    add("$share/h/a", 2);
    add("$oshare/g/a", 3);
    add("$share/g/a", 1, 2);

    for (int i = 0; i < 20; i++) {
      var answer = redeal("$share/g/a", 1);
      run();
      assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
      assertThat(answer.matched()).isTrue();
    }

    assertThat(second.delivered).as("although the route to the first frontend is still there").hasSize(20).containsOnly("$share/g/a");
    assertThat(first.delivered).isEmpty();
    assertThat(third.delivered).isEmpty();
    assertThat(inboxes.delivered).isEmpty();
  }

  @Test
  void whatTheLastMemberHasLeftBehindGoesToDurableMembers() {
    add("a", HOME);
    add("$share/g/a", HOME);

    var answer = redeal("$share/g/a", 1);

    assertThat(inboxes.delivered).containsExactly("$share/g/a");
    assertThat(answer.matched()).isTrue();
  }

  /** One has come while the message was on its way. */
  @Test
  void whatTheLastMemberHasLeftBehindGoesBackToANewOneWhenThereIsNoOther() {
    add("$share/g/a", 1, 2);
    second.left.add("$share/g/a");

    var answer = redeal("$share/g/a", 1);
    run();

    assertThat(second.delivered).hasSize(1);
    assertThat(first.delivered).containsExactly("$share/g/a");
    assertThat(answer.matched()).isTrue();
  }

  @Test
  void whatTheLastMemberAnywhereHasLeftBehindHasNoSubscriber() {
    add("a", 1, 2, 3);
    add("$share/g/a", 1);
    first.left.add("$share/g/a");

    var left = redeal("$share/g/a", 1);
    var gone = redeal("$share/h/a", 1);
    run();

    assertThat(first.delivered).hasSize(1);
    assertThat(second.delivered).isEmpty();
    for (var answer : List.of(left, gone)) {
      assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
      assertThat(answer.matched()).isFalse();
    }
  }

  @Test
  void eachFrontendIsAskedOnceAndThenThereIsNoSubscriber() {
    add("$share/g/a", 1, 2, 3);
    for (var frontend : List.of(first, second, third)) frontend.left.add("$share/g/a");

    var answer = publish(QoS.AT_LEAST_ONCE, false);
    run();

    for (var frontend : List.of(first, second, third)) assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.matched()).isFalse();
  }

  /** What is delivered now would come again to all who have had it. */
  @Test
  void whatMatchesAnUnknownFrontendIsReturnedAndDeliveredToNobody() {
    add("a", 1);
    add("+", ShardId.frontend("unknown"), HOME);

    var answer = publish(QoS.AT_LEAST_ONCE, false);
    publish(QoS.AT_MOST_ONCE, false);
    run();

    assertThat(answer.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(first.delivered).as("QoS 0 is not returned").hasSize(1);
    assertThat(inboxes.delivered).hasSize(1);
  }

  /** The log knows that its exchange is recorded, and not for this group. */
  @Test
  void aRepetitionWhoseFrontendHasEndedGoesToTheGroupsInbox() {
    add("a", HOME);
    add("$share/g/a", ShardId.frontend("1"), HOME);
    worker.detachFrontend("1");
    var origin = new Terms.Origin(7, 3, 1, true, List.of(GroupPick.numberOf(route("$share/g/a", 1))));

    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(origin));
    run();

    assertThat(inboxes.delivered).containsExactly("a $share/g/a");
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.picked).containsExactly(pickOf("$share/g/a", HOME));
    assertThat(inboxes.terms.getLast().origin()).isEqualTo(origin.withPicked(List.of(pickOf("$share/g/a", HOME))));
  }

  /** The frontend has given it to a member that has left since, or to the durable members. */
  @Test
  void aRepetitionGoesToItsFrontendThatHasNoMemberAnyMore() {
    add("$share/g/a", ShardId.frontend("2"), HOME);
    var origin = Terms.Origin.fromRecord(7, 3, List.of(pickOf("$share/g/a", ShardId.frontend("1"))));

    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(origin));
    run();

    assertThat(first.delivered).containsExactly("$share/g/a");
    assertThat(second.delivered).isEmpty();
    assertThat(inboxes.delivered).as("the record").containsExactly("");
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aRepetitionIsNotStoredOnceMoreBecauseAllConnectedMembersHaveLeft() {
    add("$share/g/a", HOME);
    var origin = Terms.Origin.fromRecord(7, 3, List.of(pickOf("$share/g/a", ShardId.frontend("1"))));

    publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(origin));
    run();

    assertThat(first.delivered).containsExactly("$share/g/a");
    assertThat(inboxes.delivered).as("the record").containsExactly("");
  }

  /** Its client's next connection may have to know where the message went, when this lane does not live any more. */
  @Test
  void theNextFrontendIsAddedToTheRecordBeforeItIsAsked() {
    add("$share/g/a", 1, 2);
    first.left.add("$share/g/a");
    first.holds = true;
    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(new Terms.Origin(5, 1, 1, false)));
    run();
    inboxes.holds = true;
    Objects.requireNonNull(first.held).answer(ReasonCode.USE_ANOTHER_SERVER);
    run();

    assertThat(inboxes.delivered).as("the exchange, and the next pick").containsExactly("", "");
    var told = inboxes.terms.getLast();
    assertThat(told.repeated()).as("the exchange is recorded").isTrue();
    assertThat(Objects.requireNonNull(told.origin()).picked()).containsExactly(pickOf("$share/g/a", ShardId.frontend("1")), pickOf("$share/g/a", ShardId.frontend("2")));
    assertThat(second.delivered).isEmpty();

    Objects.requireNonNull(inboxes.held).answer(ReasonCode.SUCCESS);
    run();
    assertThat(second.delivered).containsExactly("$share/g/a");
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  /** Its lane does not know, since the leader had crashed when it had picked. */
  @Test
  void aRepetitionGoesWhereTheRecordHasIt() {
    add("$share/g/a", 1, 2, 3);
    inboxes.recorded = List.of(pickOf("$share/g/a", ShardId.frontend("1")), pickOf("$share/g/a", ShardId.frontend("3")));

    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(new Terms.Origin(5, 1, 1, true)));
    run();

    assertThat(third.delivered).hasSize(1);
    assertThat(first.delivered).isEmpty();
    assertThat(second.delivered).isEmpty();
    assertThat(answer.picked).as("for the next repetition").endsWith(pickOf("$share/g/a", ShardId.frontend("3")));
  }

  @Test
  void aRepetitionThatTheDurableMembersHaveGoesToNoFrontend() {
    add("$share/g/a", 1, 2);
    add("a", 2);
    long stored = pickOf("$share/g/a", HOME);
    inboxes.recorded = List.of(pickOf("$share/g/a", ShardId.frontend("1")), stored);

    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(new Terms.Origin(5, 1, 1, true)));
    run();

    assertThat(first.delivered).isEmpty();
    assertThat(second.delivered).as("for the plain subscription").containsExactly("a");
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  /** The client's next connection may have learned of an open exchange before that was delivered. */
  @Test
  void aRepetitionOfWhatIsDeliveredGoesNowhere() {
    add("$share/g/a", 1, 2);
    add("a", 2);
    inboxes.recorded = List.of(Terms.Pick.DELIVERED);

    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(Terms.Origin.fromRecord(5, 1, List.of(pickOf("$share/g/a", ShardId.frontend("1"))))));
    run();

    assertThat(first.delivered).isEmpty();
    assertThat(second.delivered).isEmpty();
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.matched()).isTrue();
  }

  @Test
  void withoutTheRecordTheNextFrontendIsNotAsked() {
    add("$share/g/a", 1, 2);
    first.left.add("$share/g/a");
    first.holds = true;
    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(new Terms.Origin(5, 1, 1, false)));
    run();
    inboxes.holds = true;
    Objects.requireNonNull(first.held).answer(ReasonCode.USE_ANOTHER_SERVER);
    run();
    Objects.requireNonNull(inboxes.held).answer(ReasonCode.SERVER_UNAVAILABLE);
    run();

    assertThat(second.delivered).isEmpty();
    assertThat(answer.reason).as("the lane sends it again").isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void theOnlyFrontendOfAGroupMayReturnItsMessage() {
    add("$share/g/a", 1);
    add("a", 2);
    first.left.add("$share/g/a");

    var answer = publish(QoS.AT_LEAST_ONCE, false);
    run();

    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.matched()).as("there is another subscriber").isTrue();
  }

  @Test
  void onlyTheGroupThatIsReturnedGoesElsewhere() {
    add("a", 1, 2);
    add("+", 1);
    add("$share/g/a", 1, 2);
    add("$share/h/a", 1, 2);
    first.left.add("$share/h/a");

    var answer = publish(QoS.AT_LEAST_ONCE, false);
    run();

    assertThat(first.delivered).hasSize(3);
    assertThat(first.delivered).contains("$share/g/a", "$share/h/a");
    assertThat(second.delivered).containsExactly("a", "$share/h/a");
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void anOrderedGroupGoesElsewhereToo() {
    add("$oshare/g/a", 1, 2, 3);
    first.left.add("$oshare/g/a");
    second.left.add("$oshare/g/a");

    var answer = publish(QoS.AT_LEAST_ONCE, false);
    run();

    assertThat(third.delivered).hasSize(1);
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aFrontendThatWasNeverAttachedMayHaveMembers() {
    add("$share/g/a", 1, 4);
    first.left.add("$share/g/a");

    var answer = publish(QoS.AT_LEAST_ONCE, false);
    run();

    assertThat(answer.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void aFrontendThatIsDetachedMeanwhileHasNone() {
    add("$share/g/a", 1, 2);
    first.holds = true;
    var answer = publish(QoS.AT_LEAST_ONCE, false);
    worker.detachFrontend("2");
    Objects.requireNonNull(first.held).answer(ReasonCode.USE_ANOTHER_SERVER);
    run();

    assertThat(second.delivered).isEmpty();
    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void otherErrorsAreAnswers() {
    add("$share/g/a", 1, 2);
    first.holds = true;
    var answer = publish(QoS.AT_LEAST_ONCE, false);
    Objects.requireNonNull(first.held).answer(ReasonCode.QUOTA_EXCEEDED);
    run();

    assertThat(second.delivered).isEmpty();
    assertThat(answer.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void anExchangeIsRecordedBeforeAFrontendIsAsked() {
    add("$share/g/a", 1, 2);
    inboxes.holds = true;
    first.left.add("$share/g/a");
    publish(QoS.EXACTLY_ONCE, true);
    run();
    assertThat(first.delivered).isEmpty();

    Objects.requireNonNull(inboxes.held).answer(ReasonCode.SUCCESS);
    run();
    assertThat(second.delivered).hasSize(1);
  }

  @Test
  void theLaneOfARecordedMessageIsToldWhatIsPicked() {
    add("$share/g/a", 1, 2);
    add("$oshare/h/a", 3);
    first.left.add("$share/g/a");

    var answer = publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(new Terms.Origin(5, 1, 1, false)));
    run();

    assertThat(answer.picked).hasSize(3).endsWith(GroupPick.numberOf(route("$share/g/a", 2)));
    assertThat(answer.picked).contains(GroupPick.numberOf(route("$share/g/a", 1)), GroupPick.numberOf(route("$oshare/h/a", 3)));
    assertThat(publish(QoS.EXACTLY_ONCE, true).picked).as("its lane does not repeat").isEmpty();
  }

  @Test
  void aRepetitionGoesWhereItWent() {
    add("$share/g/a", 1, 2, 3);
    var picked = List.of(GroupPick.numberOf(route("$share/g/a", 3)));

    publish(QoS.EXACTLY_ONCE, true, Terms.ANSWERED.from(new Terms.Origin(5, 1, 1, true, picked)));
    run();

    assertThat(third.delivered).hasSize(1);
    assertThat(first.delivered).isEmpty();
  }

  /** Frontends do not return it. */
  @Test
  void qos0ComesToAFrontendOnce() {
    add("a", 1);
    add("$share/g/a", 1, 2);

    publish(QoS.AT_MOST_ONCE, false);

    assertThat(first.delivered).hasSize(1);
    assertThat(tasks).isEmpty();
  }
}
