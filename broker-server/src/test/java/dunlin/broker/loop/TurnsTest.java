package dunlin.broker.loop;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TurnsTest {
  private final ArrayDeque<Runnable> afterSockets = new ArrayDeque<>();
  private final Turns turns = new Turns(afterSockets::add);
  private final List<String> wentOn = new ArrayList<>();

  /** Serves the sockets once more. */
  private void round() {
    for (int left = afterSockets.size(); left > 0; left--) afterSockets.remove().run();
  }

  private void wait(Turns.Turn turn, String name) {
    turn.await(() -> wentOn.add(name));
  }

  @Test
  void aTurnIsSharedWhileAnotherTenantIsThere() {
    Turns.Turn flood = turns.join("flood");
    turns.join("flood");
    assertThat(flood.isShared()).isFalse();

    Turns.Turn quiet = turns.join("quiet");
    assertThat(flood.isShared()).isTrue();
    quiet.leave();
    assertThat(flood.isShared()).isFalse();
  }

  @Test
  void whoHasUsedItsTurnWaitsForTheNextRound() {
    Turns.Turn flood = turns.join("flood");
    Turns.Turn quiet = turns.join("quiet");
    assertThat(flood.isOver(Turns.TURN_NANOS - 1)).isFalse();
    assertThat(flood.isOver(Turns.TURN_NANOS)).isTrue();
    flood.use(Turns.TURN_NANOS);
    assertThat(flood.isOver(0)).isTrue();
    assertThat(quiet.isOver(0)).isFalse();
    wait(flood, "flood");
    assertThat(wentOn).isEmpty();

    round();
    assertThat(wentOn).containsExactly("flood");
    assertThat(flood.isOver(0)).isFalse();
    round();
    assertThat(afterSockets).as("no rounds without a reason").isEmpty();
  }

  @Test
  void workThatTookSeveralTurnsCostsAsManyRounds() {
    Turns.Turn flood = turns.join("flood");
    turns.join("quiet");
    flood.use(3 * Turns.TURN_NANOS + 1);
    wait(flood, "flood");

    for (int i = 0; i < 2; i++) round();
    assertThat(wentOn).isEmpty();
    round();
    assertThat(wentOn).containsExactly("flood");
  }

  @Test
  void workIsForgottenAfterRoundsWithoutAny() {
    Turns.Turn flood = turns.join("flood");
    Turns.Turn quiet = turns.join("quiet");
    flood.use(Turns.TURN_NANOS - 1);
    for (int i = 0; i < 5; i++) {
      quiet.use(1);
      round();
    }

    assertThat(flood.isOver(Turns.TURN_NANOS - 1)).isFalse();
    assertThat(flood.isOver(Turns.TURN_NANOS)).isTrue();
  }

  @Test
  void someOfATenantsConnectionsGoOnInEachRoundAndOthersAreNotHeldUp() {
    Turns.Turn flood = turns.join("flood");
    Turns.Turn quiet = turns.join("quiet");
    for (int i = 0; i < Turns.RESUMED + 2; i++) wait(flood, "flood " + i);
    wait(quiet, "quiet");

    round();
    assertThat(wentOn).hasSize(Turns.RESUMED + 1).contains("quiet").startsWith("flood 0", "flood 1");
    round();
    assertThat(wentOn).hasSize(Turns.RESUMED + 3).endsWith("flood 16", "flood 17");
  }

  @Test
  void aConnectionThatWaitsAgainComesBehindOthersOfItsTenant() {
    Turns.Turn flood = turns.join("flood");
    flood.await(
        () -> {
          wentOn.add("first");
          flood.use(Turns.TURN_NANOS);
          wait(flood, "first again");
        });
    wait(flood, "second");

    round();
    assertThat(wentOn).as("its turn is not looked at while connections are told").containsExactly("first", "second");
    round();
    assertThat(wentOn).containsExactly("first", "second", "first again");
  }

  @Test
  void theOnlyConnectionThatWaitsMayWaitAgain() {
    Turns.Turn flood = turns.join("flood");
    flood.await(() -> wait(flood, "again"));

    round();
    assertThat(wentOn).isEmpty();
    round();
    assertThat(wentOn).containsExactly("again");
    assertThat(afterSockets).isEmpty();
  }

  @Test
  void whatATenantThatHasLeftWasWaitingForStillComes() {
    Turns.Turn gone = turns.join("gone");
    wait(gone, "gone");
    gone.leave();

    round();
    assertThat(wentOn).containsExactly("gone");
    assertThat(turns.join("gone")).isNotSameAs(gone);
  }
}
