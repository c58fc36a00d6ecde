package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SubscriptionOptionsTest {
  @ParameterizedTest
  @EnumSource(QoS.class)
  void optionsWithoutAnIdentifierAreSharedAndEqual(QoS qos) {
    for (int i = 0; i < 12; i++) {
      var options = new SubscriptionOptions(qos, (i & 1) != 0, (i & 2) != 0, i / 4, 0);
      var again = new SubscriptionOptions(qos, (i & 1) != 0, (i & 2) != 0, i / 4, 0);

      assertThat(options.shared()).isEqualTo(options).isSameAs(again.shared());
    }
  }

  @ParameterizedTest
  @EnumSource(QoS.class)
  void optionsWithAnIdentifierAreNotShared(QoS qos) {
    var options = new SubscriptionOptions(qos, true, false, 1, 7);

    assertThat(options.shared()).isSameAs(options);
  }
}
