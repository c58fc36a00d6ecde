package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings whose keys contain a name chosen by the operator. */
class SettingFamilyTest {
  private enum Kind {
    PLAIN(1883),
    SECURE(8883) {
      @Override
      public String toString() {
        return "TLSv1";
      }
    };

    private final int port;

    Kind(int port) {
      this.port = port;
    }
  }

  private static final Setting<Kind> KIND = Setting.choice("dunlin.doors.*.kind", Kind.PLAIN, "What it is.").withName("front");
  private static final Setting<Integer> PORT =
      Setting.integer("dunlin.doors.*.port", 0, 0, 65_535, "Where it is.").defaultFrom(KIND, kind -> kind.port, "1883 or 8883");
  private static final Setting<Secret> KEY = Setting.secret("dunlin.doors.*.lock.key", "What opens it.");
  private static final Setting<Boolean> BELL = Setting.flag("dunlin.bells.*.loud", true, "Of another family.");
  private static final Setting<String> HOUSE = Setting.text("dunlin.house", "", "One for all.");
  private static final List<Setting<?>> ALL = List.of(KIND, PORT, KEY, BELL, HOUSE);

  @TempDir Path folder;

  @Test
  void eachNameHasItsOwnValues() {
    Settings settings = load(Map.of("dunlin.doors.front.port", "1", "dunlin.doors.back-2.lock.key", "x"));

    assertThat(settings.names(PORT)).containsExactly("back-2", "front").isEqualTo(settings.names(KEY));
    assertThat(settings.get(PORT, "front")).isEqualTo(1);
    assertThat(settings.isSet(PORT, "front")).isTrue();
    assertThat(settings.get(PORT, "back-2")).isEqualTo(1883);
    assertThat(settings.isSet(PORT, "back-2")).isFalse();
    assertThat(settings.get(KEY, "back-2").value()).isEqualTo("x");
    assertThat(settings.names(BELL)).isEmpty();
  }

  @Test
  void aPermanentNameExistsWithoutSettings() {
    Settings settings = load(Map.of());

    assertThat(settings.names(KEY)).containsExactly("front");
    assertThat(settings.effective()).containsOnlyKeys(
        "dunlin.config", "dunlin.house", "dunlin.doors.front.kind", "dunlin.doors.front.port", "dunlin.doors.front.lock.key");
  }

  @Test
  void aDefaultMayFollowFromAnotherSettingOfTheSameName() {
    Settings settings = load(Map.of("dunlin.doors.tls.kind", "TLSv1", "dunlin.doors.other.kind", "plain"));

    assertThat(settings.get(PORT, "tls")).isEqualTo(8883);
    assertThat(settings.get(PORT, "other")).isEqualTo(1883);
    assertThat(settings.effective()).containsEntry("dunlin.doors.tls.port", "8883").containsEntry("dunlin.doors.tls.kind", "TLSv1");
  }

  @Test
  void variablesAndFilesMayUseNames() throws IOException {
    Path file = Files.writeString(folder.resolve("a.conf"), "dunlin.doors { hall { port = 3, lock { key = k } } }");
    Settings settings =
        Settings.load(
            ALL,
            SettingSource.environment(Map.of("DUNLIN_DOORS__SIDE_DOOR__PORT", "2")),
            SettingSource.map("test", Map.of("dunlin.config", file.toString())));

    assertThat(settings.get(PORT, "side-door")).isEqualTo(2);
    assertThat(settings.get(PORT, "hall")).isEqualTo(3);
    assertThat(settings.get(KEY, "hall").value()).isEqualTo("k");
    assertThat(PORT.environmentName()).isEqualTo("DUNLIN_DOORS__<NAME>__PORT");
  }

  @Test
  void aWrongValueIsReportedWithItsFullKey() {
    assertThatThrownBy(() -> load(Map.of("dunlin.doors.front.port", "70000")))
        .hasMessage("dunlin.doors.front.port is \"70000\" by test, but must be of type integer (0 to 65535).");
  }

  @Test
  void anUnknownKeyIsAnsweredWithTheNearestOneOfTheSameName() {
    assertThatThrownBy(() -> load(Map.of("dunlin.doors.cellar.prt", "1"))).message().endsWith("name is dunlin.doors.cellar.port.");
    assertThatThrownBy(() -> load(Map.of("dunlin.door.cellar.port", "1"))).message().endsWith("name is dunlin.doors.cellar.port.");
    assertThatThrownBy(() -> load(Map.of("dunlin.doors.*.port", "1"))).message().endsWith("name is dunlin.doors.<name>.port.");
    assertThatThrownBy(() -> Settings.load(ALL, SettingSource.environment(Map.of("DUNLIN_DOORS__CELLAR__PROT", "1"))))
        .message()
        .endsWith("name is dunlin.doors.cellar.port (DUNLIN_DOORS__CELLAR__PORT).");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "UPPER", "a.b", "a_b", "a b", "\u00e4", "*", "thirty-three-characters-are-too-many"})
  void namesHaveRestrictedCharactersAndLength(String name) {
    assertThatThrownBy(() -> load(Map.of("dunlin.doors." + name + ".port", "1")))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("Unknown key dunlin.doors." + LogText.escaped(name));
    assertThatThrownBy(() -> PORT.key(name)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void namesMayHaveDigitsAndDashesAnywhere() {
    for (String name : List.of("0", "-", "9-a", "a".repeat(32))) {
      assertThat(load(Map.of(PORT.key(name), "7")).get(PORT, name)).isEqualTo(7);
    }
  }

  @Test
  void aSecretIsShownForNoName() {
    assertThat(load(Map.of("dunlin.doors.front.lock.key", "sesame")).effective().toString().toLowerCase(Locale.ROOT))
        .doesNotContain("sesame");
  }

  @Test
  void aFamilyNeedsANameAndOtherSettingsHaveNone() {
    Settings settings = load(Map.of());
    assertThatThrownBy(() -> settings.get(PORT)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> settings.get(HOUSE, "front")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Setting.flag("dunlin.*", true, "")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Setting.flag("dunlin.a.*.b.*.c", true, "")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> BELL.defaultFrom(KIND, _ -> true, "")).isInstanceOf(IllegalArgumentException.class);
  }

  private static Settings load(Map<String, String> values) {
    return Settings.load(ALL, SettingSource.map("test", values));
  }
}
