package dunlin.dist;

import static dunlin.dist.DistTier.FRONTEND;
import static dunlin.dist.DistTier.HOME;
import static dunlin.dist.DistTier.route;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.DistTier.Answer;
import dunlin.dist.DistTier.Recorder;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import org.junit.jupiter.api.Test;

/** Inbox shards of two logs, which are led by different nodes: each is a destination of its own. */
final class DividedInboxShardsTest {
  private static final int CUT = 8; // HOME is below
  private static final ShardId LOWER = ShardId.inbox(CUT - 1);
  private static final ShardId UPPER = ShardId.inbox(CUT);

  private final DistTier dist = new DistTier(CUT);
  private final Recorder lower = dist.inboxes;
  private final Recorder upper = dist.upper;
  private final Recorder frontend = dist.frontend;

  private void runTasks() {
    while (!dist.tasksOfTheLane.isEmpty()) dist.tasksOfTheLane.remove().run();
  }

  @Test
  void aMessageGoesOnceToEachLogThatHasMatches() {
    dist.add(route("a", LOWER), route("#", ShardId.inbox(0)), route("a", UPPER), route("+", ShardId.inbox(9_999)), route("b", LOWER));

    assertThat(dist.publish("a").completed).isEqualTo(ReasonCode.SUCCESS);
    assertThat(dist.publish("b").completed).isEqualTo(ReasonCode.SUCCESS);

    assertThat(lower.delivered).extracting(Recorder.Delivered::topic).containsExactly("a", "b");
    assertThat(lower.delivered.getFirst().shards()).containsExactlyInAnyOrder(LOWER, ShardId.inbox(0));
    assertThat(upper.delivered).extracting(Recorder.Delivered::topic).containsExactly("a", "b");
    assertThat(upper.delivered.getFirst().shards()).as("also of a time with more shards").containsExactlyInAnyOrder(UPPER, ShardId.inbox(9_999));
  }

  @Test
  void anIntervalIsReplacedAndNoOther() {
    dist.add(route("a", LOWER), route("a", UPPER));
    var later = new Recorder();
    dist.worker.attachInboxShards(CUT, Integer.MAX_VALUE, Deliveries.of(later));

    assertThat(dist.publish("a").completed).isEqualTo(ReasonCode.SUCCESS);

    assertThat(lower.delivered).hasSize(1);
    assertThat(upper.delivered).isEmpty();
    assertThat(later.delivered).hasSize(1);
    assertThatThrownBy(() -> dist.worker.attachInboxShards(3, 3, Deliveries.of(later))).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("from 3 to 3");
    assertThatThrownBy(() -> dist.worker.attachInboxShards(-1, 3, Deliveries.of(later))).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("from -1 to 3");
  }

  @Test
  void anExchangeIsRecordedByItsHomeBeforeAnotherLogGetsIt() {
    dist.add(route("a", UPPER), route("a", FRONTEND));
    lower.answersLater = true;

    Answer answer = dist.publishInExchange("a");
    runTasks();
    assertThat(lower.of(HOME)).as("without a match there").isZero();
    assertThat(lower.delivered).hasSize(1);
    assertThat(upper.delivered).isEmpty();
    assertThat(frontend.delivered).isEmpty();

    lower.answer(0, ReasonCode.SUCCESS);
    runTasks();
    assertThat(upper.delivered.getFirst().shards()).containsExactly(UPPER);
    assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void anExchangeThatIsNotRecordedReachesNoOtherLog() {
    dist.add(route("a", LOWER), route("a", UPPER));
    lower.answer = ReasonCode.SESSION_TAKEN_OVER;

    Answer answer = dist.publishInExchange("a");
    runTasks();

    assertThat(answer.completed).isEqualTo(ReasonCode.SESSION_TAKEN_OVER);
    assertThat(upper.delivered).isEmpty();
  }

  @Test
  void anExchangeIsAnsweredWhenAllLogsHaveIt() {
    dist.add(route("a", LOWER), route("a", UPPER));
    upper.answersLater = true;

    Answer answer = dist.publishInExchange("a");
    runTasks();
    assertThat(answer.completed).isNull();

    upper.answer(0, ReasonCode.SERVER_UNAVAILABLE);
    assertThat(answer.completed).as("its publisher must send it again").isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void aRecordedExchangeIsNeverAnsweredAsIfNothingWereStored() {
    dist.add(route("a", LOWER), route("a", UPPER));
    upper.answer = ReasonCode.SERVER_BUSY;

    Answer answer = dist.publishInExchange("a");
    runTasks();

    assertThat(answer.completed).as("so that the exchange is released").isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
  }

  @Test
  void whatIsStoredFirstReachesOthersWhenAllLogsHaveIt() {
    dist.add(route("a", LOWER), route("a", UPPER), route("a", FRONTEND));
    lower.answersLater = true;
    upper.answersLater = true;

    Answer answer = dist.publishStoredFirst("a");
    upper.answer(0, ReasonCode.SUCCESS);
    runTasks();
    assertThat(frontend.delivered).isEmpty();

    lower.answer(0, ReasonCode.SUCCESS);
    runTasks();
    assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void whatIsStoredFirstIsStoredAlsoWhereItsPublisherIsNotAtHome() {
    dist.add(route("a", UPPER), route("a", FRONTEND));
    upper.answer = ReasonCode.SERVER_BUSY;

    Answer answer = dist.publishStoredFirst("a");
    runTasks();

    assertThat(answer.completed).isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(lower.delivered).isEmpty();
    assertThat(frontend.delivered).isEmpty();
  }

  @Test
  void aLimitOfOneLogDoesNotHideThatAnotherCouldNotStoreIt() {
    dist.add(route("a", LOWER), route("a", UPPER), route("a", FRONTEND));
    lower.answer = ReasonCode.QUOTA_EXCEEDED;
    upper.answersLater = true;

    Answer answer = dist.publishStoredFirst("a");
    upper.answer(0, ReasonCode.SERVER_UNAVAILABLE);
    runTasks();
    assertThat(answer.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(frontend.delivered).isEmpty();

    Answer next = dist.publishStoredFirst("a");
    upper.answer(1, ReasonCode.SUCCESS);
    runTasks();
    assertThat(next.completed).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(frontend.delivered).as("a limit keeps it from those alone that it is for").hasSize(1);
  }

  @Test
  void aGroupIsAskedForCreditWhereItsShardIs() {
    lower.credit.put(LOWER, 1);
    upper.credit.put(UPPER, 100);
    dist.add(route("$share/g/a", LOWER), route("$share/g/a", UPPER));

    for (int i = 0; i < 200; i++) dist.publish("a");

    assertThat(lower.delivered.size() + upper.delivered.size()).isEqualTo(200);
    assertThat(upper.delivered.size()).isGreaterThan(lower.delivered.size());
  }
}
