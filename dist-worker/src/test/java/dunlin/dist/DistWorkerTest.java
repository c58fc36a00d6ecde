package dunlin.dist;

import static dunlin.dist.DistTier.FRONTEND;
import static dunlin.dist.DistTier.HOME;
import static dunlin.dist.DistTier.LIMITS;
import static dunlin.dist.DistTier.PUBLISHER;
import static dunlin.dist.DistTier.route;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.DistTier.Answer;
import dunlin.dist.DistTier.Recorder;
import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How a dist worker delivers messages to destinations. */
class DistWorkerTest {
  private final DistTier dist = new DistTier();
  private final Recorder frontend = dist.frontend;
  private final Recorder inboxes = dist.inboxes;
  private final DistWorker worker = dist.worker;
  private final ArrayDeque<Runnable> tasksOfTheLane = dist.tasksOfTheLane;
  private final Lane lane = dist.lane;

  @Test
  void aMessageToBeStoredFirstReachesNoOtherIfTheStoreIsFull() {
    dist.add(route("a/b", FRONTEND), route("#", ShardId.inbox(1)));
    inboxes.answer = ReasonCode.SERVER_BUSY;
    assertThat(dist.publishStoredFirst("a/b").completed).isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(frontend.delivered).isEmpty();

    inboxes.answer = ReasonCode.SUCCESS;
    Answer taken = dist.publishStoredFirst("a/b");
    tasksOfTheLane.remove().run();
    assertThat(taken.completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(frontend.delivered).hasSize(1);
  }

  @Test
  void someMatchesAreTimed() {
    dist.add(route("a/b", FRONTEND));
    int messages = 40 * DistMeters.SAMPLED;
    for (int i = 0; i < messages; i++) dist.publish("a/b");

    var matches = dist.registry.get("dunlin.dist.match").timer();
    assertThat(matches.count()).isBetween(20L, 80L); // 40 are expected, with a standard deviation of 4
    assertThat(matches.totalTime(TimeUnit.NANOSECONDS)).isPositive();
    assertThat(dist.counted("dunlin.dist.published")).isEqualTo(messages);
  }

  @Test
  void aRefusedMessageIsReportedToTheDestinationThatStoresIt() {
    dist.add(route("a/b", FRONTEND), route("#", ShardId.inbox(1)));
    var once = new Answer() {
      @Override
      public Terms terms() {
        return new Terms(true, true, true, 7);
      }
    };

    lane.append(Publication.of(PUBLISHER, "a/b", QoS.AT_LEAST_ONCE, false, 0, new byte[3]), null, once);

    var store = inboxes.delivered.getFirst().acknowledgement();
    assertThat(store != null && store.terms().publishedOnce() && store.terms().fence() == 7).isTrue();
  }

  @Test
  void aMessageThatALimitKeepsFromADurableSessionReachesTheOthers() {
    dist.add(route("a/b", FRONTEND), route("#", ShardId.inbox(1)));
    inboxes.answer = ReasonCode.QUOTA_EXCEEDED;

    Answer refused = dist.publishStoredFirst("a/b");
    tasksOfTheLane.remove().run();
    assertThat(refused.completed).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(frontend.delivered).hasSize(1);
  }

  @Test
  void aMessageThatNeedNotBeStoredDoesNotGoToTheStore() {
    dist.add(route("a/b", FRONTEND));

    assertThat(dist.publishStoredFirst("a/b").completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(inboxes.delivered).isEmpty();
    assertThat(frontend.delivered).hasSize(1);
  }

  @Test
  void deliversAMessageOnceToEachDestinationWithAllItsMatchedRoutes() {
    dist.add(route("a/b", FRONTEND), route("a/+", FRONTEND), route("#", ShardId.inbox(1)), route("a/b", ShardId.inbox(2)));
    dist.add(route("a/c", FRONTEND));

    Answer answer = dist.publish("a/b");

    assertThat(frontend.delivered).hasSize(1);
    assertThat(frontend.delivered.getFirst().shards()).containsExactly(FRONTEND, FRONTEND);
    assertThat(inboxes.delivered).hasSize(1);
    assertThat(inboxes.delivered.getFirst().shards()).containsExactlyInAnyOrder(ShardId.inbox(1), ShardId.inbox(2));
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.matched()).isTrue();
  }

  @Test
  void deliversNothingWithoutAMatch() {
    dist.add(route("a/b", FRONTEND));

    Answer answer = dist.publish("$SYS/b");

    assertThat(frontend.delivered).isEmpty();
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.matched()).isFalse();
    assertThat(dist.counted("dunlin.dist.published")).isEqualTo(1);
    assertThat(dist.counted("dunlin.dist.matched")).isZero();
  }

