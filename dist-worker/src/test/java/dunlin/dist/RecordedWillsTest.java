package dunlin.dist;

import static dunlin.dist.DistTier.FRONTEND;
import static dunlin.dist.DistTier.HOME;
import static dunlin.dist.DistTier.PUBLISHER;
import static dunlin.dist.DistTier.route;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.DistTier.Answer;
import dunlin.dist.DistTier.Recorder;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Wills whose sending is recorded, in a cluster whose sessions are in two ranges: one of them is the home of the client that has left the will. */
final class RecordedWillsTest {
  private static final int CUT = 8; // HOME is below
  private static final ShardId LOWER = ShardId.inbox(CUT - 1);
  private static final ShardId UPPER = ShardId.inbox(CUT);
  private static final String GROUP = "$share/g/a";

  private final DistTier dist = new DistTier(CUT);
  private final LocalLane lane = new LocalLane(dist.worker, _ -> HOME, 0, dist.tasksOfTheLane::add, true);
  private final Recorder home = dist.inboxes;
  private final Recorder upper = dist.upper;
  private final Recorder frontend = dist.frontend;

  /** An attempt of a leader of the sessions. */
  private Answer send(boolean again) {
    var origin = Terms.Origin.ofWill(9, again);
    var answer =
        new Answer() {
          @Override
          public Terms terms() {
            return Terms.WILL.from(origin);
          }
        };
    lane.append(Publication.of(PUBLISHER, "a", QoS.AT_LEAST_ONCE, false, 0, new byte[3]).asWillOf(9), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    runTasks();
    return answer;
  }

  private void runTasks() {
    while (!dist.tasksOfTheLane.isEmpty()) dist.tasksOfTheLane.remove().run();
  }

  /** The home knows the will, which another leader has sent, and where it went. */
  private void homeKnows(Long... picks) {
    var acknowledgement = home.delivered.getLast().acknowledgement();
    if (acknowledgement == null) throw new AssertionError("no answer is expected");
    acknowledgement.recorded(List.of(picks));
    acknowledgement.answer(ReasonCode.SUCCESS);
    runTasks();
  }

  private static long pick(ShardId shard) {
    return Terms.Pick.of(TopicFilter.parse(GROUP).orElseThrow(), shard);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void itIsRecordedAtHomeBeforeOthersGetIt(boolean again) {
    dist.add(route("a", UPPER), route("a", FRONTEND));
    home.answersLater = true;

    Answer answer = send(again);
    assertThat(home.delivered).as("without a match there").hasSize(1);
    assertThat(upper.delivered).isEmpty();
    assertThat(frontend.delivered).isEmpty();

    home.answer(0, ReasonCode.SUCCESS);
    runTasks();
    assertThat(upper.delivered).hasSize(1);
    assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @ParameterizedTest
  @EnumSource(names = {"SERVER_UNAVAILABLE", "SERVER_BUSY", "UNSPECIFIED_ERROR"})
  void whatIsNotRecordedReachesNoOther(ReasonCode reason) {
    dist.add(route("a", UPPER), route("a", FRONTEND));
    home.answer = reason;

    assertThat(send(false).completed).isEqualTo(reason);
    assertThat(upper.delivered).isEmpty();
    assertThat(frontend.delivered).isEmpty();
  }

  /** It would count as refused, and be tried no more. */
  @Test
  void aLimitOfItsHomeDoesNotHideThatAnotherLogCouldNotStoreIt() {
    dist.add(route("a", LOWER), route("a", UPPER), route("a", FRONTEND));
    home.answer = ReasonCode.QUOTA_EXCEEDED;
    upper.answersLater = true;

    Answer first = send(false);
    assertThat(frontend.delivered).as("a limit keeps it from those alone that it is for").hasSize(1);
    assertThat(first.completed).as("before all have answered").isNull();
    upper.answer(0, ReasonCode.SERVER_UNAVAILABLE);
    assertThat(first.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);

    Answer next = send(true);
    upper.answer(1, ReasonCode.SUCCESS);
    assertThat(next.completed).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(next.matched()).isTrue();
  }

  @Test
  void aLimitOfAnotherLogDoesNotHideThatAFrontendDoesNotHaveIt() {
    dist.add(route("a", UPPER), route("a", FRONTEND));
    upper.answer = ReasonCode.QUOTA_EXCEEDED;
    frontend.answersLater = true;

    Answer first = send(false);
    frontend.answer(0, ReasonCode.SERVER_UNAVAILABLE);
    assertThat(first.completed).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);

    Answer next = send(true);
    frontend.answer(1, ReasonCode.SUCCESS);
    assertThat(next.completed).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatIsDeliveredGoesNowhere(boolean again) {
    dist.add(route("a", UPPER), route("a", FRONTEND), route(GROUP, UPPER), route("$share/h/a", FRONTEND));
    home.answersLater = true;

    Answer answer = send(again);
    homeKnows(Terms.Pick.DELIVERED);

    assertThat(upper.delivered).isEmpty();
    assertThat(frontend.delivered).isEmpty();
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void theDurableMembersOfAGroupInAnotherLogGetItOnce() {
    dist.add(route(GROUP, UPPER), route("a", UPPER));

    assertThat(send(false).completed).isEqualTo(ReasonCode.SUCCESS);

    assertThat(home.of(HOME)).isZero();
    assertThat(upper.delivered).as("for the plain subscription, and for the group").hasSize(2);
    assertThat(frontend.delivered).isEmpty();
  }

  /** That leader's attempt has come first, and the other's is late and does not know of it. */
  @Test
  void aFirstAttemptIsNotStoredForAGroupWhoseMembersInTheHomeHaveIt() {
    dist.add(route(GROUP, UPPER));
    home.answersLater = true;

    Answer answer = send(false);
    homeKnows(pick(LOWER));

    assertThat(upper.delivered).isEmpty();
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aFirstAttemptForTheMembersInTheHomeGoesToTheLogThatTheRecordNames() {
    dist.add(route(GROUP, LOWER));
    home.answersLater = true;

    Answer answer = send(false);
    homeKnows(pick(UPPER));

    assertThat(upper.delivered).singleElement().satisfies(each -> assertThat(each.shards()).containsExactly(UPPER));
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aFirstAttemptGoesToTheFrontendThatTheRecordNames() {
    dist.add(route(GROUP, UPPER));
    home.answersLater = true;

    Answer answer = send(false);
    homeKnows(pick(FRONTEND));

    assertThat(upper.delivered).isEmpty();
    assertThat(frontend.delivered).hasSize(1);
    assertThat(answer.completed).isEqualTo(ReasonCode.SUCCESS);
  }
}
