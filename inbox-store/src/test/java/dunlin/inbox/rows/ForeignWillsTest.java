package dunlin.inbox.rows;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.rows.ForeignExchanges.Stored;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** How many wills of other ranges are remembered, and how many are forgotten at once. */
final class ForeignWillsTest {
  private static final Stored STORED = new Stored(true, Set.of());

  private final ForeignWills wills = new ForeignWills();
  private final MemoryRows rows = new MemoryRows();
  private final ShardInterval interval = ShardInterval.divide(16, 2).getLast();

  private static ForeignWills.Will will(long epoch) {
    return new ForeignWills.Will(new SessionKey("t", "c" + epoch), epoch);
  }

  private void heard(long epoch, long now) {
    wills.heard(rows, interval, will(epoch), now, STORED);
  }

  private boolean isKnown(long epoch) {
    return wills.stored(will(epoch)).plain();
  }

  @Test
  void beyondTheMaximumTheOldestIsForgotten() {
    int max = ForeignWills.MAX;
    for (int i = 1; i <= max; i++) heard(i, 1_000);
    heard(1, 1_001);
    assertThat(wills.size()).isEqualTo(max);

    heard(max + 1, 1_002);
    heard(max + 2, 1_002);

    assertThat(wills.size()).isEqualTo(max);
    assertThat(rows.dump()).hasSize(max);
    assertThat(List.of(isKnown(1), isKnown(max + 1), isKnown(max + 2))).as("those that came last").containsOnly(true);
  }

  /** A mass disconnect, and a long time later one will: its command is to be as quick as any. */
  @Test
  void oneCommandForgetsAFewOfThoseThatCameLongAgo() {
    for (int i = 1; i <= 10; i++) heard(i, 1_000);

    long later = 1_000 + ForeignWills.KEPT_MILLIS;
    heard(11, later - 1);
    assertThat(wills.size()).as("not long enough ago").isEqualTo(11);
    heard(12, later);
    assertThat(wills.size()).isEqualTo(12 - ForeignWills.FORGOTTEN_AT_ONCE);
    assertThat(rows.dump()).hasSize(wills.size());
    heard(12, later);
    heard(12, later);

    assertThat(wills.size()).as("those that came lately").isEqualTo(2);
    assertThat(isKnown(11)).isTrue();
    assertThat(rows.dump()).hasSize(2);
  }
}
