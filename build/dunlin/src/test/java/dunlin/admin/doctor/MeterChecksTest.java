package dunlin.admin.doctor;

import static dunlin.admin.doctor.Verdicts.verdict;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is found by meters, which are set as a node's are. */
class MeterChecksTest {
  private static final long MIB = 1 << 20;
  private static final Instant NOW = Instant.parse("2030-01-01T00:00:00Z");

  private final MeterRegistry registry = new SimpleMeterRegistry();
  private final MeterChecks checks = new MeterChecks(new NodeMeters(registry));
  private final Map<String, Double> gauges = new ConcurrentHashMap<>();

  private void gauge(String name, String tag, String of, Number value) {
    String key = name + of;
    if (gauges.put(key, value.doubleValue()) != null) return;
    Gauge.Builder<Map<String, Double>> gauge = Gauge.builder(name, gauges, each -> each.getOrDefault(key, Double.NaN));
    if (!tag.isEmpty()) gauge.tag(tag, of);
    gauge.register(registry);
  }

  private Map<String, Finding> certificates() {
    return checks.certificates(NOW).stream().collect(Collectors.toMap(Finding::check, each -> each));
  }

  private static long seconds(int days) {
    return Duration.ofDays(days).toSeconds();
  }

  @Test
  void certificatesInUseAreComparedWithTheTime() {
    assertThat(certificates()).isEmpty();
    gauge("dunlin.listener.tls.certificate-seconds", "listener", "tls", seconds(90));
    gauge("dunlin.listener.tls.certificate-seconds", "listener", "admin API", seconds(5));
    gauge("dunlin.listener.tls.client-ca-seconds", "listener", "tls", -seconds(1));
    gauge("dunlin.cluster.tls.certificate-seconds", "", "", seconds(20));
    gauge("dunlin.listener.tls.crl-seconds", "listener", "tls", seconds(1));
    verdict(certificates().get("certificate tls"), DoctorMXBean.OK, "valid for 90 days");
    verdict(certificates().get("certificate admin API"), DoctorMXBean.WARNING, "expires in 5 days");
    verdict(certificates().get("client-ca tls"), DoctorMXBean.WRONG, "has expired");
    verdict(certificates().get("certificate between nodes"), DoctorMXBean.OK, "valid for 20 days");
    verdict(certificates().get("revocation-list tls"), DoctorMXBean.OK, "in 24 hours");

    gauge("dunlin.listener.tls.client-ca-seconds", "listener", "tls", seconds(30));
    gauge("dunlin.cluster.tls.certificate-seconds", "", "", 0);
    gauge("dunlin.listener.tls.crl-seconds", "listener", "tls", -seconds(2));
    verdict(certificates().get("client-ca tls"), DoctorMXBean.OK);
    verdict(certificates().get("certificate between nodes"), DoctorMXBean.WARNING, "expires in 0 days");
    verdict(certificates().get("revocation-list tls"), DoctorMXBean.WARNING, "48 hours ago");

    gauge("dunlin.listener.tls.crl-seconds", "listener", "tls", Double.NaN);
    assertThat(certificates()).as("a list that does not say when it is replaced").doesNotContainKey("revocation-list tls");
  }

  private void budgets(long outgoing, long subscriptions, long sockets) {
    gauge("dunlin.memory.limit", "budget", "outgoing", outgoing * MIB);
    gauge("dunlin.memory.limit", "budget", "subscriptions", subscriptions * MIB);
    gauge("dunlin.memory.limit", "budget", "sockets", sockets * MIB);
    gauge("dunlin.memory.limit", "budget", "unfinished", 8 * MIB);
    gauge("dunlin.memory.limit", "budget", "unauthenticated", 8 * MIB);
  }

  private Finding budgets() {
    return checks.budgets(1_024 * MIB, 512 * MIB).orElseThrow();
  }

  @Test
  void budgetsAreComparedWithTheHeapAndTheMemoryBesideIt() {
    assertThat(checks.budgets(MIB, MIB)).as("a node without clients").isEmpty();
    budgets(256, 128, 128);
    verdict(budgets(), DoctorMXBean.OK, "384 MiB of a heap of 1024 MiB");
    budgets(700, 128, 128);
    verdict(budgets(), DoctorMXBean.WARNING, "828 MiB of a heap of 1024 MiB");
    budgets(1_000, 128, 128);
    verdict(budgets(), DoctorMXBean.WRONG, "1128 MiB of a heap of 1024 MiB");
    budgets(256, 128, 500);
    verdict(budgets(), DoctorMXBean.WRONG, "516 MiB", "512 MiB for it beside the heap");
  }

