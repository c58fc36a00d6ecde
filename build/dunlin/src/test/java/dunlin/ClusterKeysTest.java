package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.runtime.SettingException;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import dunlin.store.ClusterSettings;
import dunlin.store.PeerSecurity;
import dunlin.store.remote.RangeClientSettings;
import dunlin.store.remote.RangeServiceSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClusterKeysTest {
  private static final Map<String, String> TLS =
      Map.of(
          "dunlin.cluster.tls.certificate", "/tls/node.pem", "dunlin.cluster.tls.key", "/tls/node.key", "dunlin.cluster.tls.ca",
          "/tls/ca.pem");

  @Test
  void aNodeThatIsToldNothingHasNoPeers() {
    assertThat(read(Map.of())).isEqualTo(ClusterSettings.NONE);
  }

  @Test
  void everyKeyReachesTheStore() {
    var given = new HashMap<>(TLS);
    given.put("dunlin.cluster.port", "7001");
    given.put("dunlin.cluster.host", "node-1.example.com");
    given.put("dunlin.cluster.bind", "0.0.0.0");
    given.put("dunlin.cluster.election-timeout", "3s");
    given.put("dunlin.cluster.log-entries-kept", "500");
    given.put("dunlin.cluster.copy-rate", "1MiB");
    given.put("dunlin.cluster.copy-time", "1h");

    assertThat(read(given))
        .isEqualTo(
            new ClusterSettings(
                7_001, "node-1.example.com", "0.0.0.0",
                new PeerSecurity.MutualTls(Path.of("/tls/node.key"), Path.of("/tls/node.pem"), Path.of("/tls/ca.pem")),
                Duration.ofSeconds(3), 500, 1 << 20, Duration.ofHours(1)));
    assertThat(read(Map.of("dunlin.cluster.plaintext", "true")).security()).isEqualTo(new PeerSecurity.Plaintext(true));
  }

  @Test
  void callsOfOtherNodesKeepToWhatIsSet() {
    var usual = settings(Map.of());
    assertThat(ClusterKeys.service(usual)).isEqualTo(RangeServiceSettings.defaults());
    assertThat(ClusterKeys.client(usual)).isEqualTo(RangeClientSettings.defaults());

    var given =
        settings(
            Map.of(
                "dunlin.cluster.service-streams-max", "7", "dunlin.cluster.service-bytes-max", "1GiB", "dunlin.cluster.call-timeout",
                "20s", "dunlin.cluster.call-stall", "3s", "dunlin.cluster.plaintext", "true"));
    assertThat(ClusterKeys.service(given).plaintextAnywhere()).isTrue();
    assertThat(ClusterKeys.service(given).streamsMax()).isEqualTo(7);
    assertThat(ClusterKeys.service(given).nodeBytesMax()).isEqualTo(1 << 30);
    assertThat(ClusterKeys.client(given).timeout()).isEqualTo(Duration.ofSeconds(20));
    assertThat(ClusterKeys.client(given).stallAfter()).isEqualTo(Duration.ofSeconds(3));
  }

  @Test
  void tlsIsWholeOrAbsentAndNotBesidePlaintext() {
    for (String key : TLS.keySet()) {
      var part = new HashMap<>(TLS);
      part.remove(key);
      assertThatThrownBy(() -> read(part)).isInstanceOf(SettingException.class).hasMessageContaining("2 of them are set");
    }
    var both = new HashMap<>(TLS);
    both.put("dunlin.cluster.plaintext", "true");
    assertThatThrownBy(() -> read(both)).isInstanceOf(SettingException.class).hasMessageContaining("dunlin.cluster.plaintext");
  }

  @Test
  void aHostThatNobodyCouldReachIsRefused() {
    for (String host : new String[] {"", " ", "a b", "http://a", "me@a"})
      assertThatThrownBy(() -> read(Map.of("dunlin.cluster.host", host)))
          .isInstanceOf(SettingException.class)
          .hasMessageContaining("dunlin.cluster.host");
  }

  private static ClusterSettings read(Map<String, String> given) {
    return ClusterKeys.read(settings(given));
  }

  private static Settings settings(Map<String, String> given) {
    return Settings.load(NodeSettings.ALL, SettingSource.map("test", given));
  }
}
