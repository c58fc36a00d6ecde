package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.MatchCache.Use;
import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A lane beside one other range, which has all filters from "m" on and answers when the test says so. */
class GatheringLaneTest {
  private static final RangeDescriptor WHOLE =
      new RangeDescriptor(RangeId.firstOf(RouteReplica.KIND).uuid(), RouteReplica.KIND, KeyInterval.all(), 1, List.of(), null);
  private static final byte[] CUT = {0, 1, 't', 'm'};
  private static final RangeDescriptor LOWER = WHOLE.lower(CUT);
  private static final RangeDescriptor UPPER = WHOLE.upper(CUT, new UUID(0, 2), new RangeDescriptor.Origin(WHOLE.id(), 1, 1));
  private static final Route ROUTE = new Route("t", TopicFilter.plain("x"), ShardId.inbox(1), 1, 0);
  private static final MatchSignature SIGNATURE = new MatchSignature(1, 1, 7);

  private record Question(MatchSignature known, CompletableFuture<RouteMatch> answer) {}

  private final ArrayDeque<Question> questions = new ArrayDeque<>();
  private final List<Runnable> later = new ArrayList<>();
  private final List<String> delivered = new ArrayList<>();
  private final List<Integer> routes = new ArrayList<>();

  /** The routes that the lane behind keeps, as it does with those of QoS 2 messages. */
  private final ArrayDeque<Elsewhere.Memory> unproved = new ArrayDeque<>();

  private RouteView view = view(LOWER, List.of(LOWER, UPPER));
  private long nanos;
  private int dropped;

  private final GatheringLane lane =
      new GatheringLane(
          (message, elsewhere, _, _) -> {
            if (message.qos() == QoS.EXACTLY_ONCE) {
              elsewhere.memory().keep();
              unproved.add(elsewhere.memory());
            }
            delivered.add(message.topic());
            routes.add(elsewhere.filters().stream().mapToInt((FilterRoutes of) -> of.plain().length).sum());
          },
          new GatheringLane.Surroundings() {
            @Override
            public RouteView view() {
              return view;
            }

            @Override
            public long nanoTime() {
              return nanos;
            }

            @Override
            public void later(Runnable task, long millis) {
              later.add(task);
            }

            @Override
            public void dropped(Publication message) {
              dropped++;
            }
          },
          Runnable::run,
          GatheringLane.AHEAD_BYTES);

  private RouteView view(RangeDescriptor own, List<RangeDescriptor> map) {
    return RouteView.of(
        own, map,
        range ->
            new RouteView.Other() {
              @Override
              public UUID range() {
                return range.id();
              }

              @Override
              public CompletableFuture<RouteMatch> match(String tenant, byte[] topic, MatchSignature known) {
                var question = new Question(known, new CompletableFuture<>());
                questions.add(question);
                return question.answer;
              }
            });
  }

