package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dunlin.harness.BrokerProcess;
import dunlin.harness.Certificates;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Brokers that do not fit into a cluster end with one sentence; the cluster's broker logs it, too, where it is asked, and goes on. */
class ClusterRefusalIT {
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir Path directory;

  /** For a node that finds no cluster. */
  private static final String GIVES_UP = "dunlin.cluster.join-timeout=10s";

  private final Certificates authority = new Certificates();
  private final int service = FreePort.any();
  private BrokerProcess member;

  @BeforeEach
  void startTheFirst() throws IOException {
    member = BrokerProcess.launch(directory.resolve("first"), settings(service, authority, service)).awaitStarted(LONG);
  }

  @AfterEach
  void stopIt() {
    member.close();
  }

  private String[] settings(int own, Certificates issuer, int seed, String... more) throws IOException {
    return settings(own, issuer, issuer.server(), seed, more);
  }

  private String[] settings(int own, Certificates issuer, Certificates.Issued issued, int seed, String... more) throws IOException {
    Path tls = Files.createTempDirectory(directory, "tls");
    var settings =
        new ArrayList<>(
            List.of(
                "dunlin.cluster.service-port=" + own,
                "dunlin.cluster.port=" + FreePort.any(),
                "dunlin.cluster.seeds=127.0.0.1:" + seed,
                "dunlin.cluster.tls.certificate=" + Files.writeString(tls.resolve("node.pem"), issued.certificatePem()),
                "dunlin.cluster.tls.key=" + Files.writeString(tls.resolve("node.key"), issued.keyPem()),
                "dunlin.cluster.tls.ca=" + Files.writeString(tls.resolve("ca.pem"), issuer.rootPem()),
                "dunlin.cluster.join-timeout=1m"));
    settings.addAll(List.of(more)); // Java uses the last of two equal keys
    return settings.toArray(new String[0]);
  }

  private void refused(Path data, String[] settings, String... saying) {
    try (var joining = BrokerProcess.launch(data, settings)) {
      refused(joining, saying);
    }
  }

  private static void refused(BrokerProcess joining, String... saying) {
    assertThat(joining.awaitExit(LONG)).as("exit code; %s", joining).isEqualTo(1);
    assertThat(joining.err()).as("standard error").singleElement().asString().startsWith("dunlin: ").contains(saying);
  }

  /** The member has logged this, and still serves. */
  private void goesOn(String... logged) {
    for (String words : logged) await(words).atMost(LONG).until(() -> member.out().stream().anyMatch(line -> line.contains(words)));
    try (var client = ClusterClients.connected(member.port(), Connect.of("client").clean())) {
      client.subscribe("t", 1);
      assertThat(client.publishAndWait("t", "still here")).isZero();
    }
  }

  /** Libraries that log by java.util.logging would write there. */
  @Test
  void nothingOfABrokerThatGoesOnIsOnStandardError() {
    goesOn();
    assertThat(member.err()).isEmpty();
  }

  @Test
  void settingsThatMustBeTheSame() throws IOException {
    Path data = directory.resolve("second");
    int own = FreePort.any();
    refused(data, settings(own, authority, service, "dunlin.inbox.shards=32"), "dunlin.inbox.shards is 16 in cluster", "and 32 on node", "127.0.0.1:" + own);
    assertThat(data.resolve("cluster/identity")).doesNotExist();
    refused(
        directory.resolve("fourth"), settings(own, authority, service, "dunlin.cluster.lease=40s", "dunlin.cluster.down-after=1m"),
        "dunlin.cluster.lease and two heartbeats are 42000 ms", "dunlin.cluster.down-after is 10000 ms");
    goesOn("is refused: dunlin.inbox.shards is 16");
  }

  /** A copy of the member's data, while it runs; fails when a file has gone in between. */
  private Path copied(Path copy) throws IOException {
    try (var files = Files.walk(directory.resolve("first"))) {
      for (Path file : files.toList()) Files.copy(file, copy.resolve(directory.resolve("first").relativize(file).toString()));
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    return copy;
  }

  @Test
  void aCopyOfItsDataDirectory() throws IOException {
    var tries = new AtomicInteger();
    Path copy = await().atMost(LONG).ignoreExceptionsInstanceOf(NoSuchFileException.class).until(() -> copied(directory.resolve("copy-" + tries.incrementAndGet())), _ -> true);
    refused(copy, settings(FreePort.any(), authority, service), "from a copy of its data directory");
    goesOn("from a copy of its data directory");
  }

  @Test
  void theDataDirectoryOfAnotherCluster() throws IOException {
    Path data = directory.resolve("other");
    int own = FreePort.any();
    BrokerProcess.launch(data, settings(own, authority, own)).awaitStarted(LONG).close();
    refused(data, settings(own, authority, service), "belongs to cluster", "this node to cluster");
    goesOn("was called by a node of cluster");
  }

  @Test
  void aFrontendOfAnotherCluster() throws IOException {
    Path data = directory.resolve("frontend");
    int other = FreePort.any();
    try (var founder = BrokerProcess.launch(directory.resolve("other"), settings(other, authority, other)).awaitStarted(LONG)) {
      BrokerProcess.launch(data, settings(FreePort.any(), authority, other, "dunlin.roles=frontend")).awaitStarted(LONG).close();
      assertThat(founder.listens()).isTrue();
    }
    refused(data, settings(FreePort.any(), authority, service, "dunlin.roles=frontend"), "belongs to cluster", "this node to cluster");
    goesOn();
  }

  @Test
  void theCertificateOfAFrontendAndOtherRoles() throws IOException {
    var names = new byte[][] {Certificates.name(Certificates.DNS, "localhost"), Certificates.name(Certificates.URI, "urn:dunlin:role:frontend")};
    String[] named = {"dunlin.cluster.host=localhost", ""};
    for (String roles : List.of("frontend, store", "store")) {
      named[1] = "dunlin.roles=" + roles;
      Path data = directory.resolve(roles);
      refused(
          data, settings(FreePort.any(), authority, authority.client("CN=frontend", names), service, named), "dunlin.roles: ", "only for a frontend",
          "these roles are for: " + roles);
      assertThat(data.resolve("cluster/identity")).doesNotExist();
    }
    named[1] = "dunlin.roles=frontend";
    BrokerProcess.launch(directory.resolve("third"), settings(FreePort.any(), authority, authority.client("CN=frontend", names), service, named)).awaitStarted(LONG).close();
    goesOn();
  }

  @Test
  void theCertificateOfAnotherCluster() throws IOException {
    refused(
        directory.resolve("second"), settings(FreePort.any(), new Certificates(), service, GIVES_UP), "no cluster in time",
        "seed 127.0.0.1:" + service + " does not answer as a node does", "certificate");
    goesOn("the other side has refused this node");
  }

  @Test
  void seedsThatAreNoNodes() throws IOException {
    var http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    http.start();
    Map<Integer, BrokerProcess> joining = new HashMap<>();
    try (var silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      for (int port : new int[] {http.getAddress().getPort(), silent.getLocalPort(), member.port()})
        joining.put(port, BrokerProcess.launch(directory.resolve("second-" + port), settings(FreePort.any(), authority, port, GIVES_UP)));
      joining.forEach((port, process) -> refused(process, "no cluster in time", "seed 127.0.0.1:" + port + " does not answer as a node does"));
    } finally {
      joining.values().forEach(BrokerProcess::close);
      http.stop(0);
    }
    goesOn();
  }
}
