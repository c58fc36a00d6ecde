package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AdminKeysTest {
  private static final Map<String, String> PORT = Map.of("dunlin.admin.tls.port", "8443");

  private static List<String> problems(Map<String, String> more) {
    Map<String, String> given = new HashMap<>(PORT);
    given.putAll(more);
    return NodeSettings.problems(Settings.load(NodeSettings.ALL, SettingSource.map("test", given)));
  }

  @Test
  void theAdminApiDoesNotLeaveLoopbackWithoutTls() {
    String sentence =
        "dunlin.admin.tls.port: other machines reach the admin API by TLS only; set dunlin.admin.tls.certificate and dunlin.admin.tls.key, or dunlin.admin.tls.key-store";
    assertThat(problems(Map.of())).containsExactly(sentence);
    assertThat(problems(Map.of("dunlin.admin.tls.certificate", "a.pem"))).containsExactly(sentence);
    assertThat(problems(Map.of("dunlin.admin.tls.key", "a.key"))).containsExactly(sentence);
    assertThat(problems(Map.of("dunlin.admin.tls.certificate", "a.pem", "dunlin.admin.tls.key", "a.key"))).isEmpty();
    assertThat(problems(Map.of("dunlin.admin.tls.key-store", "a.p12"))).isEmpty();
  }

  @Test
  void itNeedsTheAdminPort() {
    assertThat(problems(Map.of("dunlin.admin.tls.key-store", "a.p12", "dunlin.admin.port", "-1")))
        .singleElement()
        .asString()
        .startsWith("dunlin.admin.tls.port: it needs the admin port on loopback");
  }
}
