package dunlin.placement;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class LeaderSpreadTest {
  @Test
  void isEvenWhereNoTransferWouldImproveIt() {
    assertThat(LeaderSpread.isEven(List.of())).isTrue();
    assertThat(LeaderSpread.isEven(List.of(5))).isTrue();
    assertThat(LeaderSpread.isEven(List.of(1, 2, 1))).isTrue();
    assertThat(LeaderSpread.isEven(List.of(2, 0, 2))).isFalse();
    assertThat(LeaderSpread.isEven(List.of(2, 0))).isFalse();
  }
}
