package dunlin.runtime.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.runtime.SettingSource;
import dunlin.runtime.Settings;
import dunlin.runtime.TestSettings;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class MetricsTest {
  private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

  @Test
  void aMeterIsExportedToJmxAndPrometheus() throws JMException {
    try (Metrics metrics = Metrics.open("one")) {
      metrics.registry().counter("dunlin.test.packets", "type", "connect").increment(3);

      ObjectName name = new ObjectName("dunlin:type=Metrics,node=one,name=dunlin.test.packets,tag-type=connect");
      assertThat(SERVER.getAttribute(name, "Count")).isEqualTo(3L);
      assertThat(metrics.scrape()).contains("dunlin_test_packets_total{node=\"one\",type=\"connect\"} 3.0\n");
    }
  }

  @Test
  void aMeterHasItsDescriptionAndUnitInJmx() throws JMException {
    try (Metrics metrics = Metrics.open("one")) {
      Timer.builder("dunlin.test.wait").description("Time to wait").register(metrics.registry()).record(Duration.ofMillis(5));
      Gauge.builder("dunlin.test.held", () -> 7).description("What is held").baseUnit("bytes").register(metrics.registry());
      Counter.builder("dunlin.test.sent").description("What was sent").baseUnit("bytes").register(metrics.registry());
      metrics.registry().counter("dunlin.test.plain");

      assertThat(info("dunlin.test.wait").getDescription()).isEqualTo("Time to wait");
      assertThat(about("dunlin.test.wait")).contains("Mean: Time to wait: the mean in milliseconds", "Count: Time to wait: how many in measurements");
      assertThat(about("dunlin.test.held")).contains("Value: What is held in bytes");
      assertThat(about("dunlin.test.sent")).contains("Count: What was sent: how many in bytes", "MeanRate: What was sent: a second, since the start in bytes per second");
      assertThat(about("dunlin.test.plain")).contains("Count: dunlin.test.plain: how many");
      assertThat(SERVER.getAttribute(bean("dunlin.test.held"), "Value")).isEqualTo(7.0);

      metrics.registry().remove(metrics.registry().get("dunlin.test.held").gauge());
      assertThat(SERVER.isRegistered(bean("dunlin.test.held"))).isFalse();
      Gauge.builder("dunlin.test.held", () -> 8).description("What is held again").register(metrics.registry());
      assertThat(about("dunlin.test.held")).contains("Value: What is held again");
    }
  }

  private static ObjectName bean(String meter) throws JMException {
    return new ObjectName("dunlin:type=Metrics,node=one,name=" + meter);
  }

  private static MBeanInfo info(String meter) throws JMException {
    return SERVER.getMBeanInfo(bean(meter));
  }

  /** The attributes with their descriptions and units. */
  private static List<String> about(String meter) throws JMException {
    return Arrays.stream(info(meter).getAttributes())
        .map(
            each -> {
              Object unit = each.getDescriptor().getFieldValue("units");
              return each.getName() + ": " + each.getDescription() + (unit == null ? "" : " in " + unit);
            })
        .toList();
  }

  @Test
  void metersOfACompositeThatHoldsTheRegistryHaveTheNodeToo() {
    try (Metrics metrics = Metrics.open("one")) {
      var early = new CompositeMeterRegistry();
      early.counter("dunlin.test.early").increment();
      early.add(metrics.registry());
      early.counter("dunlin.test.late").increment();

      assertThat(metrics.scrape()).contains("dunlin_test_early_total{node=\"one\"}", "dunlin_test_late_total{node=\"one\"}");
    }
  }

  @Test
  void aTimerWithBucketsIsAHistogramForPrometheusAndOneBean() throws JMException {
    try (Metrics metrics = Metrics.open("one")) {
      Timer.builder("dunlin.test.time").serviceLevelObjectives(Duration.ofMillis(1), Duration.ofMillis(10)).register(metrics.registry()).record(Duration.ofMillis(5));

      assertThat(metrics.scrape())
          .contains(
              "# TYPE dunlin_test_time_seconds histogram\n", "dunlin_test_time_seconds_bucket{node=\"one\",le=\"0.001\"} 0\n",
              "dunlin_test_time_seconds_bucket{node=\"one\",le=\"0.01\"} 1\n", "dunlin_test_time_seconds_count{node=\"one\"} 1\n");
      assertThat(names("one")).containsExactly("dunlin:type=Metrics,node=one,name=dunlin.test.time");
    }
  }

  @Test
  void theClockAndTheReadinessOfTheNodeAreShown() {
    try (Metrics metrics = Metrics.open("one")) {
      var ready = new AtomicBoolean();
      metrics.bindClock(() -> Instant.ofEpochMilli(1_234_500));
      metrics.bindReady(ready::get);
      assertThat(metrics.scrape()).contains("dunlin_clock_time_seconds{node=\"one\"} 1234.5\n", "dunlin_ready{node=\"one\"} 0.0\n");

      ready.set(true);
      assertThat(metrics.scrape()).contains("dunlin_ready{node=\"one\"} 1.0\n");
    }
  }

  @Test
  void nodesInOneJvmAreSeparate() throws JMException {
    try (Metrics one = Metrics.open("one")) {
      Metrics two = Metrics.open("two");
      one.registry().counter("dunlin.test.packets").increment();
      two.registry().counter("dunlin.test.packets").increment(2);
      two.registry().timer("dunlin.test.time");
      one.beans().register(Settings.load(TestSettings.ALL, SettingSource.none()));
      two.beans().register(Settings.load(TestSettings.ALL, SettingSource.none()));
      assertThat(names("two")).hasSize(3);
      assertThat(one.scrape()).contains("{node=\"one\"} 1.0").doesNotContain("two");

      two.close();

      assertThat(names("two")).isEmpty();
      assertThat(names("one"))
          .containsExactlyInAnyOrder(
              "dunlin:type=Metrics,node=one,name=dunlin.test.packets", "dunlin:type=Settings,node=one");
    }
    assertThat(names("one")).isEmpty();
  }

  @Test
  void aNodeMayHaveAnyName() throws JMException {
    String node = "a,b=\"c\"*?:\\\n ";
    try (Metrics metrics = Metrics.open(node)) {
      metrics.registry().counter("dunlin.test.packets", "strange,key", "").increment();
      metrics.beans().register(Settings.load(TestSettings.ALL, SettingSource.none()));

      assertThat(SERVER.queryNames(new ObjectName("dunlin:*"), null)).hasSize(2);
    }
    assertThat(SERVER.queryNames(new ObjectName("dunlin:*"), null)).isEmpty();
  }

  @Test
  void aNameInUseStaysWithItsFirstNode() throws JMException {
    try (Metrics first = Metrics.open("same")) {
      first.beans().register(Settings.load(TestSettings.ALL, SettingSource.none()));
      try (Metrics second = Metrics.open("same")) {
        second.beans().register(Settings.load(TestSettings.ALL, SettingSource.none()));
      }
      assertThat(names("same")).containsExactly("dunlin:type=Settings,node=same");
    }
  }

  @Test
  void effectiveSettingsAreShownByJmxWithoutSecrets() throws JMException {
    SettingSource source =
        SettingSource.map("test", Map.of("dunlin.cluster.secret", "horse", "dunlin.listeners.tcp.port", "0"));
    try (Metrics metrics = Metrics.open("one")) {
      metrics.beans().register(Settings.load(TestSettings.ALL, source));

      TabularData table =
          (TabularData) SERVER.getAttribute(new ObjectName("dunlin:type=Settings,node=one"), "Effective");

      Map<Object, Object> effective =
          table.values().stream()
              .map(CompositeData.class::cast)
              .collect(Collectors.toMap(row -> row.get("key"), row -> row.get("value")));
      assertThat(effective)
          .hasSize(TestSettings.ALL.size() + 1)
          .containsEntry("dunlin.listeners.tcp.port", "0")
          .containsEntry("dunlin.cluster.secret", "********");
    }
  }

  @Test
  void beansOfOneTypeAreDistinguishedByTheirKeys() throws JMException {
    Settings settings = Settings.load(TestSettings.ALL, SettingSource.none());
    SettingsMXBean tcp = new SettingsInForce(settings.effective(), settings.sources());
    SettingsMXBean tls = new SettingsInForce(settings.effective(), settings.sources());
    try (NodeBeans beans = new NodeBeans("one")) {
      beans.register("Listener", Map.of("name", "tcp"), tcp);
      beans.register("Listener", Map.of("name", "tls"), tls);

      assertThat(names("one"))
          .containsExactlyInAnyOrder("dunlin:type=Listener,node=one,name=tcp", "dunlin:type=Listener,node=one,name=tls");
      assertThat(beans.all(SettingsMXBean.class, "name")).containsExactly(Map.entry("tcp", tcp), Map.entry("tls", tls));
      beans.unregister("Listener", Map.of("name", "tcp"));
      beans.unregister("Listener", Map.of("name", "none"));
      assertThat(names("one")).containsExactly("dunlin:type=Listener,node=one,name=tls");
      assertThat(beans.find(SettingsMXBean.class)).containsSame(tls);
      assertThat(beans.find(LatencyHistogramMXBean.class)).isEmpty();
    }
    assertThat(names("one")).isEmpty();
  }

  @Test
  void theProcessIsMeasuredOnRequest() throws JMException {
    try (Metrics metrics = Metrics.open("one")) {
      assertThat(metrics.scrape()).doesNotContain("jvm_memory_used_bytes");

      metrics.bindProcess();

      assertThat(metrics.scrape()).contains("jvm_memory_used_bytes", "process_uptime_seconds", "jvm_threads_live");
    }
    assertThat(names("one")).isEmpty();
  }

  @RepeatedTest(100)
  void metersAddedDuringCloseLeaveNoBeans() throws JMException, InterruptedException {
    var metrics = Metrics.open("one");
    var closed = new AtomicBoolean();
    var thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; !closed.get(); i++) metrics.registry().counter("dunlin.test.late", "number", String.valueOf(i));
                });
    while (names("one").isEmpty()) Thread.onSpinWait();

    metrics.close();

    closed.set(true);
    thread.join();
    assertThat(names("one")).isEmpty();
  }

  @Test
  void beansRegisteredAfterCloseAreIgnored() throws JMException {
    var beans = new NodeBeans("one");
    beans.close();

    beans.register(Settings.load(TestSettings.ALL, SettingSource.none()));

    assertThat(names("one")).isEmpty();
  }

  private static Set<String> names(String node) throws JMException {
    return SERVER.queryNames(new ObjectName("dunlin:node=" + node + ",*"), null).stream()
        .map(ObjectName::toString)
        .collect(Collectors.toSet());
  }
}
