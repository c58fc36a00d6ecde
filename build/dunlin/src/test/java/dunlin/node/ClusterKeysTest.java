package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.cluster.MemberSettings.Roles;
import dunlin.cluster.MemberSettings;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitSettings;
import dunlin.runtime.SettingException;
import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import dunlin.store.remote.RemoteCalls;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.tiers.ClusterTiers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ClusterKeysTest {
  private static final Map<String, String> TLS =
      Map.of(
          "dunlin.cluster.tls.certificate", "/tls/node.pem", "dunlin.cluster.tls.key", "/tls/node.key", "dunlin.cluster.tls.ca",
          "/tls/ca.pem");
  private static final NavigableMap<String, String> AGREED = new TreeMap<>(Map.of("dunlin.inbox.shards", "16"));
  private static final Map<String, String> PORTS = Map.of("dunlin.cluster.port", "7001", "dunlin.cluster.service-port", "7002");

  @Test
  void aNodeWithoutSettingsHasNoPeers() {
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
    given.put("dunlin.cluster.snapshot-rate", "1MiB");
    given.put("dunlin.cluster.snapshot-time", "1h");

    assertThat(read(given))
        .usingRecursiveComparison() // secrets are equal to themselves only
        .isEqualTo(
            new ClusterSettings(
                7_001, "node-1.example.com", "0.0.0.0",
                new PeerSecurity.MutualTls(Path.of("/tls/node.key"), Path.of("/tls/node.pem"), Path.of("/tls/ca.pem")),
                Duration.ofSeconds(3), 500, 1 << 20, Duration.ofHours(1)));
    assertThat(read(Map.of("dunlin.cluster.plaintext", "true")).security()).isEqualTo(new PeerSecurity.Plaintext(true));
  }

  @Test
  void aKeyStoreStandsForCertificateAndKey() {
    Map<String, String> store = Map.of("dunlin.cluster.tls.key-store", "/tls/node.p12", "dunlin.cluster.tls.key-store-password", "secret", "dunlin.cluster.tls.ca", "/tls/ca.pem");
    assertThat(read(store).security())
        .isInstanceOfSatisfying(
            PeerSecurity.MutualTls.class,
            tls -> {
              assertThat(tls.authority()).isEqualTo(Path.of("/tls/ca.pem"));
              assertThat(tls.own())
                  .isInstanceOfSatisfying(
                      PeerSecurity.Store.class,
                      own -> {
                        assertThat(own.file()).isEqualTo(Path.of("/tls/node.p12"));
                        assertThat(own.password().value()).isEqualTo("secret");
                      });
              assertThat(tls.toString()).doesNotContain("secret");
            });
    var both = new HashMap<>(store);
    both.put("dunlin.cluster.tls.key", "/tls/node.key");
    assertThatThrownBy(() -> read(both)).isInstanceOf(SettingException.class).hasMessageContaining("dunlin.cluster.tls.key-store");
    assertThatThrownBy(() -> read(Map.of("dunlin.cluster.tls.key-store", "/tls/node.p12"))).isInstanceOf(SettingException.class).hasMessageContaining("1 of them is set");
  }

  @Test
  void callsOfOtherNodesMayBePlainOnAnyNetworkWhenThatIsAskedFor() {
    assertThat(ClusterKeys.service(settings(Map.of()))).isEqualTo(RangeServiceSettings.defaults());
    assertThat(ClusterKeys.service(settings(Map.of("dunlin.cluster.plaintext", "true"))).plaintextAnywhere()).isTrue();
  }

  @Test
  void theShardsOfSessionsMustBeTheSameOnAllNodes() {
    var given = new HashMap<>(PORTS);
    given.put("dunlin.inbox.shards", "32");
    assertThat(ClusterKeys.member(settings(given)).agreed()).isEqualTo(Map.of("dunlin.inbox.shards", "32"));
  }

  @Test
  void severalRangesOfSessionsMustBeTheSameOnAllNodes() {
    var given = new HashMap<>(PORTS);
    given.put("dunlin.inbox.ranges", "3");
    assertThat(ClusterKeys.member(settings(given)).agreed()).isEqualTo(Map.of("dunlin.inbox.shards", "16", "dunlin.inbox.ranges", "3"));
  }

  @Test
  void rolesSayWhatANodeFoundsAndWhatItIsPreferredFor() {
    assertThat(roles("store")).isEqualTo(new Roles(true, ClusterTiers.founded(), Set.of()));
    assertThat(roles("frontend")).isEqualTo(new Roles(false, Set.of(), Set.of("frontend")));
    assertThat(roles("dist, retain")).isEqualTo(new Roles(false, Set.of(), Set.of("prefers routes", "prefers retain")));
    assertThat(roles("store, inbox, frontend")).isEqualTo(new Roles(true, ClusterTiers.founded(), Set.of("frontend", "prefers sessions")));
    assertThat(ClusterKeys.member(settings(PORTS)).roles())
        .isEqualTo(new Roles(true, ClusterTiers.founded(), Set.of("frontend", "prefers routes", "prefers retain", "prefers sessions")));
  }

  private static Roles roles(String given) {
    return ClusterKeys.member(settings(with("dunlin.roles", given))).roles();
  }

  @Test
  void onlyANodeWithReplicasNeedsAPortForRaft() {
    var given = with("dunlin.roles", "frontend");
    given.put("dunlin.cluster.port", "0");
    assertThat(ClusterKeys.member(settings(given)).servicePort()).isEqualTo(7_002);
    given.put("dunlin.roles", "frontend, dist");
    refused(given, "dunlin.cluster.port");
  }

  @Test
  void aStoreNodesMembershipFollowsTheSettings() {
    var given = new HashMap<>(PORTS);
    given.put("dunlin.roles", "store");
    assertThat(ClusterKeys.member(settings(given)))
        .isEqualTo(MemberSettings.of("", 1, ClusterSettings.NONE.host(), 7_002, ClusterTiers.founded()).with(AGREED));

    given.put("dunlin.cluster.seeds", "a.example.com:7002, dns:nodes.example.com:7002");
    given.put("dunlin.cluster.bootstrap-expect", "3");
    given.put("dunlin.cluster.host", "node-1.example.com");
    given.put("dunlin.cluster.region", "north");
    given.put("dunlin.cluster.zone", "1");
    given.put("dunlin.cluster.heartbeat", "2s");
    given.put("dunlin.cluster.lease", "7s");
    given.put("dunlin.cluster.down-after", "1m");
    given.put("dunlin.cluster.replace-after", "1h");
    given.put("dunlin.cluster.replicas", "5");
    given.put("dunlin.cluster.split-bytes", "2GiB");
    given.put("dunlin.cluster.split-rate", "5000");
    given.put("dunlin.cluster.split-bytes-min", "1MiB");
    given.put("dunlin.cluster.splits-max", "3");
    var usual = OperationSettings.defaults();
    assertThat(ClusterKeys.member(settings(given)))
        .isEqualTo(
            new MemberSettings(
                "a.example.com:7002,dns:nodes.example.com:7002", 3, "node-1.example.com", 7_002, "north", "1", new Roles(true, ClusterTiers.founded(), Set.of()),
                Duration.ofSeconds(2), Duration.ofSeconds(7), Duration.ofMinutes(1),
                new OperationSettings(
                    usual.lagMax(), usual.unflushedMax(), usual.automaticMax(), 5,
                    new SplitSettings(2L << 30, 5_000, 1 << 20, 3, usual.splits().replicasMax()), Duration.ofHours(1), usual.balance()),
                AGREED));
  }

  @Test
  void aNodeWithSeedsOnOtherMachinesNeedsAHost() {
    for (String seeds : new String[] {"a.example:7100", "localhost:7100,a.example:7100", "dns:nodes:7100", "10.0.0.1:7100", "localhosts:7100"})
      refused(with("dunlin.cluster.seeds", seeds), "dunlin.cluster.host");
    for (String seeds : new String[] {"localhost:7100", "127.0.0.1:1, 127.0.0.2:1", "[::1]:7100", "dns:localhost:7100"})
      assertThat(ClusterKeys.member(settings(with("dunlin.cluster.seeds", seeds))).host()).isEqualTo("127.0.0.1");
    var given = new HashMap<>(with("dunlin.cluster.seeds", "a.example:7100"));
    given.put("dunlin.cluster.host", "127.0.0.1"); // forwarded, perhaps
    assertThat(ClusterKeys.member(settings(given)).seeds()).isEqualTo("a.example:7100");
  }

  @Test
  void aNodeWithSeedsHasPortsByItself() {
    var given = new HashMap<>(Map.of("dunlin.cluster.seeds", "localhost:7100"));
    assertThat(ClusterKeys.member(settings(given)).servicePort()).isEqualTo(7_100);
    assertThat(read(given).port()).isEqualTo(7_101);

    given.put("dunlin.cluster.service-port", "7110");
    assertThat(ClusterKeys.serviceAddress(settings(given)).getPort()).isEqualTo(7_110);
    assertThat(read(given).port()).isEqualTo(7_111);

    given.put("dunlin.cluster.service-port", "65535");
    refused(given, "dunlin.cluster.port");
  }

  @Test
  void invalidSettingsOfAStoreNodeAreRefusedBeforeItStarts() {
    for (String port : PORTS.keySet()) {
      refused(with(port, "0"), port);
      var alone = new HashMap<>(PORTS);
      alone.remove(port);
      refused(alone, port); // neither a store node nor one with seeds
    }
    refused(with("dunlin.cluster.service-port", "7001"), "dunlin.cluster.service-port");
    refused(with("dunlin.cluster.seeds", "a.example.com"), "'a.example.com'");
    refused(with("dunlin.cluster.zone", "z".repeat(256)), "dunlin.cluster.zone");
    refused(with("dunlin.cluster.lease", "1500ms"), "lease");
    refused(with("dunlin.cluster.down-after", "4s"), "downAfter");
    refused(with("dunlin.cluster.split-bytes", "1MiB"), "not below 16777216");
  }

  @Test
  void theTransportCarriesTheLargestCalls() {
    assertThat(RemoteCalls.BYTES_MAX).isGreaterThanOrEqualTo(NodeCalls.BYTES_MAX);
    assertThat(RemoteCalls.CALLS_MAX).isGreaterThanOrEqualTo(NodeCalls.CALLS_MAX);
  }

  private static Map<String, String> with(String key, String value) {
    var given = new HashMap<>(PORTS);
    given.put(key, value);
    return given;
  }

  private static void refused(Map<String, String> given, String saying) {
    assertThatThrownBy(() -> ClusterKeys.member(settings(given)))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining(saying);
  }

  @Test
  void tlsIsCompleteOrAbsentAndExcludesPlaintext() {
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
  void anUnreachableHostIsRefused() {
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
