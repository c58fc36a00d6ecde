package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class SettingsReferenceTest {
  @Test
  void everySettingHasItsLineInItsGroup() {
    String page = SettingsReference.render(TestSettings.ALL);

    assertThat(page)
        .contains("\n## General\n", "\n## dunlin.cluster\n", "\n## dunlin.listeners\n")
        .contains(
            "| `dunlin.listeners.tcp.port` | integer | 1883 | 0 to 65535 | The port of the plain listener; 0 takes"
                + " any. | `DUNLIN_LISTENERS__TCP__PORT` |\n")
        .contains("| `dunlin.shared.wait` | duration | 5s | 0s to 1h | How long to wait. | `DUNLIN_SHARED__WAIT` |\n")
        .contains("| drop-oldest \\| drop-newest \\| reject |")
        .contains("| `dunlin.lanes` | integer | the number of processors | 1 to 1024 |")
        .contains("| `dunlin.config` | text | not set |");
    for (Setting<?> setting : TestSettings.ALL) assertThat(page).containsOnlyOnce("| `" + setting.key() + "` |");
  }

  @Test
  void theOrderOfDeclarationsDoesNotMatter() {
    List<Setting<?>> reversed = new ArrayList<>(TestSettings.ALL);
    Collections.reverse(reversed);

    assertThat(SettingsReference.render(reversed)).isEqualTo(SettingsReference.render(TestSettings.ALL));
  }
}
