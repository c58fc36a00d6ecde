package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.RangeId;
import dunlin.store.RangeProgress;
import dunlin.store.RangeProgress.Step;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What tells nobody how far it is counts as moving for a while; what can be counted must be. */
final class StartMovesTest {
  private long nanos = 17;
  private final StartMoves moves = new StartMoves(() -> nanos);

  private static RangeProgress range(String kind, Step step, long rows) {
    return new RangeProgress(RangeId.firstOf(kind), step, rows, 0, 0, false, 0, Duration.ZERO);
  }

  private boolean moves(RangeProgress... ranges) {
    nanos += Duration.ofSeconds(1).toNanos();
    long before = moves.moved(List.of(ranges));
    return moves.moved(List.of(ranges)) != before;
  }

  @Test
  void filesAndLogsMayTakeTheirTime() {
    assertThat(moves(range("a", Step.FILES, 0))).isTrue();
    assertThat(moves(range("a", Step.LOG, 7), range("b", Step.ENTRIES, 3))).isTrue();
    assertThat(moves(range("a", Step.FILES, 0), range("b", Step.ROWS, 3))).isTrue();
  }

  @Test
  void rowsAndEntriesHaveToMoveThemselves() {
    assertThat(moves(range("a", Step.ROWS, 7))).isFalse();
    assertThat(moves(range("a", Step.ENTRIES, 7))).isFalse();
    assertThat(moves.moved(List.of(range("a", Step.ROWS, 8)))).isGreaterThan(moves.moved(List.of(range("a", Step.ROWS, 7))));
  }

  @Test
  void aLogThatWaitsForRowsIsNotBeingRead() {
    assertThat(moves(range("a", Step.LOG, 7), range("b", Step.ROWS, 3))).isFalse();
  }

  @Test
  void filesThatNeverOpenAreGivenUp() {
    nanos += StartMoves.FILES_MAX.toNanos();

    assertThat(moves(range("a", Step.FILES, 0))).isFalse();
  }
}
