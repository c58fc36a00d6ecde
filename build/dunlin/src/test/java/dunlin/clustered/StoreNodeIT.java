package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.cluster.ClusterMXBean;
import dunlin.harness.Certificates;
import dunlin.harness.FreePort;
import dunlin.harness.Restarts;
import dunlin.store.StoreException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Store nodes embedded in one JVM, with TLS between them. */
class StoreNodeIT {
  private static final Duration LONG = Duration.ofMinutes(6);

  @TempDir Path directory;
  private final int oneService = FreePort.any();
  private final int twoService = FreePort.any();

  @AfterEach
  void awaitReleased() {
    for (String node : List.of("one", "two", "stranger")) Restarts.awaitReleased(directory.resolve(node));
  }

  /** One of two nodes that found a cluster together. */
  private Dunlin.Builder node(String name, int service, Certificates authority) throws IOException {
    return node(name, service, authority, authority.server())
        .set("dunlin.cluster.seeds", "127.0.0.1:" + oneService + ",127.0.0.1:" + twoService)
        .set("dunlin.cluster.bootstrap-expect", "2");
  }

  private Dunlin.Builder node(String name, int service, Certificates authority, Certificates.Issued issued) throws IOException {
    return Dunlin.builder()
        .dataDirectory(directory.resolve(name))
        .set("dunlin.roles", "store")
        .set("dunlin.node.name", name)
        .set("dunlin.admin.port", "0")
        .set("dunlin.cluster.port", String.valueOf(FreePort.any()))
        .set("dunlin.cluster.service-port", String.valueOf(service))
        .set("dunlin.cluster.tls.certificate", file(name + ".pem", issued.certificatePem()))
        .set("dunlin.cluster.tls.key", file(name + ".key", issued.keyPem()))
        .set("dunlin.cluster.tls.ca", file(name + "-root.pem", authority.rootPem()));
  }

  private String file(String name, String content) throws IOException {
    return Files.writeString(directory.resolve(name), content).toString();
  }

  private static CompletableFuture<Dunlin> start(Dunlin.Builder builder) {
    return CompletableFuture.supplyAsync(builder::build, task -> Thread.ofPlatform().start(task));
  }

  private static ClusterMXBean cluster(String name) throws JMException {
    var bean = new ObjectName("dunlin:type=Cluster,node=" + name);
    return JMX.newMXBeanProxy(ManagementFactory.getPlatformMBeanServer(), bean, ClusterMXBean.class);
  }

  private static int ready(Dunlin node) throws IOException, InterruptedException {
    try (var client = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.adminPort() + "/ready")).build();
      return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    }
  }

  @Test
  void nodesOfOneAuthorityFormAClusterAndThoseOfAnotherStayOutside() throws Exception {
    var ours = new Certificates();
    var starting = List.of(start(node("one", oneService, ours)), start(node("two", twoService, ours)));
    try (var one = starting.getFirst().get(120, TimeUnit.SECONDS);
        var two = starting.getLast().get(120, TimeUnit.SECONDS)) {
      awaitVoters(one, two);
      await("is ready").atMost(LONG).until(() -> ready(one) == 200);
      assertThatThrownBy(one::tcpPort).isInstanceOf(IllegalStateException.class).hasMessageContaining("serves no clients");

      var stranger = node("stranger", FreePort.any(), new Certificates()).set("dunlin.cluster.join-timeout", "3s");
      assertThatThrownBy(stranger::build).isInstanceOf(StoreException.class).hasMessageContaining("no cluster in time");
      assertThat(cluster("one").getNodes()).hasSize(2);
      for (String name : List.of("one", "two")) await().atMost(LONG).until(() -> cluster(name).isConnected());
    }
  }

  @Test
  void certificatesWithADnsNameAreEnoughForSeedsByThatName() throws Exception {
    var authority = new Certificates();
    var one = node("one", oneService, authority, named(authority)).set("dunlin.cluster.seeds", "localhost:" + oneService);
    var two = node("two", twoService, authority, named(authority)).set("dunlin.cluster.seeds", "dns:localhost:" + oneService);
    try (var founder = one.set("dunlin.cluster.host", "localhost").build();
        var joined = two.set("dunlin.cluster.host", "localhost").build()) {
      awaitVoters(founder, joined);
    }
  }

  private static Certificates.Issued named(Certificates authority) {
    return authority.client("CN=node", Certificates.name(Certificates.DNS, "localhost"));
  }

  /** Waits until both know that both are voters of all ranges. */
  private static void awaitVoters(Dunlin one, Dunlin two) {
    for (String name : List.of("one", "two"))
      await()
          .atMost(LONG)
          .untilAsserted(
              () ->
                  assertThat(cluster(name).getRanges())
                      .hasSize(4)
                      .allSatisfy(range -> assertThat(range.voters()).containsExactlyInAnyOrder(one.nodeId(), two.nodeId())));
  }
}
