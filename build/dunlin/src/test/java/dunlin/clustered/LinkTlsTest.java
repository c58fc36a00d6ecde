package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.harness.Certificates;
import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.links.LinkService;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.raft.RangeStore;
import dunlin.store.remote.RangeService;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Links at the service port of a node with mutual TLS: the caller's certificate proves who owns a link. */
class LinkTlsTest {
  private static final UUID THERE = new UUID(1, 1);
  private static final UUID HERE = new UUID(2, 2);
  private static final UUID OTHER = new UUID(3, 3);
  private static final Link.Settings SETTINGS = new Link.Settings(1_000, 1 << 20, Duration.ofSeconds(3));

  @TempDir Path directory;
  private final Certificates authority = new Certificates();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final List<String> callers = new CopyOnWriteArrayList<>();
  private final LinkService links =
      new LinkService(THERE, node -> Optional.ofNullable(Map.of(HERE, "here.example", OTHER, "other.example").get(node)), meters);
  private RangeStore store;
  private RangeService service;

  @BeforeEach
  void serve() throws IOException {
    store = RangeStore.open(StoreSettings.defaults(), directory.resolve("data"), meters);
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    service =
        RangeService.start(
            address, THERE, _ -> Optional.empty(), store, null, List.of(links), RangeServiceSettings.defaults(), tls("there", "localhost"), meters,
            System::nanoTime);
    LinkAcceptor.Factory accepting =
        (link, _) -> {
          callers.add(link.caller());
          return new Hears();
        };
    var _ = links.accept("lane", new LinkAcceptor(7, SETTINGS, 10, thread, System::nanoTime, accepting), thread);
  }

  @AfterEach
  void close() {
    links.close();
    service.close();
    store.close();
    thread.shutdownNow();
  }

  private static class Hears implements Link.Handler {
    volatile boolean lost;

    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {
      lost = true;
    }
  }

  /** TLS with a certificate for one host name. */
  private ServiceTls tls(String file, String name) throws IOException {
    var issued = authority.client("CN=node", Certificates.name(Certificates.DNS, name));
    var key = Files.writeString(directory.resolve(file + ".key"), issued.keyPem());
    var certificate = Files.writeString(directory.resolve(file + ".pem"), issued.certificatePem());
    var root = Files.writeString(directory.resolve(file + "-root.pem"), authority.rootPem());
    return new ServiceTls(new PeerSecurity.MutualTls(key, certificate, root));
  }

  private Hears dial(LinkDialler dialler) throws Exception {
    var hears = new Hears();
    var peer = new LinkPeer(THERE, "localhost", service.port());
    var _ = thread.submit(() -> dialler.dial(() -> Optional.of(peer), "lane", new byte[0], thread, hears)).get();
    return hears;
  }

  @Test
  void aNodeCanOnlyOpenLinksInItsOwnName() throws Exception {
    try (var honest = new LinkDialler(HERE, SETTINGS, tls("honest", "here.example"), meters);
        var forger = new LinkDialler(OTHER, SETTINGS, tls("forger", "here.example"), meters)) {
      var refused = dial(forger);
      await().atMost(TestBroker.SOON).until(() -> refused.lost);
      assertThat(callers).isEmpty();
      assertThat(meters.get("dunlin.links.refused").counter().count()).isPositive();

      var accepted = dial(honest);
      await().atMost(TestBroker.SOON).until(() -> !callers.isEmpty());
      assertThat(callers).containsExactly(HERE.toString());
      assertThat(accepted.lost).isFalse();
    }
  }
}