  @Test
  void keepsTenantsApart() {
    dist.add(new Route("other", TopicFilter.plain("#"), FRONTEND, 1, 0));

    dist.publish("a");

    assertThat(frontend.delivered).isEmpty();
  }

  @Test
  void theWorstAnswerOfTheDestinationsCounts() {
    dist.add(route("a", FRONTEND), route("a", ShardId.inbox(1)));
    inboxes.answer = ReasonCode.QUOTA_EXCEEDED;

    assertThat(dist.publish("a").completed).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void acceptsMessagesWithoutAcknowledgement() {
    dist.add(route("a", FRONTEND));

    lane.append(Publication.of(PUBLISHER, "a", QoS.AT_MOST_ONCE, false, 0, new byte[0]), null, null);

    assertThat(frontend.delivered).hasSize(1);
    assertThat(frontend.delivered.getFirst().acknowledgement()).isNull();
  }

  @Test
  void keepsTheOrderOfALane() {
    dist.add(route("#", FRONTEND));
    var topics = new ArrayList<String>();
    for (int i = 0; i < 100; i++) topics.add("topic/" + i);

    for (String topic : topics) dist.publish(topic);

    assertThat(frontend.delivered).extracting(Recorder.Delivered::topic).containsExactlyElementsOf(topics);
  }

  @Test
  void anExchangeReachesThePublishersHomeEvenWithoutAMatch() {
    Answer answer = dist.publishInExchange("a");

    assertThat(inboxes.delivered).hasSize(1);
    assertThat(inboxes.delivered.getFirst().shards()).isEmpty();
    assertThat(frontend.delivered).isEmpty();
    assertThat(answer.matched()).isFalse();
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void anExchangeReachesThePublishersHomeOnceWithWhatMatchedThere() {
    dist.add(route("a", FRONTEND), route("a", ShardId.inbox(1)));

    Answer answer = dist.publishInExchange("a");

    assertThat(inboxes.delivered).hasSize(1);
    assertThat(inboxes.delivered.getFirst().shards()).containsExactly(ShardId.inbox(1));
    runLane();
    assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.matched()).isTrue();
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  private void runLane() {
    for (Runnable task = tasksOfTheLane.poll(); task != null; task = tasksOfTheLane.poll()) task.run();
  }

  @Test
  void anExchangeReachesFrontendsOnTheLaneOnceItIsRecorded() {
    dist.add(route("+", FRONTEND), route("a", FRONTEND));
    inboxes.answersLater = true;

    Answer first = dist.publishInExchange("a");
    Answer second = dist.publishInExchange("b");
    dist.publish("c");
    assertThat(frontend.delivered).extracting(Recorder.Delivered::topic).containsExactly("c");
    inboxes.answer(0, ReasonCode.SUCCESS);
    inboxes.answer(1, ReasonCode.SUCCESS);
    assertThat(frontend.delivered).as("on the thread of the answer").hasSize(1);
    assertThat(first.completed).isNull();
    runLane();

    assertThat(frontend.delivered).extracting(Recorder.Delivered::topic).containsExactly("c", "a", "b");
    assertThat(frontend.delivered.get(1).shards()).containsExactly(FRONTEND, FRONTEND);
    assertThat(first.completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(second.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  /** A destination was lost in between, and all that is not answered is sent again. */
  @Test
  void anExchangeThatIsRecordedDoesNotOvertakeOneThatComesAgain() {
    dist.add(route("+", FRONTEND));
    inboxes.answersLater = true;
    frontend.answer = ReasonCode.SERVER_UNAVAILABLE;
    Answer first = dist.publishInExchange("a");
    Answer second = dist.publishInExchange("b");
    inboxes.answer(0, ReasonCode.SUCCESS);
    runLane();
    assertThat(first.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);

    second.comesAgain = true;
    inboxes.answer(1, ReasonCode.SUCCESS);
    runLane();

    assertThat(frontend.delivered).extracting(Recorder.Delivered::topic).containsExactly("a");
    assertThat(second.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  /** So that what waits for its worker behind an exchange that is not recorded is not recorded before it. */
  @Test
  void theRecorderLearnsThatAnExchangeComesAgainAndSaysAtOnceThatItFails() {
    dist.add(route("+", FRONTEND));
    inboxes.answersLater = true;
    Answer answer = dist.publishInExchange("a");
    var recorder = inboxes.delivered.getFirst().acknowledgement();
    if (recorder == null) throw new AssertionError("no answer is expected");

    assertThat(recorder.comesAgain()).isFalse();
    answer.comesAgain = true;
    assertThat(recorder.comesAgain()).isTrue();
    recorder.willFail(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(answer.foretold).containsExactly(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void anExchangeThatIsNotRecordedReachesNoSubscriber() {
    dist.add(route("a", FRONTEND), route("a", ShardId.inbox(1)));
    inboxes.answer = ReasonCode.SESSION_TAKEN_OVER;

    Answer answer = dist.publishInExchange("a");
    runLane();

    assertThat(frontend.delivered).isEmpty();
    assertThat(answer.completed).isEqualTo(ReasonCode.SESSION_TAKEN_OVER);
  }

  @Test
  void theAnswerOfAFrontendToARecordedExchangeCounts() {
    dist.add(route("a", FRONTEND));
    frontend.answer = ReasonCode.QUOTA_EXCEEDED;

    Answer answer = dist.publishInExchange("a");
    runLane();

    assertThat(answer.completed).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void anExchangeThatCannotBeRecordedIsRefused() {
    var alone = new DistWorker((_, codec, logic) -> new InMemoryRange<>(codec, logic), List.of(), LIMITS, _ -> HOME, new SimpleMeterRegistry(), Tracer.idle(), DeliveryThreads.inline());
    var answer = new Answer();
    byte[] body = {'a'};

    alone
        .openLane(1, Runnable::run, LaneCredit.uncounted())
        .append(
            new Publication(
                PUBLISHER, QoS.EXACTLY_ONCE, false, 0, -1, -1, 1, 0, body, new Publication.Exchange(1, 9)),
            null,
            answer);
    answer.answer(ReasonCode.SUCCESS);

    assertThat(answer.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void routesOfUnservedShardsAreCounted() {
    dist.add(route("a", ShardId.frontend("gone")), route("a", FRONTEND));

    dist.publish("a");

    assertThat(frontend.delivered).hasSize(1);
    assertThat(dist.counted("dunlin.dist.unattached")).isEqualTo(1);
  }

  @Test
  void aFrontendThatWasNeverAttachedMayHaveSubscribers() {
    dist.add(route("a", ShardId.frontend("unknown")), route("a", FRONTEND));

    var answer = dist.publish("a");

    assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void aDetachedFrontendHasNone() {
    dist.add(route("a", FRONTEND), route("a", ShardId.inbox(0)), route("$share/g/a", FRONTEND));
    frontend.answersLater = true;
    dist.publish("a");

    worker.detachFrontend("n1");
    while (!tasksOfTheLane.isEmpty()) tasksOfTheLane.remove().run();
    assertThat(frontend.closed).as("what it has not answered does not wait for the next message").isEqualTo(1);
    var answer = dist.publish("a");

    assertThat(inboxes.delivered).hasSize(2);
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(dist.counted("dunlin.dist.unattached")).isEqualTo(2);
    worker.attachFrontend("n1", Deliveries.of(frontend));
    dist.publish("a");
    assertThat(frontend.of(FRONTEND)).isEqualTo(2);
  }

  @Test
  void servesDestinationsThatAreAttachedOrReplacedLater() {
    dist.add(route("a", ShardId.frontend("n2")), route("a", FRONTEND));
    dist.publish("a");
    var second = new Recorder();
    var replacement = new Recorder();

    worker.attachFrontend("n2", Deliveries.of(second));
    worker.attachFrontend("n1", Deliveries.of(replacement));
    dist.publish("a");

    assertThat(frontend.delivered).hasSize(1);
    assertThat(second.delivered).hasSize(1);
    assertThat(replacement.delivered).hasSize(1);
    assertThat(frontend.closed).as("not within the call").isZero();
    runLane();
    assertThat(frontend.closed).isEqualTo(1);
    assertThat(second.closed + replacement.closed).isZero();
  }

  @Test
  void allocatesNothingForAMessage() {
    dist.add(route("a/+", FRONTEND), route("#", ShardId.inbox(1)), route("$oshare/g/a/b", ShardId.inbox(1)));
    for (int i = 0; i < 4; i++) dist.add(route("$share/g/a/#", ShardId.inbox(i)));
    var silent = new Delivery() {
      @Override
      public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {}

      @Override
      public int groupCredit(Route route) {
        return 1;
      }
    };
    worker.attachFrontend("n1", Deliveries.of(silent));
    worker.attachInboxShards(Deliveries.of(silent));
    var message = Publication.of(PUBLISHER, "a/b", QoS.AT_MOST_ONCE, false, 0, new byte[8]);
    for (int i = 0; i < 20_000; i++) lane.append(message, null, null);
    var threads = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();

    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 10_000; i++) lane.append(message, null, null);
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;

    assertThat(allocated).as("bytes for 10,000 messages").isLessThan(10_000);
  }
}
