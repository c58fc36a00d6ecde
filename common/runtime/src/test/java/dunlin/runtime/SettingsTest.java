package dunlin.runtime;

import static dunlin.runtime.TestSettings.ALL;
import static dunlin.runtime.TestSettings.DATA_DIR;
import static dunlin.runtime.TestSettings.FSYNC;
import static dunlin.runtime.TestSettings.HOST;
import static dunlin.runtime.TestSettings.LANES;
import static dunlin.runtime.TestSettings.PACKET;
import static dunlin.runtime.TestSettings.PORT;
import static dunlin.runtime.TestSettings.QUEUE;
import static dunlin.runtime.TestSettings.ROLES;
import static dunlin.runtime.TestSettings.SEEDS;
import static dunlin.runtime.TestSettings.WAIT;
import static dunlin.runtime.TestSettings.WHEN_FULL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.TestSettings.WhenFull;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
  @TempDir Path folder;

  @Test
  void unsetSettingsHaveTheirDefaults() {
    Settings settings = Settings.load(ALL, SettingSource.none());

    assertThat(settings.get(PORT)).isEqualTo(1883);
    assertThat(settings.get(DATA_DIR)).isEqualTo(Path.of("./data"));
    assertThat(settings.get(SEEDS)).isEmpty();
    assertThat(settings.get(ROLES)).containsExactlyInAnyOrder(WhenFull.values());
    assertThat(settings.get(LANES)).isEqualTo(Runtime.getRuntime().availableProcessors());
  }

  @Test
  void systemPropertyBeatsEnvironmentBeatsFileBeatsDefault() {
    Path file = file("a.conf", "dunlin { data-dir = /file, listeners.tcp { host = file, port = 1 } }");
    SettingSource properties = properties("dunlin.config", file.toString(), "dunlin.data-dir", "/property");
    SettingSource environment =
        SettingSource.environment(Map.of("DUNLIN_DATA_DIR", "/env", "DUNLIN_LISTENERS__TCP__HOST", "env"));

    Settings settings = Settings.load(ALL, properties, environment);

    assertThat(settings.get(DATA_DIR)).isEqualTo(Path.of("/property"));
    assertThat(settings.get(HOST)).isEqualTo("env");
    assertThat(settings.get(PORT)).isEqualTo(1);
    assertThat(settings.get(FSYNC)).isTrue();
  }

  @Test
  void aProgramMaySetValues() {
    SettingSource builder = SettingSource.map("the builder", Map.of("dunlin.listeners.tcp.port", "0"));

    assertThat(Settings.load(ALL, builder).get(PORT)).isZero();
  }

  @Test
  void twoUnderscoresAreADotAndOneIsADash() {
    Settings settings =
        Settings.load(
            ALL, SettingSource.environment(Map.of("DUNLIN_INBOX__QUEUE_MAX", "7", "DUNLIN_PACKET_MAX", "1KiB")));

    assertThat(settings.get(QUEUE)).isEqualTo(7);
    assertThat(settings.get(PACKET)).isEqualTo(1024);
  }

  @Test
  void everyEnvironmentNameMapsToItsKey() {
    for (Setting<?> setting : ALL) {
      SettingSource source = SettingSource.environment(Map.of(setting.environmentName(), ""));
      assertThat(source.values()).singleElement().extracting(RawSetting::key).isEqualTo(setting.key());
    }
  }

  @Test
  void ignoresVariablesOfKubernetesServices() {
    SettingSource environment =
        SettingSource.environment(
            Map.of(
                "DUNLIN_SERVICE_HOST", "10.0.0.1",
                "DUNLIN_SERVICE_PORT", "1883",
                "DUNLIN_SERVICE_PORT_MQTT", "1883",
                "DUNLIN_PORT", "tcp://10.0.0.1:1883",
                "DUNLIN_PORT_1883_TCP", "tcp://10.0.0.1:1883",
                "DUNLIN_PORT_1883_TCP_ADDR", "10.0.0.1",
                "DUNLIN_STORE_SERVICE_HOST", "10.0.0.2",
                "DUNLIN_STORE_PORT_7000_UDP_PROTO", "udp",
                "DUNLIN_STORE_PORT", "udp://10.0.0.2:7000"));

    assertThat(environment.values()).isEmpty();
  }

  @Test
  void acceptsSettingsWithSimilarNames() {
    SettingSource environment =
        SettingSource.environment(Map.of("DUNLIN_CLUSTER__SERVICE_PORT", "1", "DUNLIN_ADMIN__PORT", "2", "DUNLIN_PORT", "3"));

    assertThat(environment.values())
        .extracting(RawSetting::key)
        .containsExactlyInAnyOrder("dunlin.cluster.service-port", "dunlin.admin.port", "dunlin.port");
  }

  @Test
  void namesTheKeyWhoseFirstLetterIsMissing() {
    Properties properties = new Properties();
    properties.setProperty("unlin.data-dir", "x");

    assertThatThrownBy(() -> SettingSource.properties(properties))
        .isInstanceOf(SettingException.class)
        .hasMessage("Unknown system property -Dunlin.data-dir; did you mean -Ddunlin.data-dir?");
  }

  @Test
  void theLaunchersVariablesAreNotSettings() {
    SettingSource environment =
        SettingSource.environment(
            Map.of("DUNLIN_JVM_OPTS", "-Xmx1g", "DUNLIN_BENCH_JVM_OPTS", "-Xmx4g", "DUNLIN_HOME", "/opt", "DUNLIN_JAVA_HOME", "/jdk", "DUNLIN_LOG", "json", "PATH", "/bin"));

    assertThat(environment.values()).isEmpty();
  }

  @Test
  void foreignSystemPropertiesAreIgnored() {
    assertThat(properties("dunlinx.a", "1", "java.home", "/jdk", "dunlin", "x").values()).isEmpty();
  }

  @Test
  void aFileMayNotHaveOtherRoots() {
    Path file = file("roots.conf", "dunlin.data-dir = x\nbase = 5");

    assertThatThrownBy(() -> load(file))
        .isInstanceOf(SettingException.class)
        .hasMessage(
            "Key base (line 2 of " + file + ") is not one of ours;"
                + " the file may only have keys that begin with \"dunlin.\".");
  }

  @Test
  void everyTypeIsReadFromHocon() {
    Settings settings =
        load(
            file(
                "all.conf",
                """
                dunlin {
                  inbox { queue-max = 5, when-full = reject }
                  store.fsync = false
                  shared.wait = 250 ms
                  packet-max = 64KiB
                  cluster.seeds = ["a:1", "b,c:2"]
                  roles = [drop-oldest, reject]
                }
                """));

    assertThat(settings.get(QUEUE)).isEqualTo(5);
    assertThat(settings.get(WHEN_FULL)).isEqualTo(WhenFull.REJECT);
    assertThat(settings.get(FSYNC)).isFalse();
    assertThat(settings.get(WAIT)).isEqualTo(Duration.ofMillis(250));
    assertThat(settings.get(PACKET)).isEqualTo(65_536);
    assertThat(settings.get(SEEDS)).containsExactly("a:1", "b,c:2");
    assertThat(settings.get(ROLES)).containsExactlyInAnyOrder(WhenFull.DROP_OLDEST, WhenFull.REJECT);
  }

  @Test
  void aPropertiesFileIsReadAsOne() {
    Path file = file("a.properties", "dunlin.data-dir=/srv/mqtt\ndunlin.cluster.seeds = a:1, b:2\n");

    Settings settings = load(file);

    assertThat(settings.get(DATA_DIR)).isEqualTo(Path.of("/srv/mqtt"));
    assertThat(settings.get(SEEDS)).containsExactly("a:1", "b:2");
  }

  @Test
  void relativePathsInAFileAreRelativeToIt() throws IOException {
    Path relative = file("relative.conf", "dunlin.data-dir = ../rows");
    Path absolute = file("absolute.conf", "dunlin.data-dir = /srv/rows");

    assertThat(load("dunlin.config", relative.toString()).get(DATA_DIR)).isEqualTo(relative.resolveSibling("../rows"));
    assertThat(load("dunlin.config", absolute.toString()).get(DATA_DIR)).isEqualTo(Path.of("/srv/rows"));
    assertThat(load("dunlin.data-dir", "rows").get(DATA_DIR)).isEqualTo(Path.of("rows"));
  }

  @Test
  void showsAnExampleOfAValueWithAUnit() {
    assertThatThrownBy(() -> load("dunlin.shared.wait", "5"))
        .hasMessageEndingWith("must be of type duration (0s to 1h), such as %s.".formatted(WAIT.defaultText()));
    assertThatThrownBy(() -> load("dunlin.packet-max", "1KB")).hasMessageEndingWith(", such as %s.".formatted(PACKET.defaultText()));
  }

  @Test
  void showsAnExampleWithAUnitWhenTheDefaultHasNone() {
    var bytes = Setting.bytes("dunlin.room", 0, 0, 1L << 40, "0: by the heap.");
    var wait = Setting.duration("dunlin.wait", Duration.ZERO, Duration.ZERO, Duration.ofSeconds(5), "0: not at all.");
    assertThatThrownBy(() -> Settings.load(List.of(bytes), properties("dunlin.room", "1KB"))).hasMessageEndingWith(", such as 64MiB.");
    assertThatThrownBy(() -> Settings.load(List.of(wait), properties("dunlin.wait", "1"))).hasMessageEndingWith(", such as 0s.");
  }

  @ParameterizedTest
  @CsvSource({"1ms,PT0.001S", "250 ms,PT0.25S", "5s,PT5S", "10m,PT10M", "1h,PT1H", "0s,PT0S"})
  void durationsHaveUnits(String text, Duration expected) {
    assertThat(load("dunlin.shared.wait", text).get(WAIT)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"128,128", "128B,128", "64KiB,65536", "1MiB,1048576", "1 mib,1048576"})
  void sizesMayHaveUnits(String text, long expected) {
    assertThat(load("dunlin.packet-max", text).get(PACKET)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "dunlin.listeners.tcp.port,65536",
    "dunlin.listeners.tcp.port,-1",
    "dunlin.listeners.tcp.port,18x3",
    "dunlin.listeners.tcp.port,''",
    "dunlin.listeners.tcp.port,99999999999",
    "dunlin.inbox.queue-max,0",
    "dunlin.store.fsync,yes",
    "dunlin.shared.wait,5",
    "dunlin.shared.wait,2h",
    "dunlin.shared.wait,-1s",
    "dunlin.shared.wait,99999999999999999d",
    "dunlin.packet-max,127",
    "dunlin.packet-max,1GiB",
    "dunlin.packet-max,1KB",
    "dunlin.packet-max,9999999999999999999",
    "dunlin.inbox.when-full,DROP_OLDEST",
    "dunlin.roles,''",
    "dunlin.roles,'reject,nothing'",
    "dunlin.cluster.seeds,'a,,b'",
    "dunlin.data-dir,''",
  })
  void valuesThatDoNotParseOrAreOutOfBoundsStopTheStart(String key, String text) {
    assertThatThrownBy(() -> load(key, text))
        .isInstanceOf(SettingException.class)
        .hasMessageContainingAll(key + " is \"" + text + "\" by system property, but must be of type");
  }

  @Test
  void theMessageNamesKeySourceValueAndBounds() {
    SettingSource environment = SettingSource.environment(Map.of("DUNLIN_LISTENERS__TCP__PORT", "70000"));

    assertThatThrownBy(() -> Settings.load(ALL, environment))
        .hasMessage(
            "dunlin.listeners.tcp.port is \"70000\" by environment variable DUNLIN_LISTENERS__TCP__PORT,"
                + " but must be of type integer (0 to 65535).");
  }

  @Test
  void errorsInOverriddenSourcesAreFound() {
    SettingSource properties = properties("dunlin.listeners.tcp.port", "1");
    SettingSource environment = SettingSource.environment(Map.of("DUNLIN_LISTENERS__TCP__PORT", "many"));

    assertThatThrownBy(() -> Settings.load(ALL, properties, environment)).isInstanceOf(SettingException.class);
  }

  @Test
  void anUnknownKeyIsAnsweredWithTheNearestName() {
    assertThatThrownBy(() -> load("dunlin.listener.tcp.prt", "1"))
        .isInstanceOf(SettingException.class)
        .hasMessage(
            "Unknown key dunlin.listener.tcp.prt, set by system property;"
                + " the nearest valid name is dunlin.listeners.tcp.port.");
    assertThatThrownBy(() -> Settings.load(ALL, SettingSource.environment(Map.of("DUNLIN_DATADIR", "x"))))
        .hasMessage(
            "Unknown key dunlin.datadir, set by environment variable DUNLIN_DATADIR;"
                + " the nearest valid name is dunlin.data-dir (DUNLIN_DATA_DIR).");
    Path file = file("a.conf", "\ndunlin.store {\n fsnc = true }");
    assertThatThrownBy(() -> load(file))
        .hasMessage(
            "Unknown key dunlin.store.fsnc, set by line 3 of " + file
                + "; the nearest valid name is dunlin.store.fsync.");
  }

  @Test
  void aFileThatIsMissingOrBrokenStopsTheStart() {
    assertThatThrownBy(() -> load(folder.resolve("none.conf")))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("none.conf is missing");
    Path broken = file("broken.conf", "dunlin { data-dir = ");
    assertThatThrownBy(() -> load(broken))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining(broken.toString());
    Path scalar = file("scalar.conf", "dunlin = 5");
    assertThatThrownBy(() -> load(scalar)).isInstanceOf(SettingException.class);
    Path itself = file("itself.conf", "dunlin.config = other.conf");
    assertThatThrownBy(() -> load(itself)).isInstanceOf(SettingException.class).hasMessageContaining("itself");
  }

  @Test
  void effectiveValuesCanBeParsedAgain() {
    Settings settings = load("dunlin.shared.wait", "1500ms");

    assertThat(settings.effective())
        .hasSize(ALL.size() + 1)
        .containsEntry("dunlin.shared.wait", "1500ms")
        .containsEntry("dunlin.packet-max", "1MiB")
        .containsEntry("dunlin.roles", "drop-oldest,drop-newest,reject")
        .containsEntry("dunlin.inbox.when-full", "drop-oldest");
    settings.effective().forEach((key, text) -> {
      if (!text.isEmpty()) assertThat(load(key, text).effective()).as(key).containsEntry(key, text);
    });
  }

  @Test
  void theSourceOfEachEffectiveValueIsKnown() throws Exception {
    Settings settings =
        Settings.load(ALL, properties("dunlin.packet-max", "2MiB", "dunlin.config", file("a.conf", "dunlin { packet-max = 1MiB, shared.wait = 1s }").toString()));

    assertThat(settings.sources())
        .hasSameSizeAs(settings.effective())
        .containsEntry("dunlin.inbox.when-full", "default")
        .hasEntrySatisfying("dunlin.packet-max", source -> assertThat(source).contains("system property"))
        .hasEntrySatisfying("dunlin.shared.wait", source -> assertThat(source).contains("a.conf"));
  }

  @Test
  void controlCharactersAreEscapedInMessages() {
    assertThatThrownBy(() -> load("dunlin.data-dri\n[31m", "x")).message().doesNotContain("\n").contains("\\u000a");
  }

  @Test
  void aDeclarationThatContradictsItselfIsABug() {
    assertThatThrownBy(() -> Setting.integer("dunlin.a", 5, 6, 7, "")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Setting.flag("dunlin.A", true, "")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Setting.flag("other.a", true, "")).isInstanceOf(IllegalArgumentException.class);
    Setting<Boolean> twin = Setting.flag("dunlin.store.fsync", true, "");
    assertThatThrownBy(() -> Settings.load(List.of(FSYNC, twin), SettingSource.none())).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Settings.load(ALL, SettingSource.none()).get(twin)).isInstanceOf(IllegalArgumentException.class);
  }

  private static Settings load(String key, String text) {
    return Settings.load(ALL, properties(key, text));
  }

  private static Settings load(Path file) {
    return Settings.load(ALL, properties("dunlin.config", file.toString()));
  }

  private Path file(String name, String text) {
    try {
      return Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static SettingSource properties(String... keysAndValues) {
    Properties properties = new Properties();
    for (int i = 0; i < keysAndValues.length; i += 2) properties.setProperty(keysAndValues[i], keysAndValues[i + 1]);
    return SettingSource.properties(properties);
  }
}
