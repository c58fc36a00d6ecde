package dunlin.monitoring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.broker.auth.PasswordFile;
import dunlin.harness.Certificates;
import dunlin.harness.ClientKind;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient;
import dunlin.monitoring.Exposition.Family;
import dunlin.node.NodeSettings;
import dunlin.runtime.metrics.Metrics;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Every metric of a broker alone and of one in a cluster keeps Prometheus' conventions, and is in docs/metrics.md. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MetricsPageIT {
  private static final Set<String> LABELS =
      Set.of("node", "le", "quantile", "hop", "reason", "type", "listener", "range", "limit", "kind", "budget", "result", "version", "java", "part", "side", "outcome", "tenant");

  /** Every word of a name that means a unit, but not a base unit. */
  private static final Set<String> OTHER_UNITS =
      Set.of("millis", "ms", "micros", "nanos", "ns", "minutes", "hours", "days", "kib", "mib", "kb", "mb", "percent", "second", "byte");

  private static final Pattern IN_BYTES = Pattern.compile("(Bytes|Size|Memory|Free bytes|Maximum bytes|Limit of the memory)\\b.*");
  private static final Pattern IN_SECONDS = Pattern.compile("(Seconds|How long|Time|The longest time)\\b.*");

  /** A name where a meter is declared: after a builder, or as the first text of a helper or a constant. */
  private static final Pattern DECLARED =
      Pattern.compile("(?:\\.builder|gauge|counter|bytes|seconds|sum|waiting|String \\w+ =|new LatencyHistogram)\\(?\\s*(?:registry,\\s*)?\"(dunlin\\.[a-z0-9.-]+)\"");

  /** A family may have its unit and what its type adds behind the meter's name. */
  private static final String ENDINGS = "(_messages)?(_bytes|_seconds)?(_total)?";

  private final Exposition exposition = new Exposition();
  private List<Family> families = List.of();

  @BeforeAll
  void scrape(@TempDir Path directory) throws Exception {
    exposition.add(alone(directory));
    exposition.add(ofACluster(directory));
    try (var process = Metrics.open("process")) {
      process.bindProcess();
      exposition.add(process.scrape());
    }
    families = exposition.families().stream().filter(family -> !family.name().startsWith("jvm_gc_")).toList();
  }

  private static String scrape(Dunlin node) throws IOException, InterruptedException {
    return asked(node, "/metrics").body();
  }

  private static HttpResponse<String> asked(Dunlin node, String path) throws IOException, InterruptedException {
    try (var http = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.adminPort() + path)).build();
      return http.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  /** A broker with all kinds of listeners and files that have metrics, after clients of all kinds and one that breaks the protocol. */
  private static String alone(Path directory) throws Exception {
    var authority = new Certificates();
    var server = authority.server();
    Path passwords = directory.resolve("passwords");
    PasswordFile.put(passwords, "user-of-the-test", "secret".getBytes(StandardCharsets.UTF_8), 4_096);
    try (var node =
        Dunlin.builder()
            .tcpPort(0)
            .dataDirectory(directory.resolve("alone"))
            .set("dunlin.node.name", "alone")
            .set("dunlin.admin.port", "0")
            .set("dunlin.store.fsync", "false")
            .set("dunlin.auth.password-file", passwords.toString())
            .set("dunlin.auth.acl-file", Files.writeString(directory.resolve("acl"), "allow everyone all #\n").toString())
            .set("dunlin.auth.users.enabled", "true")
            .set("dunlin.auth.anonymous", "true")
            .set("dunlin.auth.jwt.algorithms", "es256,hs256")
            .set("dunlin.auth.jwt.secret-file", Files.writeString(directory.resolve("secret"), "x".repeat(32)).toString())
            .set("dunlin.auth.jwt.keys-file", Files.writeString(directory.resolve("keys.pem"), server.certificatePem()).toString())
            .set("dunlin.auth.jwt.jwks-url", "http://127.0.0.1:1/no-answer")
            .set("dunlin.auth.http.url", "http://127.0.0.1:1/no-answer")
            .set("dunlin.tracing.otlp-url", "http://127.0.0.1:1/no-answer")
            .set("dunlin.tenants.metrics", "default")
            .set("dunlin.listeners.secure.type", "tls")
            .set("dunlin.listeners.secure.port", "0")
            .set("dunlin.listeners.secure.tls.certificate", Files.writeString(directory.resolve("server.pem"), server.certificatePem()).toString())
            .set("dunlin.listeners.secure.tls.key", Files.writeString(directory.resolve("server.key"), server.keyPem()).toString())
            .set("dunlin.listeners.secure.tls.client-auth", "optional")
            .set("dunlin.listeners.secure.tls.client-ca", Files.writeString(directory.resolve("ca.pem"), authority.rootPem()).toString())
            .set("dunlin.listeners.secure.tls.client-crl", Files.writeString(directory.resolve("crl.pem"), authority.revocationList(Duration.ofHours(-1), false)).toString())
            .set("dunlin.listeners.secure.tls.client-ocsp", "http://127.0.0.1:1/ocsp")
            .set("dunlin.admin.tls.port", "0")
            .set("dunlin.admin.tls.certificate", directory.resolve("server.pem").toString())
            .set("dunlin.admin.tls.key", directory.resolve("server.key").toString())
            .connectionListener(_ -> {})
            .build()) {
      for (var kind : ClientKind.values()) {
        var received = new AtomicInteger();
        var client = kind.connect(node.tcpPort(), ClientKind.Options.of("client-of-the-test-" + kind), _ -> received.incrementAndGet());
        client.subscribe("topic/of/the/test", 1);
        for (int qos = 0; qos <= 2; qos++) client.publish("topic/of/the/test", "payload", qos);
        await().atMost(TestBroker.SOON).until(() -> received.get() >= 3);
        client.disconnect();
      }
      try (var client = RawClient.connected(node.tcpPort(), RawClient.Connect.of("raw-client-of-the-test"))) {
        client.send(new byte[] {0x10, 0}); // a second CONNECT
        client.awaitClosed();
      }
      await().atMost(TestBroker.SOON).until(() -> scrape(node).contains("dunlin_frontend_disconnects_total"));
      return scrape(node);
    }
  }

  private static String ofACluster(Path directory) throws Exception {
    int service = FreePort.any();
    var authority = new Certificates();
    var own = authority.server();
    try (var node =
        Dunlin.builder()
            .tcpPort(0)
            .dataDirectory(directory.resolve("clustered"))
            .set("dunlin.node.name", "clustered")
            .set("dunlin.admin.port", "0")
            .set("dunlin.cluster.seeds", "127.0.0.1:" + service)
            .set("dunlin.cluster.service-port", String.valueOf(service))
            .set("dunlin.dist.deliver-workers", "2") // also on a machine of few cores
            .set("dunlin.auth.acl-file", Files.writeString(directory.resolve("acl"), "allow everyone all #\n").toString())
            .set("dunlin.auth.users.enabled", "true")
            .set("dunlin.auth.anonymous", "true")
            .set("dunlin.cluster.port", String.valueOf(FreePort.any()))
            .set("dunlin.cluster.tls.certificate", Files.writeString(directory.resolve("node.pem"), own.certificatePem()).toString())
            .set("dunlin.cluster.tls.key", Files.writeString(directory.resolve("node.key"), own.keyPem()).toString())
            .set("dunlin.cluster.tls.ca", Files.writeString(directory.resolve("nodes-ca.pem"), authority.rootPem()).toString())
            .build()) {
      await("it knows who may connect").atMost(TestBroker.SOON).until(() -> asked(node, "/ready").statusCode() == 200);
      try (var client = RawClient.connected(node.tcpPort(), RawClient.Connect.of("raw-client-of-the-test"))) {
        client.subscribe("topic/of/the/test", 1);
        client.publishAndWait("topic/of/the/test", "payload", true);
      }
      await().atMost(TestBroker.SOON).until(() -> scrape(node).contains("dunlin_dist_in_flight_bytes"));
      return scrape(node);
    }
  }

  private List<Family> own() {
    return families.stream().filter(family -> family.name().startsWith("dunlin_")).toList();
  }

  /** To rewrite the page after a metric has changed: {@code -Ddocs.write=true}. */
  @Test
  void thePageHasEveryFamily() throws IOException {
    String page = MetricsPage.render(families);
    if (Boolean.getBoolean("docs.write")) Files.writeString(MetricsPage.FILE, page);

    assertThat(Files.readString(MetricsPage.FILE)).isEqualTo(page);
  }

  @Test
  void namesKeepTheConventions() {
    assertThat(own()).hasSizeGreaterThan(150);
    for (Family family : own()) {
      String name = family.name();
      assertThat(name).matches("[a-z][a-z0-9]*(_[a-z0-9]+)*");
      assertThat(name.endsWith("_total")).as("%s is a %s", name, family.type()).isEqualTo(family.type().equals("counter"));
      assertThat(name.split("_", -1)).as(name).doesNotContainAnyElementsOf(OTHER_UNITS);
      if (List.of(name.split("_", -1)).contains("seconds") || List.of(name.split("_", -1)).contains("bytes")) {
        assertThat(family.unit()).as("the unit ends the name %s", name).isNotEmpty();
      }
    }
  }

  @Test
  void helpSaysWhatIsMeasuredAndInWhichUnit() {
    for (Family family : own()) {
      assertThat(family.help()).as(family.name()).matches("[A-Z0-9].*[^.]").matches("(\\S+ ){2,}\\S+");
      if (IN_BYTES.matcher(family.help()).matches()) assertThat(family.unit()).as(family.name()).isEqualTo("bytes");
      if (IN_SECONDS.matcher(family.help()).matches()) assertThat(family.unit()).as(family.name()).isEqualTo("seconds");
    }
  }

  @Test
  void labelsHaveFewValuesAndNoneOfAClient() {
    for (Family family : own()) {
      assertThat(LABELS).as(family.name()).containsAll(family.labels().keySet());
      family
          .labels()
          .forEach(
              (label, values) -> {
                assertThat(values).as("%s of %s", label, family.name()).hasSizeLessThanOrEqualTo(40);
                assertThat(values).noneMatch(value -> value.contains("of-the-test") || value.contains("topic/") || value.contains("127.0.0.1"));
              });
    }
  }

  /** So a meter that these two brokers do not have is missed: one that is registered later, or elsewhere. */
  @Test
  void everyMeterInTheSourcesIsAFamily() throws IOException {
    var declared = new TreeMap<String, Path>();
    for (String module : List.of("common", "dist-worker", "retain-store", "inbox-store", "broker-server", "build/dunlin")) {
      try (var files = Files.walk(Path.of("../..", module))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java") && each.toString().contains("/src/main/java/")).toList()) {
          String source = Files.readString(file);
          if (!source.contains("io.micrometer.") && !source.contains("Meters")) continue;
          for (var names = DECLARED.matcher(source); names.find(); ) declared.put(names.group(1), file);
        }
      }
    }
    NodeSettings.ALL.forEach(setting -> declared.remove(setting.key()));
    declared.keySet().removeIf(name -> name.startsWith("dunlin.store.client.")); // the product calls no range of another node
    assertThat(declared).hasSizeGreaterThan(150);
    for (Map.Entry<String, Path> each : declared.entrySet()) {
      String name = each.getKey().replace('.', '_').replace('-', '_');
      assertThat(own()).as("%s in %s", each.getKey(), each.getValue()).anyMatch(family -> family.name().matches(name + ENDINGS));
    }
  }
}