  @Test
  void aBudgetThatIsNearlyUsedUpIsNamed() {
    budgets(256, 128, 128);
    gauge("dunlin.memory.used", "budget", "outgoing", 200 * MIB);
    gauge("dunlin.memory.used", "budget", "sockets", 127 * MIB);
    verdict(budgets(), DoctorMXBean.WARNING, "sockets 127 of 128 MiB");
    assertThat(budgets().finding()).doesNotContain("outgoing");
  }

  @Test
  void aHeapThatIsFullIsToldBeforeAllBudgets() {
    budgets(256, 128, 128);
    gauge("dunlin.memory.full", "", "", 0);
    verdict(budgets(), DoctorMXBean.OK);
    gauge("dunlin.memory.full", "", "", 1);
    verdict(budgets(), DoctorMXBean.WRONG, "heap of 1024 MiB is live");
  }

  @Test
  void whatClientsWereRefusedIsToldForAnHour() {
    Counter hits = Counter.builder("dunlin.limits.hit").tag("limit", "packet-size").register(registry);
    verdict(checks.refusals(), DoctorMXBean.OK);
    hits.increment(3);
    verdict(checks.refusals(), DoctorMXBean.WARNING, "dunlin.limits.hit{limit=packet-size} 3");
    for (int minute = 0; minute < RecentCounts.LOOKS - 1; minute++) checks.look();
    verdict(checks.refusals(), DoctorMXBean.WARNING, "dunlin.limits.hit{limit=packet-size} 3");
    checks.look();
    verdict(checks.refusals(), DoctorMXBean.OK);
    hits.increment();
    for (int minute = 0; minute < RecentCounts.LOOKS - 1; minute++) checks.look();
    verdict(checks.refusals(), DoctorMXBean.WARNING, "dunlin.limits.hit{limit=packet-size} 1");
    checks.look();
    verdict(checks.refusals(), DoctorMXBean.OK);
  }

  private void count(String name, String... tags) {
    Counter.builder(name).tags(tags).register(registry).increment();
  }

  /** The others are scanners, clients without a certificate and the like, which are there on each day. */
  @Test
  void aListenersLimitsAreToldAndNotItsOtherRefusals() {
    for (String reason : List.of("tls-handshake", "certificate-revoked", "http-request", "web-socket-frame", "proxy-header", "proxy-address")) {
      count("dunlin.listener.refused", "listener", "rate", "reason", reason);
    }
    verdict(checks.refusals(), DoctorMXBean.OK);
    for (String reason : List.of("connections", "address", "rate", "process", "accept")) {
      count("dunlin.listener.refused", "listener", "tls", "reason", reason);
      verdict(checks.refusals(), DoctorMXBean.WARNING, "dunlin.listener.refused{listener=tls,reason=" + reason + "} 1");
    }
    assertThat(checks.refusals().finding()).doesNotContain("tls-handshake");
  }

  @Test
  void aWillThatAccessRulesDenyHasNotFailed() {
    count("dunlin.inbox.wills-refused", "reason", "not-authorized");
    verdict(checks.failures(), DoctorMXBean.OK);
    count("dunlin.inbox.wills-refused", "reason", "quota-exceeded");
    verdict(checks.failures(), DoctorMXBean.WARNING, "dunlin.inbox.wills-refused{reason=quota-exceeded} 1");
  }

  @Test
  void failuresAreToldAndAFaultIsWrong() {
    Counter.builder("dunlin.listener.tls.reloads").tag("listener", "tls").tag("result", "ok").register(registry).increment();
    verdict(checks.failures(), DoctorMXBean.OK);
    Counter.builder("dunlin.listener.tls.reloads").tag("listener", "tls").tag("result", "failed").register(registry).increment();
    verdict(checks.failures(), DoctorMXBean.WARNING, "dunlin.listener.tls.reloads{listener=tls,result=failed} 1");
    Counter.builder("dunlin.frontend.unexpected").register(registry).increment();
    verdict(checks.failures(), DoctorMXBean.WRONG, "dunlin.frontend.unexpected 1");
  }

  /** A meter with another name would never be found, and all would seem to be well. */
  @Test
  void theMetersAreThoseOfTheNode() throws IOException {
    String page = Files.readString(Path.of("../../docs/metrics.md"));
    Stream.of(MeterChecks.FAULTS, MeterChecks.FAILURES, MeterChecks.REFUSALS)
        .flatMap(names -> names.stream())
        .forEach(name -> assertThat(page).contains("| `" + name.replaceAll("[.-]", "_") + "_total` |"));
    for (String name : MeterChecks.GAUGES) assertThat(page).containsPattern("\\| `" + name.replaceAll("[.-]", "_") + "(_bytes)?` \\| gauge");
    assertThat(page).contains("| `dunlin_cluster_replicas_missing` | gauge");
  }
}
