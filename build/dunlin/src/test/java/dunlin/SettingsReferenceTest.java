package dunlin;

import dunlin.node.NodeSettings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.codec.Limit;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import dunlin.runtime.SettingsReference;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SettingsReferenceTest {
  private static final Path PAGE = Path.of("../../docs/configuration.md");

  /** To rewrite the page after a setting has changed: {@code -Ddocs.write=true}. */
  @Test
  void theReferencePageMatchesTheDeclarations() throws IOException {
    String page = SettingsReference.render(NodeSettings.ALL);
    if (Boolean.getBoolean("docs.write")) Files.writeString(PAGE, page);

    assertThat(Files.readString(PAGE)).isEqualTo(page);
  }

  @Test
  void everyDeclaredSettingIsInTheList() throws IllegalAccessException {
    List<Object> declared = new ArrayList<>();
    for (var field : NodeSettings.class.getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == Setting.class) declared.add(field.get(null));
    }

    assertThat(declared).isNotEmpty().isSubsetOf(NodeSettings.ALL);
  }

  @Test
  void someOfTheRolesNeedACluster() {
    for (String roles : new String[] {"frontend", "frontend,dist,retain,inbox", "inbox,store", "store"})
      assertThatThrownBy(() -> check("dunlin.roles", roles)).isInstanceOf(SettingException.class).hasMessageContaining("dunlin.cluster.seeds");
    check("dunlin.roles", "store,frontend,dist,retain,inbox");
  }

  @Test
  void aBrokerWithSomeSettingsOfAClusterIsRefused() {
    assertThatThrownBy(() -> check("dunlin.cluster.seeds", "a"))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("dunlin.cluster");
    assertThatThrownBy(() -> check("dunlin.cluster.service-port", "7002"))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("dunlin.cluster.service-port");
  }

  @Test
  void textsForClientsMustFitIntoAPacket() {
    for (String unfit : new String[] {"a/+", "a/#/", "a\nb", "x".repeat(16_385)}) {
      assertThatThrownBy(() -> check("dunlin.mqtt.response-information", unfit)).isInstanceOf(SettingException.class);
    }
    for (String unfit : new String[] {"a\u0000", "x".repeat(1_025)}) {
      assertThatThrownBy(() -> check("dunlin.drain.server-reference", unfit)).isInstanceOf(SettingException.class);
    }
    check("dunlin.mqtt.response-information", "responses/");
    check("dunlin.drain.server-reference", "b.example.com:1883 c.example.com:1883");
  }

  private static void check(String key, String value) {
    NodeSettings.check(Settings.load(NodeSettings.ALL, SettingSource.map("test", Map.of(key, value))));
  }

  @Test
  void everyLimitNamesAnExistingSetting() {
    assertThat(Limit.values())
        .allSatisfy(limit -> assertThat(NodeSettings.ALL).anyMatch(setting -> setting.key().equals(limit.setting())));
  }
}
