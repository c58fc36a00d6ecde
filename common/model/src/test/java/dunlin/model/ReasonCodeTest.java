package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReasonCodeTest {
  @ParameterizedTest
  @EnumSource(ReasonCode.class)
  void isFoundByItsCode(ReasonCode reason) {
    assertThat(ReasonCode.of(reason.code())).isEqualTo(reason);
    assertThat(reason.code()).isBetween(0, 255);
    assertThat(reason.isError()).isEqualTo(reason.code() >= 0x80);
    assertThat(reason.label()).matches("[a-z0-9-]+");
  }

  @Test
  void codesAreUnique() {
    var codes = new HashSet<Integer>();
    for (ReasonCode reason : ReasonCode.values()) assertThat(codes.add(reason.code())).as("%s", reason).isTrue();
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0x03, 0x7F, 0xA3, 0xFF, 256, Integer.MIN_VALUE})
  void unknownCodesHaveNone(int code) {
    assertThat(ReasonCode.of(code)).isNull();
  }

  @Test
  void labelsHaveDashes() {
    assertThat(ReasonCode.QUOTA_EXCEEDED.label()).isEqualTo("quota-exceeded");
  }
}
