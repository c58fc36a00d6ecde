package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.SettingException;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RetainSettingsTest {
  private static RetainSettings read(Map<String, String> given, long heapBytes, long diskBytes) {
    return RetainSettings.from(Settings.load(RetainSettings.ALL, SettingSource.map("test", given)), heapBytes, diskBytes);
  }

  @Test
  void defaultsFollowFromTheHeapAndTheDisk() {
    assertThat(read(Map.of(), 800, 4_000).bounds()).isEqualTo(new RetainBounds(10_000_000, 100, 1_000));
    assertThat(read(Map.of(), 800, 0).bounds().bytesMax()).as("a disk of unknown size").isEqualTo(Long.MAX_VALUE);
    assertThat(read(Map.of(), 800, 4_000)).isEqualTo(RetainSettings.defaults(800, 4_000));
  }

  @Test
  void settingsOverrideTheDefaults() {
    var given = Map.of("dunlin.retain.messages-max", "5", "dunlin.retain.topic-bytes-max", "2KiB", "dunlin.retain.bytes-max", "3MiB");

    assertThat(read(given, 800, 4_000).bounds()).isEqualTo(new RetainBounds(5, 2_048, 3 << 20));
  }

  @Test
  void zeroMessagesAreRefused() {
    assertThatThrownBy(() -> read(Map.of("dunlin.retain.messages-max", "0"), 800, 4_000)).isInstanceOf(SettingException.class);
    assertThatThrownBy(() -> new RetainBounds(-1, 1, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new RetainBounds(1, -1, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new RetainBounds(1, 1, -1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new RetainSettings(RetainBounds.NONE, Duration.ZERO, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new RetainSettings(RetainBounds.NONE, Duration.ofSeconds(1), 0)).isInstanceOf(IllegalArgumentException.class);
  }
}