  private NotedAnswer append(String topic, QoS qos) {
    var answer = new NotedAnswer();
    lane.append(Publication.of(new Publisher("t", "client"), topic, qos, false, 0, new byte[0]), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  private void found(Route... some) {
    questions.remove().answer.complete(new RouteMatch.Found(SIGNATURE, List.of(some), null));
  }

  private static Route[] many(int count) {
    var many = new Route[count];
    for (int i = 0; i < count; i++) many[i] = new Route("t", TopicFilter.plain("x/" + i), ShardId.inbox(1), 1, 0);
    return many;
  }

  private void runLater() {
    var due = List.copyOf(later);
    later.clear();
    due.forEach(Runnable::run);
  }

  private void pass(long millis) {
    nanos += TimeUnit.MILLISECONDS.toNanos(millis);
    runLater();
  }

  @Test
  void whatOnlyTheFirstRangeCanMatchPassesAtOnce() {
    append("a", QoS.AT_LEAST_ONCE);

    assertThat(delivered).containsExactly("a");
    assertThat(questions).isEmpty();
    assertThat(lane.waiting()).isZero();
  }

  @Test
  void allThatComesBehindAMessageWaitsWithIt() {
    var one = append("x", QoS.AT_LEAST_ONCE);
    append("a", QoS.AT_MOST_ONCE);
    append("y", QoS.AT_LEAST_ONCE);
    assertThat(delivered).isEmpty();
    assertThat(one.reason).isNull();
    assertThat(lane.waiting()).isEqualTo(3);
    questions.removeLast().answer.complete(new RouteMatch.Found(SIGNATURE, List.of(), null));
    assertThat(delivered).isEmpty();

    found(ROUTE);

    assertThat(delivered).containsExactly("x", "a", "y");
    assertThat(routes).containsExactly(1, 0, 0);
    assertThat(one.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(lane.waiting()).isZero();
  }

  @Test
  void whatIsStillSoIsNotSentAgain() {
    append("x", QoS.AT_LEAST_ONCE);
    assertThat(questions.element().known).isEqualTo(MatchSignature.NONE);
    found(ROUTE);
    append("x", QoS.AT_LEAST_ONCE);
    assertThat(questions.element().known).isEqualTo(SIGNATURE);

    questions.remove().answer.complete(new RouteMatch.Unchanged());

    assertThat(routes).containsExactly(1, 1);
    assertThat(lane.unchanged()).isEqualTo(1);
  }

  @Test
  void aQuestionThatFailsIsAskedAgain() {
    append("x", QoS.AT_LEAST_ONCE);
    questions.remove().answer.completeExceptionally(new StoreException("not led here"));
    assertThat(questions).isEmpty();

    runLater();
    found(ROUTE);

    assertThat(delivered).containsExactly("x");
    assertThat(lane.repeated()).isEqualTo(1);
  }

  @Test
  void keysThatNoKnownRangeHasWaitForTheMap() {
    view = view(LOWER, List.of(WHOLE));
    append("x", QoS.AT_LEAST_ONCE);
    append("a", QoS.AT_LEAST_ONCE);
    runLater();
    assertThat(delivered).isEmpty();

    view = view(LOWER, List.of(LOWER, UPPER));
    runLater();
    found(ROUTE);

    assertThat(delivered).containsExactly("x", "a");
  }

  @Test
  void whatWasAskedBeforeTheFirstRangeWasSplitIsAskedAgain() {
    append("x", QoS.AT_LEAST_ONCE);
    var lower = LOWER.lower(new byte[] {0, 1, 't', 'c'});
    var middle = LOWER.upper(new byte[] {0, 1, 't', 'c'}, new UUID(0, 3), new RangeDescriptor.Origin(WHOLE.id(), 1, 2));
    view = view(lower, List.of(lower, middle, UPPER));

    found(ROUTE);
    assertThat(delivered).isEmpty();
    found(ROUTE);

    assertThat(delivered).containsExactly("x");
  }

  @Test
  void whatHasWaitedTooLongIsReturnedInItsOrderWithAllBehind() {
    var one = append("x", QoS.AT_LEAST_ONCE);
    var zero = append("y", QoS.AT_MOST_ONCE);
    var two = append("a", QoS.EXACTLY_ONCE);
    pass(GatheringLane.HOLD_MILLIS - 1);
    assertThat(one.reason).isNull();

    pass(1);

    assertThat(one.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(two.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(zero.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(dropped).isEqualTo(1);
    assertThat(lane.givenUp()).isEqualTo(3);
    while (!questions.isEmpty()) found(ROUTE);
    assertThat(delivered).as("answers that come late deliver nothing").isEmpty();
    append("x", QoS.AT_LEAST_ONCE);
    found(ROUTE);
    assertThat(delivered).containsExactly("x");
  }

  /** The line is slow, and it moves: to return it would make it slower. */
  @Test
  void whatWaitsBehindManyIsNotReturnedAsLongAsTheFirstPasses() {
    for (int i = 0; i < 20; i++) append("x", QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 20; i++) {
      pass(GatheringLane.HOLD_MILLIS - 1);
      found(ROUTE);
    }

    assertThat(delivered).hasSize(20);
    assertThat(lane.givenUp()).isZero();
  }

  @Test
  void whatItsSenderSendsAgainIsNotDelivered() {
    var one = append("x", QoS.AT_LEAST_ONCE);
    one.comesAgain = true;
    var ofAnother = append("y", QoS.AT_LEAST_ONCE);
    found(ROUTE);
    found();

    assertThat(delivered).containsExactly("y");
    assertThat(one.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(ofAnother.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void theEndOfALeadershipReturnsWhatWaits() {
    var one = append("x", QoS.EXACTLY_ONCE);
    lane.giveUpSoon();

    assertThat(one.reason).isEqualTo(ReasonCode.USE_ANOTHER_SERVER);
    assertThat(lane.waiting()).isZero();
  }

  @Test
  void onlySomeMessagesAreAskedAboutAhead() {
    for (int i = 0; i < GatheringLane.AHEAD + 10; i++) append("x", QoS.AT_LEAST_ONCE);
    assertThat(questions).hasSize(GatheringLane.AHEAD);

    found(ROUTE);

    assertThat(delivered).hasSize(1);
    assertThat(questions).hasSize(GatheringLane.AHEAD);
  }

  /** A client with very many filters, whose messages match them all: each message has another topic, so no two share their routes. */
  @Test
  void answersThatTakeMuchMemoryAreForgottenAndAskedForAgainInTheirOrder() {
    var many = many(5_000);
    var answers = new ArrayList<NotedAnswer>();
    var topics = new ArrayList<String>();
    for (int i = 0; i < 50; i++) {
      topics.add("x" + i);
      answers.add(append(topics.getLast(), QoS.AT_LEAST_ONCE));
    }
    var first = questions.remove();
    long bytes = 0;
    for (int i = 0; i < 49; i++) {
      found(many);
      bytes = Math.max(bytes, lane.bytes(Use.GATHERS));
    }
    assertThat(delivered).isEmpty();
    assertThat(bytes).isLessThanOrEqualTo(GatheringLane.AHEAD_BYTES);
    assertThat(lane.forgotten()).isGreaterThan(40);

    first.answer.complete(new RouteMatch.Found(SIGNATURE, List.of(many), null));
    while (!questions.isEmpty()) {
      found(many);
      assertThat(lane.bytes(Use.GATHERS)).isLessThanOrEqualTo(2 * GatheringLane.AHEAD_BYTES);
    }

    assertThat(delivered).containsExactlyElementsOf(topics);
    assertThat(routes).containsOnly(many.length);
    assertThat(answers).allMatch(answer -> answer.reason == ReasonCode.SUCCESS);
    assertThat(lane.bytes(Use.GATHERS)).isZero();
    assertThat(lane.waiting()).isZero();
  }

  @Test
  void oneTopicWithManyRoutesIsThereOnceAndIsAskedAboutAhead() {
    var many = many(400);
    append("x", QoS.AT_LEAST_ONCE);
    found(many);
    for (int i = 0; i < GatheringLane.AHEAD; i++) append("x", QoS.AT_LEAST_ONCE);

    assertThat(questions).hasSize(GatheringLane.AHEAD);
    assertThat(lane.bytes(Use.GATHERS)).isLessThan(MatchCache.BYTES_MAX);
    while (!questions.isEmpty()) questions.remove().answer.complete(new RouteMatch.Unchanged());

    assertThat(delivered).hasSize(GatheringLane.AHEAD + 1);
    assertThat(lane.forgotten()).isZero();
    assertThat(lane.bytes(Use.GATHERS)).isZero();
  }

  /** The lane behind keeps the routes of QoS 2 messages until it knows that no other leader has confirmed more. */
  @Test
  void routesOfMessagesThatWerePassedOnAreBoundedAsWell() {
    var many = many(5_000);
    for (int i = 0; i < 50; i++) append("x" + i, QoS.EXACTLY_ONCE);
    append("a", QoS.AT_LEAST_ONCE);
    while (!questions.isEmpty()) found(many);
    assertThat(delivered).hasSizeBetween(1, 2);

    for (int i = 0; i < 50; i++) {
      assertThat(lane.bytes(Use.PASSED_ON)).isLessThan(2 * GatheringLane.AHEAD_BYTES);
      unproved.remove().release();
      while (!questions.isEmpty()) found(many);
    }

    assertThat(delivered).hasSize(51).endsWith("a");
    assertThat(unproved).isEmpty();
    assertThat(lane.bytes(Use.PASSED_ON)).isZero();
    assertThat(lane.waiting()).isZero();
  }

  @Test
  void whatHasNoRoutesElsewhereDoesNotWaitForRoutesThatWerePassedOn() {
    append("x", QoS.EXACTLY_ONCE);
    found(many(10_000));
    append("y", QoS.EXACTLY_ONCE);
    append("a", QoS.AT_LEAST_ONCE);
    found(ROUTE);
    assertThat(delivered).as("y waits, and all behind it").containsExactly("x");

    lane.giveUpSoon();
    append("b", QoS.AT_LEAST_ONCE);

    assertThat(delivered).containsExactly("x", "b");
    unproved.remove().release();
    assertThat(lane.bytes(Use.PASSED_ON)).isZero();
  }

  @Test
  void whatIsGivenUpReleasesItsAnswers() {
    append("x", QoS.AT_LEAST_ONCE);
    append("y", QoS.AT_LEAST_ONCE);
    questions.removeLast().answer.complete(new RouteMatch.Found(SIGNATURE, List.of(ROUTE), null));
    assertThat(lane.bytes(Use.GATHERS)).isPositive();

    lane.giveUpSoon();

    assertThat(lane.bytes(Use.GATHERS)).isZero();
  }
}
