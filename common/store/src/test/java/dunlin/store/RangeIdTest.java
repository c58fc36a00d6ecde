package dunlin.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RangeIdTest {
  @Test
  void theFirstRangeOfAKindIsTheSameOnEveryNodeForEver() {
    assertThat(RangeId.firstOf("routes").uuid()).isEqualTo(UUID.fromString("efd78bed-37af-88f5-bac8-b69c7754c053"));
    assertThat(RangeId.firstOf("routes").uuid().version()).isEqualTo(8);
    assertThat(RangeId.firstOf("routes").uuid().variant()).isEqualTo(2);
    assertThat(RangeId.kindBits(RangeId.firstOf("retain").uuid()))
        .isNotEqualTo(RangeId.kindBits(RangeId.firstOf("routes").uuid()));
  }

  @Test
  void theFurtherRangesOfAKindHaveNumbers() {
    assertThat(RangeId.numbered("routes", 0)).isEqualTo(RangeId.firstOf("routes"));
    assertThat(RangeId.numbered("routes", 3)).hasToString("routes-00000003");
    assertThat(RangeId.numbered("routes", 3).uuid()).isEqualTo(UUID.fromString("efd78bed-37af-88f5-bac8-b69c00000003"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "Routes", "../routes", "1", "a b"})
  void refusesInvalidNamesOfKinds(String kind) {
    assertThatThrownBy(() -> RangeId.firstOf(kind)).isInstanceOf(IllegalArgumentException.class);
  }
}
