package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.RangeId;
import dunlin.store.RangeProgress;
import dunlin.store.RangeProgress.Step;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Steps that show no progress count as progress for a while; the others must make progress. */
final class ProgressCounterTest {
  private long nanos = 17;
  private final ProgressCounter moves = new ProgressCounter(() -> nanos);

  private static RangeProgress range(String kind, Step step, long rows) {
    return new RangeProgress(RangeId.firstOf(kind), step, rows, 0, 0, false, 0, Duration.ZERO);
  }

  private boolean moves(RangeProgress... ranges) {
    nanos += Duration.ofSeconds(1).toNanos();
    long before = moves.moved(List.of(ranges));
    return moves.moved(List.of(ranges)) != before;
  }

  @Test
  void filesAndLogsMayTakeLong() {
    assertThat(moves(range("a", Step.FILES, 0))).isTrue();
    assertThat(moves(range("a", Step.LOG, 7), range("b", Step.ENTRIES, 3))).isTrue();
    assertThat(moves(range("a", Step.FILES, 0), range("b", Step.ROWS, 3))).isTrue();
  }

  @Test
  void rowsAndEntriesMustMakeProgress() {
    assertThat(moves(range("a", Step.ROWS, 7))).isFalse();
    assertThat(moves(range("a", Step.ENTRIES, 7))).isFalse();
    assertThat(moves.moved(List.of(range("a", Step.ROWS, 8)))).isGreaterThan(moves.moved(List.of(range("a", Step.ROWS, 7))));
  }

  @Test
  void aLogThatWaitsForRowsIsNoProgress() {
    assertThat(moves(range("a", Step.LOG, 7), range("b", Step.ROWS, 3))).isFalse();
  }

  @Test
  void filesThatNeverOpenFailTheStart() {
    nanos += ProgressCounter.FILES_MAX.toNanos();

    assertThat(moves(range("a", Step.FILES, 0))).isFalse();
  }
}
