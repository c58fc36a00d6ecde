package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.TestBroker;
import dunlin.harness.Certificates;
import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.links.LinkService;
import dunlin.links.QuestionCalls;
import dunlin.links.QuestionService;
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
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
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
import org.slf4j.LoggerFactory;

/** Links at the service port of a node with mutual TLS: the caller's certificate proves who owns a link. */
class LinkTlsTest {
  private static final UUID THERE = new UUID(1, 1);
  private static final UUID HERE = new UUID(2, 2);
  private static final UUID OTHER = new UUID(3, 3);

  /** A link is not lost while a busy machine opens its first stream. */
  private static final Link.Settings SETTINGS = new Link.Settings(1_000, 1 << 20, TestBroker.SOON.multipliedBy(2));

  @TempDir Path directory;
  private final Certificates authority = new Certificates();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final List<String> callers = new CopyOnWriteArrayList<>();
  private final LinkService links =
      new LinkService(THERE, node -> Optional.ofNullable(Map.of(HERE, "here.example", OTHER, "other.example").get(node)), meters);
  private final QuestionService questions =
      new QuestionService(THERE, node -> Optional.ofNullable(Map.of(HERE, "here.example", OTHER, "other.example").get(node)), question -> question, meters);
  private RangeStore store;
  private RangeService service;

  @BeforeEach
  void serve() throws IOException {
    store = RangeStore.open(StoreSettings.defaults(), directory.resolve("data"), meters);
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    service =
        RangeService.start(
            address, THERE, _ -> Optional.empty(), store, null, List.of(links, questions), RangeServiceSettings.defaults(), tls("there", "localhost"), meters,
            System::nanoTime);
    LinkAcceptor.Factory accepting =
        (link, _) -> {
          callers.add(link.caller());
          return new Hears();
        };
    var _ = links.accept("lane", new LinkAcceptor(7, SETTINGS, 10, thread, System::nanoTime, accepting), thread);
    var _ = links.acceptOfLeaders("shards", new LinkAcceptor(8, SETTINGS, 10, thread, System::nanoTime, accepting), thread);
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
    return tls(authority, file, name);
  }

  private ServiceTls tls(Certificates issuer, String file, String name) throws IOException {
    return tls(issuer, file, issuer.client("CN=node", Certificates.name(Certificates.DNS, name)));
  }

  /** TLS with a certificate of a frontend. */
  private ServiceTls ofFrontend(String file, String name) throws IOException {
    return tls(authority, file, authority.client("CN=node", Certificates.name(Certificates.DNS, name), Certificates.name(Certificates.URI, "urn:dunlin:role:frontend")));
  }

  private ServiceTls tls(Certificates issuer, String file, Certificates.Issued issued) throws IOException {
    var key = Files.writeString(directory.resolve(file + ".key"), issued.keyPem());
    var certificate = Files.writeString(directory.resolve(file + ".pem"), issued.certificatePem());
    var root = Files.writeString(directory.resolve(file + "-root.pem"), issuer.rootPem());
    return new ServiceTls(new PeerSecurity.MutualTls(key, certificate, root));
  }

  private Hears dial(LinkDialler dialler) throws Exception {
    return dial(dialler, "localhost");
  }

  private Hears dial(LinkDialler dialler, String host) throws Exception {
    return dial(dialler, host, "lane");
  }

  private Hears dial(LinkDialler dialler, String host, String name) throws Exception {
    var hears = new Hears();
    var peer = new LinkPeer(THERE, host, service.port());
    var _ = thread.submit(() -> dialler.dial(() -> Optional.of(peer), name, new byte[0], thread, hears)).get();
    return hears;
  }

  /** The other side refuses each stream; the link would be lost later. */
  private void awaitRefusal() {
    await().atMost(TestBroker.SOON).until(() -> meters.get("dunlin.links.refused").counter().count() > 0);
  }

  @Test
  void aQuestionIsAnsweredForTheNodeWhoseCertificateItsCallerHas() throws IOException {
    byte[] question = "who?".getBytes(StandardCharsets.UTF_8);
    Duration deadline = Duration.ofSeconds(30);
    var there = new LinkPeer(THERE, "localhost", service.port());
    try (var own = new QuestionCalls(HERE, tls("here", "here.example"), meters);
        var stolen = new QuestionCalls(OTHER, tls("here", "here.example"), meters);
        var plain = new QuestionCalls(HERE, null, meters)) {
      assertThat(own.ask(there, question, deadline)).isEqualTo(question);
      assertThatThrownBy(() -> stolen.ask(there, question, deadline)).isInstanceOf(IOException.class).hasMessageContaining("the caller's certificate names neither");
      assertThatThrownBy(() -> plain.ask(there, question, deadline)).isInstanceOf(IOException.class);
    }
  }

  @Test
  void aNodeCanOnlyOpenLinksInItsOwnName() throws Exception {
    try (var honest = new LinkDialler(HERE, SETTINGS, tls("honest", "here.example"), null, meters);
        var forger = new LinkDialler(OTHER, SETTINGS, tls("forger", "here.example"), null, meters)) {
      var _ = dial(forger);
      awaitRefusal();
      assertThat(callers).isEmpty();

      var accepted = dial(honest);
      await().atMost(TestBroker.SOON).until(() -> !callers.isEmpty());
      assertThat(callers).containsExactly(HERE.toString());
      assertThat(accepted.lost).isFalse();
    }
  }

