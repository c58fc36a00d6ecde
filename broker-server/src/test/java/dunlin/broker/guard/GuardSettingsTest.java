package dunlin.broker.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.SettingException;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuardSettingsTest {
  private static GuardSettings read(Map<String, String> given) {
    return GuardSettings.from(Settings.load(GuardSettings.ALL, SettingSource.map("test", given)));
  }

  @Test
  void bothAreOnByDefaultWithGenerousLimits() {
    assertThat(read(Map.of())).isEqualTo(GuardSettings.defaults());
    assertThat(GuardSettings.defaults())
        .isEqualTo(
            new GuardSettings(
                new BlockRule(300, Duration.ofMinutes(1), Duration.ofMinutes(5)), 100, new BlockRule(600, Duration.ofMinutes(1), Duration.ofMinutes(1))));
  }

  @Test
  void eachNumberIsRead() {
    var given =
        Map.of(
            "dunlin.auth.failures-max", "1", "dunlin.auth.failures-window", "2s", "dunlin.auth.failures-block", "3s", "dunlin.auth.user-failures-alert", "4",
            "dunlin.flapping.connects-max", "5", "dunlin.flapping.window", "6s", "dunlin.flapping.block", "7s");

    assertThat(read(given))
        .isEqualTo(
            new GuardSettings(
                new BlockRule(1, Duration.ofSeconds(2), Duration.ofSeconds(3)), 4, new BlockRule(5, Duration.ofSeconds(6), Duration.ofSeconds(7))));
  }

  @ParameterizedTest
  @CsvSource({
    "dunlin.auth.failures-max, -1",
    "dunlin.auth.failures-max, 1000001",
    "dunlin.auth.failures-max, many",
    "dunlin.auth.failures-window, 0",
    "dunlin.auth.failures-window, 2h",
    "dunlin.auth.failures-block, 999ms",
    "dunlin.auth.failures-block, 25h",
    "dunlin.auth.failures-block, 60",
    "dunlin.auth.user-failures-alert, -1",
    "dunlin.flapping.connects-max, -1",
    "dunlin.flapping.window, 0s",
    "dunlin.flapping.block, 2d",
  })
  void aWrongValueIsRefusedWithItsKey(String key, String value) {
    assertThatThrownBy(() -> read(Map.of(key, value))).isInstanceOf(SettingException.class).hasMessageContainingAll(key, value);
  }
}
