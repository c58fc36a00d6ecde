package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.node.TestAuthority;
import dunlin.store.remote.Caller.Entry;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.RangeServiceSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** TLS between nodes, with certificates from the JDK's keytool. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ServiceTlsTest {
  private static final Duration LONG = Duration.ofMinutes(2);

  private static final Map<String, String> NAMES =
      Map.of(
          "node", "dns:localhost,ip:127.0.0.1", "stranger", "dns:elsewhere.example", "frontend", "dns:localhost,ip:127.0.0.1,uri:urn:dunlin:role:frontend");

  @TempDir static Path directory;

  @BeforeAll
  static void makeCertificates() throws Exception {
    for (var name : List.of("ours", "theirs")) {
      var authority = new TestAuthority(directory, name);
      for (var node : NAMES.entrySet()) authority.issue(name + "-" + node.getKey(), node.getValue());
    }
  }

  private static Path file(String name) {
    return directory.resolve(name);
  }

  private static ServiceTls tls(String own, String trusted) {
    return new ServiceTls(new PeerSecurity.MutualTls(file(own + ".key"), file(own + ".pem"), file(trusted + ".pem")));
  }

  @Test
  void nodesOfOneAuthorityTalk() throws Exception {
    try (var cluster = LedgerCluster.start(1, RangeServiceSettings.defaults(), tls("ours-node", "ours"));
        var caller = new Caller(Caller.settings(), tls("ours-stranger", "ours"), System::nanoTime)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      caller.propose(caller.range(cluster.location(ledger)), Entry.of(1));

      assertThat(caller.await(1).failure()).isNull();
    }
  }

  @Test
  void aCallerOfAnotherAuthorityIsRefused() throws Exception {
    refused(tls("ours-node", "ours"), tls("theirs-node", "ours"));
  }

  @Test
  void aNodeOfAnotherAuthorityIsRefused() throws Exception {
    refused(tls("theirs-node", "ours"), tls("ours-node", "ours"));
  }

  @Test
  void aNodeOfAnotherNameIsRefused() throws Exception {
    refused(tls("ours-stranger", "ours"), tls("ours-node", "ours"));
  }

  @Test
  void aCallerWithoutTlsIsRefused() throws Exception {
    refused(tls("ours-node", "ours"), null);
  }

  private static void refused(ServiceTls service, @Nullable ServiceTls called) throws Exception {
    try (var cluster = LedgerCluster.start(1, RangeServiceSettings.defaults(), service);
        var caller = new Caller(Caller.settings(), called, System::nanoTime)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      caller.propose(caller.range(cluster.location(ledger)), Entry.of(1));
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.streams.broken") > 2);
      assertThat(caller.ends).isEmpty();
      caller.client.close();

      assertThat(caller.await(1).unknown()).isFalse();
      assertThat(cluster.applied(ledger)).isEmpty();
    }
  }

  /** It has no replicas, so it reads none and writes to none. */
  @Test
  void aFrontendReachesNoRange() throws Exception {
    try (var cluster = LedgerCluster.start(1, RangeServiceSettings.defaults(), tls("ours-node", "ours"));
        var caller = new Caller(Caller.settings(), tls("ours-frontend", "ours"), System::nanoTime)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      caller.propose(caller.range(cluster.location(ledger)), Entry.of(1));
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.streams.broken") > 2);
      caller.client.close();
      assertThat(caller.await(1).unknown()).isFalse();
      assertThat(cluster.applied(ledger)).isEmpty();
      try (var snapshots = new RemoteSnapshots(_ -> Optional.of(cluster.peers().getFirst()), tls("ours-frontend", "ours"))) {
        assertThatThrownBy(() -> snapshots.open(cluster.node(0).id, RangeId.firstOf("ledger"))).hasMessageContaining("frontend");
      }
    }
  }

  @Test
  void callsAreAnsweredToNodesOfTheSameAuthorityOnly() throws Exception {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (var cluster = LedgerCluster.start(1);
        var service =
            RangeService.start(
                address, cluster.node(0).id, cluster.node(0), cluster.node(0), (request, _) -> request, List.of(), RangeServiceSettings.defaults(),
                tls("ours-node", "ours"), new SimpleMeterRegistry(), System::nanoTime)) {
      try (var ours = new RemoteCalls(tls("ours-stranger", "ours"), new SimpleMeterRegistry())) {
        assertThat(ours.call("localhost", service.port(), "localhost", new byte[] {1, 2}, LONG)).containsExactly(1, 2);
      }
      for (var strange : new @Nullable ServiceTls[] {tls("theirs-node", "ours"), tls("ours-node", "theirs"), null}) {
        try (var theirs = new RemoteCalls(strange, new SimpleMeterRegistry())) {
          assertThatThrownBy(() -> theirs.call("localhost", service.port(), "localhost", new byte[] {1, 2}, LONG)).isInstanceOf(IOException.class);
        }
      }
    }
  }

  @Test
  void theHandlerLearnsTheNodeInTheCallersCertificate() throws Exception {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var node = new UUID(1, 2);
    try (var cluster = LedgerCluster.start(1);
        var service =
            RangeService.start(
                address, cluster.node(0).id, cluster.node(0), cluster.node(0),
                (_, by) -> new byte[] {(byte) (by.belongsTo(node, "elsewhere.example") ? 1 : 0), (byte) (by.belongsTo(node, "localhost") ? 1 : 0)},
                List.of(),
                RangeServiceSettings.defaults(), tls("ours-node", "ours"), new SimpleMeterRegistry(), System::nanoTime);
        var named = new RemoteCalls(tls("ours-node", "ours"), new SimpleMeterRegistry());
        var elsewhere = new RemoteCalls(tls("ours-stranger", "ours"), new SimpleMeterRegistry())) {
      assertThat(named.call("localhost", service.port(), "localhost", new byte[0], LONG)).containsExactly(0, 1);
      assertThat(elsewhere.call("localhost", service.port(), "localhost", new byte[0], LONG)).containsExactly(1, 0);
    }
  }

  @Test
  void aNodeFoundByANameMustProveThatName() throws Exception {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (var cluster = LedgerCluster.start(1);
        var service =
            RangeService.start(
                address, cluster.node(0).id, cluster.node(0), cluster.node(0), (request, _) -> request, List.of(), RangeServiceSettings.defaults(),
                tls("ours-stranger", "ours"), new SimpleMeterRegistry(), System::nanoTime);
        var calls = new RemoteCalls(tls("ours-node", "ours"), new SimpleMeterRegistry())) {
      assertThat(calls.call("127.0.0.1", service.port(), "elsewhere.example", new byte[] {1}, LONG)).containsExactly(1);

      for (var name : List.of("127.0.0.1", "nowhere.example"))
        assertThatThrownBy(() -> calls.call("127.0.0.1", service.port(), name, new byte[] {1}, LONG)).isInstanceOf(IOException.class);
    }
  }

  @Test
  void filesThatCannotBeReadAreNamed() {
    assertThatThrownBy(() -> tls("nothing", "ours")).isInstanceOf(StoreException.class).hasMessageContaining("nothing.key");
  }

  @Test
  void newCertificatesAreReloadedWhileTheServiceRuns() throws Exception {
    use("ours");
    var service = tls("used", "used-authority");
    try (var cluster = LedgerCluster.start(1, RangeServiceSettings.defaults(), service);
        var caller = new Caller(Caller.settings(), tls("theirs-node", "theirs"), System::nanoTime)) {
      var ledger = cluster.ledger(1, cluster.node(0));
      caller.propose(caller.range(cluster.location(ledger)), Entry.of(1));
      await().atMost(LONG).until(() -> caller.count("dunlin.store.client.streams.broken") > 2);
      use("theirs");
      service.refresh();

      assertThat(caller.await(1).failure()).isNull();
    }
  }

  private static void use(String authority) throws IOException {
    for (var name : List.of(".pem", ".key"))
      Files.copy(file(authority + "-node" + name), file("used" + name), StandardCopyOption.REPLACE_EXISTING);
    Files.copy(file(authority + ".pem"), file("used-authority.pem"), StandardCopyOption.REPLACE_EXISTING);
  }
}