  /** It publishes and subscribes by links of its own, and neither pushes messages as a leader does, nor asks other nodes. */
  @Test
  void aFrontendOpensNoLinksOfLeadersAndAsksNoNode() throws Exception {
    try (var frontend = new LinkDialler(HERE, SETTINGS, ofFrontend("frontend", "here.example"), null, meters);
        var leader = new LinkDialler(HERE, SETTINGS, tls("leader", "here.example"), null, meters);
        var asks = new QuestionCalls(HERE, ofFrontend("asks", "here.example"), meters)) {
      var _ = dial(frontend, "localhost", "shards");
      awaitRefusal();
      assertThat(callers).isEmpty();
      assertThatThrownBy(() -> asks.ask(new LinkPeer(THERE, "localhost", service.port()), new byte[1], Duration.ofSeconds(30)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("the caller's certificate is that of a frontend");

      var lane = dial(frontend, "localhost", "lane");
      var shards = dial(leader, "localhost", "shards");
      await().atMost(TestBroker.SOON).until(() -> callers.size() == 2);
      assertThat(lane.lost).isFalse();
      assertThat(shards.lost).isFalse();
    }
  }

  /** What both sides log, one line for each event. */
  private static final class Logged implements AutoCloseable {
    private final Logger root = (Logger) LoggerFactory.getLogger("dunlin");
    private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

    Logged() {
      appender.list = new CopyOnWriteArrayList<>();
      appender.start();
      root.addAppender(appender);
    }

    void awaitLine(String... parts) {
      await(String.join(" ... ", parts)).atMost(TestBroker.SOON).until(() -> lines().stream().anyMatch(line -> List.of(parts).stream().allMatch(line::contains)));
    }

    private List<String> lines() {
      return appender.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void close() {
      root.detachAppender(appender);
    }
  }

  @Test
  void aCertificateOfAnotherAuthorityIsSaidOnBothSides() throws Exception {
    try (var logged = new Logged();
        var stranger = new LinkDialler(HERE, SETTINGS, tls(new Certificates(), "stranger", "here.example"), null, meters)) {
      var _ = dial(stranger);

      logged.awaitLine("The stream of link lane to", "localhost:" + service.port(), "its certificate is not accepted here");
      logged.awaitLine("A connection of /127.0.0.1:", "failed in the TLS handshake", "the other side has refused this node");
      assertThat(callers).isEmpty();
    }
  }

  @Test
  void aCallerWhoseCertificateIsRefusedIsSaidOnBothSides() throws Exception {
    var other = new Certificates();
    var issued = other.client("CN=node", Certificates.name(Certificates.DNS, "here.example"));
    var files =
        new PeerSecurity.MutualTls(
            Files.writeString(directory.resolve("mixed.key"), issued.keyPem()),
            Files.writeString(directory.resolve("mixed.pem"), issued.certificatePem()),
            Files.writeString(directory.resolve("mixed-root.pem"), authority.rootPem())); // it trusts the other side
    try (var logged = new Logged();
        var stranger = new LinkDialler(HERE, SETTINGS, new ServiceTls(files), null, meters)) {
      var _ = dial(stranger);

      logged.awaitLine("A connection of /127.0.0.1:", "failed in the TLS handshake", "its certificate is not accepted here");
      logged.awaitLine("The stream of link lane to", "localhost:" + service.port(), "the other side has refused this node");
      assertThat(callers).isEmpty();
    }
  }

  @Test
  void aNodeWithoutTheNameThatItIsCalledByIsSaidOnBothSides() throws Exception {
    try (var logged = new Logged();
        var honest = new LinkDialler(HERE, SETTINGS, tls("honest", "here.example"), null, meters)) {
      var _ = dial(honest, "127.0.0.1");

      logged.awaitLine("The stream of link lane to", "127.0.0.1:" + service.port(), "its certificate is not accepted here");
      logged.awaitLine("A connection of /127.0.0.1:", "failed in the TLS handshake", "the other side has refused this node");
      assertThat(callers).isEmpty();
    }
  }

  @Test
  void aPlaintextCallerIsSaidAndLinesAreFew() throws Exception {
    try (var logged = new Logged();
        var plain = new LinkDialler(HERE, SETTINGS, null, null, meters)) {
      var _ = dial(plain);

      logged.awaitLine("A connection of /127.0.0.1:", "it does not speak TLS");
      for (int i = 0; i < 50; i++) {
        try (var socket = new Socket(InetAddress.getLoopbackAddress(), service.port())) {
          socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
          socket.getInputStream().readAllBytes();
        } catch (SocketException e) {
          // reset: refused, too
        }
      }
      assertThat(logged.lines().stream().filter(line -> line.contains("failed in the TLS handshake"))).hasSizeBetween(1, 12);
    }
  }
}
