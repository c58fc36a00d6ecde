package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.inbox.propose.Proposals;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Over a range whose answers are the test's. */
final class LostFrontendsTest {
  private final List<String> proposed = new ArrayList<>();
  private final ArrayDeque<LostFrontends.Ended> unanswered = new ArrayDeque<>();
  private boolean full;
  private final LostFrontends lost =
      new LostFrontends(
          (frontend, before, ended) -> {
            if (full) {
              ended.failed(Proposals.tooMany());
              return;
            }
            proposed.add(frontend + "<" + before);
            unanswered.add(ended);
          });

  private LostFrontends.Attempt lose(String frontend, long before) {
    var attempt = lost.note(frontend, before);
    lost.propose(attempt.loss());
    return attempt;
  }

  @Test
  void stepsFollowEachOtherUntilThereAreNoMore() {
    var attempt = lose("f", 3);
    unanswered.remove().done(true);
    unanswered.remove().done(true);
    assertThat(attempt.ended()).isNotDone();

    unanswered.remove().done(false);

    assertThat(attempt.ended()).isCompleted();
    assertThat(attempt.loss().recorded()).isCompleted();
    assertThat(proposed).containsExactly("f<3", "f<3", "f<3");
    assertThat(lost.waiting()).isZero();
    lost.again();
    assertThat(proposed).hasSize(3);
  }

  @Test
  void aLaterLifeThatIsLostMeanwhileIsPartOfIt() {
    var first = lose("f", 3);
    var second = lose("f", 5);
    var earlier = lose("f", 4);
    assertThat(proposed).as("one step at a time").containsExactly("f<3");

    unanswered.remove().done(false);
    assertThat(first.ended()).isNotDone();
    unanswered.remove().done(false);

    assertThat(proposed).containsExactly("f<3", "f<5");
    assertThat(List.of(first, second, earlier)).allSatisfy(each -> assertThat(each.ended()).isCompleted());
  }

  @Test
  void anAttemptFailsWithItsStepAndTheLossStays() {
    var attempt = lose("f", 3);
    unanswered.remove().failed(new OutcomeUnknownException("no answer", new IllegalStateException()));

    assertThat(attempt.ended()).isCompletedExceptionally();
    assertThat(attempt.loss().recorded()).isNotDone();
    assertThat(proposed).hasSize(1);
    lost.again();
    assertThat(proposed).hasSize(2);
    lost.again();
    assertThat(proposed).as("it is proposed already").hasSize(2);
    unanswered.remove().done(false);
    assertThat(attempt.loss().recorded()).isCompleted();
  }

  @Test
  void aRangeThatTakesNothingIsAskedAgain() {
    full = true;
    var attempt = lose("f", 3);
    assertThat(attempt.ended()).isCompletedExceptionally();
    lost.again();
    assertThat(lost.waiting()).isEqualTo(1);

    full = false;
    lost.again();
    full = true;
    unanswered.remove().done(true); // the next step finds no room
    assertThat(attempt.loss().recorded()).isNotDone();
    full = false;
    lost.again();
    unanswered.remove().done(false);

    assertThat(attempt.loss().recorded()).isCompleted();
  }

  @Test
  void thoseThatHaveWaitedForTheLongestComeFirst() {
    full = true;
    for (int i = 0; i < 100; i++) lose("f" + i, 1);
    full = false;

    lost.again();
    assertThat(proposed).hasSize(64).startsWith("f0<1").endsWith("f63<1");
    while (!unanswered.isEmpty()) unanswered.remove().failed(new StoreException("no"));
    proposed.clear();
    lost.again();

    assertThat(proposed).hasSize(64).startsWith("f64<1").contains("f99<1").endsWith("f27<1");
  }

  @Test
  void theirNumberIsBounded() {
    for (int i = 0; i < LostFrontends.LOSSES_MAX; i++) lose("f" + i, 1);

    assertThatThrownBy(() -> lost.note("one more", 1)).isInstanceOf(StoreException.class);

    assertThat(lose("f7", 9).loss().recorded()).as("one that is there").isNotDone();
    unanswered.remove().done(false);
    assertThat(lose("one more", 1).loss().recorded()).isNotDone();
  }

  @Test
  void whoWaitsLearnsOfTheEnd() {
    var attempt = lose("f", 3);

    lost.close();

    assertThat(List.<CompletableFuture<Void>>of(attempt.ended(), attempt.loss().recorded()))
        .allSatisfy(each -> assertThat(each).isCompletedExceptionally());
    assertThat(lost.waiting()).isZero();
    unanswered.remove().failed(new StoreException("closed"));
    assertThat(lost.waiting()).isZero();
    lost.propose(attempt.loss());
    assertThat(proposed).hasSize(1);
    assertThatThrownBy(() -> lost.note("f", 4)).isInstanceOf(StoreException.class);
  }
}
